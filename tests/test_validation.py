"""Tests of input validation and of the choice between float32 and float64."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.utils import shuffle

from pocketsvm import BudgetedSVC, _core
from pocketsvm.data import checks

LAYOUTS = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def moons(n=600):
    return make_moons(n, noise=0.15, random_state=0)


def small(**parameters):
    defaults = {"budget": 30, "C": 10.0, "random_state": 0, "max_iter": 5, "polish": False}
    return BudgetedSVC(**defaults | parameters)


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", 1),
        ("budget", 0),
        ("budget", -5),
        ("budget", 10.5),
        ("budget", "many"),
        ("budget", None),
        ("C", 0),
        ("C", -1.0),
        ("C", np.nan),
        ("C", np.inf),
        ("C", "1"),
        ("gamma", 0),
        ("gamma", -0.5),
        ("gamma", np.nan),
        ("gamma", np.inf),
        ("gamma", "big"),
        ("gamma", None),
        ("max_iter", 0),
        ("max_iter", 2.5),
        ("maintenance", "magic"),
        ("maintenance", None),
        ("fit_intercept", "yes"),
        ("class_weight", "heavy"),
        ("class_weight", [1, 2]),
        ("alpha", 0),
        ("alpha", -1e-3),
        ("alpha", np.inf),
        ("alpha", np.nan),
        ("warm_start", "no"),
        ("n_jobs", 1.5),
        ("random_state", "luck"),
        ("verbose", "loud"),
    ],
)
def test_error_names_the_bad_parameter_and_its_value(name, value):
    X, y = moons()
    for call in (lambda clf: clf.fit(X, y), lambda clf: clf.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            call(small(**{name: value}))
        message = str(caught.value)
        assert f"The '{name}' parameter of BudgetedSVC must be" in message
        assert f"Got {value!r} instead" in message


@pytest.mark.parametrize(("n_classes", "budget"), [(3, 5), (10, 19)])
def test_budget_of_less_than_two_per_class_is_rejected(n_classes, budget):
    X, _ = moons()
    y = np.arange(len(X)) % n_classes
    with pytest.raises(ValueError, match=f"budget={budget} .*at least {2 * n_classes}"):
        small(budget=budget).fit(X, y)
    assert small(budget=2 * n_classes).fit(X, y).dual_coef_.shape[0] == n_classes


@pytest.mark.parametrize("parameters", [{"C": 1e300}, {"C": 1e-300}, {"alpha": 1e-31}])
def test_regularisation_out_of_range_is_rejected(parameters):
    ((name, value),) = parameters.items()
    with pytest.raises(
        ValueError, match=re.escape(f"{name}={value!r} makes the regularisation alpha=")
    ):
        small(**parameters).fit(*moons())


def test_parameters_can_be_numpy_scalars():
    X, y = moons()
    plain = small(budget=20, C=2.0, gamma=0.5, max_iter=2).fit(X, y)
    numpy = small(
        budget=np.int64(20), C=np.float32(2), gamma=np.float32(0.5), max_iter=np.int32(2)
    ).fit(X, y)
    assert_array_equal(plain.dual_coef_, numpy.dual_coef_)


# --- rows and labels -----------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_rejected(layout, value, word, dtype):
    X, y = moons()
    clf = small().fit(X, y)
    bad = X.astype(dtype)
    bad[3, 1] = value
    for call in (clf.predict, clf.decision_function, lambda X: small().fit(X, y)):
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
        small().fit(X, y)


def test_different_number_of_features_is_rejected():
    X, y = moons()
    clf = small().fit(X, y)
    for wrong in (X[:, :1], np.c_[X, X], sp.csr_array(np.c_[X, X])):
        for call in (clf.predict, clf.decision_function, lambda X: clf.partial_fit(X, y)):
            with pytest.raises(
                ValueError, match=r"X has \d features, but BudgetedSVC is expecting 2"
            ):
                call(wrong)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(600, -1.0), "Negative values in data passed to `sample_weight`"),
        (np.r_[-1e-9, np.ones(599)], "Negative values in data passed to `sample_weight`"),
        (np.zeros(600), "Sample weights must contain at least one non-zero number"),
        (np.ones(599), r"sample_weight.shape == \(599,\), expected \(600,\)"),
        (np.ones((600, 2)), "Sample weights must be 1D array or scalar"),
        (np.r_[np.nan, np.ones(599)], "Input sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(599)], "Input sample_weight contains infinity"),
    ],
)
def test_bad_weights_are_rejected(weight, message):
    X, y = moons()
    with pytest.raises(ValueError, match=message):
        small().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        small().partial_fit(X, y, classes=[0, 1], sample_weight=weight)


def test_weights_that_leave_fewer_than_two_classes_are_rejected():
    X, y = moons()
    with pytest.raises(ValueError, match="got 1 class"):
        small().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="got 1 class"):
        small(class_weight={0: 0}).fit(X, y)
    with pytest.raises(ValueError, match="leave no row of positive weight"):
        small(class_weight={0: 0, 1: 0}).fit(X, y)
    with pytest.raises(ValueError, match="leave no row of positive weight"):
        small(class_weight={0: 0}).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_class_weights_are_rejected(value):
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        small(class_weight={0: value}).fit(*moons())


def test_weights_with_products_out_of_range_are_rejected():
    X, y = moons()
    for factor in (1e200, 1e-200):
        with pytest.raises(ValueError, match="class_weight times sample_weight ranges from"):
            small(class_weight={0: factor}).fit(X, y, sample_weight=np.full(len(y), factor))


@pytest.mark.parametrize("maintenance", _core.strategies())
@pytest.mark.parametrize("factor", [2.0**-200, 2.0**10, 2.0**200])
def test_scaling_weights_and_c_changes_nothing(maintenance, factor):
    X, y = moons()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    plain = small(maintenance=maintenance).fit(X, y, sample_weight=weight)
    scaled = small(maintenance=maintenance, C=10 / factor)
    scaled.fit(X, y, sample_weight=weight * factor)
    assert_array_equal(scaled.dual_coef_, plain.dual_coef_)
    scaled.partial_fit(X, y, sample_weight=weight * factor)
    assert_array_equal(scaled.dual_coef_, plain.partial_fit(X, y, sample_weight=weight).dual_coef_)


def test_weights_too_large_for_c_are_rejected():
    X, y = moons()
    with pytest.raises(ValueError, match=r"C=10.0 makes .* for weights of about 1\.\d*e\+60"):
        small().fit(X, y, sample_weight=np.full(len(y), 2e60))


@pytest.mark.parametrize("maintenance", _core.strategies())
def test_weights_can_differ_by_any_factor(maintenance):
    X, y = moons()
    weight = 10.0 ** np.random.default_rng(0).uniform(-290, 0, len(y))
    clf = small(maintenance=maintenance).fit(X, y, sample_weight=weight)
    assert np.isfinite(clf.decision_function(X)).all()
    data = checks.labelled_rows(X, y, weight, {1: 1e-6})
    product = data.class_weight[data.codes] * data.sample_weight
    assert product.min() == checks.LEAST_WEIGHT
    assert product.max() <= 2
    heavy = product > 1e-10
    expected = (weight * np.where(y == 1, 1e-6, 1))[heavy]
    assert_allclose(product[heavy] * data.weight_unit, expected, rtol=1e-14)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_continuing_with_a_very_different_alpha_is_rejected(factor):
    X, y = moons()
    clf = small().fit(X, y)
    clf.set_params(alpha=clf.alpha_ * factor)
    with pytest.raises(ValueError, match="differ too much from those of the model to be continued"):
        clf.partial_fit(X, y)


def test_memory_is_not_reserved_for_an_unreachable_budget():
    X, y = moons()
    plain = small(budget=3000).fit(X, y)
    assert_array_equal(small(budget=10**15).fit(X, y).dual_coef_, plain.dual_coef_)


# --- sparse structure ----------------------------------------------------------------------------


def broken(X, attribute, position, value):
    X = X.copy()
    getattr(X, attribute)[position] = value
    return X


@pytest.mark.parametrize("formats", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("attribute", "position", "value", "message"),
    [
        ("indptr", 3, 10**6, r"X.indptr must not decrease, but it falls from 1000000 to"),
        ("indptr", 3, -2, r"X.indptr must not decrease, but it falls from \d+ to -2"),
        ("indptr", 0, 1, r"X.indptr must start with 0, got 1"),
        ("indptr", -1, 10**6, r"X.indptr ends at 1000000, but X.indices and X.data hold"),
        ("indices", 5, 10**6, r"X.indices must lie in \[0, \d+\), got 1000000 at position 5"),
        ("indices", 5, -1, r"X.indices must lie in \[0, \d+\), got -1 at position 5"),
    ],
)
def test_broken_sparse_matrix_is_rejected(formats, attribute, position, value, message):
    dense = np.random.default_rng(0).integers(0, 2, (60, 20)).astype(float)
    y = np.arange(60) % 2
    clf = small().fit(dense, y)
    for dtype in (np.float32, np.float64, np.int64):
        X = broken(sp.csr_array(dense.astype(dtype)).asformat(formats), attribute, position, value)
        for call in (clf.predict, lambda X: small().fit(X, y), lambda X: clf.partial_fit(X, y)):
            with pytest.raises(ValueError, match=r"X.indptr|X.indices|index pointer|indices"):
                call(X)
    with pytest.raises(ValueError, match=message):
        small().fit(broken(sp.csr_array(dense).asformat(formats), attribute, position, value), y)


def test_broken_coordinate_matrix_is_rejected():
    X = sp.coo_array(np.eye(6))
    for name, value in (("row", 6), ("row", -1), ("col", 99)):
        bad = X.copy()
        getattr(bad, name)[2] = value
        with pytest.raises(ValueError, match=rf"X.{name} must lie in \[0, 6\), got {value}"):
            small().fit(bad, [0, 1, 0, 1, 0, 1])


def test_index_arrays_of_the_wrong_length_are_rejected():
    X, y = sp.csr_array(np.eye(6)), [0, 1, 0, 1, 0, 1]
    for name, damage in (("indptr", lambda a: a[:-1]), ("data", lambda a: a[:-2])):
        bad = X.copy()
        setattr(bad, name, damage(getattr(bad, name)))
        with pytest.raises(ValueError, match=r"X.indptr"):
            small().fit(bad, y)


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
    expected, clf = small().fit(X, y), small().fit(unsorted, y)
    assert_array_equal(expected.dual_coef_, clf.dual_coef_)
    assert unsorted.indices[0] == 5  # the user's matrix is unchanged


# --- precision -----------------------------------------------------------------------------------


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
    rows, value = checks.training_rows(layout(rows_of_norm(spread / gamma)), gamma)
    assert (rows.dtype, value) == (dtype, gamma)


@LAYOUTS
@pytest.mark.parametrize(
    ("X", "gamma"),
    [
        (2.0**21 + rows_of_norm(1.0), 1.0),
        (rows_of_norm(1.0) * 1e200, 1.0),
        (rows_of_norm(1.0) * 1e200, "scale"),
        (1.7e9 + np.random.default_rng(0).normal(size=(8, 3)), "scale"),
        (rows_of_norm(1.0) * 1e-155, "scale"),
    ],
)
def test_rows_that_need_more_than_float64_are_rejected_with_advice(layout, X, gamma):
    y = np.arange(8) % 2
    with pytest.raises(ValueError, match=r"gamma=.* times the largest squared norm.*standardise X"):
        small(gamma=gamma).fit(layout(X), y)


@LAYOUTS
@pytest.mark.parametrize("gamma", [1e13, 1e30, 1e100])
def test_training_works_with_an_identity_kernel(layout, gamma):
    X, y = moons()
    clf = small(gamma=gamma, budget=len(X), max_iter=1, fit_intercept=False).fit(layout(X), y)
    assert clf.support_vectors_.dtype == np.float64
    assert clf.score(layout(X), y) == 1.0  # every row is its own support vector
    assert_allclose(clf.decision_function(layout(X + 0.01)), 0, atol=1e-300)


@LAYOUTS
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
def test_large_offsets_have_little_effect(layout, offset):
    X, y = moons()
    expected = small(gamma=1.0).fit(X, y)
    clf = small(gamma=1.0).fit(layout(X + offset), y)
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
    scaled = small().fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert scaled.support_vectors_.dtype == np.float32


def test_later_batch_can_require_float64():
    X, y = shuffle(*moons(), random_state=0)
    clf = small(gamma=1.0, budget=500).partial_fit(X[:300], y[:300], classes=[0, 1])
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
        small().fit(X, X[:, 0] > 1)
    assert small().fit(X - 1, X[:, 0] > 1).score(X - 1, X[:, 0] > 1) > 0.9


@LAYOUTS
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e5, 1e-30])
def test_gamma_is_one_if_all_entries_are_equal(layout, value):
    X, y = np.full((1000, 7), value), np.arange(1000) % 2
    clf = small(gamma="scale").fit(layout(X), y)
    assert clf.gamma_ == 1.0
    assert np.isfinite(clf.decision_function(layout(X))).all()


@LAYOUTS
def test_values_beyond_float32_are_predicted(layout):
    X, y = moons()
    clf = small().fit(X, y)
    far = np.array([[1e20, 0], [1e60, -1e60], [0, 1e240], [3e38, 3e38]])
    # Far from all support vectors, the value is the intercept.
    assert_allclose(clf.decision_function(layout(far)), clf.intercept_[0], rtol=0, atol=1e-30)
    mixed = np.r_[X, far]
    assert_array_equal(clf.decision_function(layout(mixed))[: len(X)], clf.decision_function(X))


# --- degenerate rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("maintenance", _core.strategies())
@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.zeros_like(X),  # identical rows: kappa = 1 everywhere
        lambda X: np.sign(X),  # a few distinct rows
        lambda X: X * 0 + np.arange(len(X))[:, None] * 5,  # rows far apart: kappa = 0
        lambda X: X,
    ],
    ids=["identical", "few", "far", "usual"],
)
@pytest.mark.parametrize("gamma", [1.0, 1e5])
def test_degenerate_rows_train_and_predict(maintenance, make, gamma):
    X, y = moons(200)
    X = make(X)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        clf = small(gamma=gamma, budget=10, maintenance=maintenance).fit(X, y)
        values = clf.decision_function(X)
    assert np.isfinite(values).all()
    assert np.isfinite(clf.dual_coef_).all()
    assert 1 <= len(clf.support_vectors_) <= 10


@pytest.mark.parametrize("maintenance", _core.strategies())
def test_single_row_of_a_label_trains(maintenance):
    X, y = moons(200)
    y = np.zeros(200)
    y[17] = 1
    clf = small(budget=4, maintenance=maintenance).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert clf.score(X, y) > 0.9


# --- labels --------------------------------------------------------------------------------------


def test_labels_are_encoded_across_chunks():
    n = 2 * checks.LABELS_AT_ONCE + 17
    y = np.random.default_rng(0).integers(-3, 4, n) * 10
    classes = checks.find_classes(y)
    codes = checks.encode_labels(y, classes)
    assert codes.dtype == np.int8
    assert_array_equal(classes[codes], y)
    with pytest.raises(ValueError, match=r"y holds the label .*30.*not in classes"):
        checks.encode_labels(y, classes[:-1])


def test_many_classes_use_wider_codes():
    classes = np.arange(300)
    codes = checks.encode_labels(classes[::-1], classes)
    assert codes.dtype == np.int32
    assert_array_equal(codes, classes[::-1])
    X = np.random.default_rng(0).normal(size=(1200, 2)).astype(np.float32)
    clf = small(budget=600, max_iter=1).fit(X, np.arange(1200) % 300)
    assert clf.decision_function(X).shape == (1200, 300)


# --- scales of columns ---------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_very_different_scale_give_a_warning(layout, dtype):
    X, y = moons()
    X = np.column_stack([X, np.full(len(X), 7.0)])  # constant columns are ignored
    scaled = layout((X * [1.0, 5000.0, 1.0]).astype(dtype))
    message = r"column 1 ranges over .*, column 0 over .*StandardScaler.*--scale standard"
    with pytest.warns(UserWarning, match=message) as caught:
        small().fit(scaled, y)
    assert caught[0].filename == __file__
    small().fit(layout((X * [1.0, 300.0, 1.0]).astype(dtype)), y)


def test_harmless_scales_give_no_warning():
    random = np.random.default_rng(0)
    n = 6000
    y = np.arange(n) % 2
    rare = sp.random_array((n, 300), density=1e-3, format="csr", rng=random)
    rare.data[:] = 1.0
    small().fit(sp.csr_array(sp.hstack([y[:, None], rare])), y)  # binary columns, some of them rare
    rare.data[:] = random.uniform(size=len(rare.data)) ** 9
    small().fit(rare, y)  # columns with few values
    outliers = np.column_stack([y, random.standard_cauchy(n) ** 3])
    small().fit((outliers - outliers.mean(axis=0)) / outliers.std(axis=0), y)
    small().fit(np.column_stack([y + 1.6e9, y]), y)  # an offset does not affect the scale
