"""Passes: reports, stopping, continuing, and rows that are hard to train on."""

import warnings

import numpy as np
import pytest
from models import (
    STRATEGIES,
    assert_same_states,
    blobs,
    friedman,
    moons,
    ready_rows,
    small_svc,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import Reference

from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training.passes import make_trainers, passes, run_passes
from pocketsvm.training.settings import Choices, Settings


def two_classes():
    X, y = moons(300)
    rows = ready_rows(X, 0.5)
    return rows, class_targets(rows.checked, y, None, None, "hinge")[1]


def three_classes():
    X, y = blobs(3, 300)
    rows = ready_rows(X.astype(np.float32), 0.1)
    weight = np.linspace(1, 2, len(y))
    return rows, class_targets(rows.checked, y, weight, {0: 3.0}, "hinge")[1]


def values():
    X, y = friedman(300)
    rows = ready_rows(X, 0.1)
    return rows, value_targets(rows.checked, y + 3, None, "epsilon_insensitive", (0.1,))[1]


PROBLEMS = pytest.mark.parametrize("problem", [two_classes, three_classes, values])


def settings(n_passes, **changes):
    defaults = {
        "budget": 20,
        "alpha": 1e-3,
        "n_passes": n_passes,
        "maintenance": "merge",
        "fit_intercept": True,
        "polish": False,
        "thorough": False,
        "n_threads": 1,
        "random_state": np.random.RandomState(0),
    }
    return Settings(**defaults | changes)


class Watcher:
    """Keeps the reports and a snapshot after each pass, and may stop the passes."""

    def __init__(self, stop_after=None):
        self.reports, self.snapshots, self.stop_after = [], [], stop_after

    def __call__(self, report):
        self.reports.append(report)
        self.snapshots.append(report.snapshot())
        return report.done == self.stop_after


# --- reports and stopping -------------------------------------------------------------------------


@PROBLEMS
def test_every_pass_is_reported_once(problem):
    rows, targets = problem()
    watcher = Watcher()
    found = passes(rows, targets, settings(4), watcher)
    assert [report.done for report in watcher.reports] == [1, 2, 3, 4]
    assert {report.n_passes for report in watcher.reports} == {4}
    assert {report.profile.steps for report in watcher.reports} == {300 * targets.n_problems}
    assert all(report.seconds > 0 for report in watcher.reports)
    assert sum(report.profile.merges for report in watcher.reports) == found.profile.merges > 0
    assert str(watcher.reports[-1]).startswith(f"pass 4/4: {len(found.vectors)} support vectors, ")
    assert found.n_passes == 4


@PROBLEMS
def test_true_stops_the_passes(problem):
    rows, targets = problem()
    watcher = Watcher(stop_after=2)
    found = passes(rows, targets, settings(50), watcher)
    assert len(watcher.reports) == found.n_passes == 2
    assert_same_states(found, passes(rows, targets, settings(2), Watcher()))


@PROBLEMS
def test_snapshots_are_the_results_of_shorter_runs(problem):
    rows, targets = problem()
    watcher = Watcher()
    found = passes(rows, targets, settings(3), watcher)
    assert_same_states(watcher.snapshots[-1], found)
    # Later passes do not change a snapshot.
    assert_same_states(watcher.snapshots[0], passes(rows, targets, settings(1), Watcher()))
    assert [snapshot.n_passes for snapshot in watcher.snapshots] == [1, 2, 3]
    assert watcher.snapshots[-1].profile == found.profile


# --- continuing -----------------------------------------------------------------------------------


@PROBLEMS
def test_continued_passes_give_the_same_bits_as_one_run(problem):
    rows, targets = problem()
    whole = passes(rows, targets, settings(5), Watcher())
    first = passes(rows, targets, settings(2), Watcher())
    # The state holds the random numbers, too: those of the settings are not used.
    other_seed = settings(3, random_state=np.random.RandomState(99))
    second = passes(rows, targets, other_seed, Watcher(), start=first)
    assert_same_states(second, whole)
    assert second.n_passes == 3
    assert (first.profile + second.profile).merges == whole.profile.merges


@PROBLEMS
def test_threads_do_not_change_a_bit(problem):
    rows, targets = problem()
    one, three = (passes(rows, targets, settings(2, n_threads=n), Watcher()) for n in (1, 3))
    assert_same_states(one, three)


def test_continuing_with_another_alpha_keeps_the_model():
    rows, targets = values()
    first = passes(rows, targets, settings(2), Watcher())
    # With the tube this wide no row is added: each step only shrinks the coefficients.
    wide = value_targets(
        rows.checked, targets.values, None, "epsilon_insensitive", (1e6,), first.offset
    )[1]
    second = passes(rows, wide, settings(1, alpha=1e-5), Watcher(), start=first)
    assert_array_equal(second.vectors, first.vectors)
    assert_allclose(second.dual_coef, first.dual_coef * 2 / 3, rtol=1e-6)


# --- passes before the solver ---------------------------------------------------------------------


@PROBLEMS
def test_passes_end_early_after_enough_merges(problem):
    rows, targets = problem()
    without_end = passes(rows, targets, settings(10), Watcher())
    watcher = Watcher()
    choices = Choices(merges_per_vector=20, merges_of_weighted=20, most_passes=10)
    found = passes(rows, targets, settings(10, polish=True, choices=choices), watcher)
    most = 20 * 20  # merges a vector, vectors
    assert 1 < found.n_passes < 10
    assert found.profile.merges >= most > found.profile.merges - watcher.reports[-1].profile.merges
    assert found.profile.merges < without_end.profile.merges
    whole = passes(rows, targets, settings(found.n_passes), Watcher())
    if targets.n_problems > 1:
        assert_same_states(found, whole)
    else:  # a single trainer ends in the middle of a pass
        assert found.profile.merges == most
        assert found.profile.steps < whole.profile.steps
        before = passes(rows, targets, settings(found.n_passes - 1), Watcher())
        assert_same_states(watcher.snapshots[-2], before)


@PROBLEMS
def test_interrupted_passes_end_after_as_many_merges(problem):
    rows, targets = problem()
    choices = Choices(merges_per_vector=20, merges_of_weighted=20, most_passes=10)
    given = settings(10, polish=True, choices=choices)
    watcher = Watcher()
    whole = passes(rows, targets, given, watcher)
    resumed = passes(rows, targets, given, Watcher(), before=watcher.snapshots[0])
    assert_same_states(resumed, whole)
    assert resumed.profile.merges == whole.profile.merges


@PROBLEMS
def test_the_limit_of_merges_does_not_depend_on_the_number_of_passes(problem):
    rows, targets = problem()
    choices = Choices(merges_per_vector=1, merges_of_weighted=1, rows_per_vector=10**6)
    one, two = (
        passes(rows, targets, settings(n, polish=True, choices=choices), Watcher()) for n in (1, 2)
    )
    assert_same_states(one, two)
    assert one.n_passes == two.n_passes == 1
    n_steps = rows.n_rows * targets.n_problems
    if targets.n_problems > 1:  # trainers that do not know of each other see all rows
        assert one.profile.steps == n_steps
    else:
        assert one.profile.merges == 20  # one for each vector
        assert one.profile.steps < n_steps


@PROBLEMS
def test_merges_have_no_limit_if_no_solver_follows(problem):
    rows, targets = problem()
    choices = Choices(merges_per_vector=1, merges_of_weighted=1)
    found = passes(rows, targets, settings(1, polish=False, choices=choices), Watcher())
    assert found.profile.steps == rows.n_rows * targets.n_problems
    assert found.profile.merges > 20


@PROBLEMS
def test_passes_end_after_the_largest_number_if_the_solver_follows(problem):
    rows, targets = problem()

    def n_passes(n=30, polish=True, budget=20, **choices):
        found = Choices(merges_per_vector=10**6, merges_of_weighted=10**6, **choices)
        given = settings(n, polish=polish, budget=budget, choices=found)
        return passes(rows, targets, given, Watcher()).n_passes

    if not targets.are_classes_weighted:
        assert n_passes() == Choices().most_passes == 5
        assert n_passes(most_passes=3) == 3
    assert n_passes(n=2) == 2
    assert n_passes(polish=False) == 30
    if targets.all_rows_enter:  # all rows fit: there is enough after one pass
        assert n_passes(budget=rows.n_rows) == 1


@PROBLEMS
def test_passes_without_the_solver_do_not_end_early(problem):
    rows, targets = problem()
    choices = Choices(merges_per_vector=1, merges_of_weighted=1, rows_per_vector=2)
    found = passes(rows, targets, settings(4, choices=choices), Watcher())
    assert found.n_passes == 4
    assert found.profile.steps == 4 * rows.n_rows * targets.n_problems
    assert_same_states(found, passes(rows, targets, settings(4), Watcher()))


@PROBLEMS
def test_passes_before_the_solver_see_a_sample(problem):
    rows, targets = problem()

    def found(polish=True, rows_per_vector=5, seed=0):
        choices = Choices(rows_per_vector=rows_per_vector, class_rows_per_vector=1)
        random = np.random.RandomState(seed)
        given = settings(2, polish=polish, choices=choices, random_state=random)
        return passes(rows, targets, given, Watcher())

    few = found()
    n_problems = targets.n_problems
    assert few.profile.steps <= 2 * 5 * 20 * n_problems
    # Each class has its share, rounded down.
    assert few.profile.steps > 2 * (5 * 20 - 3) * n_problems
    assert_same_states(few, found())
    assert not np.array_equal(few.vectors, found(seed=1).vectors)
    assert found(polish=False).profile.steps == 2 * 300 * n_problems
    assert found(rows_per_vector=15).profile.steps == 2 * 300 * n_problems  # no more rows than that


def test_passes_of_a_large_budget_see_fewer_rows_for_each_vector():
    choices = Choices(rows_per_vector=512, most_pass_rows=2**18, class_rows_per_vector=64)
    assert choices.most_sampled(100) == 512 * 100
    assert choices.most_sampled(512) == choices.most_sampled(2000) == 2**18
    assert choices.most_sampled(10_000) == 64 * 10_000


def test_sampled_passes_do_not_depend_on_threads():
    rows, targets = three_classes()
    choices = Choices(rows_per_vector=5, class_rows_per_vector=1)
    one, three = (
        passes(rows, targets, settings(2, polish=True, choices=choices, n_threads=n), Watcher())
        for n in (1, 3)
    )
    assert_same_states(one, three)


def test_rare_classes_keep_their_rows_in_the_sample():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = (np.arange(3000) < 30).astype(int)
    X[y == 1] += 6.0
    rows = ready_rows(X, 1.0)
    targets = class_targets(rows.checked, y, None, None, "hinge")[1]
    choices = Choices(rows_per_vector=5, class_rows_per_vector=2)
    found = passes(rows, targets, settings(1, polish=True, choices=choices), Watcher())
    assert found.profile.steps == 99 + 30  # of a sample of 100, one row would be rare


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize(("n_classes", "budget"), [(26, 100), (3, 20), (7, 15), (2, 9)])
def test_problems_share_the_whole_budget(n_classes, budget, polish):
    X = np.random.default_rng(0).normal(size=(1500, 3))
    rows = ready_rows(X, 1.0)
    y = np.random.default_rng(1).integers(n_classes, size=1500)
    targets = class_targets(rows.checked, y, None, None, "hinge")[1]
    found = passes(rows, targets, settings(2, budget=budget, polish=polish), Watcher())
    sizes = [len(state.coefficients) for state in found.states]
    assert sum(sizes) == len(found.vectors) == budget
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("maintenance", ["merge", "gss-precise"])
def test_without_the_solver_passes_are_those_of_the_reference(maintenance):
    X, y = moons(300)
    rows = ready_rows(X, 2.0)
    targets = class_targets(rows.checked, y, None, None, "hinge")[1]

    def given():
        # Limits that the solver would have.
        tight = Choices(rows_per_vector=1, merges_per_vector=1, merges_of_weighted=1)
        return settings(3, fit_intercept=False, maintenance=maintenance, choices=tight)

    (trainer,) = make_trainers(rows, targets, given())
    common = {"gamma": 2.0, "alpha": given().alpha, "maintenance": maintenance}
    expected = Reference(n_features=2, budget=20, fit_intercept=False, **common)

    def follow(report):
        for i in trainer.order():
            expected.step(X[i], 1 if y[i] else -1)
        return False

    run_passes([trainer], rows, targets, given(), follow)
    found = passes(rows, targets, given(), Watcher())
    assert found.profile.steps == expected.steps == 900
    assert found.profile.merges == len(expected.events) > 20
    (state,) = found.states
    assert_allclose(state.coefficients, expected.coefficients, rtol=1e-6)
    assert_allclose(state.vectors, expected.vectors, rtol=1e-6, atol=1e-9)


# --- rows that are hard to train on ---------------------------------------------------------------


def test_memory_is_not_reserved_for_an_unreachable_budget():
    X, y = moons()
    plain = small_svc(budget=3000).fit(X, y)
    assert_array_equal(small_svc(budget=2**31 - 1).fit(X, y).dual_coef_, plain.dual_coef_)


@STRATEGIES
@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.zeros_like(X),  # identical rows: kappa = 1 everywhere
        lambda X: np.sign(X),  # a few distinct rows
        lambda X: X * 0 + np.arange(len(X))[:, None] * 5,  # rows far apart: kappa = 0
        lambda X: X,
    ],
    ids=["identical", "few", "far", "usual"],
)
@pytest.mark.parametrize("gamma", [1.0, 1e5])
def test_degenerate_rows_train_and_predict(maintenance, make, gamma):
    X, y = moons(200)
    X = make(X)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        clf = small_svc(gamma=gamma, budget=10, maintenance=maintenance).fit(X, y)
        values = clf.decision_function(X)
    assert np.isfinite(values).all()
    assert np.isfinite(clf.dual_coef_).all()
    assert 1 <= len(clf.support_vectors_) <= 10


@STRATEGIES
def test_single_row_of_a_label_trains(maintenance):
    X, y = moons(200)
    y = np.zeros(200)
    y[17] = 1
    clf = small_svc(budget=4, maintenance=maintenance).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert clf.score(X, y) > 0.9
