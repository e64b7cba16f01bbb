"""Newton's directions in the space of rows, against dense algebra in NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.backends import whitened as module
from pocketsvm.backends.hessian import Penalty
from pocketsvm.backends.whitened import WhitenedRows

GAMMA, N_VECTORS, N_ROWS, N_OUTPUTS = 0.4, 20, 300, 3
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def some_rows(dtype, n_threads=1):
    """Return a penalty, and rows of kernel values as `KernelRows` keeps them."""
    random = np.random.default_rng(0)
    vectors, X = random.normal(size=(N_VECTORS, 4)), random.normal(size=(N_ROWS, 4))
    distances = np.square(X[:, None] - vectors).sum(axis=2)
    kernel = np.exp(-GAMMA * distances).astype(dtype)
    rows = SimpleNamespace(blocks=lambda: [(slice(0, N_ROWS), kernel)], n_threads=n_threads)
    return Penalty(vectors, GAMMA, n_threads), rows, kernel.astype(float)


def some_curvatures(seed, n_curved, unit=1.0):
    random, curvatures = np.random.default_rng(seed), np.zeros((N_ROWS, N_OUTPUTS))
    for column in curvatures.T:
        column[random.permutation(N_ROWS)[:n_curved]] = unit * random.uniform(0.5, 2.0, n_curved)
    return curvatures, random.normal(size=(N_OUTPUTS, N_VECTORS + 1))


def expected(penalty, kernel, curvatures, gradient, least, fit_intercept):
    rows = np.column_stack([kernel, np.ones(N_ROWS)])
    matrix = rows.T @ (curvatures[:, None] * rows)
    matrix[:-1, :-1] += penalty.matrix()
    matrix[-1, -1] = max(curvatures.sum(), least)
    if fit_intercept:
        return -np.linalg.solve(matrix, gradient)
    return -np.append(np.linalg.solve(matrix[:-1, :-1], gradient[:-1]), 0.0)


@DTYPES
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("least", [0.5, 200.0])  # below and above what the rows have
def test_directions_are_those_of_dense_matrices(dtype, fit_intercept, kept, least, monkeypatch):
    if not kept:
        monkeypatch.setattr(module, "MOST_KEPT", -1)
    penalty, rows, kernel = some_rows(dtype)
    whitened = WhitenedRows(penalty, rows, N_OUTPUTS)
    for seed, n_curved in enumerate((15, 30, 8, 0)):
        curvatures, gradients = some_curvatures(seed, n_curved)
        outputs = np.array([2, 0]) if seed % 2 else np.arange(N_OUTPUTS)
        given = curvatures[:, outputs], gradients[outputs], [least] * len(outputs), fit_intercept
        found = whitened.directions(outputs, *given)
        for direction, o in zip(found, outputs, strict=True):
            exact = expected(penalty, kernel, curvatures[:, o], gradients[o], least, fit_intercept)
            tolerance = (1e-2 if dtype == np.float32 else 1e-8) * np.abs(exact).max()
            assert_allclose(direction, exact, atol=tolerance)


@DTYPES
def test_threads_do_not_change_a_bit(dtype, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 16)
    found = []
    for n_threads in (1, 3):
        penalty, rows, _ = some_rows(dtype, n_threads)
        whitened = WhitenedRows(penalty, rows, N_OUTPUTS)
        for seed in range(3):
            curvatures, gradients = some_curvatures(seed, 40)
            given = curvatures, gradients, [0.5] * N_OUTPUTS, True
            found.append(whitened.directions(np.arange(N_OUTPUTS), *given))
    assert_array_equal(found[:3], found[3:])


def test_a_matrix_that_rounding_has_made_indefinite_gets_a_ridge():
    penalty, rows, _ = some_rows(np.float32)
    curvatures, gradients = some_curvatures(0, 100, unit=1e10)
    given = curvatures, gradients, [0.5] * N_OUTPUTS, True
    found = WhitenedRows(penalty, rows, N_OUTPUTS).directions(np.arange(N_OUTPUTS), *given)
    assert np.isfinite(found).all()
    assert (np.einsum("ij,ij->i", gradients, found) < 0).all()  # downhill


def test_values_that_are_not_finite_are_an_error():
    penalty, rows, _ = some_rows(np.float64)
    curvatures, gradients = some_curvatures(0, 10)
    curvatures[curvatures > 0] = np.inf
    given = curvatures, gradients, [0.5] * N_OUTPUTS, True
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="finite"):
        WhitenedRows(penalty, rows, N_OUTPUTS).directions(np.arange(N_OUTPUTS), *given)
