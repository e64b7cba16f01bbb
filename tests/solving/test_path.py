"""A path of C: each model is the one that the solver finds for this C alone."""

from dataclasses import replace

import numpy as np
import pytest
from models import blobs, friedman, moons, ready_for
from numpy.testing import assert_allclose, assert_array_equal
from pocketsvm.solving.descent import minimise
from pocketsvm.solving.factor import Penalty

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.solving import path
from pocketsvm.solving.coverage import intercept_shifts
from pocketsvm.solving.path import Shared, solve_path
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.readings import read
from pocketsvm.solving.sample import sample_of
from pocketsvm.training.passes import passes

FACTORS = [0.01, 0.1, 1.0, 10.0]


def trained(machine, X, y):
    """Return the vectors of a machine, its rows, targets and settings."""
    found = ready_for(machine, X, y)
    return passes(*found, lambda _: False), *found


def path_of(found, factors, *, moves):
    """Return the models of one path."""
    (models,) = solve_path(*found, factors, moves=moves)
    return models


def objective(model, rows, targets, settings, factor):
    """Return the objective of a model for a multiple of C."""
    sample = sample_of(rows, targets, replace(settings, alpha=settings.alpha / factor))
    point = np.column_stack([model.dual_coef, model.intercept - targets.offset])
    penalty = Penalty(model.vectors, model.gamma, 1).product(model.dual_coef)
    losses = read(model.vectors, point, sample, 1).losses.sum()
    return losses + 0.5 * (penalty * model.dual_coef).sum()


@pytest.mark.parametrize(
    ("machine", "data"),
    [
        (BudgetedSVC(20, 8.0, gamma=1.0, max_iter=3, random_state=0), moons),
        (BudgetedSVC(30, 8.0, gamma=0.1, max_iter=3, random_state=0), blobs),
        (BudgetedSVR(30, 1.0, gamma=0.1, max_iter=3, random_state=0), friedman),
    ],
)
def test_each_model_minimises_the_objective_of_its_c(machine, data):
    found = trained(machine, *data())
    models = path_of(found, FACTORS, moves=False)
    table = [[objective(model, *found[1:], factor) for model in models] for factor in FACTORS]
    assert_array_equal(np.argmin(table, axis=1), range(len(FACTORS)))
    for k, factor in enumerate(FACTORS):
        (alone,) = path_of(found, [factor], moves=False)
        best = objective(alone, *found[1:], factor)
        assert_allclose(table[k][k], best, rtol=0.02)


def test_the_models_of_a_path_share_their_vectors():
    found = trained(BudgetedSVC(20, 8.0, gamma=1.0, max_iter=3, random_state=0), *moons())
    models = path_of(found, FACTORS, moves=False)
    assert all(model.vectors is models[0].vectors for model in models)
    assert len(models[0].vectors) == 20


def test_a_tight_path_reaches_the_minimum(monkeypatch):
    monkeypatch.setattr(path, "TOLERANCE", 1e-9)
    monkeypatch.setattr(path, "STEPS", 200)
    found = trained(BudgetedSVC(20, 8.0, gamma=1.0, max_iter=3, random_state=0), *moons())
    *_, last = path_of(found, FACTORS, moves=False)
    *_, again = path_of(found, [1.0, 3.0, 10.0], moves=False)
    first, second = (objective(model, *found[1:], 10.0) for model in (last, again))
    assert_allclose(first, second, rtol=1e-5)


def test_vectors_move_where_that_pays():
    svr = BudgetedSVR(20, 1.0, gamma=0.1, max_iter=3, random_state=0)
    found = trained(svr, *friedman())
    still, moved = (path_of(found, FACTORS, moves=moves) for moves in (False, True))
    for factor, one, other in list(zip(FACTORS, still, moved, strict=True))[1:]:
        before, after = (objective(model, *found[1:], factor) for model in (one, other))
        assert after < before
    assert all(model.vectors is moved[0].vectors for model in moved)


def test_quantiles_are_shifted_as_in_the_final_fit(monkeypatch):
    svr = BudgetedSVR(
        100, 10.0, gamma=0.1, loss="quantile", quantile=[0.1, 0.9], max_iter=3, random_state=0
    )
    found = trained(svr, *friedman())  # 400 rows: all of them tell how far rows shift
    _, rows, targets, settings = found
    shifted = path_of(found, FACTORS, moves=False)
    monkeypatch.setattr(path, "intercept_shifts", lambda *_: 0.0)
    for factor, before, after in zip(
        FACTORS, path_of(found, FACTORS, moves=False), shifted, strict=True
    ):
        sample = sample_of(rows, targets, replace(settings, alpha=settings.alpha / factor))
        point = np.column_stack([before.dual_coef, before.intercept - targets.offset])
        random = np.random.default_rng(0)
        expected = intercept_shifts(before.vectors, point, sample, random, 1)
        assert_allclose(after.intercept - before.intercept, expected, rtol=1e-6)
        assert expected[0] < 0 < expected[1]  # the quantiles were too close to each other


def test_a_regression_without_vectors_has_a_path():
    svr = BudgetedSVR(10, epsilon=100.0, gamma=1.0, random_state=0)
    models = path_of(trained(svr, *friedman()), FACTORS, moves=True)
    assert [model.dual_coef.shape for model in models] == [(1, 0)] * len(FACTORS)


def shared_paths(svc, y):
    """Return models of two folds with the vectors of the rows that train in both."""
    X, _ = moons()
    every = np.arange(len(y)) % 3
    common = every == 2
    found = trained(svc, X[common], y[common])
    rows, targets, _ = ready_for(svc, X, y)
    counts = [every != 0, every != 1]
    n_rows = int(counts[0].sum())
    settings = replace(found[3], alpha=1.0 / (n_rows * svc.C))
    shared = Shared(rows, targets, n_rows, counts)
    paths = solve_path(*found[:3], settings, FACTORS, moves=False, shared=shared)
    return paths, shared, settings


def test_each_fold_of_a_shared_path_minimises_the_objective_of_its_rows(monkeypatch):
    monkeypatch.setattr(path, "TOLERANCE", 1e-6)
    monkeypatch.setattr(path, "STEPS", 100)
    svc = BudgetedSVC(20, 8.0, gamma=1.0, max_iter=3, random_state=0)
    paths, shared, settings = shared_paths(svc, moons()[1])
    for counted, models in zip(shared.counts, paths, strict=True):
        rows = shared.rows.take(counted)
        targets = shared.targets.take(counted, np.ones(int(counted.sum())))
        for factor, model in zip(FACTORS, models, strict=True):
            sample = sample_of(rows, targets, replace(settings, alpha=settings.alpha / factor))
            found = minimise(
                Problem(model.vectors, sample, True, 1), np.random.default_rng(0), 1e-6
            )
            assert_allclose(
                objective(model, rows, targets, settings, factor), found.objective, 2e-3
            )


def test_rows_that_do_not_count_have_no_part_in_a_shared_path():
    svc = BudgetedSVC(20, 8.0, gamma=1.0, max_iter=3, random_state=0)
    _, y = moons()
    other = np.where(np.arange(len(y)) % 3 == 0, 1 - y, y)
    (first, second), (changed, third) = (shared_paths(svc, labels)[0] for labels in (y, other))
    # The rows with other labels do not train in the first fold.
    for one, two in zip(first, changed, strict=True):
        assert_array_equal(one.vectors, two.vectors)
        assert_array_equal(one.dual_coef, two.dual_coef)
    assert any(
        np.abs(one.dual_coef - two.dual_coef).max() > np.abs(one.dual_coef).max()
        for one, two in zip(second, third, strict=True)
    )
