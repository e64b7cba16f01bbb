"""Targets and weights: what is rejected, and how labels and weights are encoded."""

import numpy as np
import pytest
from models import STRATEGIES, checked_rows, moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.data import targets

# --- weights --------------------------------------------------------------------------------------


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
        small_svc().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        small_svc().partial_fit(X, y, classes=[0, 1], sample_weight=weight)


def test_weights_that_leave_fewer_than_two_classes_are_rejected():
    X, y = moons()
    with pytest.raises(ValueError, match="got 1 class"):
        small_svc().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="got 1 class"):
        small_svc(class_weight={0: 0}).fit(X, y)
    with pytest.raises(ValueError, match="leave no row of positive weight"):
        small_svc(class_weight={0: 0, 1: 0}).fit(X, y)
    with pytest.raises(ValueError, match="leave no row of positive weight"):
        small_svc(class_weight={0: 0}).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])


def test_class_weights_of_texts_that_look_like_numbers():
    y = np.array(["01", "1", "2"])
    found = targets.class_weights({"01": 3.0, "2": 0.5}, y, y, None)
    assert_array_equal(found, [3.0, 1.0, 0.5])
    with pytest.raises(ValueError, match="are not in class_weight"):
        targets.class_weights({"01": 3.0, "03": 0.5}, y, y, None)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_class_weights_are_rejected(value):
    with pytest.raises(ValueError, match="class_weight must be finite and not negative"):
        small_svc(class_weight={0: value}).fit(*moons())


def test_weights_with_products_out_of_range_are_rejected():
    X, y = moons()
    for factor in (1e200, 1e-200):
        with pytest.raises(ValueError, match="class_weight times sample_weight ranges from"):
            small_svc(class_weight={0: factor}).fit(X, y, sample_weight=np.full(len(y), factor))


@STRATEGIES
def test_weights_can_differ_by_any_factor(maintenance):
    X, y = moons()
    weight = 10.0 ** np.random.default_rng(0).uniform(-290, 0, len(y))
    clf = small_svc(maintenance=maintenance).fit(X, y, sample_weight=weight)
    assert np.isfinite(clf.decision_function(X)).all()
    rows, data = targets.class_targets(checked_rows(X), y, weight, {1: 1e-6}, "hinge")
    assert rows.n_rows == len(X)
    product = data.class_weight[data.codes] * data.sample_weight
    assert product.min() == targets.LEAST_WEIGHT
    assert product.max() <= 2
    heavy = product > 1e-10
    expected = (weight * np.where(y == 1, 1e-6, 1))[heavy]
    assert_allclose(product[heavy] * data.weight_unit, expected, rtol=1e-14)


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "budget"), [(3, 5), (10, 19)])
def test_budget_of_less_than_two_per_class_is_rejected(n_classes, budget):
    X, _ = moons()
    y = np.arange(len(X)) % n_classes
    with pytest.raises(ValueError, match=f"budget={budget} .*at least {2 * n_classes}"):
        small_svc(budget=budget).fit(X, y)
    assert small_svc(budget=2 * n_classes).fit(X, y).dual_coef_.shape[0] == n_classes


def test_labels_are_encoded_across_chunks():
    n = 2 * targets.LABELS_AT_ONCE + 17
    y = np.random.default_rng(0).integers(-3, 4, n) * 10
    classes = targets.find_classes(y)
    codes = targets.encode_labels(y, classes)
    assert codes.dtype == np.int8
    assert_array_equal(classes[codes], y)
    with pytest.raises(ValueError, match=r"y holds the label .*30.*not in classes"):
        targets.encode_labels(y, classes[:-1])


def test_many_classes_use_wider_codes():
    classes = np.arange(300)
    codes = targets.encode_labels(classes[::-1], classes)
    assert codes.dtype == np.int32
    assert_array_equal(codes, classes[::-1])
    X = np.random.default_rng(0).normal(size=(1200, 2)).astype(np.float32)
    clf = small_svc(budget=600, max_iter=1).fit(X, np.arange(1200) % 300)
    assert clf.decision_function(X).shape == (1200, 300)
