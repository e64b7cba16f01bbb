"""The solver as a whole: it improves the model of the passes, and never makes it worse."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from exact_objective import Objective
from models import STRATEGIES, assert_same_states, friedman, moons, ready_for, ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.solving import all_rows, newton, solve
from pocketsvm.solving.sample import Sample
from pocketsvm.solving.scans import Scans
from pocketsvm.solving.solve import Solver
from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training import settings
from pocketsvm.training.settings import Choices, Settings


def objective_of(model, X, y, c, epsilon=None):
    """Return the objective in plain NumPy for a model's vectors, and the model's point."""
    rows = ready_rows(X, model.gamma_)
    if epsilon is None:
        targets = class_targets(rows.checked, y, None, None, "hinge")[1]
    else:
        targets = value_targets(rows.checked, y, None, "epsilon_insensitive", (epsilon,))[1]
        targets = replace(targets, values=y[:, None] - model._state.offset)
    sample = Sample(rows, np.broadcast_to(c, len(X)), targets.solver_loss(Choices()))
    point = np.column_stack([model.dual_coef_, model.intercept_ - model._state.offset])
    return Objective(model.support_vectors_, sample), point


def few_kept(monkeypatch, n_rows, budget):
    """Let the solver solve on a sample of this many rows first."""
    monkeypatch.setattr(solve, "MOST_KEPT", 4 * (budget + 8) * n_rows)
    monkeypatch.setattr(Settings, "few_rows", n_rows)
    monkeypatch.setattr(Settings, "most_sampled", n_rows)


@pytest.fixture
def no_moves(monkeypatch):
    """Let the vectors stay."""
    monkeypatch.setattr(Solver, "move", lambda _, answer: answer)


# --- the solution ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_an_independent_solver_does_not_find_a_better_classifier(n_classes, C):
    X, y = make_blobs(400, centers=n_classes, cluster_std=3.0, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    clf = BudgetedSVC(20, C, random_state=0).fit(X, y, weight)
    objective, point = objective_of(clf, X, y, C * weight)
    value = objective(point)[0]
    assert_allclose(clf.profile_.objective_after, value, rtol=1e-4)
    with threadpool_limits(1):
        assert value <= objective(objective.minimum(point)[0])[0] * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize(("budget", "C"), [(5, 0.1), (20, 10.0), (60, 0.3)])
def test_an_independent_solver_does_not_find_a_better_regression(budget, C, epsilon, monkeypatch):
    _patch_choices(monkeypatch, merges_per_vector=10**6)  # the same pass without the solver
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model, last = (
        BudgetedSVR(budget, C, epsilon=epsilon, max_iter=1, random_state=0, polish=polish)
        for polish in (True, False)
    )
    model.fit(X, y, weight)
    last.fit(X, y, weight)
    objective, point = objective_of(model, X, y, C * weight, epsilon)
    objective_before, point_before = objective_of(last, X, y, C * weight, epsilon)
    value, before = objective(point)[0], objective_before(point_before)[0]
    assert_allclose(model.profile_.objective_after, value, rtol=1e-4)
    assert_allclose(model.profile_.objective_before, before, rtol=1e-4)
    assert value <= before
    with threadpool_limits(1):
        assert value <= objective(objective.minimum(point)[0])[0] * (1 + 1e-3)


@STRATEGIES
@pytest.mark.usefixtures("no_moves")
def test_objective_never_increases_and_the_profile_reports_it(maintenance):
    X, y = moons()
    arguments = {"maintenance": maintenance, "max_iter": 5, "random_state": 0}
    clf = BudgetedSVC(20, 10.0, **arguments).fit(X, y)
    profile = clf.profile_
    assert profile.objective_after <= profile.objective_before
    assert profile.solver_steps > 0
    assert profile.seconds_polish > 0
    assert profile.gradient_norm < 0.01
    seconds, steps = profile.seconds_polish, profile.solver_steps
    assert f"polished in {seconds:.3f} s: {steps} steps" in str(profile)
    assert profile.moves == 0
    assert "moved" not in str(profile)
    last = BudgetedSVC(20, 10.0, polish=False, **arguments).fit(X, y)
    # The vectors do not move.
    assert_array_equal(clf.support_vectors_, solve.distinct(last.support_vectors_))
    objective, point = objective_of(last, X, y, 10.0)
    assert_allclose(profile.objective_before, objective(point)[0], rtol=1e-4)


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_large_c_converges(C):
    X, y = moons(1000)
    clf = BudgetedSVC(100, C, random_state=0).fit(X, y)  # warnings are errors
    assert clf.profile_.objective_after < clf.profile_.objective_before
    assert clf.score(X, y) > 0.95


@pytest.mark.filterwarnings("ignore:C=.* is small for these targets")
@pytest.mark.parametrize("C", [1e-4, 1e-2])
@pytest.mark.parametrize("n", [267, 400])
def test_small_c_converges(C, n):
    X, y = moons(n)
    clf = BudgetedSVC(10, C, gamma=4.0, random_state=0).fit(X, y)  # warnings are errors
    assert clf.profile_.objective_after <= clf.profile_.objective_before
    values = BudgetedSVR(10, C, gamma=4.0, random_state=0).fit(X, 100.0 * X[:, 0])
    assert values.profile_.objective_after <= values.profile_.objective_before


def test_large_offsets_converge():
    X, y = moons(300)
    clf = BudgetedSVC(30, gamma=1.0, random_state=0).fit(X + 1e5, y)
    assert clf.score(X + 1e5, y) > 0.95


@pytest.mark.usefixtures("no_moves")
@pytest.mark.parametrize("sampled", [False, True])
def test_reaching_the_step_limit_gives_a_warning(sampled, monkeypatch):
    one_step = partial(newton.minimise, most_steps=1)
    for module in (solve, all_rows):
        monkeypatch.setattr(module, "minimise", one_step)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    if sampled:
        few_kept(monkeypatch, 300, 20)
    X, y = moons(1500)
    with pytest.warns(ConvergenceWarning, match="Polishing stopped before it converged"):
        BudgetedSVC(20, 1000.0, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Polishing stopped before it converged"):
        BudgetedSVR(20, 1000.0, random_state=0).fit(X, np.sin(5 * X[:, 0]))


# --- vectors --------------------------------------------------------------------------------------


def test_duplicates_are_dropped_in_order():
    vectors = np.array([[1, 0], [0, 2], [1, -0.0], [0, 2], [3, 3]], dtype=np.float32)
    assert_array_equal(solve.distinct(vectors), vectors[[0, 1, 4]], strict=True)
    unique = vectors[[4, 0, 1]]
    assert solve.distinct(unique) is unique


def test_duplicate_vectors_are_joined():
    X, y = moons(40)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    clf = BudgetedSVC(500, 100.0, gamma=5.0, random_state=0).fit(X, y)
    assert len(np.unique(clf.support_vectors_, axis=0)) == len(clf.support_vectors_) <= 40
    assert clf.score(X, y) > 0.95


def test_the_whole_budget_is_used_where_vectors_were_merged():
    X, y = make_blobs(3000, centers=26, cluster_std=3.0, random_state=0)
    clf = BudgetedSVC(100, random_state=0).fit(X, y)
    assert clf.support_vectors_.shape == (100, 2)
    assert len(np.unique(clf.support_vectors_, axis=0)) == 100
    few = BudgetedSVC(500, max_iter=1, random_state=0).fit(X[:60], y[:60] % 2)
    assert len(few.support_vectors_) <= 60  # nothing was merged


@pytest.mark.usefixtures("no_moves")
def test_free_slots_are_filled_with_rows(monkeypatch):
    X, y = moons(300, dtype=np.float32)
    found, distinct = [], solve.distinct

    def fewer(vectors):
        found.append(vectors)
        return distinct(vectors)[: -5 if len(found) == 1 else None]

    monkeypatch.setattr(solve, "distinct", fewer)
    clf = BudgetedSVC(20, 10.0, random_state=0).fit(X, y)
    assert_array_equal(clf.support_vectors_[:15], found[0][:15])
    assert clf.support_vectors_.shape == (20, 2)
    assert np.isin(clf.support_vectors_[15:], X).all()


def test_every_class_uses_all_vectors():
    X, y = make_blobs(900, centers=5, cluster_std=2.0, random_state=0)
    clf = BudgetedSVC(50, random_state=0).fit(X, y)
    assert clf.dual_coef_.shape == (5, len(clf.support_vectors_))
    assert np.count_nonzero(clf.dual_coef_) > 4 * len(clf.support_vectors_)
    unpolished = BudgetedSVC(50, random_state=0, polish=False).fit(X, y)
    assert clf.score(X, y) >= unpolished.score(X, y) - 0.01


# --- samples --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_moves")
def test_coefficients_come_from_all_rows_after_a_sample(monkeypatch):
    X, y = moons(6000, noise=0.3)
    few_kept(monkeypatch, 300, 20)
    refined = []
    refine = Solver._refined
    monkeypatch.setattr(
        Solver, "_refined", lambda *given: refined.append(given[2]) or refine(*given)
    )
    clf = BudgetedSVC(20, random_state=0).fit(X, y)
    objective, point = objective_of(clf, X, y, 1.0)
    # The last round has no scan.
    assert_allclose(clf.profile_.objective_after, objective(point)[0], rtol=1e-3)
    best = objective(objective.minimum(point)[0])[0]
    assert clf.profile_.objective_after <= best * (1 + 1e-3)
    # The sample alone would be worse.
    (alone,) = refined
    assert objective(alone)[0] - best > 5 * (clf.profile_.objective_after - best)


def _patch_choices(monkeypatch, **changes):
    choices = Choices(**changes)
    monkeypatch.setattr(
        settings, "Settings", lambda **given: Settings(**given | {"choices": choices})
    )


@pytest.mark.usefixtures("no_moves")
def test_rows_are_read_few_times(monkeypatch):
    X, y = moons(6000, noise=0.3)
    few_kept(monkeypatch, 64 * 20, 20)
    counted, first, along = [], Scans.first, Scans.along
    monkeypatch.setattr(Scans, "first", lambda *given: counted.append("first") or first(*given))
    monkeypatch.setattr(Scans, "along", lambda *given: counted.append("along") or along(*given))
    BudgetedSVC(20, random_state=0).fit(X, y)
    assert 2 <= len(counted) <= 5
    assert counted[0] == "first"


@pytest.mark.usefixtures("no_moves")
def test_coefficients_converge_on_all_rows_if_the_classes_hardly_overlap(monkeypatch):
    X, y = moons(6000, noise=0.1)
    few_kept(monkeypatch, 300, 20)
    model = BudgetedSVC(20, 1000.0, gamma=2.0, random_state=0)
    found = model.fit(X, y).profile_.objective_after  # without a warning
    objective, point = objective_of(model, X, y, 1000.0)
    assert_allclose(found, objective(objective.minimum(point)[0])[0], rtol=1e-3)


def test_sizes_of_samples():
    def size(budget, **choices):
        _, _, found = ready_for(BudgetedSVC(budget), *moons(20))
        return solve.sample_size(replace(found, choices=Choices(**choices)), 2)

    assert size(500) == solve.most_rows(500, 2) == 2**28 // (4 * 516)  # kernel values are kept
    assert size(2000) == 64 * 2000  # more: so many for each vector
    assert size(2000, class_rows_per_vector=100) == 100 * 2000


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
@pytest.mark.parametrize("sampled", [False, True])
def test_result_does_not_depend_on_threads_or_layout(layout, sampled, monkeypatch):
    if sampled:
        few_kept(monkeypatch, 500, 40)
    X, y = make_classification(4000, 12, n_informative=6, random_state=0)
    X = X.astype(np.float32)
    one = BudgetedSVC(40, random_state=0).fit(X, y)
    two = BudgetedSVC(40, random_state=0, n_jobs=3).fit(layout(X), y)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)


# --- models ---------------------------------------------------------------------------------------


def test_class_weight_shifts_the_boundary():
    X, y = moons(2000, noise=0.4)
    plain = BudgetedSVC(30, random_state=0).fit(X, y)
    weighted = BudgetedSVC(30, class_weight={0: 1.0, 1: 5.0}, random_state=0).fit(X, y)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.05


def test_fit_intercept_false_gives_zero_intercept():
    X, y = moons()
    clf = BudgetedSVC(20, fit_intercept=False, random_state=0).fit(X, y)
    assert_array_equal(clf.intercept_, [0.0])


def test_few_vectors_come_close_to_the_exact_svm():
    X, y = moons(4000, noise=0.3)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    exact = SVC(C=10, gamma=2.0).fit(X, y)
    scores = [
        BudgetedSVC(30, 10.0, gamma=2.0, random_state=seed).fit(X, y).score(X_test, y_test)
        for seed in range(5)
    ]
    assert len(exact.support_vectors_) > 600
    assert np.mean(scores) > exact.score(X_test, y_test) - 0.01
    assert np.std(scores) < 0.005


@pytest.mark.parametrize(
    "data",
    [
        {"weights": [0.99], "n_samples": 4000},
        {"flip_y": 0.1, "n_samples": 2000},
        {"n_features": 2, "n_informative": 2, "n_redundant": 0, "n_samples": 2000},
        {"n_features": 500, "n_samples": 1000},
        {"n_classes": 3, "n_informative": 4, "n_samples": 2000},
        {"n_classes": 10, "n_informative": 8, "n_samples": 2000},
        {"n_samples": 100},
    ],
    ids=["1:100", "noise", "2 features", "500 features", "3 classes", "10 classes", "100 rows"],
)
def test_polishing_does_not_reduce_the_test_accuracy(data):
    X, y = make_classification(**{"random_state": 0} | data)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    difference = [
        BudgetedSVC(60, random_state=seed).fit(X, y).score(X_test, y_test)
        - BudgetedSVC(60, random_state=seed, polish=False).fit(X, y).score(X_test, y_test)
        for seed in range(3)
    ]
    assert np.mean(difference) > -0.002 - 1 / len(y_test)


def test_thorough_polishing_keeps_the_state_of_the_passes():
    X, y = friedman(300)
    plain, thorough = (
        BudgetedSVR(10, random_state=0, polish=polish).fit(X, y) for polish in (True, "thorough")
    )
    assert_same_states(plain._state, thorough._state)
    assert thorough.profile_.objective_after < plain.profile_.objective_after


def test_partial_fit_does_not_polish():
    X, y = moons()
    clf = BudgetedSVC(20, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert clf.profile_.solver_steps == 0
    # Polishing does not change the last iterate, from which partial_fit continues.
    fitted = BudgetedSVC(20, max_iter=5, random_state=0).fit(X, y)
    plain = BudgetedSVC(20, max_iter=5, random_state=0, polish=False).fit(X, y)
    assert_same_states(fitted._state, plain._state)


def rare_class(seed):
    """Return rows of 24 clusters, of which one is the positive class."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(24, 8))
    clusters = rng.integers(0, 24, 4000)
    X = centres[clusters] + 0.6 * rng.normal(size=(4000, 8))
    return X.astype(np.float32), clusters == 0


@pytest.mark.parametrize("seed", [1, 4])
def test_vectors_move_although_far_rows_get_a_loss(seed):
    # Moved on the near rows alone, the vectors leave heavy rows that had no loss.
    X, y = rare_class(seed)
    clf = BudgetedSVC(
        40, 100.0, gamma=0.3, class_weight="balanced", polish="thorough", random_state=0
    )
    assert clf.fit(X, y).profile_.moves >= 10
