"""Tests of Rows: input that is accepted without a copy, and input that is rejected."""

import gc

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from pocketsvm import _core

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
LAYOUTS = pytest.mark.parametrize("layout", ["dense", "csr"])
INDEX_TYPES = pytest.mark.parametrize("indices_type", [np.int32, np.int64])
POINTER_TYPES = pytest.mark.parametrize("indptr_type", [np.int32, np.int64])


def sparse_array(n=20, d=7, dtype="float64", offset=0.0):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.5, 0, offset + rng.normal(size=(n, d))).astype(dtype)
    X[[0, 4, n - 1]] = 0  # empty rows, including the first and the last
    return X


def decisions(rows):
    """Return decision values that depend on every entry."""
    d = rows.n_features
    vectors = np.random.default_rng(1).normal(size=(3, d)).astype(rows.dtype)
    return _core.decide(vectors, np.eye(3), np.zeros(3), 0.1, rows, 1)


@LAYOUTS
@DTYPES
def test_rows_know_their_shape_and_type(layout, dtype, core_rows):
    rows = core_rows(sparse_array(dtype=dtype), layout)
    assert (rows.n_rows, rows.n_features, rows.dtype) == (20, 7, dtype)


@LAYOUTS
@DTYPES
@pytest.mark.parametrize("offset", [0, 1e4])
def test_norm_and_variance_match_numpy(offset, layout, dtype, core_rows):
    X = sparse_array(dtype=dtype, offset=offset)
    rows, X = core_rows(X, layout), X.astype(float)
    assert rows.max_squared_norm() == pytest.approx(np.sum(X**2, axis=1).max(), rel=1e-12)
    assert rows.variance() == pytest.approx(X.var(), rel=1e-9)


@LAYOUTS
@DTYPES
@pytest.mark.parametrize("n", [2**16, 2**16 + 1, 200_001])
def test_statistics_of_many_rows_do_not_depend_on_threads(n, layout, dtype, core_rows):
    X = sparse_array(n, 3, dtype, offset=2.0)
    X[n - 1] = 100.0  # the last row, in the last chunk, has the largest norm
    rows = core_rows(X, layout)
    norm, variance = rows.max_squared_norm(), rows.variance()
    assert norm == 30000.0
    assert variance == pytest.approx(X.astype(float).var(), rel=1e-9)
    for n_threads in (3, 16):
        assert rows.max_squared_norm(n_threads) == norm
        assert rows.variance(n_threads) == variance


@DTYPES
def test_variance_is_accurate_with_a_large_mean(dtype):
    X = (1e4 + np.random.default_rng(0).normal(size=(1000, 7))).astype(dtype)
    assert _core.Rows.dense(X).variance() == pytest.approx(X.astype(float).var(), rel=1e-6)


@LAYOUTS
@DTYPES
def test_constant_rows_have_zero_variance(layout, dtype, core_rows):
    assert core_rows(np.full((5, 3), 0.1, dtype), layout).variance() == pytest.approx(0, abs=1e-15)
    assert core_rows(np.zeros((5, 3), dtype), layout).variance() == 0
    assert core_rows(np.zeros((5, 3), dtype), layout).max_squared_norm() == 0


@LAYOUTS
def test_squares_that_overflow_single_precision_are_summed_in_double(layout, core_rows):
    X = np.array([[1e30, 0], [0, 1]], dtype=np.float32)
    expected = float(X[0, 0]) ** 2
    assert core_rows(X, layout).max_squared_norm() == pytest.approx(expected, rel=1e-12)


@LAYOUTS
@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
def test_norm_that_overflows_is_not_finite(value, layout, core_rows):
    X = np.array([[1.0, 0], [value, 1], [0, 2]])
    assert not np.isfinite(core_rows(X, layout).max_squared_norm())


@INDEX_TYPES
@POINTER_TYPES
@DTYPES
def test_indices_can_have_32_or_64_bits(indices_type, indptr_type, dtype, core_rows):
    X = sparse_array(dtype=dtype)
    S = scipy.sparse.csr_array(X)
    rows = _core.Rows.csr(
        S.data, S.indices.astype(indices_type), S.indptr.astype(indptr_type), X.shape[1]
    )
    assert rows.n_rows == 20
    assert_array_equal(decisions(rows), decisions(core_rows(X)))


