"""Classification: weights and labels that are rejected, and the targets of rows."""

import numpy as np
import pytest
from models import STRATEGIES, checked_rows, moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.weights import LEAST_WEIGHT
from pocketsvm.tasks.classification import class_targets

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
    rows, data = class_targets(checked_rows(X), y, weight, {1: 1e-6}, "hinge")
    assert rows.n_rows == len(X)
    product = data.class_weight[data.codes] * data.sample_weight
    assert product.min() == LEAST_WEIGHT
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


# --- targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, {2: 0.3, 7: 40.0}])
def test_targets_of_a_chunk_are_those_of_its_rows(class_weight):
    random = np.random.default_rng(0)
    y, weight = random.choice([2, 4, 7], 60), random.uniform(0.5, 9.0, 60)
    X, some = random.normal(size=(60, 2)), slice(7, 20)
    _, targets = class_targets(checked_rows(X), y, weight, class_weight, "hinge")
    nothing = targets.take(np.arange(0), np.empty(0))
    found = nothing.of(Chunk(X[some], y[some], weight[some], "rows"))
    assert_array_equal(found.codes, targets.codes[some])
    assert_allclose(found.row_weight(), targets.row_weight()[some])
    with pytest.raises(ValueError, match="y holds the label 5, which is not in classes"):
        nothing.of(Chunk(X[:1], np.array([5]), None, "rows"))


def test_the_solver_weighs_classes_as_they_were_given():
    # In units, these weights would be too small for float32: they are merged with those of rows.
    y = np.arange(60) % 2
    weight = np.where(np.arange(60) < 30, 1.0, 1e-12)
    _, targets = class_targets(checked_rows(np.ones((60, 1))), y, weight, {1: 1e-12}, "hinge")
    assert_array_equal(targets.class_weight, 1.0)
    assert_array_equal(targets.whole_weights(), [1.0, 1e-12])


def test_balanced_weights_are_learnt_from_other_rows():
    few, many = np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [30, 90])
    of_few, of_many = (
        class_targets(checked_rows(np.ones((len(y), 1))), y, None, "balanced", "hinge")[1]
        for y in (few, many)
    )
    found = of_few.learnt_from(of_many)
    assert_allclose(found.row_weight(), of_many.whole_weights()[few])
    assert_allclose(found.whole_weights(), of_many.whole_weights())
    assert not np.allclose(of_few.row_weight(), found.row_weight())
