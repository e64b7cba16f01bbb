"""Losses: the solver, the core and the reference agree about every loss.

The tests take the names from the core, so a new loss needs no edit here: it needs a type in
`pocketsvm.solving.losses` and a function of the same name in `reference.py`.
"""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC, _core
from pocketsvm.solving.losses import CLASS_LOSSES, VALUE_LOSSES, Hinge

PARAMETER = 0.25  # of the losses on values
DECISIONS = np.linspace(-3.0, 3.0, 60)  # none of them at a kink
LABELS = np.where(np.arange(60) % 2, 1, -1).astype(np.int8)
VALUES = np.random.default_rng(0).normal(size=60)
NAMES = _core.class_losses() + _core.target_losses()
EVERY_LOSS = pytest.mark.parametrize("name", NAMES)


def solver_loss(name, width):
    """Return the solver's loss of some rows, their targets, and the loss's parameter."""
    if name in CLASS_LOSSES:
        loss = CLASS_LOSSES[name].of(LABELS)
        return loss.widened(width / loss.width), LABELS, None
    return VALUE_LOSSES[name].of(VALUES, PARAMETER, width), VALUES, PARAMETER


def test_every_loss_of_the_core_is_solved_for():
    assert sorted(CLASS_LOSSES) == sorted(_core.class_losses())
    assert sorted(VALUE_LOSSES) == sorted(_core.target_losses())
    assert all(loss.name == name for name, loss in (CLASS_LOSSES | VALUE_LOSSES).items())
    assert len(set(NAMES)) == len(NAMES)


@EVERY_LOSS
def test_loss_without_smoothing_is_the_reference(name):
    loss, targets, parameter = solver_loss(name, width=1e-9)
    value, pull = getattr(reference, name)(targets, DECISIONS, parameter)
    assert_allclose(loss.values(DECISIONS), value, atol=1e-8)
    assert_allclose(loss.slopes(DECISIONS), -pull, atol=1e-8)


@EVERY_LOSS
@pytest.mark.parametrize("width", [0.05, 0.5])
def test_slopes_and_curvatures_are_finite_differences(name, width):
    loss, _, _ = solver_loss(name, width)
    step = 1e-6
    below, above = DECISIONS - step, DECISIONS + step
    rise = loss.values(above) - loss.values(below)
    assert_allclose(loss.slopes(DECISIONS), rise / (2 * step), atol=1e-4)
    bend = loss.slopes(above) - loss.slopes(below)
    smooth = loss.curvatures(below) == loss.curvatures(above)  # no kink of the slope in between
    assert_allclose(loss.curvatures(DECISIONS)[smooth], (bend / (2 * step))[smooth], atol=1e-3)
    assert np.count_nonzero(loss.curvatures(DECISIONS))
    assert smooth.mean() > 0.9


@EVERY_LOSS
def test_losses_of_chosen_and_near_rows(name):
    loss, _, _ = solver_loss(name, width=0.5)
    chosen = np.arange(0, len(DECISIONS), 3)
    part = loss.take(chosen)
    assert_allclose(part.values(DECISIONS[chosen]), loss.values(DECISIONS)[chosen])
    near = loss.near(DECISIONS, 2.0)
    assert np.count_nonzero(loss.slopes(DECISIONS)[~near]) == 0


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


@EVERY_LOSS
def test_step_of_the_core_is_minus_the_slope_of_the_reference(name):
    _, targets, parameter = solver_loss(name, width=1.0)
    pull = getattr(reference, name)(targets, DECISIONS, parameter)[1]
    steps = [step_of_the_core(name, *row, 0.75) for row in zip(targets, DECISIONS, strict=True)]
    assert_allclose(steps, 0.75 * pull, rtol=1e-6, atol=1e-12)
    assert len(np.unique(pull)) > 1  # some rows have a loss and some have none


def test_less_smoothing_is_closer_to_the_exact_svm(monkeypatch):
    X, y = make_classification(2100, 10, n_informative=6, flip_y=0.05, random_state=0)
    train, test = slice(0, 100), slice(100, None)
    exact = SVC(gamma=0.1).fit(X[train], y[train]).decision_function(X[test])

    def error(width):  # of a model that keeps all rows as vectors
        monkeypatch.setattr(Hinge, "of", lambda labels: Hinge(labels, width))
        clf = BudgetedSVC(100, gamma=0.1, random_state=0).fit(X[train], y[train])
        return np.abs(clf.decision_function(X[test]) - exact).mean()

    assert error(0.02) < 0.75 * error(0.1) < 0.75 * 0.5 * error(0.5)
