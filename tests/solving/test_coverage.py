"""Quantiles cover their share of rows that were not trained on."""

from dataclasses import replace

import numpy as np
import pytest
from exact_objective import Objective
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1
from solver_problems import value_problem

from pocketsvm import BudgetedSVR
from pocketsvm.backends.native import Native
from pocketsvm.solving.coverage import intercept_shifts, without_each_row
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.solve import Solver
from pocketsvm.solving.value_losses import Quantile

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
    return Problem(vectors, sample, True, Native()).place(point).decisions


def test_the_model_without_a_row_is_close_to_one_fitted_without_it():
    vectors, sample = quantile_problem()
    found = decisions(vectors, sample, solved(vectors, sample))
    without = without_each_row(vectors, sample, 1.0, found, Native())
    some = range(0, len(sample.c), 8)
    expected = []
    for row in some:
        point = solved(vectors, sample.take(np.delete(np.arange(len(sample.c)), row)))
        expected.append(decisions(vectors, sample, point)[row])
    change, expected_change = (without - found)[list(some)], np.array(expected) - found[list(some)]
    assert np.abs(expected_change).max() > 0.02
    assert_allclose(change, expected_change, atol=0.15 * np.abs(expected_change).max())


def test_after_the_shift_rows_lie_below_the_models_without_them_in_the_right_proportion():
    vectors, sample = quantile_problem(n=400, width=0.05)
    point = solved(vectors, sample)
    shifts = intercept_shifts(vectors, point, sample, np.random.default_rng(0), Native())
    found = decisions(vectors, sample, point)
    below = sample.loss.targets <= without_each_row(vectors, sample, 1.0, found, Native()) + shifts
    assert_allclose(np.average(below, axis=0, weights=sample.c), LEVELS, atol=0.01)


def test_a_sample_of_the_rows_gives_nearly_the_same_shift():
    vectors, sample = quantile_problem(n=4000, width=0.05, n_vectors=30)
    point = solved(vectors, sample)
    arguments = vectors, point, sample
    expected, found = (
        intercept_shifts(*arguments, np.random.default_rng(0), Native(), rows_per_vector)
        for rows_per_vector in (10**6, 32)
    )
    assert_allclose(found, expected, atol=4e-3)
    assert not np.array_equal(found, expected)


def test_quantiles_cover_their_share_of_other_rows(monkeypatch):
    X, y = make_friedman1(6000, noise=1.0, random_state=0)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()

    def errors():
        model = BudgetedSVR(
            200, 30.0, gamma=0.03, loss="quantile", quantile=[0.1, 0.9], random_state=0
        )
        found = model.fit(X[:2000], y[:2000]).predict(X[2000:])
        return np.abs(np.mean(y[2000:, None] <= found, axis=0) - [0.1, 0.9])

    shifted = errors()
    assert shifted.max() < 0.03
    monkeypatch.setattr(Solver, "covering", lambda solver, answer: answer)
    assert shifted.sum() < 0.6 * errors().sum()


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
