"""Newton's method: it solves the restricted problem, from any start and for any C."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from exact_objective import Objective
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import (
    PROBLEMS,
    TUBE_WIDTH,
    class_problem,
    coupled_problem,
    value_problem,
)
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedSVC
from pocketsvm.backends import kernel
from pocketsvm.backends.hessian import Penalty, RowHessian
from pocketsvm.backends.native import Native
from pocketsvm.solving import conjugate, newton
from pocketsvm.solving.conjugate import row_products
from pocketsvm.solving.newton import MOST_STEPS, Conjugate, best_start, line_search, minimise
from pocketsvm.solving.problem import ROWS_PER_VECTOR, Problem
from pocketsvm.solving.value_losses import EpsilonInsensitive

EVERY_PROBLEM = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
ALL_PROBLEMS = PROBLEMS | {"coupled classes": coupled_problem}
# How far an objective may be from the optimum.
CLOSE = 1 + 1e-3


def solved(vectors, sample, fit_intercept=True, n_threads=1, **limits):
    """Return the solution from zero on."""
    problem = Problem(vectors, sample, fit_intercept, Native(n_threads))
    return minimise(problem, problem.zero(), np.random.default_rng(0), **limits)


def resumed(vectors, sample, decisions, fit_intercept=True, n_threads=1):
    """Return the solution from the decision values of other vectors."""
    problem = Problem(vectors, sample, fit_intercept, Native(n_threads))
    iterate = problem.iterate(problem.newton_point(decisions, np.random.default_rng(0)))
    return minimise(problem, iterate, np.random.default_rng(0))


def assert_optimal(solution, objective):
    value, gradient = objective(solution.iterate.point)
    # The solver's kernel values are float32.
    assert_allclose(solution.objective, value, rtol=5e-5)
    scale = np.abs(objective.c).sum()
    assert_allclose(solution.derivatives.gradient / scale, gradient / scale, atol=1e-5)
    with threadpool_limits(1):
        point, error = objective.minimum(solution.iterate.point)
    best, _ = objective(point)
    assert error <= 1e-5 * best
    assert best - error <= value <= best * CLOSE


# --- minimise -------------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_independent_solver_does_not_find_a_better_solution(make, fit_intercept, C, dtype):
    vectors, sample = make(C=C, dtype=dtype)
    solution = solved(vectors, sample, fit_intercept)
    assert_optimal(solution, Objective(vectors, sample, fit_intercept))
    assert solution.remaining <= newton.TOLERANCE
    assert 0 < solution.steps < MOST_STEPS
    assert solution.iterate.point[:, -1].any() == fit_intercept


@pytest.mark.parametrize("make", [class_problem, value_problem])
@pytest.mark.parametrize("n_vectors", [1, 7, 8, 9, 200])
def test_any_number_of_vectors_is_solved(make, n_vectors):
    vectors, sample = make(n=1000, n_vectors=n_vectors)
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


@EVERY_PROBLEM
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_large_c_is_solved(make, C):
    vectors, sample = make(C=C)
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


@pytest.mark.parametrize("C", [100.0, 1e4, 1e6])
def test_large_c_and_many_vectors_are_solved(C):
    vectors, sample = class_problem(1000, n_vectors=100, C=C)
    solution = solved(vectors, sample)
    assert solution.remaining <= newton.TOLERANCE
    assert_optimal(solution, Objective(vectors, sample))


def test_large_offsets_are_solved():
    vectors, sample = class_problem(offset=1e4)
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


def test_weights_multiply_the_loss():
    vectors, sample = class_problem(200)
    times = np.random.default_rng(1).integers(1, 4, 200)
    repeated = sample.take(np.repeat(np.arange(200), times))
    weighted = replace(sample, c=sample.c * times)
    one, other = solved(vectors, weighted), solved(vectors, repeated)
    assert_allclose(one.objective, other.objective, rtol=1e-3)
    assert one.objective > 1.1 * solved(vectors, sample).objective


@pytest.mark.parametrize("share", [0.45, 0.1, 0.01])
@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_intercept_is_found_if_no_row_bends_at_first(share, C):
    vectors, sample = class_problem(400, C=1.0)
    codes = (np.arange(400) < share * 400).astype(np.int8)
    sample = replace(sample, c=np.full(400, C), loss=replace(sample.loss, codes=codes))
    solution = solved(vectors, sample)
    assert_optimal(solution, Objective(vectors, sample))
    # After the vectors have moved, the solution is found again.
    again = resumed(vectors + 0.05, sample, solution.iterate.decisions)
    assert_optimal(again, Objective(vectors + 0.05, sample))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_losses_may_couple_outputs_and_bend_everywhere(C, fit_intercept):
    vectors, sample = coupled_problem(C=C)
    solution = solved(vectors, sample, fit_intercept)
    assert solution.derivatives.objective.shape == (1,)
    assert_optimal(solution, Objective(vectors, sample, fit_intercept))
    again = resumed(vectors + 0.02, sample, solution.iterate.decisions, fit_intercept)
    assert_optimal(again, Objective(vectors + 0.02, sample, fit_intercept))


def test_bounds_are_made_of_some_rows():
    vectors, sample = class_problem(4000, n_vectors=50)
    assert 2 * ROWS_PER_VECTOR * len(vectors) < sample.rows.n_rows
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))


@pytest.fixture
def products(monkeypatch):
    """Solve by conjugate gradients, and return the list of the products with Hessians."""
    made, product = [], Problem._hessian_product
    monkeypatch.setattr(Native, "prefers_products", lambda *_: True)
    monkeypatch.setattr(
        Problem, "_hessian_product", lambda *given: made.append(given[0]) or product(*given)
    )
    return made


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 200.0])
@pytest.mark.parametrize("make", [class_problem, value_problem])
def test_products_with_hessians_take_the_place_of_factors(make, C, fit_intercept, products):
    vectors, sample = make(4000, C=C, n_vectors=50, dtype=np.float32)
    solution = solved(vectors, sample, fit_intercept)
    assert_optimal(solution, Objective(vectors, sample, fit_intercept))
    assert products


def test_a_preconditioner_of_few_rows_is_made_anew(products, monkeypatch):
    vectors, sample = class_problem(4000, C=1000.0, n_vectors=50, dtype=np.float32)
    made, factor = [], Problem._factor
    monkeypatch.setattr(conjugate, "MOST_PRODUCTS", 2)
    monkeypatch.setattr(Problem, "_factor", lambda *given: made.append(1) or factor(*given))
    assert_optimal(solved(vectors, sample), Objective(vectors, sample))
    assert len(made) > 2


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_products_do_not_depend_on_threads_or_layout(layout, products):
    given = [
        class_problem(4000, n_vectors=50, dtype=np.float32, layout=each)
        for each in (np.asarray, layout)
    ]
    one, three = (solved(*each, n_threads=n) for each, n in zip(given, (1, 3), strict=True))
    assert_array_equal(one.iterate.point, three.iterate.point)
    assert products


def test_directions_of_products_are_close_to_those_of_factors(products, monkeypatch):
    vectors, sample = class_problem(4000, n_vectors=50, dtype=np.float32)
    found = []
    for preferred in (True, False):
        monkeypatch.setattr(Native, "prefers_products", lambda *_, given=preferred: given)
        monkeypatch.setattr(conjugate, "LEAST_GAIN", 1e-9)
        problem = Problem(vectors, sample, True, Native())
        iterate = first_place(problem)
        derivatives = problem.derivatives(iterate)
        found.append(problem.newton_direction(iterate, derivatives, np.random.default_rng(0)))
    assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-3 * np.abs(found[1]).max())


@pytest.mark.parametrize("most_kept", [0, kernel.MOST_KEPT])
def test_many_outputs_share_the_hessians_of_first_steps(monkeypatch, most_kept):
    vectors, sample = class_problem(1000, n_classes=10, n_vectors=60, C=30.0)
    monkeypatch.setattr(kernel, "MOST_KEPT", most_kept)
    made, factor = [], Penalty.factor
    monkeypatch.setattr(Penalty, "factor", lambda *given: made.append(1) or factor(*given))
    counts = []
    for shares in (True, False):
        problem = Problem(vectors, sample, True, Native())
        assert problem._shares_first
        problem._shares_first = shares
        iterate = problem.iterate(np.random.default_rng(0).normal(size=problem.shape))
        solution = minimise(problem, iterate, np.random.default_rng(0))
        assert_optimal(solution, Objective(vectors, sample))
        counts.append(len(made))
        made.clear()
    assert counts[0] < counts[1] - 5


def test_steps_that_follow_a_newton_point_change_its_hessians(monkeypatch):
    vectors, sample = class_problem(1000, n_classes=10, n_vectors=60, C=30.0)
    solution, counts = solved(vectors, sample), []
    problem = Problem(vectors, sample, True, Native())
    add = RowHessian.add
    monkeypatch.setattr(
        RowHessian, "add", lambda *given: counts.append(np.count_nonzero(given[2])) or add(*given)
    )
    random = np.random.default_rng(0)
    iterate = problem.iterate(problem.newton_point(solution.iterate.decisions, random))
    n_first = sum(counts)
    counts.clear()
    minimise(problem, iterate, random)
    assert sum(counts) < 0.2 * n_first


def test_the_tilt_moves_the_intercept():
    vectors, sample = class_problem()
    points = [
        solved(vectors, replace(sample, tilt=tilt)).iterate.point[0, -1]
        for tilt in (-50.0, 0.0, 50.0)
    ]
    assert points[0] > points[1] > points[2]


def test_equal_vectors_are_solved():
    vectors, sample = class_problem(n_vectors=12)
    solution = solved(np.repeat(vectors[:3], 4, axis=0), sample)
    assert np.isfinite(solution.iterate.point).all()
    assert_allclose(solution.objective, solved(vectors[:3], sample).objective, rtol=1e-3)


def test_nothing_is_gained_where_no_row_has_a_loss():
    vectors, sample = value_problem(epsilon=100.0)
    solution = solved(vectors, sample)
    assert (solution.objective, solution.remaining) == (0.0, 0.0)
    assert not solution.iterate.point.any()


def test_what_remains_is_reported_at_the_limit_of_steps():
    vectors, sample = class_problem(C=1000.0)
    best = solved(vectors, sample)
    solution = solved(vectors, sample, most_steps=1)
    assert solution.steps == 1
    assert solution.objective > 1.01 * best.objective
    assert solution.remaining > 0.005


@pytest.mark.parametrize("spread", [1e-4, 1e4])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_each_output_is_optimal_in_its_own_units(C, spread):
    vectors, sample = value_problem(n=600, C=C)
    first = sample.loss.targets[:, 0]
    targets = np.column_stack([first, spread * (np.cos(2 * first) + np.roll(first, 1))])
    widths = TUBE_WIDTH * np.array([1.0, spread])
    sample = replace(sample, loss=EpsilonInsensitive.of(targets, [0.0, 0.0], widths))
    solution = solved(vectors, sample)
    for o in range(2):
        loss = EpsilonInsensitive.of(targets[:, o : o + 1], [0.0], widths[o : o + 1])
        objective = Objective(vectors, replace(sample, loss=loss))
        value, _ = objective(solution.iterate.point[o : o + 1])
        point, _ = objective.minimum(solution.iterate.point[o : o + 1])
        assert value <= CLOSE * objective(point)[0]


def test_a_smaller_tolerance_makes_more_steps():
    vectors, sample = class_problem(C=100.0)
    loose, tight = (solved(vectors, sample, tolerance=tolerance) for tolerance in (0.1, 1e-8))
    assert loose.steps < tight.steps
    assert loose.remaining <= 0.1
    assert tight.remaining <= 1e-8
    assert tight.objective < loose.objective


def test_steps_end_where_one_gains_a_share_of_the_first():
    vectors, sample = class_problem(C=100.0)
    problem = Problem(vectors, sample, True, Native())
    start = problem.iterate(0.1 * np.ones(problem.shape))
    random = np.random.default_rng(0)
    first = minimise(problem, start, random, most_steps=0).remaining
    found = [minimise(problem, start, random, forcing=forcing) for forcing in (0.0, 0.1)]
    assert found[1].steps < found[0].steps
    assert newton.TOLERANCE < found[1].remaining <= 0.1 * first


def test_the_tolerance_is_a_share_of_the_objective_given():
    vectors, sample = class_problem(C=100.0)
    total = solved(vectors, sample).objective
    loose, tight = (solved(vectors, sample, objective=share * total) for share in (10.0, 1e-3))
    assert loose.steps < tight.steps


@pytest.mark.parametrize("make", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
def test_the_objective_never_rises(make):
    vectors, sample = make(C=100.0)
    found = [solved(vectors, sample, tolerance=0.0, most_steps=n).objective for n in range(1, 12)]
    assert (np.diff(found) <= 1e-9 * found[0]).all()


# --- other starts ---------------------------------------------------------------------------------


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_resuming_after_vectors_moved_finds_their_solution(make, fit_intercept):
    vectors, sample = make()
    decisions = solved(vectors, sample, fit_intercept).iterate.decisions
    moved = vectors + 0.05 * np.random.default_rng(1).normal(size=vectors.shape)
    solution = resumed(moved, sample, decisions, fit_intercept)
    assert_optimal(solution, Objective(moved, sample, fit_intercept))
    assert solution.steps <= 8


def test_the_best_start_is_that_of_the_objective():
    vectors, sample = PROBLEMS["four classes"](C=10.0)
    problem = Problem(vectors, sample, True, Native())
    iterate = problem.iterate(np.random.default_rng(0).normal(size=problem.shape))
    objective = Objective(vectors, sample)
    lengths = np.linspace(0.0, 1.0, 201)
    best = best_start(problem, iterate, 0.1)
    for o in range(4):
        values = []
        for length in lengths:
            point = np.zeros(problem.shape)
            point[o] = length * iterate.point[o]
            values.append(objective(point)[0])
        point[o] = best.point[o]
        assert objective(point)[0] <= min(values) * (1 + 1e-3)


# --- directions and lengths -----------------------------------------------------------------------


def first_place(problem):
    return problem.iterate(np.random.default_rng(0).normal(size=problem.shape))


@EVERY_PROBLEM
@pytest.mark.parametrize("times", [1e-4, 1.0, 1e4])
def test_line_search_ends_where_the_objective_is_nearly_flat(make, times):
    problem = Problem(*make(C=100.0), True, Native())
    iterate = first_place(problem)
    gradient = problem.derivatives(iterate).gradient
    step = problem.iterate(-1e-3 * times * gradient)
    length = line_search(problem, iterate, step)
    before = row_products(gradient, step.point)
    after = row_products(problem.derivatives(iterate.plus(length, step)).gradient, step.point)
    assert (length > 0).all()
    assert (np.abs(after) <= -newton.FLAT * before * (1 + 1e-6)).all()


@pytest.mark.parametrize("times", [1.0, 1e2, 1e4])
def test_a_line_search_lowers_the_objective_however_steep_it_was(times):
    problem = Problem(*class_problem(C=1e3), True, Native())
    iterate = problem.iterate(np.random.default_rng(0).normal(size=problem.shape))
    # Beyond its kinks, the objective may be flat compared with the start, and yet larger.
    step = problem.iterate(-times * iterate.point)
    after = problem.objective(iterate.plus(line_search(problem, iterate, step), step))
    assert (after <= problem.objective(iterate)).all()
    best = best_start(problem, iterate.plus(np.array([times]), iterate), 0.0)
    assert (problem.objective(best) <= problem.objective(problem.zero())).all()


def test_uphill_directions_get_no_length():
    problem = Problem(*PROBLEMS["four classes"](), True, Native())
    iterate = first_place(problem)
    signs = 1e-3 * np.array([-1.0, 1.0, -1.0, 0.0])
    length = line_search(
        problem, iterate, problem.iterate(signs[:, None] * problem.derivatives(iterate).gradient)
    )
    assert_array_equal(length > 0, [True, False, True, False])


def test_a_line_search_that_ends_early_does_not_raise_the_objective(monkeypatch):
    monkeypatch.setattr(newton, "MOST_TRIALS", 1)
    monkeypatch.setattr(newton, "FLAT", 0.0)
    problem = Problem(*PROBLEMS["four classes"](C=100.0), True, Native())
    iterate = first_place(problem)
    step = problem.iterate(-10.0 * problem.derivatives(iterate).gradient)
    after = problem.objective(iterate.plus(line_search(problem, iterate, step), step))
    assert (after <= problem.objective(iterate)).all()


def test_conjugate_directions_solve_a_quadratic_in_as_many_steps_as_it_has_variables():
    random = np.random.default_rng(0)
    root = random.normal(size=(6, 6))
    matrix, target = root @ root.T + np.eye(6), random.normal(size=(2, 6))
    diagonal = np.arange(1.0, 7.0)
    conjugate, point = Conjugate(), np.zeros((2, 6))
    for _ in range(6):
        gradient = point @ matrix - target
        newtons = -gradient / diagonal
        direction = conjugate.direction(newtons, gradient, -row_products(gradient, newtons))
        length = -row_products(gradient, direction) / row_products(direction, direction @ matrix)
        point = point + length[:, None] * direction
    assert_allclose(point, np.linalg.solve(matrix, target.T).T, rtol=1e-8)


def test_conjugate_directions_go_downhill():
    conjugate, random = Conjugate(), np.random.default_rng(0)
    for _ in range(20):  # gradients that belong to no function
        gradient = random.normal(size=(3, 4))
        direction = conjugate.direction(-gradient, gradient, row_products(gradient, gradient))
        assert (row_products(gradient, direction) < 0).all()


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
def test_result_does_not_depend_on_threads_or_layout(make, layout, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 40 * 64)
    vectors, sample = make(n=1000, n_vectors=40, dtype=np.float32)
    twin = make(n=1000, n_vectors=40, dtype=np.float32, layout=layout)[1]
    one, three = solved(vectors, sample), solved(vectors, twin, n_threads=3)
    assert_array_equal(one.iterate.point, three.iterate.point)
    assert_array_equal(one.iterate.decisions, three.iterate.decisions)
    assert_array_equal(one.derivatives.objective, three.derivatives.objective)
    again, once = (
        resumed(vectors, each, one.iterate.decisions, n_threads=n)
        for each, n in ((twin, 3), (sample, 1))
    )
    assert_array_equal(once.iterate.point, again.iterate.point)


@pytest.mark.parametrize("C", [1e-4, 1e-3, 1e-2])
def test_products_with_hessians_of_no_rows_are_regular(C):
    """With a small C no row curves: without its least curvature, the intercept has none."""
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 3, -3)
    found = BudgetedSVC(400, C=C, gamma=1.0, random_state=0).fit(X, y)
    assert np.isfinite(found.intercept_).all()
    assert np.isfinite(found.dual_coef_).all()
    assert found.score(X, y) > 0.95


def test_outputs_that_were_solved_go_on_if_their_shares_grow():
    """The objective of the others falls, and with it the mean that shares are measured by."""
    vectors, sample = class_problem(n=2403, n_classes=8, n_vectors=53, C=14.5)
    solution = solved(vectors, sample, tolerance=0.5)
    assert solution.remaining <= 0.5
    assert solution.steps < 10


def test_outputs_that_do_not_move_keep_their_derivatives():
    vectors, sample = class_problem(n_classes=4)
    problem = Problem(vectors, sample, True, Native())
    point = np.random.default_rng(0).normal(size=problem.shape)
    iterate = problem.iterate(point)
    step = np.where(np.arange(4)[:, None] == 2, 0.1 * point, 0.0)
    along = problem.iterate(step)
    full = problem.iterate(step + 0.0 * point + np.finfo(float).tiny)
    assert_allclose(along.decisions, full.decisions, atol=1e-12)
    assert not along.decisions[:, [0, 1, 3]].any()
    before, moved = problem.derivatives(iterate), step.any(axis=1)
    iterate = iterate.plus(np.ones(4), along)
    found, expected = problem.derivatives(iterate, before, moved), problem.derivatives(iterate)
    assert_allclose(found.gradient, expected.gradient, rtol=1e-12)
    assert_array_equal(found.objective, expected.objective)
    assert not np.array_equal(found.gradient, before.gradient)
