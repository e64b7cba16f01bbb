"""The problem: its objective and derivatives, Newton's steps, and rows that stand for others."""

from dataclasses import replace

import numpy as np
import pytest
from exact_objective import Objective
from models import ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from solver_problems import GAMMA, HINGE_WIDTH, PROBLEMS, class_problem, coupled_problem, in_numpy

from pocketsvm.backends import kernel
from pocketsvm.backends.native import Native
from pocketsvm.rows.checked import checked_rows
from pocketsvm.solving import problem as module
from pocketsvm.solving.conjugate import row_products
from pocketsvm.solving.pairs import PairwiseHinge
from pocketsvm.solving.problem import Problem, thinned
from pocketsvm.solving.sample import Sample
from pocketsvm.tasks.ranking import rank_targets

ALL_PROBLEMS = PROBLEMS | {"coupled classes": coupled_problem}
EVERY_PROBLEM = pytest.mark.parametrize("make", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
EACH_OUTPUT = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)


def ranking_problem(n_vectors=12):
    """Return some vectors and rows of queries."""
    X, y, qid = graded(20, 10, n_features=3)
    _, targets = rank_targets(checked_rows(X), y.astype(float), qid, None)
    loss = PairwiseHinge(targets.queries, HINGE_WIDTH)
    order = np.lexsort((y, qid))
    rows = ready_rows(X[order], GAMMA)
    return X[:n_vectors].copy(), Sample(rows, np.full(len(X), 3.0), loss)


def some_place(problem, seed=0, scale=1.0):
    return problem.iterate(scale * np.random.default_rng(seed).normal(size=problem.shape))


def bending_place(problem):
    """Return an iterate with a large working set."""
    is_class = hasattr(problem.sample.loss, "codes")
    iterate = some_place(problem, scale=1.0 if is_class else 0.1)
    assert np.count_nonzero(problem.derivatives(iterate).curvatures) > 50
    return iterate


def random():
    return np.random.default_rng(0)


# --- the objective --------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_and_gradient_are_those_of_the_formula(make, fit_intercept, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 12 * 64)  # several parts
    vectors, sample = make()
    problem = Problem(vectors, sample, fit_intercept, Native())
    iterate = some_place(problem)
    derivatives = problem.derivatives(iterate)
    value, gradient = Objective(vectors, sample, fit_intercept)(iterate.point)
    assert derivatives.objective.shape == (problem.n_losses,)
    assert_allclose(derivatives.objective.sum(), value, rtol=1e-6)
    assert_allclose(derivatives.gradient, gradient, atol=1e-4)
    assert_array_equal(problem.objective(iterate), derivatives.objective)


def test_objective_and_gradient_of_pairs_are_those_of_all_pairs():
    vectors, sample = ranking_problem()
    problem = Problem(vectors, sample, False, Native())
    iterate = some_place(problem)
    derivatives = problem.derivatives(iterate)
    value, gradient = Objective(vectors, sample, False)(iterate.point)
    assert_allclose(derivatives.objective.sum(), value, rtol=1e-6)
    assert_allclose(derivatives.gradient, gradient, atol=1e-4)


def test_the_tilt_adds_to_the_objective_with_the_intercept():
    vectors, sample = class_problem()
    tilted = Problem(vectors, replace(sample, tilt=3.0), True, Native())
    iterate, level = some_place(tilted), Problem(vectors, sample, True, Native())
    added = 3.0 * iterate.point[:, -1]
    assert_allclose(tilted.objective(iterate), level.objective(iterate) + added)
    change = tilted.derivatives(iterate).gradient - level.derivatives(iterate).gradient
    assert_allclose(change[:, -1], 3.0)


@EVERY_PROBLEM
def test_a_corrected_problem_has_the_gradient_given_and_the_same_curvature(make):
    vectors, sample = make()
    plain, corrected = (Problem(vectors, sample, True, Native()) for _ in range(2))
    here, there = some_place(plain), some_place(plain, 1)
    wanted = random().normal(size=plain.shape)
    known = corrected.corrected(here, wanted)
    derivatives = corrected.derivatives(here)
    assert_array_equal(known.gradient, wanted)
    assert_allclose(derivatives.gradient, wanted, atol=1e-9)
    assert_allclose(known.objective, derivatives.objective)
    assert_array_equal(known.slopes, derivatives.slopes)
    change = corrected.derivatives(there).gradient - derivatives.gradient
    plain_change = plain.derivatives(there).gradient - plain.derivatives(here).gradient
    assert_allclose(change, plain_change, atol=1e-9)
    # The objective has this gradient.
    step = some_place(plain, 2, 1e-6)
    rise = corrected.objective(here.plus(np.ones(plain.n_losses), step)).sum()
    rise -= corrected.objective(here.plus(-np.ones(plain.n_losses), step)).sum()
    assert rise / 2 == pytest.approx(np.sum(wanted * step.point), rel=1e-3)


@EVERY_PROBLEM
def test_the_zero_model_needs_no_kernel_values(make):
    problem = Problem(*make(), True, Native())
    zero, iterate = problem.zero(), problem.iterate(np.zeros(problem.shape))
    assert_array_equal(zero.point, iterate.point)
    assert_array_equal(zero.penalised, iterate.penalised)
    assert_array_equal(zero.decisions, iterate.decisions)


