"""The rows of the solver: sums over their losses, on any number of threads."""

from dataclasses import replace

import numpy as np
import pytest
from models import ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import PROBLEMS, class_problem, in_numpy

from pocketsvm import _core


@pytest.fixture(params=PROBLEMS)
def decided(request):
    """A sample, decision values of its rows, and a change of them."""
    _, sample = PROBLEMS[request.param](n=700)
    shape = 700, sample.loss.n_outputs
    return sample, *np.random.default_rng(0).normal(size=(2, *shape))


def test_the_core_and_numpy_give_the_same_losses_and_derivatives(decided):
    sample, decisions, _ = decided
    for mine, other in zip(
        sample.derivatives(decisions, 1), in_numpy(sample).derivatives(decisions, 1), strict=True
    ):
        assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_the_core_and_numpy_give_the_same_derivatives_along_a_change(decided):
    sample, decisions, change = decided
    length = np.linspace(0.5, 1.5, decisions.shape[1])
    for mine, other in zip(
        sample.along(decisions, change, length, 1),
        in_numpy(sample).along(decisions, change, length, 1),
        strict=True,
    ):
        assert_allclose(mine, other, rtol=1e-10)


def test_bits_of_losses_do_not_depend_on_threads():
    _, sample = PROBLEMS["four classes"](n=20_000)
    decisions, change = np.random.default_rng(0).normal(size=(2, 20_000, 4))
    for n_threads in (2, 5):
        for one, many in [
            (sample.derivatives(decisions, 1), sample.derivatives(decisions, n_threads)),
            (
                sample.along(decisions, change, np.ones(4), 1),
                sample.along(decisions, change, np.ones(4), n_threads),
            ),
        ]:
            for a, b in zip(one, many, strict=True):
                assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r: r.derivatives(np.ones((9, 1)), np.ones(10), 1),
            "10 rows and 1 columns, got 9 and 1",
        ),
        (
            lambda r: r.derivatives(np.ones((10, 2)), np.ones(10), 1),
            "10 rows and 1 columns, got 10 and",
        ),
        (lambda r: r.derivatives(np.ones((10, 1)), np.ones(9), 1), "one entry per row, 10, got 9"),
        (
            lambda r: r.along(np.ones((10, 1)), np.ones((9, 1)), np.ones(1), np.ones(10), 1),
            "10 rows and 1 columns, got 9 and 1",
        ),
        (
            lambda r: r.along(np.ones((10, 1)), np.ones((10, 1)), np.ones(2), np.ones(10), 1),
            "one entry per loss, 1, got 2",
        ),
    ],
)
def test_wrong_sizes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(_core.RowLosses.classes("hinge", np.zeros(10, np.int8), [1], 0.5))


def test_rows_are_sparse_if_most_values_of_all_parts_are_zero():
    X = np.zeros((20_000, 30))
    X[:5000] = 1.0
    _, sample = class_problem()
    dense = replace(sample, rows=ready_rows(X, 1.0))
    assert_allclose(dense.mean_values(), 7.5)
    assert not dense.is_sparse
    X[:] = np.eye(30)[np.arange(len(X)) % 30]
    assert replace(sample, rows=ready_rows(X, 1.0)).is_sparse


def test_samples_are_taken_and_weighted():
    _, sample = class_problem(n=300)
    chosen, factors = np.array([4, 7, 250]), np.array([1.0, 2.0, 0.5])
    part = replace(sample, tilt=2.0).take(chosen).weighted(factors)
    assert_array_equal(part.rows.dense(), sample.rows.dense()[chosen])
    assert_array_equal(part.loss.codes, sample.loss.codes[chosen])
    assert_array_equal(part.c, sample.c[chosen] * factors)
    assert (part.n_rows, part.tilt) == (3, 2.0)
