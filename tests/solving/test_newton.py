"""Newton's method on small problems: the same solutions as those of conjugate gradients."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pocketsvm.solving.descent import MOST_STEPS, SMALL_TOLERANCE, minimise, resume
from solver_problems import PROBLEMS, Objective, class_problem, coupled_problem, value_problem
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedSVC, _core
from pocketsvm.solving import problem
from pocketsvm.solving.problem import Problem

EVERY_PROBLEM = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)


def small(vectors, sample, fit_intercept=True):
    found = Problem(vectors, replace(sample, few=True), fit_intercept, 1)
    assert found.small is not None
    return found


def random():
    return np.random.default_rng(0)


def assert_optimal(solution, vectors, sample, fit_intercept=True):
    objective = Objective(vectors, sample, fit_intercept)
    value, gradient = objective(solution.place.point)
    assert_allclose(solution.objective, value, rtol=5e-5)
    scale = sample.c.sum()
    assert_allclose(solution.slopes.gradient / scale, gradient / scale, atol=1e-5)
    with threadpool_limits(1):
        best = objective.best_from(solution.place.point)
    assert best <= value <= best * (1 + 2e-4)


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_general_solver_does_not_find_a_better_solution(make, fit_intercept, C, dtype):
    vectors, sample = make(C=C, dtype=dtype)
    solution = minimise(small(vectors, sample, fit_intercept), random(), 0.05)
    assert_optimal(solution, vectors, sample, fit_intercept)
    assert solution.remaining <= SMALL_TOLERANCE
    assert 0 < solution.steps < MOST_STEPS
    assert solution.place.point[:, -1].any() == fit_intercept


@pytest.mark.parametrize("make", [class_problem, value_problem])
@pytest.mark.parametrize("n_vectors", [1, 7, 8, 9, 150, 300])
def test_any_number_of_vectors_is_solved(make, n_vectors):
    vectors, sample = make(n_vectors=n_vectors)
    assert_optimal(minimise(small(vectors, sample), random(), 0.05), vectors, sample)


@EVERY_PROBLEM
def test_the_place_is_that_of_the_point(make):
    vectors, sample = make()
    found = small(vectors, sample)
    solution = minimise(found, random(), 0.05)
    place = found.place(solution.place.point)
    assert_allclose(solution.place.decisions, place.decisions, rtol=1e-9, atol=1e-9)
    assert_allclose(solution.place.penalised, place.penalised, rtol=1e-9, atol=1e-9)
    slopes = found.slopes(place)
    assert_allclose(solution.slopes.objective, slopes.objective, rtol=1e-9)
    assert_allclose(solution.slopes.gradient, slopes.gradient, atol=1e-6)


@EVERY_PROBLEM
def test_resuming_after_vectors_moved_finds_their_solution(make):
    vectors, sample = make()
    decisions = minimise(small(vectors, sample), random(), 0.05).place.decisions
    moved = vectors + 0.05 * random().normal(size=vectors.shape)
    solution = resume(small(moved, sample), decisions, random())
    assert_optimal(solution, moved, sample)
    assert solution.steps <= 8


def test_the_tilt_moves_the_intercept():
    vectors, sample = class_problem()
    points = [
        minimise(small(vectors, replace(sample, tilt=tilt)), random(), 0.05).place.point[0, -1]
        for tilt in (-50.0, 0.0, 50.0)
    ]
    assert points[0] > points[1] > points[2]


def test_equal_vectors_are_solved():
    vectors, sample = class_problem(n_vectors=12)
    solution = minimise(small(np.repeat(vectors[:3], 4, axis=0), sample), random(), 0.05)
    assert np.isfinite(solution.place.point).all()
    alone = minimise(small(vectors[:3], sample), random(), 0.05)
    assert_allclose(solution.objective, alone.objective, rtol=1e-3)


def test_other_problems_are_not_small(monkeypatch):
    vectors, sample = class_problem()
    assert Problem(vectors, sample, True, 1).small is None
    few = replace(sample, few=True)
    assert Problem(np.repeat(vectors, 30, axis=0), few, True, 1).small is None
    vectors, coupled = coupled_problem()
    assert Problem(vectors, replace(coupled, few=True), True, 1).small is None
    monkeypatch.setattr(problem, "SMALL_VALUES", len(sample.c) * len(vectors) - 1)
    assert Problem(vectors, few, True, 1).small is None


def test_wrong_arguments_are_refused():
    vectors, sample = class_problem()
    found = small(vectors, sample)
    kernel, losses = next(found.rows.blocks())[1], sample.loss.core
    rest = 0.0, True, 1.0, 1.0, None, 10, 1e-4
    penalty = found.penalty.matrix()
    with pytest.raises(ValueError, match="losses and c must have one entry per row of kernel, 300"):
        _core.solve_small(losses, kernel, penalty, sample.c[1:], *rest)
    with pytest.raises(ValueError, match="penalty must be square, with one column per column of"):
        _core.solve_small(losses, kernel, penalty[1:], sample.c, *rest)
    coupled = coupled_problem()[1].loss.core
    with pytest.raises(ValueError, match="the losses couple the outputs"):
        _core.solve_small(coupled, kernel, penalty, sample.c, *rest)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_end_the_solver(wrong):
    vectors, sample = class_problem()
    found = small(vectors, sample)
    kernel, losses = next(found.rows.blocks())[1], sample.loss.core
    penalty = found.penalty.matrix()
    penalty[0, 1] = penalty[1, 0] = wrong
    with pytest.raises(ValueError, match="kernel, penalty and c must be finite"):
        _core.solve_small(losses, kernel, penalty, sample.c, 0.0, True, 1.0, 1.0, None, 10, 1e-4)


def test_few_rows_are_solved_as_well_as_many(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4)).astype(np.float32)
    y = (X**2).sum(axis=1) + random.normal(size=600) > 4
    clf = BudgetedSVC(30, 10.0, random_state=0)
    few = clf.fit(X, y).decision_function(X)
    objective = clf.profile_.objective_after
    monkeypatch.setattr(problem, "SMALL_VALUES", 0)
    many = clf.fit(X, y).decision_function(X)
    assert clf.profile_.objective_after == pytest.approx(objective, rel=5e-3)
    assert np.mean((few > 0) == (many > 0)) > 0.98


def test_all_rows_are_vectors_if_they_fit_and_some_were_merged():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 3)).astype(np.float32), np.arange(90) % 4
    clf = BudgetedSVC(100, random_state=0).fit(X, y)
    assert clf.profile_.merges
    assert_array_equal(np.sort(clf.support_vectors_, axis=0), np.sort(X, axis=0))
