"""Losses: the core, formulas in NumPy and the reference agree about every loss.

The tests take the names from the core, so a new loss needs no edit here: it needs a type in
`CLASS_LOSSES` or `VALUE_LOSSES` and a function of the same name in `reference.py`.
"""

import numpy as np
import pytest
import reference
from loss_formulas import formula
from models import checked_rows, friedman
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC, _core
from pocketsvm.solving.class_losses import CLASS_LOSSES
from pocketsvm.solving.value_losses import VALUE_LOSSES
from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training import settings
from pocketsvm.training.settings import Choices, Settings

PARAMETER = 0.25  # of the losses on values
DECISIONS = np.linspace(-3.0, 3.0, 60)  # none of them at a kink
CODES = np.arange(60, dtype=np.int8) % 2
SIGNS = np.where(CODES, 1, -1).astype(np.int8)
VALUES = np.random.default_rng(0).normal(size=60)
NAMES = [*CLASS_LOSSES, *VALUE_LOSSES]
EVERY_LOSS = pytest.mark.parametrize("name", NAMES)


def solver_loss(name, width):
    """Return the solver's loss of some rows, their targets, and the loss's parameter."""
    if name in CLASS_LOSSES:
        return CLASS_LOSSES[name].of(CODES, [1], width), SIGNS, None
    loss = VALUE_LOSSES[name].of(VALUES[:, None], [PARAMETER], [width])
    return loss, VALUES, PARAMETER


def case(name, width):
    """Return a loss with one output, and decision values for it."""
    return solver_loss(name, width)[0], DECISIONS[:, None]


def three_classes(name, width):
    """Return a loss with three outputs, and decision values for them."""
    decisions = np.column_stack([DECISIONS, DECISIONS[::-1], np.roll(DECISIONS, 7)])
    return CLASS_LOSSES[name].of(np.arange(60, dtype=np.int8) % 3, [0, 1, 2], width), decisions


def three_values(name, width):
    """Return a loss of three targets, and decision values for them."""
    decisions = three_classes("hinge", width)[1]
    targets = np.column_stack([VALUES, VALUES + 1, VALUES[::-1]])
    parameters = [0.1, 0.5, 0.9] if name == "quantile" else [PARAMETER] * 3
    return VALUE_LOSSES[name].of(targets, parameters, [width, 0.5 * width, 2 * width]), decisions


def derivatives(loss, decisions, n_threads=1):
    """Return what the core says of rows with the weight one."""
    return loss.derivatives(decisions, np.ones(len(decisions)), n_threads)


def values(loss, decisions):
    """Return the loss of each row, from the core: one column if outputs are coupled."""
    one = np.ones(1)
    each = [
        loss.take(slice(i, i + 1)).derivatives(decisions[i : i + 1], one, 1)[0]
        for i in range(len(decisions))
    ]
    return np.stack(each)


CASES = {name: (case, name) for name in NAMES}
CASES |= {f"{name} of three classes": (three_classes, name) for name in CLASS_LOSSES}
CASES |= {f"{name} of three targets": (three_values, name) for name in VALUE_LOSSES}
EVERY_CASE = pytest.mark.parametrize(("make", "name"), CASES.values(), ids=CASES)


def test_every_loss_of_the_core_is_solved_for():
    assert sorted(CLASS_LOSSES) == sorted(_core.class_losses())
    # In the passes, a squared error is a Huber loss whose line begins beyond all targets.
    assert sorted({*VALUE_LOSSES} - {"squared_error"}) == sorted(_core.target_losses())
    assert all(loss.name == name for name, loss in (CLASS_LOSSES | VALUE_LOSSES).items())
    assert len(set(NAMES)) == len(NAMES)


