"""Rows and labels: bad input is rejected, and the structure of sparse rows is checked once."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import LAYOUTS, assert_same_model, checked_rows, moons, ready_rows, small_svc
from numpy.testing import assert_array_equal

from pocketsvm import _core


@LAYOUTS
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_rejected(layout, value, word, dtype):
    X, y = moons()
    clf = small_svc().fit(X, y)
    bad = X.astype(dtype)
    bad[3, 1] = value
    for call in (clf.predict, clf.decision_function, lambda X: small_svc().fit(X, y)):
        with pytest.raises(ValueError, match=f"Input X contains {word}"):
            call(layout(bad))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 3)), np.empty(0), r"Found array with 0 sample\(s\)"),
        (np.empty((4, 0)), [0, 1, 0, 1], r"Found array with 0 feature\(s\)"),
        (np.zeros(4), [0, 1, 0, 1], "Expected 2D array, got 1D array"),
        (np.zeros((4, 2, 2)), [0, 1, 0, 1], "Found array with dim 3"),
        (np.zeros((4, 2), complex), [0, 1, 0, 1], "Complex data not supported"),
        ([["a", "b"], ["c", "d"]], [0, 1], "could not convert string to float"),
        (np.zeros((4, 2)), [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((4, 2)), np.zeros((4, 2)), "y should be a 1d array"),
        (np.zeros((4, 2)), [0.1, 0.2, 0.3, 0.4], "Unknown label type"),
        (np.zeros((4, 2)), [0, 1, np.nan, 1], "Input y contains NaN"),
        (np.zeros((4, 2)), None, "requires y to be passed, but the target y is None"),
        (np.zeros((4, 2)), [1, 1, 1, 1], "greater than one; got 1 class"),
        (np.zeros((1, 2)), [1], "greater than one; got 1 class"),
    ],
)
def test_bad_data_is_rejected(X, y, message):
    with pytest.raises(ValueError, match=message):
        small_svc().fit(X, y)


def test_different_number_of_features_is_rejected():
    X, y = moons()
    clf = small_svc().fit(X, y)
    for wrong in (X[:, :1], np.c_[X, X], sp.csr_array(np.c_[X, X])):
        for call in (clf.predict, clf.decision_function, lambda X: clf.partial_fit(X, y)):
            with pytest.raises(
                ValueError, match=r"X has \d features, but BudgetedSVC is expecting 2"
            ):
                call(wrong)


def test_stale_flags_of_scipy_are_not_trusted():
    X = sp.csr_array(np.random.default_rng(0).normal(size=(80, 6)))
    y = np.arange(80) % 2
    unsorted = X.copy()
    assert unsorted.has_canonical_format  # scipy caches this flag
    for row in range(80):
        window = slice(X.indptr[row], X.indptr[row + 1])
        unsorted.data[window] = X.data[window][::-1]
        unsorted.indices[window] = X.indices[window][::-1]
    assert unsorted.has_canonical_format  # the cached flag is now wrong
    expected, clf = small_svc().fit(X, y), small_svc().fit(unsorted, y)
    assert_array_equal(expected.dual_coef_, clf.dual_coef_)
    assert unsorted.indices[0] == 5  # the user's matrix is unchanged


# --- one check of the structure -------------------------------------------------------------------


def count_structure_checks(monkeypatch):
    """Return a list that grows by one entry for every CSR matrix that the core accepts."""
    accepted, check = [], _core.Rows.csr

    def counted(*arguments):
        rows = check(*arguments)
        if rows is not None:  # None: the entries have to be sorted first
            accepted.append(rows)
        return rows

    monkeypatch.setattr(_core.Rows, "csr", staticmethod(counted))
    return accepted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])  # with an offset, the rows need float64
def test_structure_is_checked_once_per_fit(dtype, offset, monkeypatch):
    X, y = moons()
    S = sp.csr_array((X + offset).astype(dtype))
    accepted = count_structure_checks(monkeypatch)
    clf = small_svc(gamma=1.0).fit(S, y)
    assert clf.support_vectors_.dtype == (np.float64 if offset else np.float32)
    assert len(accepted) == 1
    clf.decision_function(S)
    assert len(accepted) == 2
    clf.partial_fit(S, y)
    assert len(accepted) == 3


def test_structure_is_checked_once_if_entries_have_to_be_sorted(monkeypatch):
    X, y = moons()
    S = sp.csr_array(X)
    order = np.arange(S.nnz).reshape(-1, 2)[:, ::-1].ravel()
    unsorted = sp.csr_array((S.data[order], S.indices[order], S.indptr), shape=S.shape)
    expected = small_svc().fit(S, y)
    accepted = count_structure_checks(monkeypatch)
    assert_same_model(small_svc().fit(unsorted, y), expected)
    assert len(accepted) == 1


def test_rows_share_the_memory_of_dense_arrays():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    rows = checked_rows(X)
    assert rows.X is X
    core = rows.core("float32")
    before = core.max_squared_norm()
    X[0] = 100.0
    assert core.max_squared_norm() == 30000.0 > before


def test_taken_rows_are_copies():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for layout in (np.asarray, sp.csr_array):
        rows = ready_rows(layout(X), 0.5)
        taken = rows.take(np.array([3, 1, 4]))
        assert_array_equal(taken.dense(), X[[3, 1, 4]])
        assert (taken.n_rows, taken.core.dtype, taken.gamma) == (3, "float64", 0.5)
        assert_array_equal(
            rows.checked.take(X[:, 0] > 0).core("float64").n_rows, (X[:, 0] > 0).sum()
        )