@LAYOUTS
def test_rows_do_not_copy_arrays(layout):
    X = np.ones((4, 3))
    S = scipy.sparse.csr_array(X)
    if layout == "dense":
        rows, values = _core.Rows.dense(X), X.ravel()
    else:
        rows, values = _core.Rows.csr(S.data, S.indices, S.indptr, 3), S.data
    assert rows.max_squared_norm() == 3
    values[0] = 10
    assert rows.max_squared_norm() == 102


@LAYOUTS
def test_rows_keep_their_arrays_alive(layout, core_rows):
    X = sparse_array(5000, 50)
    expected = decisions(core_rows(X, layout))
    rows = core_rows(X.copy(), layout)
    gc.collect()
    rubbish = [np.full((5000, 50), np.nan) for _ in range(3)]
    assert_array_equal(decisions(rows), expected)
    del rubbish


def test_read_only_arrays_are_accepted():
    X = sparse_array()
    S = scipy.sparse.csr_array(X)
    expected = decisions(_core.Rows.dense(X))
    for array in (X, S.data, S.indices, S.indptr):
        array.flags.writeable = False
    assert_array_equal(decisions(_core.Rows.dense(X)), expected)
    assert_array_equal(decisions(_core.Rows.csr(S.data, S.indices, S.indptr, 7)), expected)


@LAYOUTS
@DTYPES
def test_other_values_share_the_structure(layout, dtype, core_rows):
    X = sparse_array()
    values = X if layout == "dense" else scipy.sparse.csr_array(X).data
    rows = core_rows(X, layout).with_values((2 * values).astype(dtype))
    assert (rows.n_rows, rows.n_features, rows.dtype) == (20, 7, dtype)
    assert_array_equal(decisions(rows), decisions(core_rows((2 * X).astype(dtype), layout)))


@LAYOUTS
def test_values_of_another_shape_are_refused(layout, core_rows):
    rows = core_rows(sparse_array(), layout)
    for shape in ((20, 6), (19, 7), (140,), (20, 7, 1)):
        with pytest.raises(ValueError, match="data must have"):
            rows.with_values(np.zeros(shape))
    with pytest.raises(ValueError, match="data must"):
        rows.with_values(np.zeros((20, 7), int))


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((4, 6))[:, ::2],
        np.zeros((8, 3))[::2],
        np.zeros((3, 4)).T,
        np.zeros(4),
        np.zeros((2, 2, 2)),
        np.zeros((4, 3), np.int64),
        np.zeros((4, 3), np.float16),
        np.zeros((4, 3), np.longdouble),
        np.zeros((4, 3), np.complex128),
        np.zeros((4, 3), ">f8"),
        [[0.0, 1.0]],
        None,
    ],
    ids=lambda X: f"{X.dtype}-{X.shape}" if isinstance(X, np.ndarray) else repr(X),
)
def test_input_that_is_not_a_plain_matrix_is_rejected(X):
    with pytest.raises((ValueError, TypeError)):
        _core.Rows.dense(X)


def damaged(**changes):
    """Return arguments for four rows with three features, with changes; row 2 is [0, 3, 4]."""
    arguments = {
        "data": np.array([1.0, 2, 3, 4, 5]),
        "indices": np.array([0, 2, 1, 2, 0]),
        "indptr": np.array([0, 2, 2, 4, 5]),
        "n_features": 3,
    }
    return arguments | {key: np.asarray(value) for key, value in changes.items()}


def test_valid_rows_are_accepted():
    rows = _core.Rows.csr(**damaged())
    assert_array_equal(
        decisions(rows),
        decisions(_core.Rows.dense(np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 4], [5, 0, 0]]))),
    )