@EVERY_LOSS
def test_loss_without_smoothing_is_the_reference(name):
    loss, targets, parameter = solver_loss(name, width=1e-9)
    value, pull = getattr(reference, name)(targets, DECISIONS, parameter)
    total, slopes, _ = derivatives(loss, DECISIONS[:, None])
    assert_allclose(total, value.sum(), atol=1e-7)
    assert_allclose(slopes[:, 0], -pull, atol=1e-8)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_several_classes_are_one_problem_against_the_rest_each(name):
    loss, decisions = three_classes(name, 0.5)
    total, slopes, curvatures = derivatives(loss, decisions)
    for k in range(3):
        alone = CLASS_LOSSES[name].of((loss.codes == k).astype(np.int8), [1], 0.5)
        found = derivatives(alone, decisions[:, k : k + 1])
        assert_array_equal(found[0], total[k : k + 1])
        assert_array_equal(found[1][:, 0], slopes[:, k])
        assert_array_equal(found[2][:, 0], curvatures[:, k])


@EVERY_CASE
def test_shapes(make, name):
    loss, decisions = make(name, 0.5)
    total, slopes, curvatures = derivatives(loss, decisions)
    assert slopes.shape == curvatures.shape == decisions.shape == (60, loss.n_outputs)
    assert total.shape == (1 if loss.coupled else loss.n_outputs,)
    near = loss.near(decisions, 1.0, 1)
    assert near.shape == (60,)
    assert near.dtype == bool


@EVERY_CASE
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_core_computes_the_formulas(make, name, n_threads):
    loss, decisions = make(name, 0.3)
    plain = formula(loss)
    c = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    total, slopes, curvatures = loss.derivatives(decisions, c, n_threads)
    expected_slopes, expected_curvatures = plain.derivatives(decisions)
    assert_allclose(total, c @ plain.values(decisions), rtol=1e-12)
    assert_allclose(slopes, c[:, None] * expected_slopes, rtol=1e-12, atol=1e-15)
    assert_allclose(curvatures, c[:, None] * expected_curvatures, rtol=1e-12, atol=1e-15)
    for reach in (0.0, 1.0, 2.0):
        near = loss.near(decisions, reach, n_threads)
        assert_array_equal(near, plain.near(decisions, reach))


@EVERY_CASE
def test_derivatives_along_a_change_are_those_of_the_formulas(make, name):
    loss, decisions = make(name, 0.3)
    plain, c = formula(loss), np.random.default_rng(1).uniform(0.5, 2.0, 60)
    change = np.cos(decisions)
    length = np.full(1 if loss.coupled else loss.n_outputs, 0.5)
    first, second = loss.along(decisions, change, length, c, 1)
    slopes, curvatures = plain.derivatives(decisions + 0.5 * change)
    expected = (c[:, None] * change * slopes).sum(axis=0)
    assert_allclose(first, expected, rtol=1e-10, atol=1e-12)
    if loss.coupled:  # exact, unlike the bound
        matrices = plain.second(decisions + 0.5 * change)
        curvature = np.einsum("i,io,iop,ip->", c, change, matrices, change)
        assert_allclose(second.sum(), curvature, rtol=1e-10)
    else:
        expected = (c[:, None] * change**2 * curvatures).sum(axis=0)
        assert_allclose(second, expected, rtol=1e-12)
    step = 1e-5
    above, below = (loss.along(decisions, change, length + h, c, 1)[0] for h in (step, -step))
    rise = (above - below).sum() / (2 * step)
    # Rows that pass a kink of the slope in between add little.
    assert_allclose(second.sum(), rise, rtol=0.02, atol=1e-3)
    if loss.n_outputs > 1 and not loss.coupled:  # outputs without a length are left out
        length[0] = np.nan
        some = np.array(loss.along(decisions, change, length, c, 1))
        assert_array_equal(some[:, 0], 0.0)
        assert_array_equal(some[:, 1:], [first[1:], second[1:]])


