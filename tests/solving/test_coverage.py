"""Quantiles cover their share of rows that were not trained on."""

from dataclasses import replace

import numpy as np
import pytest
from exact_objective import Objective
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_pinball_loss
from solver_problems import value_problem

from pocketsvm import BudgetedSVR
from pocketsvm.backends.native import Native
from pocketsvm.solving.coverage import (
    conformal_quantile,
    covering,
    decisions_without_folds,
    folds_of,
    held_out,
)
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.value_losses import Quantile
from pocketsvm.training.settings import Choices

LEVELS = [0.1, 0.5, 0.9]


def quantile_problem(n=120, width=0.5, **changes):
    """Return vectors and rows; with this width, most rows lie on the quadratic part of the loss."""
    vectors, sample = value_problem(n=n, **changes)
    targets = np.repeat(sample.loss.targets, len(LEVELS), axis=1)
    return vectors, replace(sample, loss=Quantile.of(targets, LEVELS, [width] * len(LEVELS)))


def solved(vectors, sample):
    """Return the coefficients that minimise the objective."""
    objective = Objective(vectors, sample)
    return objective.minimum(np.zeros(objective.shape), tolerance=1e-10)[0]


def decisions(vectors, sample, point):
    return Problem(vectors, sample, True, Native()).iterate(point).decisions


def without_folds(vectors, sample, point, rows):
    problem = Problem(vectors, sample, True, Native())
    random = np.random.default_rng(0)
    return decisions_without_folds(problem, problem.iterate(point), rows, random, Choices())


def test_decisions_without_folds_are_those_of_models_fitted_without_them():
    vectors, sample = quantile_problem()
    point = solved(vectors, sample)
    rows = np.arange(0, 120, 3)
    without = without_folds(vectors, sample, point, rows)
    folds = folds_of(len(rows), Choices().held_parts, np.random.default_rng(0))
    assert len(folds) == 20
    for fold in folds:
        others = np.delete(np.arange(120), rows[fold])
        expected = decisions(vectors, sample, solved(vectors, sample.take(others)))[rows[fold]]
        assert_allclose(without[fold], expected, atol=0.01)
    assert np.abs(without - decisions(vectors, sample, point)[rows]).max() > 0.05


@pytest.mark.parametrize("are_folds_solved", [False, True])
def test_after_the_shift_rows_held_out_lie_below_in_the_right_proportion(are_folds_solved):
    vectors, sample = quantile_problem(n=400, width=0.05)
    held = np.arange(400) % 4 == 0
    point = solved(vectors, sample)
    options = {"have_moved": True, "are_folds_solved": are_folds_solved}
    random = np.random.default_rng(0)
    given = vectors, point, sample, held, random, Native(), Choices()
    shifted, loss = covering(*given, **options)
    found = decisions(vectors, sample, point)[held]
    if are_folds_solved:
        found = without_folds(vectors, sample, point, np.flatnonzero(held))
    found += shifted[:, -1] - point[:, -1]
    targets, c = sample.loss.targets[held], sample.c[held]
    assert_allclose(np.average(targets <= found, axis=0, weights=c), LEVELS, atol=0.02)
    expected = [
        mean_pinball_loss(y, f, sample_weight=c, alpha=level)
        for y, f, level in zip(targets.T, found.T, LEVELS, strict=True)
    ]
    assert_allclose(loss, sum(expected) * c.sum())


@pytest.mark.parametrize(("n_rows", "n_held"), [(4, 1), (90, 30), (600, 200), (9000, 1350)])
def test_few_rows_hold_out_a_larger_share(n_rows, n_held):
    assert np.count_nonzero(held_out(n_rows, Choices(), np.random.default_rng(0))) == n_held