@INDEX_TYPES
@pytest.mark.parametrize(
    "indices",
    [
        [0, 2, 1, 3, 0],
        [0, 2, -1, 2, 0],
        [0, 2, 1, 2**31 - 1, 0],
        [0, 2, -(2**31), 2, 0],
        [2, 0, 2, 3, 0],
    ],
    ids=["too large", "negative", "far too large", "far too small", "after an unsorted row"],
)
def test_index_out_of_range_is_rejected_with_its_position(indices, indices_type):
    with pytest.raises(ValueError, match=r"X.indices must lie in \[0, 3\), got .* position [23]\."):
        _core.Rows.csr(**damaged(indices=np.array(indices, dtype=indices_type)))


@pytest.mark.parametrize("index", [2**32 + 1, 2**40, -(2**40)])
def test_index_is_not_truncated_to_32_bits(index):
    with pytest.raises(ValueError, match=rf"X.indices .* got {index} at position 3\."):
        _core.Rows.csr(**damaged(indices=[0, 2, 1, index, 0]))


@INDEX_TYPES
@pytest.mark.parametrize("indices", [[0, 2, 2, 1, 0], [0, 2, 2, 2, 0]], ids=["unsorted", "twice"])
def test_unsorted_rows_give_none(indices, indices_type):
    assert _core.Rows.csr(**damaged(indices=np.array(indices, dtype=indices_type))) is None


@POINTER_TYPES
@pytest.mark.parametrize(
    "indptr",
    [
        [0, 2, 4, 2, 5],
        [0, 2, 2, 7, 5],
        [0, 2, 2, -1, 5],
        [-1, 2, 2, 4, 5],
        [0, 2, 2, 4, 6],
        [0, 2, 2, 4, 2**31 - 1],
        [6, 6, 6, 6, 6],
        [1, 2, 2, 4, 5],
        [-3, -2, -2, -1, -1],
    ],
)
def test_index_pointer_outside_the_arrays_is_rejected(indptr, indptr_type):
    with pytest.raises(ValueError, match=r"X.indptr (must start with 0|must not decrease|ends at)"):
        _core.Rows.csr(**damaged(indptr=np.array(indptr, dtype=indptr_type)))


@pytest.mark.parametrize("pointer", [2**32 + 4, 2**62, -(2**62)])
def test_index_pointer_is_not_truncated_to_32_bits(pointer):
    with pytest.raises(ValueError, match=r"X.indptr (must start with 0|must not decrease|ends at)"):
        _core.Rows.csr(**damaged(indptr=[0, 2, 2, pointer, 5]))
    with pytest.raises(ValueError, match=r"X.indptr (must start with 0|must not decrease|ends at)"):
        _core.Rows.csr(**damaged(indptr=[0, 2, 2, 4, pointer]))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("data", np.zeros(4)),
        ("data", np.zeros(6)),
        ("indices", np.zeros(4, int)),
        ("indptr", np.empty(0, int)),
        ("data", np.zeros(5, int)),
        ("data", np.zeros(5, np.float16)),
        ("data", np.zeros((5, 1))),
        ("data", np.zeros(10)[::2]),
        ("indices", np.zeros(5)),
        ("indices", np.zeros(5, np.uint32)),
        ("indices", np.array([0, 9, 2, 9, 1, 9, 2, 9, 0, 9])[::2]),
        ("indptr", np.zeros(5)),
        ("indptr", np.zeros(5, np.int16)),
        ("indptr", np.array([0, 9, 2, 9, 2, 9, 4, 9, 5, 9])[::2]),
        ("n_features", -1),
    ],
)
def test_arrays_that_do_not_match_are_rejected(argument, value):
    with pytest.raises((ValueError, TypeError)):
        _core.Rows.csr(**(damaged() | {argument: value}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_values_that_are_not_finite_are_found(value, dtype, n_threads):
    X = np.full((200_000, 3), np.finfo(dtype).max, dtype=dtype)
    assert _core.Rows.dense(X).all_finite(n_threads)
    for place in ((0, 0), (150_000, 1), (199_999, 2)):
        X[place] = value
        assert not _core.Rows.dense(X).all_finite(n_threads)
        X[place] = 0
