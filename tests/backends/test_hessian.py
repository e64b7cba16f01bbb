"""The penalty and the factors of Hessians, against dense algebra in NumPy."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from pocketsvm.backends import hessian as module
from pocketsvm.backends.hessian import JITTER, PANEL, Penalty, RowHessian

GAMMA = 0.4
SIZES = pytest.mark.parametrize("n", [1, 2, PANEL, PANEL + 1, 3 * PANEL - 5])
INTERCEPT = pytest.mark.parametrize("fit_intercept", [True, False])


def some_vectors(n, dtype=np.float64, offset=0.0):
    return (np.random.default_rng(n).normal(size=(n, 6)) + offset).astype(dtype)


def dense(vectors):
    return rbf_kernel(vectors.astype(float), gamma=GAMMA) + JITTER * np.eye(len(vectors))


def some_rows(n_vectors, n_rows=50):
    random = np.random.default_rng(n_vectors)
    return random.uniform(size=(n_rows, n_vectors)), random.uniform(0.1, 3.0, n_rows)


def hessian_of(kernel, weights, n_threads=1):
    """Return the Hessian of rows with these curvatures, of which every other one is zero."""
    hessian = RowHessian(kernel.shape[1], 2 * len(weights), n_threads)
    rows, curvatures = np.zeros((2 * len(kernel), kernel.shape[1])), np.zeros(2 * len(weights))
    rows[1::2], curvatures[1::2] = kernel, weights
    for begin in range(0, len(rows), 20):
        some = slice(begin, begin + 20)
        hessian.add(rows[some], curvatures[some])
    return hessian


def second_derivative(vectors, kernel, weights, least):
    """Return the bordered matrix: the coefficients, then the intercept."""
    rows = np.column_stack([kernel, np.ones(len(weights))])
    matrix = rows.T @ (weights[:, None] * rows)
    matrix[:-1, :-1] += dense(vectors)
    matrix[-1, -1] = max(weights.sum(), least)
    return matrix


@SIZES
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_product_is_that_of_the_dense_matrix(n, n_outputs):
    vectors = some_vectors(n)
    coefficients = np.random.default_rng(0).normal(size=(n_outputs, n))
    product = Penalty(vectors, GAMMA, 1).product(coefficients)
    assert_allclose(product, coefficients @ dense(vectors), atol=1e-12 * n)


def test_kernel_values_are_precise_despite_float32_and_offsets():
    vectors = some_vectors(200, np.float32, offset=1000.0)
    exact = dense(vectors.astype(float) - 1000.0) - JITTER * np.eye(200)
    np.fill_diagonal(exact, 0.0)
    assert_allclose(Penalty(vectors, GAMMA, 1).kernel(), exact, atol=1e-13)


@SIZES
@INTERCEPT
@pytest.mark.parametrize("least", [0.5, 200.0])  # below and above what the rows have
def test_solution_is_that_of_the_dense_matrix(n, fit_intercept, least, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 64)
    monkeypatch.setattr(module, "FACTOR_PANEL", 16)
    vectors, (kernel, weights) = some_vectors(n), some_rows(n)
    factor = Penalty(vectors, GAMMA, 1).factor(hessian_of(kernel, weights), least, fit_intercept)
    right = np.random.default_rng(1).normal(size=(3, n + 1))
    matrix = second_derivative(vectors, kernel, weights, least)
    expected = np.zeros_like(right)
    if fit_intercept:
        expected = np.linalg.solve(matrix, right.T).T
    else:
        expected[:, :-1] = np.linalg.solve(matrix[:-1, :-1], right[:, :-1].T).T
    assert_allclose(factor.solve(right), expected, rtol=1e-7, atol=1e-9)


def test_without_rows_the_intercept_has_its_least_curvature():
    vectors = some_vectors(5)
    factor = Penalty(vectors, GAMMA, 1).factor(RowHessian(5, 0, 1), 0.25, True)
    right = np.arange(1.0, 7.0)[None]
    solution = factor.solve(right)
    assert_allclose(solution[:, :-1] @ dense(vectors), right[:, :-1], rtol=1e-9)
    assert_allclose(solution[:, -1], [6.0 / 0.25])


def test_a_new_factor_replaces_the_old_one_and_keeps_the_penalty():
    vectors, (kernel, weights) = some_vectors(300), some_rows(300)
    penalty = Penalty(vectors, GAMMA, 1)
    right = np.random.default_rng(1).normal(size=(2, 301))
    first = penalty.factor(hessian_of(kernel, weights), 0.5, True).solve(right)
    penalty.factor(hessian_of(2 * kernel, weights), 0.5, True)
    third = penalty.factor(hessian_of(kernel, weights), 0.5, True).solve(right)
    assert_array_equal(first, third)
    product = penalty.product(right[:, :-1])
    assert_allclose(product, right[:, :-1] @ dense(vectors), atol=1e-11)


def test_a_matrix_that_rounding_has_made_indefinite_gets_a_ridge(monkeypatch):
    n = 40
    vectors = np.repeat(some_vectors(n // 2), 2, axis=0)  # the rank of K is half its size
    kernel, weights = some_rows(n, n_rows=5)
    kernel = np.repeat(kernel[:, ::2], 2, axis=1)
    calls, factored = [], module.factored
    monkeypatch.setattr(module, "factored", lambda *given: calls.append(1) or factored(*given))
    factor = Penalty(vectors, GAMMA, 1).factor(hessian_of(kernel, 1e16 * weights), 1.0, True)
    assert len(calls) > 1  # the first attempt failed
    right = np.random.default_rng(1).normal(size=(2, n + 1))
    solution = factor.solve(right)
    assert np.isfinite(solution).all()
    assert (np.einsum("ij,ij->i", right, solution) > 0).all()  # a direction downhill


@INTERCEPT
@pytest.mark.parametrize("at_once", [module.AT_ONCE, 64])
def test_threads_do_not_change_a_bit(fit_intercept, at_once, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    monkeypatch.setattr(module, "FACTOR_PANEL", 64)
    n = 3 * PANEL + 17
    vectors, (kernel, weights) = some_vectors(n), some_rows(n)
    right = np.random.default_rng(1).normal(size=(3, n + 1))
    found = []
    for n_threads in (1, 3):
        penalty = Penalty(vectors, GAMMA, n_threads)
        hessian = hessian_of(kernel, weights, n_threads)
        factor = penalty.factor(hessian, 0.5, fit_intercept)
        found.append((penalty.product(right[:, :-1]), factor.solve(right)))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


def test_memory_of_many_vectors_is_one_square_array(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 256)
    monkeypatch.setattr(module, "FACTOR_PANEL", 64)
    n = 12 * PANEL
    vectors, (kernel, weights) = some_vectors(n), some_rows(n)
    right, hessian = np.ones((3, n + 1)), hessian_of(kernel, weights)
    tracemalloc.start()
    try:
        penalty = Penalty(vectors, GAMMA, 1)
        penalty.product(right[:, :-1])
        penalty.factor(hessian, 0.5, True).solve(right)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    square = 8 * n**2
    assert square < peak < 1.5 * square


# --- the Hessian of rows --------------------------------------------------------------------------


def assert_hessian(hessian, kernel, curvatures):
    rows = np.column_stack([kernel, np.ones(len(kernel))])
    matrix = rows.T @ (curvatures[:, None] * rows)
    upper = np.triu_indices(kernel.shape[1])
    assert_allclose(hessian.square[upper], matrix[:-1, :-1][upper], rtol=1e-9, atol=1e-9)
    assert_allclose(hessian.column, matrix[:-1, -1], rtol=1e-9, atol=1e-9)
    assert hessian.corner == pytest.approx(matrix[-1, -1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_hessian_follows_changes_of_curvatures(dtype):
    random = np.random.default_rng(0)
    kernel = random.uniform(size=(100, 30)).astype(dtype)
    hessian, counts = RowHessian(30, 100, 1), []
    for n_curved in (50, 55, 50, 10, 90, 0):
        curvatures = np.where(np.arange(100) < n_curved, 2.0, 0.0)
        differences = hessian.differences(curvatures, np.zeros(100))
        counts.append(np.count_nonzero(differences))
        hessian.add(kernel, differences)
        assert_hessian(hessian, kernel.astype(float), curvatures)
    # Rows whose curvature has not changed cost nothing; the fourth one begins anew.
    assert counts == [50, 5, 5, 10, 80, 0]


def test_small_changes_of_curvatures_are_left_out():
    hessian, least = RowHessian(2, 3, 1), np.full(3, 0.5)
    assert_array_equal(hessian.differences(np.array([0.4, 1.0, 2.0]), least), [0.0, 1.0, 2.0])
    assert_array_equal(hessian.differences(np.array([0.6, 1.4, 1.0]), least), [0.6, 0.0, -1.0])
    assert_array_equal(hessian.curvatures, [0.6, 1.0, 1.0])


# --- factors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_values_that_are_not_finite_have_no_factor(wrong):
    vectors = np.random.default_rng(0).normal(size=(20, 3))
    kernel, weights = np.ones((5, 20)), np.ones(5)
    kernel[0, 3] = wrong
    with pytest.raises(FloatingPointError, match="must be finite"):
        Penalty(vectors, GAMMA, 1).factor(hessian_of(kernel, weights), 0.5, True)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_large_matrix_is_factored_in_panels(n_threads, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 10)
    monkeypatch.setattr(module, "FACTOR_PANEL", 16)
    monkeypatch.setattr(module, "FACTOR_ROWS", 7)
    A = np.random.default_rng(0).normal(size=(60, 80))
    lower = A @ A.T
    square = np.asfortranarray(np.tril(lower) + 5 * np.triu(np.ones((60, 60)), 1))
    assert module.factored(square, n_threads)
    assert_allclose(np.tril(square), np.linalg.cholesky(lower), rtol=1e-9, atol=1e-9)
    assert_array_equal(np.triu(square, 1), 5 * np.triu(np.ones((60, 60)), 1))
    square = np.asfortranarray(lower - 2 * np.diag(np.eye(60)[40] * lower[40, 40]))
    assert not module.factored(square, n_threads)
