"""All rows: coefficients from a sample are improved on any number of rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from pocketsvm.solving.descent import Conjugate, minimise
from solver_problems import (
    PROBLEMS,
    Objective,
    class_problem,
    coupled_problem,
    separable_problem,
    value_problem,
)

from pocketsvm import BudgetedSVC
from pocketsvm.solving import all_rows, kernel, readings
from pocketsvm.solving.all_rows import AllRows
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.readings import in_memory
from pocketsvm.solving.row_loss import REACH

ALL_PROBLEMS = PROBLEMS | {"coupled classes": coupled_problem}
EVERY_PROBLEM = pytest.mark.parametrize("make", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
N_ROWS, N_SAMPLED = 4000, 500


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Keep no kernel values, and make many parts."""
    monkeypatch.setattr(kernel, "MOST_KEPT", 0)
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 12 * 256)


def start(vectors, sample, fit_intercept=True):
    """Return the solution on a sample of the rows."""
    part = sample.take(np.random.default_rng(0).choice(N_ROWS, N_SAMPLED, replace=False))
    solution = minimise(Problem(vectors, part, fit_intercept, 1), np.random.default_rng(0), 0.05)
    return solution.place.point


def refine(vectors, sample, point, n_steps=2, fit_intercept=True, n_threads=1):
    rows = AllRows(vectors, in_memory(sample, n_threads), fit_intercept, n_threads)
    return rows.refine(point, n_steps, len(sample.c), np.random.default_rng(0))


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_comes_close_to_that_of_solving_on_all_rows(make, fit_intercept, monkeypatch):
    monkeypatch.setattr(all_rows, "TOLERANCE", 0.0)
    vectors, sample = make(n=N_ROWS)
    objective = Objective(vectors, sample, fit_intercept)
    point = start(vectors, sample, fit_intercept)
    begin = objective(point)[0]
    best = minimise(
        Problem(vectors, sample, fit_intercept, 1), np.random.default_rng(0), 0.05
    ).objective
    assert begin > best * 1.001
    found = [refine(vectors, sample, point, n, fit_intercept) for n in range(4)]
    values = [each.objective for each in found]
    assert [each.steps for each in found] == [0, 1, 2, 3]
    assert_allclose(values[0], begin, rtol=1e-5)
    assert values[0] > values[1] > values[2] > values[3]
    # Two steps gain most of what is to gain; all outputs share one factor.
    left = 0.1 if sample.loss.n_outputs == 1 else 0.35
    assert values[2] - best <= left * (begin - best)
    for each in found:
        assert_allclose(each.objective, objective(each.point)[0], rtol=1e-5)
        assert each.point[:, -1].any() == fit_intercept


def test_no_step_leaves_the_point_and_reports_its_gradient():
    vectors, sample = class_problem(N_ROWS)
    point = start(vectors, sample)
    found = refine(vectors, sample, point, 0)
    _, gradient = Objective(vectors, sample)(point)
    assert_array_equal(found.point, point)
    assert_allclose(found.gradient, gradient, atol=1e-5 * sample.c.sum())
    assert found.remaining > 0


def test_gradient_after_a_whole_step_is_exact(monkeypatch):
    for module in (all_rows, readings):
        monkeypatch.setattr(module, "LENGTHS", np.array([1.0]))
    vectors, sample = value_problem(N_ROWS)
    found = refine(vectors, sample, start(vectors, sample), 1)
    _, gradient = Objective(vectors, sample)(found.point)
    assert found.steps == 1
    assert_allclose(found.gradient, gradient, atol=1e-5 * sample.c.sum())


def test_steps_end_where_little_is_to_gain():
    vectors, sample = class_problem(N_ROWS)
    solution = minimise(Problem(vectors, sample, True, 1), np.random.default_rng(0), 0.05)
    found = refine(vectors, sample, solution.place.point)
    assert found.steps == 0
    assert found.remaining <= all_rows.TOLERANCE


# --- classes that do not overlap ------------------------------------------------------------------


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_further_rounds_reach_the_solution_if_a_sample_is_far_from_it(C, monkeypatch):
    vectors, sample = separable_problem(C=C)
    objective, point = Objective(vectors, sample), start(vectors, sample)
    begin = objective(point)[0]
    best = minimise(Problem(vectors, sample, True, 1), np.random.default_rng(0), 0.05).objective
    found = refine(vectors, sample, point)
    assert found.steps > 2
    assert found.remaining <= all_rows.MUCH
    assert found.objective - best <= 0.1 * (begin - best)
    assert_allclose(found.objective, objective(found.point)[0], rtol=1e-5)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    single = refine(vectors, sample, point)
    assert single.remaining > all_rows.MUCH
    assert single.objective > found.objective


def test_the_last_round_reports_the_gradient_where_steps_ended(monkeypatch):
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 2)
    vectors, sample = separable_problem()
    found = refine(vectors, sample, start(vectors, sample))
    _, gradient = Objective(vectors, sample)(found.point)
    assert_allclose(found.gradient, gradient, atol=1e-5 * sample.c.sum())
    assert found.remaining > all_rows.MUCH


