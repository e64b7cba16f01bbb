"""Conjugate gradients: they solve the restricted problem, from any start and for any C."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from pocketsvm.solving.descent import Conjugate, line_search, minimise, resume
from solver_problems import PROBLEMS, Objective, class_problem, coupled_problem, value_problem
from threadpoolctl import threadpool_limits

from pocketsvm.solving import descent, kernel
from pocketsvm.solving.problem import ROWS_PER_VECTOR, Problem, row_products

EVERY_PROBLEM = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
# How far an objective may be from the optimum: a solution ends at steps that predict 1e-4.
CLOSE = 1 + 2e-4


def solved(vectors, sample, fit_intercept=True, n_threads=1):
    found = Problem(vectors, sample, fit_intercept, n_threads)
    return minimise(found, np.random.default_rng(0), 0.05)


def assert_optimal(solution, objective, close=CLOSE):
    value, gradient = objective(solution.place.point)
    # The solver's kernel values are float32.
    assert_allclose(solution.objective, value, rtol=5e-5)
    scale = np.abs(objective.c).sum()
    assert_allclose(solution.slopes.gradient / scale, gradient / scale, atol=1e-5)
    with threadpool_limits(1):
        best = objective.best_from(solution.place.point)
    assert best <= value <= best * close


# --- minimise -------------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_general_solver_does_not_find_a_better_solution(make, fit_intercept, C):
    vectors, sample = make(C=C)
    solution = solved(vectors, sample, fit_intercept)
    assert_optimal(solution, Objective(vectors, sample, fit_intercept))
    assert solution.remaining <= descent.TOLERANCE
    assert 0 < solution.steps <= descent.MOST_FACTORS * descent.STEPS_PER_FACTOR
    assert solution.place.point[:, -1].any() == fit_intercept


@pytest.mark.parametrize("make", [class_problem, value_problem])
def test_general_solver_does_not_find_better_coefficients_of_many_vectors(make):
    vectors, sample = make(n=1000, n_vectors=200)
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


@EVERY_PROBLEM
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_large_c_is_solved(make, C):
    vectors, sample = make(C=C)
    # With a penalty this small, the general solver itself is no longer precise.
    assert_optimal(solved(vectors, sample), Objective(vectors, sample), close=1.01)


@pytest.mark.parametrize("C", [100.0, 1e4, 1e6])
def test_large_c_and_many_vectors_are_solved(C):
    vectors, sample = class_problem(1000, n_vectors=100, C=C)
    solution = solved(vectors, sample)
    assert solution.remaining <= 0.05
    assert_optimal(solution, Objective(vectors, sample), close=1.02)


def test_large_offsets_are_solved():
    vectors, sample = class_problem(offset=1e4)
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


def test_weights_multiply_the_loss():
    vectors, sample = class_problem(200)
    times = np.random.default_rng(1).integers(1, 4, 200)
    repeated = sample.take(np.repeat(np.arange(200), times))
    weighted = replace(sample, c=sample.c * times)
    one, other = solved(vectors, weighted), solved(vectors, repeated)
    assert_allclose(one.objective, other.objective, rtol=1e-4)
    assert one.objective > 1.1 * solved(vectors, sample).objective


def test_factors_of_some_rows_are_enough():
    vectors, sample = class_problem(4000, n_vectors=50)
    assert 2 * ROWS_PER_VECTOR * len(vectors) < sample.rows.n_rows
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


@pytest.mark.parametrize("share", [0.45, 0.1, 0.01])
@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_intercept_is_found_if_no_row_bends_at_first(share, C):
    vectors, sample = class_problem(400, C=1.0)
    codes = (np.arange(400) < share * 400).astype(np.int8)
    sample = replace(sample, c=np.full(400, C), loss=replace(sample.loss, codes=codes))
    solution = solved(vectors, sample)
    assert_optimal(solution, Objective(vectors, sample), close=1.001)
    assert solution.remaining < 0.01
    # After the vectors have moved, the solution is found again.
    moved = Problem(vectors + 0.05, sample, True, 1)
    again = resume(moved, solution.place.decisions, np.random.default_rng(0))
    assert_optimal(again, Objective(vectors + 0.05, sample), close=1.001)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_losses_may_couple_outputs_and_bend_everywhere(C, fit_intercept):
    vectors, sample = coupled_problem(C=C)
    solution = solved(vectors, sample, fit_intercept)
    assert solution.slopes.objective.shape == (1,)
    assert_optimal(solution, Objective(vectors, sample, fit_intercept), close=1.0005)
    moved = Problem(vectors + 0.02, sample, fit_intercept, 1)
    again = resume(moved, solution.place.decisions, np.random.default_rng(0))
    assert_optimal(again, Objective(vectors + 0.02, sample, fit_intercept), close=1.0005)


def test_no_step_is_made_where_nothing_is_to_gain():
    vectors, sample = value_problem(epsilon=100.0)
    solution = solved(vectors, sample)
    assert (solution.steps, solution.objective, solution.remaining) == (0, 0.0, 0.0)
    assert not solution.place.point.any()


def test_what_remains_is_reported_at_the_limit_of_steps(monkeypatch):
    vectors, sample = class_problem(C=1000.0)
    best = solved(vectors, sample)
    monkeypatch.setattr(descent, "FIRST_STEPS", 1)
    monkeypatch.setattr(descent, "STEPS_PER_FACTOR", 1)
    monkeypatch.setattr(descent, "MOST_FACTORS", 1)
    solution = solved(vectors, sample)
    assert solution.steps == 1
    assert solution.objective > 1.01 * best.objective
    assert solution.remaining > 0.005


# --- resume ---------------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_resuming_after_vectors_moved_finds_their_solution(make, fit_intercept):
    vectors, sample = make()
    decisions = solved(vectors, sample, fit_intercept).place.decisions
    moved = vectors + 0.05 * np.random.default_rng(1).normal(size=vectors.shape)
    found = Problem(moved, sample, fit_intercept, 1)
    solution = resume(found, decisions, np.random.default_rng(0))
    assert_optimal(solution, Objective(moved, sample, fit_intercept))
    assert solution.steps < descent.STEPS_PER_FACTOR


def test_the_first_step_of_resuming_is_newtons():
    vectors, sample = class_problem()
    found = Problem(vectors, sample, True, 1)
    decisions = solved(vectors, sample).place.decisions
    solution = resume(found, decisions, np.random.default_rng(0), n_steps=0)
    objective = Objective(vectors, sample)
    curvatures = sample.loss.derivatives(decisions)[1] * objective.c
    k = np.column_stack([objective.k, np.ones(len(decisions))])
    second = np.zeros((13, 13))
    second[:-1, :-1] = objective.K
    second += k.T @ (curvatures * k)
    right = k.T @ (curvatures * decisions - sample.loss.derivatives(decisions)[0] * objective.c)
    assert_allclose(solution.place.point, np.linalg.solve(second, right).T, rtol=1e-3)
    assert solution.steps == 0


def test_a_smaller_tolerance_makes_more_steps():
    vectors, sample = class_problem(C=100.0)
    found = Problem(vectors, sample, True, 1)
    decisions = solved(vectors + 0.2, sample).place.decisions
    loose, tight = (
        resume(found, decisions, np.random.default_rng(0), 50, tolerance)
        for tolerance in (1e-2, 1e-8)
    )
    assert loose.steps < tight.steps
    assert loose.remaining <= 1e-2
    assert tight.remaining <= 1e-8
    assert tight.objective < loose.objective


# --- directions and lengths -----------------------------------------------------------------------


@EVERY_PROBLEM
def test_line_search_ends_where_the_objective_is_nearly_flat(make):
    vectors, sample = make(C=100.0)
    found = Problem(vectors, sample, True, 1)
    place = found.place(np.zeros(found.shape))
    gradient = found.slopes(place).gradient
    step = found.place(-1e-3 * gradient)
    length = line_search(found, place, step, gradient)
    before = row_products(gradient, step.point)
    after = row_products(found.slopes(place.plus(length, step)).gradient, step.point)
    assert (length > 0).all()
    assert (np.abs(after) <= -descent.FLAT * before).all()


def test_uphill_directions_get_no_length():
    vectors, sample = PROBLEMS["four classes"]()
    found = Problem(vectors, sample, True, 1)
    place = found.place(np.zeros(found.shape))
    gradient = found.slopes(place).gradient
    signs = 1e-3 * np.array([-1.0, 1.0, -1.0, 0.0])
    length = line_search(found, place, found.place(signs[:, None] * gradient), gradient)
    assert_array_equal(length > 0, [True, False, True, False])


class Diagonal:
    """A factor of a diagonal matrix."""

    def __init__(self, diagonal):
        self.diagonal = diagonal

    def solve(self, gradient):
        return gradient / self.diagonal


def test_conjugate_directions_solve_a_quadratic_in_as_many_steps_as_it_has_variables():
    random = np.random.default_rng(0)
    root = random.normal(size=(6, 6))
    matrix, target = root @ root.T + np.eye(6), random.normal(size=(2, 6))
    conjugate, point = Conjugate(Diagonal(np.arange(1.0, 7.0))), np.zeros((2, 6))
    for _ in range(6):
        gradient = point @ matrix - target
        direction, predicted = conjugate.direction(gradient)
        assert_allclose(predicted, row_products(gradient, gradient / np.arange(1.0, 7.0)))
        length = -row_products(gradient, direction) / row_products(direction, direction @ matrix)
        point = point + length[:, None] * direction
    assert_allclose(point, np.linalg.solve(matrix, target.T).T, rtol=1e-8)


def test_directions_go_downhill():
    conjugate, random = Conjugate(Diagonal(np.ones(4))), np.random.default_rng(0)
    for _ in range(20):  # gradients that belong to no function
        gradient = random.normal(size=(3, 4))
        direction, _ = conjugate.direction(gradient)
        assert (row_products(gradient, direction) < 0).all()


# --- the same bits --------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
def test_result_does_not_depend_on_threads_or_layout(make, layout, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 40 * 64)
    vectors, sample = make(n=1000, n_vectors=40, dtype=np.float32)
    twin = make(n=1000, n_vectors=40, dtype=np.float32, layout=layout)[1]
    one, three = solved(vectors, sample), solved(vectors, twin, n_threads=3)
    assert_array_equal(one.place.point, three.place.point)
    assert_array_equal(one.place.decisions, three.place.decisions)
    assert_array_equal(one.slopes.objective, three.slopes.objective)
    again = resume(Problem(vectors, twin, True, 3), one.place.decisions, np.random.default_rng(1))
    once = resume(Problem(vectors, sample, True, 1), one.place.decisions, np.random.default_rng(1))
    assert_array_equal(once.place.point, again.place.point)
