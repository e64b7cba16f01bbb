"""All rows: coefficients from a sample are improved on any number of rows."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from exact_objective import Objective
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import (
    PROBLEMS,
    class_problem,
    coupled_problem,
    separable_problem,
    value_problem,
)

from pocketsvm import BudgetedSVC
from pocketsvm.backends import kernel
from pocketsvm.backends.native import Native
from pocketsvm.solving import all_rows, newton
from pocketsvm.solving.all_rows import AllRows
from pocketsvm.solving.newton import minimise
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.scans import Scans, in_memory

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
    problem = Problem(vectors, part, fit_intercept, Native())
    return minimise(problem, problem.zero(), np.random.default_rng(0)).iterate.point


def refine(vectors, sample, point, most_near=N_ROWS, fit_intercept=True, n_threads=1, **limits):
    found = in_memory(sample, Native(n_threads))
    rows = AllRows(vectors, sample.rows.gamma, found, fit_intercept, Native(n_threads), **limits)
    return rows.minimise(point, (most_near, most_near), np.random.default_rng(0))


@pytest.fixture
def made_scans(monkeypatch):
    """Return the list of the kinds of scans that were made."""
    made, first, along = [], Scans.first, Scans.along
    monkeypatch.setattr(Scans, "first", lambda *given: made.append("first") or first(*given))
    monkeypatch.setattr(Scans, "along", lambda *given: made.append("along") or along(*given))
    return made


@EVERY_PROBLEM
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("most_near", [500, N_ROWS])  # a sample of the near rows, and all of them
def test_the_objective_of_all_rows_is_minimised(make, fit_intercept, most_near, made_scans):
    vectors, sample = make(n=N_ROWS)
    objective = Objective(vectors, sample, fit_intercept)
    point = start(vectors, sample, fit_intercept)
    found = refine(vectors, sample, point, most_near, fit_intercept)
    value, gradient = objective(found.point)
    best, _ = objective(objective.minimum(found.point)[0])
    assert objective(point)[0] > best * 1.001
    assert value <= best * 1.001
    is_scanned = found.is_complete  # else the last round may be trusted without a scan
    assert_allclose(found.objective, value, rtol=1e-5 if is_scanned else 1e-3)
    assert_allclose(found.gradient, gradient, atol=(1e-5 if is_scanned else 1e-2) * sample.c.sum())
    assert found.point[:, -1].any() == fit_intercept
    assert found.remaining <= newton.TOLERANCE
    assert found.steps > 0
    assert len(made_scans) <= 15


def test_at_the_solution_one_scan_is_enough(made_scans):
    vectors, sample = class_problem(N_ROWS)
    problem = Problem(vectors, sample, True, Native())
    point = minimise(problem, problem.zero(), np.random.default_rng(0), 1e-6).iterate.point
    found = refine(vectors, sample, point)
    _, gradient = Objective(vectors, sample)(point)
    assert_array_equal(found.point, point)
    assert_allclose(found.gradient, gradient, atol=1e-5 * sample.c.sum())
    assert made_scans == ["first"]
    assert found.steps == 0
    assert found.remaining <= newton.TOLERANCE


# --- classes that do not overlap ------------------------------------------------------------------


@pytest.mark.parametrize("C", [10.0, 100.0, 1e3])
def test_rounds_reach_the_solution_if_a_sample_is_far_from_it(C):
    vectors, sample = separable_problem(C=C)
    objective, point = Objective(vectors, sample), start(vectors, sample)
    found = refine(vectors, sample, point)
    best, _ = objective(objective.minimum(found.point)[0])
    assert objective(point)[0] > 1.05 * best
    assert found.objective <= 1.001 * best
    assert found.remaining <= newton.TOLERANCE


def test_what_remains_is_reported_if_rounds_end_early(monkeypatch):
    vectors, sample = separable_problem(C=1e3)
    point = start(vectors, sample)
    best = refine(vectors, sample, point)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    monkeypatch.setattr(all_rows, "minimise", partial(minimise, most_steps=1))
    single = refine(vectors, sample, point)
    assert single.remaining > newton.TOLERANCE
    assert single.objective > best.objective


def solved_badly(monkeypatch, change):
    """Let the solver of a round return other points."""

    def minimise_badly(problem, iterate, *arguments, **keywords):
        solution = minimise(problem, iterate, *arguments, **keywords)
        moved = change(iterate.point, solution.iterate.point)
        return replace(solution, iterate=problem.iterate(moved))

    monkeypatch.setattr(all_rows, "minimise", minimise_badly)


@EVERY_PROBLEM
def test_a_step_in_a_wrong_direction_is_not_made(make, monkeypatch, made_scans):
    vectors, sample = make(n=N_ROWS)
    point = start(vectors, sample)
    solved_badly(monkeypatch, lambda before, after: before - (after - before))
    found = refine(vectors, sample, point)
    assert_array_equal(found.point, point)
    assert_allclose(found.objective, Objective(vectors, sample)(point)[0], rtol=1e-5)
    assert made_scans == ["first", "first", "along", "first"]
    assert found.remaining > newton.TOLERANCE


def test_of_a_step_that_is_too_long_a_part_is_made(monkeypatch):
    vectors, sample = value_problem(N_ROWS)
    point = start(vectors, sample)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    solved_badly(monkeypatch, lambda before, after: before + 4 * (after - before))
    found = refine(vectors, sample, point)
    objective = Objective(vectors, sample)
    assert not np.array_equal(found.point, point)
    assert found.objective < objective(point)[0]
    assert_allclose(found.objective, objective(found.point)[0], rtol=1e-5)


def test_outputs_make_steps_of_their_own_length(monkeypatch):
    vectors, sample = PROBLEMS["four classes"](n=N_ROWS)
    point = start(vectors, sample)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    signs = np.array([1.0, 1.0, -1.0, 1.0])[:, None]
    solved_badly(monkeypatch, lambda before, after: before + signs * (after - before))
    found = refine(vectors, sample, point)
    assert_array_equal((found.point != point).any(axis=1), [True, True, False, True])


def test_no_scan_follows_a_round_that_needs_none(monkeypatch, made_scans):
    vectors, sample = class_problem(N_ROWS)
    point = start(vectors, sample)
    few = refine(vectors, sample, point, most_near=500)
    n_scans = len(made_scans)
    assert not few.is_complete
    assert few.remaining <= newton.TOLERANCE
    scanned = refine(vectors, sample, point, most_near=500, tolerance=1e-5)
    assert len(made_scans) - n_scans > n_scans
    objective = Objective(vectors, sample)
    best, _ = objective(objective.minimum(point)[0])
    for found in (few, scanned):
        assert objective(found.point)[0] <= best * (1 + 1e-3)


# --- near rows ------------------------------------------------------------------------------------


@EVERY_PROBLEM
def test_near_rows_are_those_at_the_last_point(make):
    vectors, sample = make(n=N_ROWS)
    found = refine(vectors, sample, start(vectors, sample))
    decisions = Objective(vectors, sample).decisions(found.point)
    near = sample.loss.near(decisions, sample.reach, 1)
    positions = {row.tobytes(): k for k, row in enumerate(sample.rows.dense())}
    chosen = np.array([positions[row.tobytes()] for row in found.near.rows.dense()])
    assert (np.diff(chosen) > 0).all()
    missing = np.setdiff1d(np.flatnonzero(near), chosen)
    assert len(missing) <= 2  # kernel values in float32
    assert abs(found.n_near - np.count_nonzero(near)) <= 2
    if sample.loss.n_outputs == 1 and hasattr(sample.loss, "codes"):
        assert 0 < np.count_nonzero(near) < N_ROWS
    assert_allclose(found.near.c[near[chosen]], sample.c[chosen[near[chosen]]])
    others = ~near[chosen]
    if not near.all():
        assert others.any()
        assert_allclose(found.near.c[others].sum(), sample.c[~near].sum(), rtol=0.05)


def test_a_sample_represents_too_many_near_rows():
    vectors, sample = class_problem(N_ROWS)
    point = start(vectors, sample)
    found = refine(vectors, sample, point)
    assert found.is_complete
    few = refine(vectors, sample, point, most_near=found.n_near // 2)
    assert not few.is_complete
    assert few.near.n_rows < found.near.n_rows
    assert_allclose(few.near.c.sum(), sample.c.sum())


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("make", [PROBLEMS["four classes"], separable_problem])
@pytest.mark.parametrize("most_near", [500, N_ROWS])
def test_result_does_not_depend_on_threads_or_layout(make, layout, most_near):
    vectors, sample = make(n=N_ROWS, dtype=np.float32)
    twin = make(n=N_ROWS, dtype=np.float32, layout=layout)[1]
    point = start(vectors, sample)
    one = refine(vectors, sample, point, most_near)
    three = refine(vectors, twin, point, most_near, n_threads=3)
    assert_array_equal(one.point, three.point)
    assert one.objective == three.objective
    assert (one.near is None) == (three.near is None)
    if one.near is not None:
        assert_array_equal(one.near.c, three.near.c)


def test_the_intercept_is_finite_if_no_row_bends():
    # All rows are equal: the zero model is optimal, and every row lies on the straight part.
    X, y = np.zeros((3000, 1)), np.arange(3000) % 2
    clf = BudgetedSVC(4, max_iter=2, random_state=0).fit(X, y)
    assert np.isfinite(clf.dual_coef_).all()
    assert np.isfinite(clf.intercept_).all()