@EVERY_CASE
@pytest.mark.parametrize("width", [0.05, 0.5])
def test_slopes_and_curvatures_are_finite_differences(make, name, width):
    loss, decisions = make(name, width)
    _, slopes, curvatures = derivatives(loss, decisions)
    step, smooth_share = 1e-6, []
    for k in range(loss.n_outputs):
        change = np.zeros_like(decisions)
        change[:, k] = step
        above, below = decisions + change, decisions - change
        rise = (values(loss, above) - values(loss, below)).sum(axis=1)
        assert_allclose(slopes[:, k], rise / (2 * step), atol=1e-4)
        (_, slope_above, after), (_, slope_below, before) = (
            derivatives(loss, above),
            derivatives(loss, below),
        )
        curvature = (slope_above - slope_below)[:, k] / (2 * step)
        smooth = np.isclose(before[:, k], after[:, k], atol=1e-4)  # no kink of the slope in between
        smooth_share.append(smooth.mean())
        if loss.coupled:
            assert (curvatures[:, k] >= curvature - 1e-6).all()  # a bound
        else:
            assert_allclose(curvatures[smooth, k], curvature[smooth], atol=1e-3)
        assert (curvature <= loss.largest_curvature + 1e-3).all()
    assert np.count_nonzero(curvatures) or name == "quantile"  # 0.05 around one of 60 numbers
    assert np.min(smooth_share) > 0.9


def test_the_bound_of_a_coupled_loss_is_above_its_second_derivative():
    loss, decisions = three_classes("log_loss", 0.5)
    _, _, bounds = derivatives(loss, decisions)
    for bound, matrix in zip(bounds, formula(loss).second(decisions), strict=True):
        assert np.linalg.eigvalsh(np.diag(bound) - matrix).min() > -1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 1.0])
def test_largest_curvature_is_reached(epsilon):
    loss = VALUE_LOSSES["epsilon_insensitive"].of(np.zeros((1001, 1)), [epsilon], [0.5])
    _, _, curvatures = derivatives(loss, np.linspace(-2, 2, 1001)[:, None])
    assert curvatures.max() == loss.largest_curvature


@EVERY_CASE
@pytest.mark.parametrize("chosen", [np.arange(0, 60, 3), slice(10, 20)], ids=["array", "slice"])
def test_losses_of_chosen_rows(make, name, chosen):
    loss, decisions = make(name, 0.5)
    total, *some_rows = derivatives(loss.take(chosen), decisions[chosen])
    assert_allclose(total, formula(loss).values(decisions)[chosen].sum(axis=0), rtol=1e-12)
    for some, of_all in zip(some_rows, derivatives(loss, decisions)[1:], strict=True):
        assert_array_equal(some, of_all[chosen])


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("width", [0.05, 0.5])
def test_rows_that_are_not_near_have_no_slope_and_get_none_soon(name, width):
    loss, decisions = case(name, width)
    far = ~loss.near(decisions, 2.0, 1)
    for change in (-0.99 * width, 0.0, 0.99 * width):
        assert not derivatives(loss, decisions + change)[1][far].any()
    assert far.any() == (width < 0.1 or name in CLASS_LOSSES)
    assert (loss.near(decisions, 1.0, 1) <= loss.near(decisions, 2.0, 1)).all()


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_rows_are_near_if_they_are_near_for_one_class(name):
    loss, decisions = three_classes(name, 0.5)
    decisions -= 4.0
    decisions[np.arange(60), loss.codes] += 6.0
    alone = [
        CLASS_LOSSES[name].of((loss.codes == k).astype(np.int8), [1], 0.5).near(column, 2.0, 1)
        for k, column in enumerate(np.split(decisions, 3, axis=1))
    ]
    near = loss.near(decisions, 2.0, 1)
    assert_array_equal(near, np.any(alone, axis=0))
    assert 0 < near.mean() < 1


def test_losses_of_targets_have_the_widths_of_the_choices():
    X, y = friedman(50)
    rows, choices = checked_rows(X), Choices(hinge_width=0.25, relative_width=0.5)
    values = value_targets(rows, y, None, "epsilon_insensitive", (0.1,))[1]
    loss = values.solver_loss(choices)
    assert (loss.epsilon, loss.widths) == (0.1, 0.5 * np.median(np.abs(values.values)))
    assert_array_equal(loss.targets, values.values)
    classes = class_targets(rows, np.arange(50) % 3, None, None, "hinge")[1]
    loss = classes.solver_loss(choices)
    assert (loss.positives, loss.width) == ((0, 1, 2), 0.25)
    assert_array_equal(loss.codes, np.arange(50) % 3)


