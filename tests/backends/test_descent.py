"""L-BFGS: minima of functions, on all backends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import rosen, rosen_der

from pocketsvm.backends import torch as torch_backend
from pocketsvm.backends.native import Native


@pytest.fixture(autouse=True)
def few_values(monkeypatch):
    """Let devices take few values."""
    monkeypatch.setattr(torch_backend, "MOST_OF_SCIPY", 0)


def never(value):
    return False


@pytest.mark.parametrize("n_values", [2, 10, 40])
def test_a_curved_valley(backend, n_values):
    start = np.linspace(-1.2, 1.5, n_values)
    found, n_made = backend.descend(lambda x: (rosen(x), rosen_der(x)), start, 400, never)
    assert rosen(found) < 1e-10
    assert 10 < n_made < 400


def test_a_quadratic_function_with_many_scales(backend):
    scales = np.geomspace(1, 100, 60)
    looks = []

    def look(x):
        looks.append(x)
        return 0.5 * float(scales @ x**2), scales * x

    found, n_made = backend.descend(look, np.ones(60), 300, never)
    assert_allclose(found, 0, atol=1e-4)
    assert len(looks) < 1.3 * n_made + 10


def test_steps_end_when_they_are_flat_or_many(backend):
    values = []

    def is_flat(value):
        values.append(value)
        return value < 1.0

    def look(x):
        return rosen(x), rosen_der(x)

    start = np.linspace(-1.2, 1.5, 10)
    found, n_made = backend.descend(look, start, 400, is_flat)
    assert n_made == len(values)
    assert rosen(found) == values[-1] < 1.0 <= values[-2]
    assert all(np.diff(values) < 0)
    _, n_made = backend.descend(look, start, 7, never)
    assert n_made == 7


def test_a_function_that_cannot_be_lowered(backend):
    start = np.ones(3)
    found, n_made = backend.descend(lambda x: (0.0, np.zeros(3)), start, 10, never)
    assert_allclose(found, start)
    assert n_made == 0
    wrong = backend.descend(lambda x: (float(x @ x), -2 * x), start, 10, never)
    assert_allclose(wrong[0], start)


def test_few_values_take_the_steps_of_the_cpu(backend, monkeypatch):
    monkeypatch.undo()
    start = np.linspace(-1.2, 1.5, 10)
    here, there = (
        each.descend(lambda x: (rosen(x), rosen_der(x)), start, 20, never)
        for each in (Native(), backend)
    )
    assert_array_equal(here[0], there[0])
