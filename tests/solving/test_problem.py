"""The problem: its objective and derivatives, and the rows that stand for all rows that bend."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import PROBLEMS, Objective, class_problem, coupled_problem

from pocketsvm.solving import kernel
from pocketsvm.solving.problem import Problem, thinned

ALL_PROBLEMS = PROBLEMS | {"coupled classes": coupled_problem}
EVERY_PROBLEM = pytest.mark.parametrize("make", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)


def some_place(problem, seed=0, scale=1.0):
    return problem.place(scale * np.random.default_rng(seed).normal(size=problem.shape))


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_and_gradient_are_those_of_the_formula(make, fit_intercept, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 12 * 64)  # several parts
    vectors, sample = make()
    problem = Problem(vectors, sample, fit_intercept, 1)
    place = some_place(problem)
    slopes = problem.slopes(place)
    value, gradient = Objective(vectors, sample, fit_intercept)(place.point)
    assert slopes.objective.shape == (1 if sample.loss.coupled else problem.shape[0],)
    assert_allclose(slopes.objective.sum(), value, rtol=1e-6)
    assert_allclose(slopes.gradient, gradient, atol=1e-4)


def test_the_tilt_adds_to_the_objective_with_the_intercept():
    vectors, sample = class_problem()
    tilted = Problem(vectors, replace(sample, tilt=3.0), True, 1)
    place, level = some_place(tilted), Problem(vectors, sample, True, 1)
    added = 3.0 * place.point[:, -1]
    assert_allclose(tilted.objective(place), level.objective(place) + added)
    assert_allclose(tilted.slopes(place).objective, tilted.objective(place))


@EVERY_PROBLEM
def test_the_zero_model_needs_no_kernel_values(make):
    problem = Problem(*make(), True, 1)
    start, place = problem.start(), problem.place(np.zeros(problem.shape))
    assert_array_equal(start.point, place.point)
    assert_array_equal(start.penalised, place.penalised)
    assert_array_equal(start.decisions, place.decisions)


@EVERY_PROBLEM
def test_slope_along_a_step_is_a_finite_difference(make):
    vectors, sample = make()
    problem = Problem(vectors, sample, True, 1)
    place, step = some_place(problem), some_place(problem, 1, 0.1)
    n_losses = len(problem.slopes(place).objective)
    length, small = np.full(n_losses, 0.3), 1e-5
    slope, bend = problem.slope_along(place, step, length)
    above, below = (
        problem.slopes(place.plus(length + sign * small, step)).objective for sign in (1, -1)
    )
    assert_allclose(slope, (above - below) / (2 * small), rtol=1e-4, atol=1e-2)
    steeper, flatter = (problem.slope_along(place, step, length + s * small)[0] for s in (1, -1))
    change = (steeper - flatter) / (2 * small)
    assert_allclose(bend, change, rtol=0.05, atol=0.1)


def test_places_add_up():
    vectors, sample = PROBLEMS["four classes"]()
    problem = Problem(vectors, sample, True, 1)
    place, step, length = some_place(problem), some_place(problem, 1), np.arange(4.0)
    found = place.plus(length, step)
    expected = problem.place(place.point + length[:, None] * step.point)
    assert_array_equal(found.point, expected.point)
    assert_allclose(found.decisions, expected.decisions, atol=1e-10)
    assert_allclose(found.penalised, expected.penalised, atol=1e-10)


@EVERY_PROBLEM
def test_factor_is_that_of_the_second_derivative(make):
    vectors, sample = make()
    problem = Problem(vectors, sample, True, 1)
    is_class = hasattr(sample.loss, "codes")
    place = some_place(problem, scale=1.0 if is_class else 0.1)  # where many rows bend
    curvatures = problem.curvatures(place.decisions)
    bends = sample.loss.derivatives(place.decisions)[1]
    assert_allclose(curvatures, bends.mean(axis=1) * sample.c)
    assert np.count_nonzero(curvatures)
    factor = problem.factor(curvatures, np.random.default_rng(0), rows_per_vector=1000)
    objective = Objective(vectors, sample)
    k = np.column_stack([objective.k, np.ones(len(curvatures))])
    second = k.T @ (curvatures[:, None] * k)
    second[:-1, :-1] += objective.K
    right = np.random.default_rng(1).normal(size=problem.shape)
    assert_allclose(factor.solve(right) @ second, right, rtol=1e-2, atol=1e-2)


# --- thinned rows ---------------------------------------------------------------------------------


def test_few_rows_are_not_thinned():
    curvatures = np.array([0.0, 1.0, 0.0, 2.0])
    assert thinned(curvatures, 2, np.random.default_rng(0)) is curvatures


def test_drawn_rows_have_the_curvature_of_all():
    curvatures = np.random.default_rng(0).uniform(size=1000)
    curvatures[::2] = 0.0
    thin = thinned(curvatures, 100, np.random.default_rng(1))
    assert np.count_nonzero(thin) == 100
    assert not thin[::2].any()
    assert_allclose(thin.sum(), curvatures.sum())
    other = thinned(curvatures, 100, np.random.default_rng(2))
    assert not np.array_equal(thin, other)


def test_thinned_rows_estimate_the_second_derivative():
    vectors, sample = class_problem(2000)
    k = Objective(vectors, sample).k
    curvatures = np.random.default_rng(0).uniform(size=2000)
    exact = k.T @ (curvatures[:, None] * k)
    draws = [thinned(curvatures, 200, np.random.default_rng(seed)) for seed in range(100)]
    mean = np.mean([k.T @ (thin[:, None] * k) for thin in draws], axis=0)
    assert_allclose(mean, exact, rtol=0.1, atol=0.02 * exact.max())
