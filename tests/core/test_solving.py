"""Sums over rows of kernel values: the same as NumPy, whatever the sizes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import _core

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SIZES = pytest.mark.parametrize(
    ("n_rows", "n_vectors", "n_outputs"),
    [(1, 1, 1), (300, 500, 1), (301, 67, 2), (77, 8, 3), (9, 2003, 26), (1000, 7, 10)],
)


def problem(n_rows, n_vectors, n_outputs, dtype):
    rng = np.random.default_rng(0)
    kernel = rng.uniform(size=(n_rows, n_vectors)).astype(dtype)
    coefficients = rng.normal(size=(n_outputs, n_vectors))
    intercepts = rng.normal(size=n_outputs)
    slopes = rng.normal(size=(n_rows, n_outputs)) * (rng.uniform(size=(n_rows, n_outputs)) < 0.3)
    return kernel, coefficients, intercepts, slopes


@DTYPES
@SIZES
def test_decisions_are_those_of_numpy(n_rows, n_vectors, n_outputs, dtype):
    kernel, coefficients, intercepts, _ = problem(n_rows, n_vectors, n_outputs, dtype)
    decisions = _core.kernel_decisions(kernel, coefficients, intercepts)
    assert decisions.dtype == np.float64
    expected = kernel.astype(float) @ coefficients.T + intercepts
    assert_allclose(decisions, expected, rtol=0, atol=1e-15 * n_vectors + 1e-14)


@DTYPES
@SIZES
def test_pull_is_that_of_numpy(n_rows, n_vectors, n_outputs, dtype):
    kernel, _, _, slopes = problem(n_rows, n_vectors, n_outputs, dtype)
    pull = _core.kernel_pull(kernel, slopes)
    assert pull.dtype == np.float64
    expected = slopes.T @ kernel.astype(float)
    assert_allclose(pull, expected, rtol=0, atol=1e-15 * n_rows + 1e-14)


@DTYPES
def test_decisions_agree_with_those_of_the_predictor(dtype, core_rows):
    rng = np.random.default_rng(1)
    X, vectors = rng.normal(size=(50, 4)).astype(dtype), rng.normal(size=(19, 4)).astype(dtype)
    coefficients, intercepts = rng.normal(size=(3, 19)), rng.normal(size=3)
    kernel = _core.kernel_block(vectors, 0.3, core_rows(X), 0, 50, 1)
    expected = _core.decide(vectors, coefficients, intercepts, 0.3, core_rows(X), 1)
    decisions = _core.kernel_decisions(kernel, coefficients, intercepts)
    assert_allclose(decisions, expected, atol=1e-5 if dtype == "float32" else 1e-13)


@DTYPES
def test_decisions_have_the_same_bits_in_chunks_on_threads(dtype):
    kernel, coefficients, intercepts, _ = problem(1001, 83, 7, dtype)
    chunks = [kernel[begin : begin + 97] for begin in range(0, 1001, 97)]

    def decide(values):
        return _core.kernel_decisions(values, coefficients, intercepts)

    with ThreadPoolExecutor(4) as pool:
        in_chunks = np.concatenate(list(pool.map(decide, chunks)))
    assert_array_equal(in_chunks, decide(kernel))


@DTYPES
def test_arrays_may_be_empty(dtype):
    kernel, coefficients, intercepts, slopes = problem(5, 3, 2, dtype)
    assert _core.kernel_decisions(kernel[:0], coefficients, intercepts).shape == (0, 2)
    assert _core.kernel_decisions(kernel, coefficients[:0], intercepts[:0]).shape == (5, 0)
    assert_array_equal(_core.kernel_pull(kernel[:0], slopes[:0]), np.zeros((2, 3)))
    assert _core.kernel_pull(kernel, np.zeros((5, 0))).shape == (0, 3)
    no_vectors = np.zeros((5, 0), dtype)
    decisions = _core.kernel_decisions(no_vectors, np.zeros((2, 0)), intercepts)
    assert_array_equal(decisions, np.tile(intercepts, (5, 1)))
    assert _core.kernel_pull(no_vectors, slopes).shape == (2, 0)


def test_pull_skips_terms_without_a_slope():
    kernel, slopes = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, 5.0]]), np.array([[2.0, 0, 1]]).T
    assert_array_equal(_core.kernel_pull(kernel, slopes), [[5.0, 9.0]])
    slopes[1] = np.nan
    assert np.isnan(_core.kernel_pull(kernel, slopes)).all()


def test_wrong_shapes_are_refused():
    kernel, coefficients, intercepts, slopes = problem(5, 3, 2, "float32")
    with pytest.raises(ValueError, match="one column per column of kernel, 3, got 2"):
        _core.kernel_decisions(kernel, coefficients[:, :2], intercepts)
    with pytest.raises(ValueError, match="one entry per row of coefficients, 2, got 1"):
        _core.kernel_decisions(kernel, coefficients, intercepts[:1])
    with pytest.raises(ValueError, match="slopes must have one row per row of kernel, 5, got 4"):
        _core.kernel_pull(kernel, slopes[:4])
    for values in (kernel[0], kernel[None]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.kernel_decisions(values, coefficients, intercepts)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.kernel_pull(values, slopes)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.kernel_pull(kernel, slopes[:, 0])


def test_kernel_values_are_never_converted():
    kernel, coefficients, intercepts, slopes = problem(5, 3, 2, "float32")
    for dtype in ("float16", "int32", "complex64"):
        with pytest.raises(ValueError, match="kernel must be float32 or float64"):
            _core.kernel_decisions(kernel.astype(dtype), coefficients, intercepts)
        with pytest.raises(ValueError, match="kernel must be float32 or float64"):
            _core.kernel_pull(kernel.astype(dtype), slopes)
    for strided in (np.asfortranarray(kernel), np.repeat(kernel, 2, axis=1)[:, ::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.kernel_decisions(strided, coefficients, intercepts)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.kernel_pull(strided, slopes)


# --- outer products -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 7, 24, 25, 100, 301])
@pytest.mark.parametrize("n_chosen", [0, 1, 255, 700])
def test_outer_products_are_added_to_the_upper_triangle(dtype, n_columns, n_chosen):
    random = np.random.default_rng(n_columns)
    kernel = random.random((1000, n_columns)).astype(dtype)
    chosen, scales = random.permutation(1000)[:n_chosen], random.random(n_chosen)
    before = random.random((n_columns, n_columns))
    values = scales[:, None] * kernel[chosen].astype(float)
    expected = before + np.triu(values.T @ values)
    squares = [before.copy() for _ in range(3)]
    for n_threads, square in enumerate(squares, start=1):
        _core.add_outer_products(square, kernel, chosen, scales, n_threads)
    assert_allclose(squares[0], expected, rtol=1e-12)
    assert_array_equal(squares[0], squares[1])
    assert_array_equal(squares[0], squares[2])
    _core.add_outer_products(squares[0], kernel, chosen, scales, subtract=True)
    assert_allclose(squares[0], before, rtol=1e-12, atol=1e-12 * max(1, n_chosen))


@pytest.mark.parametrize(
    ("shape", "n_scales", "match"),
    [
        ((2, 2), 3, "scales must have one entry per chosen row, 2, got 3"),
        ((3, 2), 2, "square must have 2 rows and columns, got 3 and 2"),
        ((2, 1), 2, "square must have 2 rows and columns, got 2 and 1"),
    ],
)
def test_bad_shapes_of_outer_products_are_refused(shape, n_scales, match):
    kernel = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(ValueError, match=match):
        _core.add_outer_products(np.zeros(shape), kernel, np.array([0, 2]), np.ones(n_scales))
