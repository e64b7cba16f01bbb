"""Precision: float32 if it is enough, float64 if the values need it, an error beyond that."""

import types

import numpy as np
import pytest
from models import LAYOUTS, checked_rows, moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.svm import SVC
from sklearn.utils import shuffle

from pocketsvm import BudgetedSVC, BudgetedSVCCV, BudgetedSVR
from pocketsvm.rows.precision import training_rows


def rows_of_norm(squared_norm, dtype=np.float64):
    X = np.zeros((8, 3), dtype)
    X[:, 1] = np.sqrt(squared_norm)
    X[::2] *= -1
    return X


@LAYOUTS
@pytest.mark.parametrize(
    ("spread", "gamma", "dtype"),
    [
        (500.0, 1.0, "float32"),
        (525.0, 1.0, "float64"),
        (500.0, 1e-10, "float32"),
        (525.0, 1e-10, "float64"),
        (500.0, 1e25, "float32"),
        (2.0**39, 1e4, "float64"),
        (2.0**39, 1e-4, "float64"),
        (1.0, 1e-38, "float64"),  # the norm is outside the range of float32
        (1.0, 1e-31, "float64"),  # gamma is outside the range of float32
        (1.0, 1e31, "float64"),
    ],
)
def test_precision_depends_on_the_spread(layout, spread, gamma, dtype):
    rows = training_rows(checked_rows(layout(rows_of_norm(spread / gamma))), gamma)
    assert (rows.core.dtype, rows.gamma) == (dtype, gamma)


@LAYOUTS
@pytest.mark.parametrize(
    ("X", "gamma"),
    [
        (2.0**21 + rows_of_norm(1.0), 1.0),
        (1.7e9 + np.random.default_rng(0).normal(size=(8, 3)), "scale"),
        (rows_of_norm(1.0), 2.0**41),
        (np.random.default_rng(0).normal(size=(8, 3)), 1e13),
        (np.random.default_rng(0).normal(size=(8, 3)), 1e100),
    ],
)
def test_rows_that_need_more_than_float64_are_rejected_with_advice(layout, X, gamma):
    y = np.arange(8) % 2
    with pytest.raises(ValueError, match=r"gamma=.* times the largest squared norm.*standardise X"):
        small_svc(gamma=gamma).fit(layout(X), y)


@LAYOUTS
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("size", [1e31, 1e38, 1e39, 1e100, 1e153, 1e200, 1e300])
@pytest.mark.parametrize("gamma", ["scale", 1.0, 1e-300])
def test_rows_whose_sums_overflow_are_rejected_with_advice(layout, polish, size, gamma):
    X, y = moons()
    model = small_svc(gamma=gamma, polish=polish)
    with pytest.raises(ValueError, match=r"too large .* squared norm .* 1e\+60.*standardise X"):
        model.fit(layout(size * X), y)


@LAYOUTS
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gamma", ["scale", "auto", 1.0, 1e200])
@pytest.mark.parametrize("size", [1e-36, 1e-50, 1e-100, 1e-155, 1e-170, 1e-310])
def test_rows_whose_sums_underflow_are_rejected_with_advice(layout, size, gamma):
    X, y = moons()
    message = r"too small .* the largest one, .* is below 1e-35.* Multiply X .*standardise X"
    with pytest.raises(ValueError, match=message):
        small_svc(gamma=gamma).fit(layout(size * X), y)


@LAYOUTS
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_of_zeros_are_not_too_small(layout):
    X = np.zeros((8, 3))
    assert small_svc().fit(layout(X), np.arange(8) % 2).gamma_ == 1.0
    X[7, 2] = 1.0
    small_svc().fit(layout(X), np.arange(8) % 2)


def test_small_values_of_a_regression_keep_their_accuracy():
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    expected, found = (
        BudgetedSVR(40, C=10.0, random_state=0).fit(size * X, y).score(size * X, y)
        for size in (1.0, 1e-34)
    )
    assert abs(found - expected) < 0.01


def test_data_sets_of_tiny_values_are_rejected_with_advice():
    X, y = moons()
    for rows in (1e-50 * X, 1e-170 * X):
        data = types.SimpleNamespace(batches=lambda rows=rows: iter([(rows, y)]))
        with pytest.raises(ValueError, match=r"the largest one, .* is below 1e-35"):
            small_svc().fit(data, None)


