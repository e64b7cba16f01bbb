"""The small model of feature scales: all backends have the same objective and gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from pocketsvm.backends.small_model import SmallModel


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_the_model_is_that_of_the_cpu(backend, n_outputs, penalty):
    random = np.random.default_rng(0)
    X, held = (random.normal(size=(n, 4)).astype(np.float32) for n in (300, 50))
    values = np.sin(X[:, :1] + np.arange(n_outputs)) + 0.1 * random.normal(size=(300, n_outputs))
    c = 3.0 * random.uniform(0.5, 1.5, 300)
    point = np.append(random.normal(0, 0.3, 4), X[:15].astype(float).ravel())
    mine, native = backend.small_model(X, values, c, penalty), SmallModel(X, values, c, penalty)
    for each in (point, point + 0.1):
        (value, gradient), (expected, slope) = mine.objective(each), native.objective(each)
        assert_allclose(value, expected, rtol=1e-5)
        assert_allclose(gradient, slope, rtol=1e-3, atol=1e-4 * np.abs(slope).max())
        assert_allclose(mine.decisions(held, each), native.decisions(held, each), atol=1e-3)
    error = check_grad(
        lambda at: mine.objective(at)[0], lambda at: mine.objective(at)[1], point, epsilon=1e-4
    )
    assert error < 0.02 * np.linalg.norm(mine.objective(point)[1])


def test_new_arrays_may_hold_anything(monkeypatch):
    """Memory that was used before may hold NaN."""
    monkeypatch.setattr("numpy.empty", lambda shape, *_, **__: np.full(shape, np.nan))
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 2)).astype(np.float32)
    model = SmallModel(X, X[:, :1].astype(float), np.ones(100), 0.0)
    value, gradient = model.objective(np.append(np.zeros(2), X[:5].astype(float).ravel()))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