@EVERY_LOSS
def test_slope_of_the_reference_is_the_finite_difference_of_its_value(name):
    _, targets, parameter = solver_loss(name, width=1.0)
    loss, step = getattr(reference, name), 1e-6
    rise = (
        loss(targets, DECISIONS + step, parameter)[0]
        - loss(targets, DECISIONS - step, parameter)[0]
    )
    assert_allclose(loss(targets, DECISIONS, parameter)[1], -rise / (2 * step), atol=1e-8)


def step_of_the_core(name, target, decision, weight):
    """Make one step from a state with this decision value; return the new coefficient or zero."""
    row = np.zeros((1, 1))
    trainer = _core.Trainer(
        n_features=1,
        budget=10,
        gamma=1.0,
        alpha=1.0,
        maintenance="merge",
        fit_intercept=False,
        seed=0,
        dtype="float64",
    )
    state = trainer.state() | {
        "vectors": row,
        "coefficients": np.array([decision]),
        "births": np.array([1]),
        "steps": 1,
        "weight": 1.0,
    }
    trainer.restore(**state)
    rows, weights = _core.Rows.dense(row), np.array([weight])
    if name in _core.class_losses():
        code = np.array([target > 0], dtype=np.int32)
        _core.train_pass([trainer], rows, name, code, [1], np.ones(2), weights, 1)
    else:
        targets = np.array([target], dtype=float)
        _core.train_pass_on_targets(trainer, rows, name, PARAMETER, targets, weights)
    state = trainer.state()
    assert state["steps"] == 2
    added = state["coefficients"][1:]
    return added[0] if len(added) else 0.0


@pytest.mark.parametrize("name", _core.class_losses() + _core.target_losses())
def test_step_of_the_core_is_minus_the_slope_of_the_reference(name):
    _, targets, parameter = solver_loss(name, width=1.0)
    pull = getattr(reference, name)(targets, DECISIONS, parameter)[1]
    steps = [step_of_the_core(name, *row, 0.75) for row in zip(targets, DECISIONS, strict=True)]
    assert_allclose(steps, 0.75 * pull, rtol=1e-6, atol=1e-12)
    assert len(np.unique(pull)) > 1  # some rows have a loss and some have none


def test_small_slopes_are_not_near():
    for n_classes, shape in ((2, (100, 1)), (3, (100, 3))):
        codes = (np.arange(100) % n_classes).astype(np.int8)
        positives = [1] if n_classes == 2 else [0, 1, 2]
        loss = CLASS_LOSSES["log_loss"].of(codes, positives, 0.5)
        decisions = 4 * np.random.default_rng(0).normal(size=shape)
        slopes = np.abs(derivatives(loss, decisions)[1]).max(axis=1)
        near = loss.near(decisions, 2.0, 1)
        assert slopes[~near].max() < 1 / (1 + np.e) < slopes[near].min() * (1 + 1e-6)


def test_less_smoothing_is_closer_to_the_exact_svm(monkeypatch):
    X, y = make_classification(2100, 10, n_informative=6, flip_y=0.05, random_state=0)
    train, test = slice(0, 100), slice(100, None)
    exact = SVC(gamma=0.1).fit(X[train], y[train]).decision_function(X[test])

    def error(width):  # of a model that may keep all rows as vectors
        choices = Choices(hinge_width=width)
        monkeypatch.setattr(
            settings, "Settings", lambda **given: Settings(**given | {"choices": choices})
        )
        clf = BudgetedSVC(100, gamma=0.1, random_state=0).fit(X[train], y[train])
        return np.abs(clf.decision_function(X[test]) - exact).mean()

    assert error(0.02) < 0.8 * error(0.1) < 0.8 * 0.5 * error(0.5)