@EVERY_PROBLEM
def test_slope_along_a_step_is_a_finite_difference(make):
    vectors, sample = make()
    problem = Problem(vectors, sample, True, Native())
    problem.corrected(some_place(problem), random().normal(size=problem.shape))
    iterate, step = some_place(problem), some_place(problem, 1, 0.1)
    length, small = np.full(problem.n_losses, 0.3), 1e-5
    slope, curvature = problem.slope_along(iterate, step, length)
    above, below = (problem.objective(iterate.plus(length + s * small, step)) for s in (1, -1))
    assert_allclose(slope, (above - below) / (2 * small), rtol=1e-4, atol=1e-2)
    steeper, flatter = (problem.slope_along(iterate, step, length + s * small)[0] for s in (1, -1))
    change = (steeper - flatter) / (2 * small)
    assert_allclose(curvature, change, rtol=0.05, atol=0.1)


def test_places_add_up():
    vectors, sample = PROBLEMS["four classes"]()
    problem = Problem(vectors, sample, True, Native())
    iterate, step, length = some_place(problem), some_place(problem, 1), np.arange(4.0)
    found = iterate.plus(length, step)
    expected = problem.iterate(iterate.point + length[:, None] * step.point)
    assert_array_equal(found.point, expected.point)
    assert_allclose(found.decisions, expected.decisions, atol=1e-10)
    assert_allclose(found.penalised, expected.penalised, atol=1e-10)


# --- Newton's steps -------------------------------------------------------------------------------


@EACH_OUTPUT
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_step_is_that_of_the_exact_hessian(make, fit_intercept):
    vectors, sample = make(n=1000)
    problem = Problem(vectors, sample, fit_intercept, Native())
    iterate = bending_place(problem)
    derivatives = problem.derivatives(iterate)
    step = problem.newton_direction(iterate, derivatives, random())
    objective = Objective(vectors, sample, fit_intercept)
    expected = objective.newton_step(iterate.point, objective(iterate.point)[1])
    assert_allclose(step, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert step[:, -1].any() == fit_intercept


@EVERY_PROBLEM
def test_steps_go_downhill(make):
    problem = Problem(*make(C=100.0), True, Native())
    for seed in range(5):
        iterate = some_place(problem, seed)
        derivatives = problem.derivatives(iterate)
        for step in (
            problem.newton_direction(iterate, derivatives, random()),
            problem.bounded_direction(derivatives, random()),
        ):
            assert (row_products(step, derivatives.gradient) < 0).all()


@EACH_OUTPUT
def test_outputs_that_are_not_active_stay(make):
    problem = Problem(*make(), True, Native())
    iterate = some_place(problem)
    derivatives, active = problem.derivatives(iterate), np.arange(problem.shape[0]) == 0
    found = problem.newton_direction(iterate, derivatives, random(), active)
    every = problem.newton_direction(iterate, derivatives, random())
    assert_array_equal(found[0], every[0])
    assert not found[1:].any()


def test_pairs_stand_for_all_pairs():
    vectors, sample = ranking_problem()
    problem, objective = (
        Problem(vectors, sample, False, Native()),
        Objective(vectors, sample, False),
    )
    iterate = some_place(problem, scale=0.3)
    derivatives = problem.derivatives(iterate)
    expected = objective.newton_step(iterate.point, objective(iterate.point)[1])
    steps = [
        problem.newton_direction(iterate, derivatives, np.random.default_rng(seed))
        for seed in range(100)
    ]
    cosine = np.sum(np.mean(steps, axis=0) * expected)
    cosine /= np.linalg.norm(np.mean(steps, axis=0)) * np.linalg.norm(expected)
    assert cosine > 0.95
    assert not steps[0][:, -1].any()


@EACH_OUTPUT
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("whitens", [True, False])
def test_hessians_follow_curvatures(make, whitens, kept, monkeypatch):
    monkeypatch.setattr(module, "SMALL_CHANGE", 0.0)
    if not whitens:
        monkeypatch.setattr(Native, "whitens", lambda *_: False)
    if not kept:
        monkeypatch.setattr(module, "MOST_HESSIANS", 0)
    vectors, sample = make(n=1000)
    problem = Problem(vectors, sample, True, Native())
    for seed in range(4):
        iterate = some_place(problem, scale=0.2 * seed)
        changed = problem.newton_direction(iterate, problem.derivatives(iterate), random())
        anew = Problem(vectors, sample, True, Native())
        fresh = anew.newton_direction(iterate, anew.derivatives(iterate), random())
        assert_allclose(changed, fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max())
        if not whitens:
            assert bool(problem._hessians) == kept


@EACH_OUTPUT
def test_a_newton_point_is_where_a_step_from_the_same_decision_values_goes(make):
    vectors, sample = make(n=1000)
    problem = Problem(vectors, sample, True, Native())
    iterate = bending_place(problem)
    step = problem.newton_direction(iterate, problem.derivatives(iterate), random())
    point = Problem(vectors, sample, True, Native()).newton_point(iterate.decisions, random())
    assert_allclose(point, iterate.point + step, rtol=1e-3, atol=1e-4 * np.abs(point).max())


def test_losses_in_numpy_give_the_same_steps():
    vectors, sample = class_problem()
    steps = []
    for each in (sample, in_numpy(sample)):
        problem = Problem(vectors, each, True, Native())
        iterate = some_place(problem)
        steps.append(problem.newton_direction(iterate, problem.derivatives(iterate), random()))
    assert_allclose(steps[0], steps[1], rtol=1e-9)


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
