"""Rows and labels: bad input is rejected, and the structure of sparse rows is checked once."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import LAYOUTS, moons, small_svc
from numpy.testing import assert_array_equal


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