def test_rounds_end_if_no_length_lowers_the_objective(monkeypatch):
    direction = Conjugate.direction

    def too_long(conjugate, gradient):
        down, predicted = direction(conjugate, gradient)
        return 1000.0 * down, predicted

    monkeypatch.setattr(Conjugate, "direction", too_long)
    vectors, sample = separable_problem()
    point = start(vectors, sample)
    found = refine(vectors, sample, point)
    assert_array_equal(found.point, point)
    assert found.remaining > all_rows.MUCH
    assert found.steps == 1


def test_an_interpolated_gradient_does_not_raise_what_remains(monkeypatch):
    # The gradient at the whole length is that of rows that the factor does not know.
    monkeypatch.setattr(all_rows, "MUCH", np.inf)
    vectors, sample = separable_problem()
    point = start(vectors, sample)
    one, two = (refine(vectors, sample, point, n) for n in (1, 2))
    assert two.objective < one.objective
    assert two.remaining <= one.remaining


@EVERY_PROBLEM
@pytest.mark.parametrize("n_others", [0, 50])
def test_near_rows_are_those_at_the_first_point(make, n_others, monkeypatch):
    monkeypatch.setattr(readings, "OTHERS_PER_NEAR", 0.0)
    monkeypatch.setattr(readings, "LEAST_OTHERS", n_others)
    vectors, sample = make(n=N_ROWS)
    point = start(vectors, sample)
    decisions = Problem(vectors, sample, True, 1).place(point).decisions
    found = refine(vectors, sample, point).near
    near = sample.loss.near(decisions, REACH)
    places = {row.tobytes(): k for k, row in enumerate(sample.rows.dense())}
    chosen = np.array([places[row.tobytes()] for row in found.rows.dense()])
    assert (np.diff(chosen) > 0).all()
    assert np.isin(np.flatnonzero(near), chosen).all()
    assert_array_equal(found.c[near[chosen]], sample.c[chosen[near[chosen]]])
    # The others that were drawn stand for all others.
    others = ~near[chosen]
    assert others.sum() <= 2 * n_others
    if n_others and not near.all():
        assert others.any()
        assert_allclose(found.c[others].sum(), sample.c[~near].sum())
    if sample.loss.n_outputs == 1 and hasattr(sample.loss, "codes"):
        assert 0 < np.count_nonzero(near) < N_ROWS


def test_too_many_near_rows_are_not_returned(monkeypatch):
    monkeypatch.setattr(readings, "OTHERS_PER_NEAR", 0.0)
    monkeypatch.setattr(readings, "LEAST_OTHERS", 0)
    vectors, sample = class_problem(N_ROWS)
    rows = AllRows(vectors, in_memory(sample, 1), True, 1)
    found = rows.refine(start(vectors, sample), 0, N_ROWS, np.random.default_rng(0))
    n_near = len(found.near.c)
    for most, is_there in ((n_near, True), (n_near - 1, False)):
        found = rows.refine(start(vectors, sample), 0, most, np.random.default_rng(0))
        assert (found.near is not None) == is_there


@EVERY_PROBLEM
def test_a_step_in_a_wrong_direction_is_not_made(make, monkeypatch):
    vectors, sample = make(n=N_ROWS)
    point = start(vectors, sample)
    direction = Conjugate.direction

    def uphill(conjugate, gradient):
        down, predicted = direction(conjugate, gradient)
        return -down, predicted

    monkeypatch.setattr(Conjugate, "direction", uphill)
    monkeypatch.setattr(all_rows, "TOLERANCE", 0.0)
    before, after = (refine(vectors, sample, point, n) for n in (0, 2))
    assert_array_equal(after.point, point)
    assert after.objective == before.objective
    assert_array_equal(after.gradient, before.gradient)


def test_outputs_make_steps_of_their_own_length(monkeypatch):
    vectors, sample = PROBLEMS["four classes"](n=N_ROWS)
    point = start(vectors, sample)
    direction = Conjugate.direction

    def one_uphill(conjugate, gradient):
        down, predicted = direction(conjugate, gradient)
        down[2] *= -1
        return down, predicted

    monkeypatch.setattr(Conjugate, "direction", one_uphill)
    found = refine(vectors, sample, point, 1)
    assert_array_equal((found.point != point).any(axis=1), [True, True, False, True])


@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("make", [PROBLEMS["four classes"], separable_problem])
def test_result_does_not_depend_on_threads_or_layout(make, layout):
    vectors, sample = make(n=N_ROWS, dtype=np.float32)
    twin = make(n=N_ROWS, dtype=np.float32, layout=layout)[1]
    point = start(vectors, sample)
    one, three = refine(vectors, sample, point), refine(vectors, twin, point, n_threads=3)
    assert_array_equal(one.point, three.point)
    assert_array_equal(one.near.c, three.near.c)
    assert one.objective == three.objective


def test_the_intercept_is_finite_if_no_row_bends():
    # All rows are equal: the zero model is optimal, and every row lies on the straight part.
    X, y = np.zeros((3000, 1)), np.arange(3000) % 2
    clf = BudgetedSVC(4, max_iter=2, random_state=0).fit(X, y)
    assert np.isfinite(clf.dual_coef_).all()
    assert np.isfinite(clf.intercept_).all()