@pytest.mark.parametrize(("n_rows", "share"), [(400, 0.3), (4000, 0.5)])
def test_which_rows_are_held_out_matters_little_if_no_vector_has_moved(n_rows, share):
    vectors, sample = quantile_problem(n=n_rows, width=0.05, n_vectors=30)
    point = solved(vectors, sample)

    def spread(have_moved):
        shifts = [
            covering(
                *(vectors, point, sample, held_out(n_rows, Choices(), random), random),
                *(Native(), Choices()),
                have_moved=have_moved,
            )[0][:, -1]
            for random in map(np.random.default_rng, range(8))
        ]
        return np.std(shifts, axis=0)

    assert (spread(False) < share * spread(True)).all()


def test_the_quantile_of_several_targets_covers_each_of_them():
    X, y = make_friedman1(5000, noise=1.0, random_state=0)
    both = np.column_stack([-y, y])
    model = BudgetedSVR(50, 10.0, loss="quantile", quantile=0.9, random_state=0)
    found = model.fit(X[:2500], both[:2500]).predict(X[2500:])
    assert_allclose(np.mean(both[2500:] <= found, axis=0), 0.9, atol=0.04)


def test_a_conformal_quantile_is_the_mean_share_below_a_new_value():
    assert conformal_quantile(np.arange(1.0, 10.0), np.ones(9), 0.3) == 3.0
    assert conformal_quantile(np.arange(9.0, 0.0, -1), np.full(9, 2.5), 0.9) == 9.0
    assert conformal_quantile(np.array([1.0, 2.0]), np.ones(2), 0.99) == 2.0
    random = np.random.default_rng(0)
    drawn = random.normal(size=(20_000, 10))
    below = [new <= conformal_quantile(np.array(some), np.ones(9), 0.8) for new, *some in drawn]
    assert abs(np.mean(below) - 0.8) < 0.01


@pytest.mark.parametrize(("n_rows", "C", "polish"), [(600, 100.0, True), (600, 10.0, "thorough")])
def test_quantiles_of_moved_vectors_cover_their_share_of_other_rows(n_rows, C, polish):
    """If the vectors had seen all rows, half of the others would lie between the quantiles."""
    covered, moves = [], []
    for seed in range(6):
        X, y = make_friedman1(n_rows + 4000, noise=1.0, random_state=seed)
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()
        model = BudgetedSVR(
            30, C, loss="quantile", quantile=[0.1, 0.9], polish=polish, random_state=seed
        ).fit(X[:n_rows], y[:n_rows])
        low, high = model.predict(X[n_rows:]).T
        covered.append(np.mean((y[n_rows:] > low) & (y[n_rows:] <= high)))
        moves.append(model.profile_.moves)
    assert np.mean(moves) > 10
    assert abs(np.mean(covered) - 0.8) < 0.05


def test_rows_elsewhere_are_covered_too():
    X, y = make_friedman1(30_000, noise=1.0, random_state=0)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()
    model = BudgetedSVR(20, 10.0, loss="quantile", quantile=[0.1, 0.9], random_state=0)
    found = model.fit(X[:12_000], y[:12_000]).predict(X[12_000:])
    assert model.profile_.moves > 0
    assert_allclose(np.mean(y[12_000:, None] <= found, axis=0), [0.1, 0.9], atol=0.02)


def test_without_an_intercept_nothing_is_shifted():
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    model = BudgetedSVR(20, loss="quantile", fit_intercept=False, random_state=0).fit(X, y)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("n_rows", [2, 3, 7, 10])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_of_few_rows_stay_close_to_their_targets(n_rows, level):
    random = np.random.default_rng(1)
    X = random.normal(size=(n_rows, 3))
    y = X[:, 0] + 0.1 * random.normal(size=n_rows)
    weights = np.ones(n_rows)
    weights[0] = 0.0
    for sample_weight in (None, weights) if n_rows > 2 else (None,):
        model = BudgetedSVR(20, loss="quantile", quantile=level, random_state=0)
        found = model.fit(X, y, sample_weight).predict(X)
        assert found.min() > y.min() - np.ptp(y)
        assert found.max() < y.max() + np.ptp(y)