@pytest.mark.parametrize("size", [1e-50, 1e-155, 1e-170])
def test_searches_reject_tiny_values_with_advice(size):
    X, y = moons()
    with pytest.raises(ValueError, match=r"too small for the kernel.*standardise X"):
        BudgetedSVCCV(10, Cs=[1.0], gammas=2, cv=2, random_state=0).fit(size * X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("polish", [False, True, "thorough"])
@pytest.mark.parametrize("size", [1e-30, 1e20, 1e29])
def test_the_unit_of_the_rows_does_not_matter(polish, size):
    X, y = moons()
    expected = small_svc(gamma="scale", polish=polish).fit(X, y).score(X, y)
    found = small_svc(gamma="scale", polish=polish).fit(size * X, y).score(size * X, y)
    assert abs(found - expected) < 0.02


@LAYOUTS
def test_decisions_are_exact_up_to_the_limit(layout):
    # Groups of rows within the width of a kernel that is tiny compared with the norms.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 3)), 3, axis=0)
    gamma = 0.9 * 2.0**40 / np.square(X).sum(axis=1).max()
    X += rng.normal(size=X.shape) / np.sqrt(10 * gamma)
    y = np.arange(len(X)) % 2
    clf = small_svc(gamma=gamma, budget=120, polish=False, fit_intercept=False).fit(layout(X), y)
    assert clf.profile_.merges > 0
    squared = np.square(X[:, None] - clf.support_vectors_).sum(axis=2)
    kernel = np.maximum(np.exp(-gamma * squared), 2.0**-1021)
    exact = kernel @ clf.dual_coef_[0]
    error = 1e-3 * np.abs(clf.dual_coef_).max()
    assert_allclose(clf.decision_function(layout(X)), exact, rtol=0, atol=error)


@LAYOUTS
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
def test_large_offsets_have_little_effect(layout, offset):
    X, y = moons()
    expected = small_svc(gamma=1.0).fit(X, y)
    clf = small_svc(gamma=1.0).fit(layout(X + offset), y)
    agree = np.mean(clf.predict(layout(X + offset)) == expected.predict(X))
    assert agree > 0.97
    assert clf.support_vectors_.dtype == (np.float64 if offset else np.float32)


def test_training_works_with_timestamps():
    # Seconds since 1970 over one day: the offset is 70,000 times the spread.
    rng = np.random.default_rng(0)
    seconds = 1_700_000_000 + rng.integers(0, 86_400, 2000)
    y = (seconds // 21_600) % 2
    X = np.c_[seconds, seconds]
    clf = BudgetedSVC(100, 100.0, gamma=1e-8, random_state=0).fit(X, y)
    assert clf.support_vectors_.dtype == np.float64
    assert clf.score(X, y) > 0.95
    scaled = small_svc().fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert scaled.support_vectors_.dtype == np.float32


def timed_rows(offset, spread, seed):
    """Return as many rows of each class, and a column of times far from zero."""
    rng = np.random.default_rng(seed)
    y = np.arange(1000) % 2
    X = rng.normal(size=(1000, 4))
    X[:, 0] = offset + spread * (rng.random(1000) + 0.3 * y)
    return X, y


@LAYOUTS
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("offset", "spread", "dtype"),
    [(2000, 30, "float32"), (2000, 1, "float64"), (1.6e9, 1e7, "float64"), (1.6e9, 1e5, "float64")],
)
def test_large_offsets_cost_no_more_than_in_svc(layout, offset, spread, dtype, seed):
    # gamma="scale" becomes tiny, and all kernel values nearly one.
    X, y = timed_rows(offset, spread, seed)
    with pytest.warns(UserWarning, match="olumn 0 .*Standardise X"):
        clf = BudgetedSVC(50, random_state=0).fit(layout(X), y)
    exact = SVC().fit(X, y).score(X, y)
    assert exact > 0.55
    assert clf.score(layout(X), y) > exact - 0.02
    assert clf.support_vectors_.dtype == dtype


@pytest.mark.parametrize("gamma", [1e-3, 1e-5, 1e-7])
def test_a_tiny_gamma_needs_float64(gamma):
    X = np.random.default_rng(0).normal(size=(100, 4))
    rows = training_rows(checked_rows(X), gamma)
    assert rows.core.dtype == ("float64" if gamma < 1e-6 else "float32")
    assert training_rows(checked_rows(X[:1]), gamma).core.dtype == "float32"  # nothing to tell


def test_later_batch_can_require_float64():
    X, y = shuffle(*moons(), random_state=0)
    clf = small_svc(gamma=1.0, budget=500).partial_fit(X[:300], y[:300], classes=[0, 1])
    assert clf.support_vectors_.dtype == np.float32
    before = clf.decision_function(X)
    clf.partial_fit(X[300:301] + 1e4, y[300:301])
    assert clf.support_vectors_.dtype == np.float64
    after = clf.decision_function(X)
    # A distant row scales the model near the old rows by (t - 1) / t and changes only the bias.
    change = after - before * 300 / 301
    assert np.ptp(change) < 1e-4 * np.abs(before).max()
    # The model stays in float64.
    assert clf.partial_fit(X[:50], y[:50]).support_vectors_.dtype == np.float64
    with pytest.raises(ValueError, match="standardise X"):
        clf.partial_fit(X + 1e9, y)


def test_rows_that_are_distinct_only_in_float64():
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-9 * rng.normal(size=(200, 3))  # all 1.0 in float32, with zero variance
    with pytest.raises(ValueError, match="standardise X"):
        small_svc().fit(X, X[:, 0] > 1)
    assert small_svc().fit(X - 1, X[:, 0] > 1).score(X - 1, X[:, 0] > 1) > 0.9


@LAYOUTS
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e5, 1e-30])
def test_gamma_is_one_if_all_entries_are_equal(layout, value):
    X, y = np.full((1000, 7), value), np.arange(1000) % 2
    clf = small_svc(gamma="scale").fit(layout(X), y)
    assert clf.gamma_ == 1.0
    assert np.isfinite(clf.decision_function(layout(X))).all()


@LAYOUTS
def test_values_beyond_float32_are_predicted(layout):
    X, y = moons()
    clf = small_svc().fit(X, y)
    far = np.array([[1e20, 0], [1e60, -1e60], [0, 1e240], [3e38, 3e38]])
    # Far from all support vectors, the value is the intercept.
    assert_allclose(clf.decision_function(layout(far)), clf.intercept_[0], rtol=0, atol=1e-30)
    mixed = np.r_[X, far]
    assert_array_equal(clf.decision_function(layout(mixed))[: len(X)], clf.decision_function(X))
