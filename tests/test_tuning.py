"""Tuning: the grid, the search, the race, the rounds of halving, the map of scores."""

import pickle
import re
import signal
import threading

import numpy as np
import pytest
import scipy.sparse
from children import interrupt
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
)
from pocketsvm.tuning import DEFAULT_CS, ScoreMap, default_gammas, rounds, tune, written

X, Y = make_moons(600, noise=0.2, random_state=0)
FAST = BudgetedSVC(budget=20, max_iter=2, random_state=0)


# --- the grid -------------------------------------------------------------------------------------


def test_the_default_gammas_surround_scale():
    rows = np.random.default_rng(0).normal(3.0, 5.0, size=(500, 7))
    scale = SVC(gamma="scale").fit(rows, np.arange(500) % 2)._gamma
    gammas = default_gammas(FAST, rows)
    assert_allclose(np.diff(np.log2(gammas)), 2)
    assert gammas[0] < scale / 40
    assert gammas[-1] > scale * 10
    assert default_gammas(FAST, scipy.sparse.csr_array(rows)) == gammas


def test_the_default_gammas_of_a_pipeline_are_those_of_its_scaled_rows():
    rows = np.random.default_rng(0).normal(0.0, 1e6, size=(500, 8))
    pipeline = make_pipeline(StandardScaler(), FAST)
    assert default_gammas(pipeline, rows) == [2.0**k for k in (-9, -7, -5, -3, -1, 1)]
    assert not hasattr(pipeline[0], "mean_")  # a clone was fitted


def test_first_steps_of_a_pipeline_may_need_the_labels():
    search = tune(make_pipeline(SelectKBest(k=1), FAST), X, Y, C=[1.0], cv=2, n_jobs=1)
    assert search.best_estimator_[-1].support_vectors_.shape[1] == 1


def test_the_default_grid_is_that_of_the_docs():
    assert list(DEFAULT_CS) == [2.0**k for k in (-5, -1, 3, 7, 11)]
    rows, y = X[:60], Y[:60]
    search = tune(FAST, rows, y, cv=2, n_jobs=1, search="grid")
    tried = search.cv_results_["params"]
    assert len(tried) == 30
    assert {candidate["C"] for candidate in tried} == set(DEFAULT_CS)
    assert {candidate["gamma"] for candidate in tried} == set(default_gammas(FAST, rows))


# --- the search -----------------------------------------------------------------------------------


def test_the_best_candidate_is_fitted_on_all_rows():
    search = tune(FAST, X, Y, C=[0.01, 10], gamma=[1e-4, 1.0])
    assert search.best_params_ == {"C": 10, "gamma": 1.0}
    twin = clone(FAST).set_params(C=10, gamma=1.0).fit(X, Y)
    assert_array_equal(search.best_estimator_.decision_function(X), twin.decision_function(X))
    assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), twin.predict(X))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(clone(FAST).set_params(C=10, gamma=1.0), X, Y, cv=folds)
    grid = tune(FAST, X, Y, C=[10], gamma=[1.0], search="grid")
    assert_allclose(grid.best_score_, scores.mean())


def test_the_result_does_not_depend_on_the_number_of_threads():
    rows, y = make_moons(4000, noise=0.2, random_state=0)
    one, two = (
        tune(FAST, rows, y, C=[1, 8], gamma=[0.1, 1, 4], n_jobs=n, search="halving") for n in (1, 2)
    )
    assert one.n_resources_ == two.n_resources_ == [1333, 3999]
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert one.best_params_ == two.best_params_


def test_budgets_and_other_scores_are_searched_for():
    search = tune(FAST, X, Y, C=[10], gamma=[1.0], budget=[2, 20], scoring="balanced_accuracy")
    assert search.best_params_["budget"] == 20
    assert search.best_score_ > 0.9
    assert search.best_estimator_.budget == 20


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1))])
def test_a_pipeline_is_tuned_as_a_whole(scaler):
    pipeline = make_pipeline(scaler, FAST)
    search = tune(pipeline, X * [1, 1e4], Y, C=[10], gamma=[1e-4, 1.0])
    assert search.best_params_ == {"budgetedsvc__C": 10, "budgetedsvc__gamma": 1.0}
    assert search.best_score_ > 0.9


def test_regressions_are_tuned():
    target = np.sin(3 * X[:, 0]) + X[:, 1]
    svr = BudgetedSVR(budget=20, max_iter=2, random_state=0)
    search = tune(svr, X, target, C=[0.01, 10], gamma=[1e-4, 1.0], cv=3)
    assert search.best_params_ == {"C": 10, "gamma": 1.0}
    assert search.best_score_ > 0.9


def test_callbacks_follow_every_fit():
    class Counter:
        def __init__(self):
            self.n_fits = 0

        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context):
            self.n_fits += context.task_name == "candidate-split-evaluation"

    counter = Counter()
    tune(FAST, X, Y, C=[1, 10], gamma=[1.0], cv=3, callbacks=[counter], search="grid")
    assert counter.n_fits == 6


@pytest.fixture
def interruptible():
    """SIGINT interrupts, even if the process was started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_no_thread_behind():
    class Interrupt:
        def setup(self, estimator, context):
            self.n_fits = 0

        def teardown(self, estimator, context):
            pass

        on_fit_task_begin = teardown

        def on_fit_task_end(self, estimator, context):
            self.n_fits += 1
            if self.n_fits == 3:
                signal.raise_signal(signal.SIGINT)

    before = threading.active_count()
    slow = BudgetedSVC(budget=20, max_iter=2000, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        tune(slow, X, Y, C=[1] * 50, gamma=[1.0], n_jobs=2, callbacks=[Interrupt()], search="grid")
    assert threading.active_count() == before


INTERRUPTED_SEARCH = """
import signal
import threading
import time

from sklearn.datasets import make_moons

from pocketsvm import BudgetedSVC
from pocketsvm import fit as road
from pocketsvm.tuning import tune

is_over, n_late, passes, solve = False, 0, road.passes_over, road.solve
both = threading.Barrier(2, action=lambda: print("started", flush=True))


def noted_passes(*arguments):
    if PHASE == "passes":
        both.wait()
    return passes(*arguments)


def slow_solve(*arguments):
    global n_late
    n_late += is_over
    if PHASE == "polishing":
        both.wait()
        while True:
            time.sleep(0.01)
    return solve(*arguments)


def handler(signum, frame):
    global is_over
    is_over = True
    raise KeyboardInterrupt


road.passes_over, road.solve = noted_passes, slow_solve
signal.signal(signal.SIGINT, handler)
X, y = make_moons(2000, noise=0.2, random_state=0)
max_iter = 10**6 if PHASE == "passes" else 1
# Many merges, or few rows, would end the passes early.
svc = BudgetedSVC(budget=20, max_iter=max_iter, maintenance="removal", random_state=0)
try:
    tune(svc, X, y, C=[1, 2, 3], gamma=[1.0], n_jobs=2, search="grid")
except KeyboardInterrupt:
    print("interrupted", n_late, threading.active_count(), flush=True)
"""


@pytest.mark.parametrize("phase", ["passes", "polishing"])
def test_an_interrupted_search_ends_its_fits_and_polishes_no_more(phase):
    lines, _ = interrupt(f"PHASE = {phase!r}\n{INTERRUPTED_SEARCH}", delay=0.2)
    assert lines == ["started", "interrupted 0 1"]


def test_errors_name_what_is_wrong_with_the_input():
    with pytest.raises(
        ValueError, match=re.escape("one of 'race', 'halving', 'grid', got 'random'")
    ):
        tune(FAST, X, Y, search="random")
    with pytest.raises(ValueError, match="alpha takes the place of C"):
        tune(clone(FAST).set_params(alpha=1e-3), X, Y)
    with pytest.raises(TypeError, match="ends in one, got LogisticRegression"):
        tune(LogisticRegression(), X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tune(FAST, X, Y[:10])
    with pytest.raises(ValueError, match="could not convert string"):
        tune(FAST, X, np.where(Y, "a", "b"), C=[1], gamma=[1], scoring="r2")
    with (
        pytest.warns(UserWarning, match="non-finite"),
        pytest.raises(ValueError, match="No candidate has a finite score"),
    ):
        tune(FAST, X, Y, C=[1], gamma=[1], scoring=lambda *_: np.nan, search="grid")
    with pytest.raises(ValueError, match="No candidate has a finite score"):
        tune(FAST, X, Y, C=[1], gamma=[1], scoring=lambda *_: np.nan)


# --- a race ---------------------------------------------------------------------------------------


def test_a_race_finds_what_the_search_estimator_finds():
    search = tune(BudgetedSVC(20, random_state=3), X, Y, cv=3, n_jobs=1)
    assert len(search.cv_results_["params"]) >= 30
    assert search.best_score_ > 0.95
    results, best = search.cv_results_, search.best_index_
    assert search.best_score_ == results["mean_test_score"][best]
    first = results["rank_test_score"].argmin()
    assert results["smooth_log_loss"][best] <= results["smooth_log_loss"][first]
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
    found = ScoreMap.of(search)
    assert found.best_score == search.best_score_
    assert found.is_final[found.best]
    assert not found.is_final.all()  # some candidates were dropped


def test_a_race_fits_the_first_steps_once_a_fold():
    n_fits = 0

    class Counted(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            nonlocal n_fits
            n_fits += 1
            return super().fit(X, y, sample_weight)

    tune(make_pipeline(Counted(), FAST), X, Y, C=[1, 10], gamma=[0.1, 1.0], cv=4, n_jobs=1)
    assert n_fits == 4 + 2  # and twice on all rows: for the scale of gamma, and the last fit


@pytest.mark.parametrize("search", ["race", "halving", "grid"])
def test_splitters_groups_and_weights(search):
    groups = np.arange(len(Y)) % 5
    wrong = np.random.default_rng(0).random(len(Y)) < 0.4
    y, weights = np.where(wrong, 1 - Y, Y), np.where(wrong, 1e-6, 1.0)
    given = {"C": [10], "gamma": [1.0], "groups": groups, "search": search}
    pipeline = make_pipeline(StandardScaler(), FAST)
    found = tune(pipeline, X, y, **given, cv=GroupKFold(5), sample_weight=weights)
    assert found.best_estimator_.score(X, Y) > 0.9
    assert found.n_splits_ == 5
    if search == "race":
        assert found.best_score_ > 0.9  # weights count in its scores


def test_a_race_does_not_depend_on_the_number_of_threads():
    one, two = (tune(FAST, X, Y, cv=3, n_jobs=n) for n in (1, 2))
    assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert one.best_params_ == two.best_params_


def test_callbacks_follow_a_race():
    class Progress:
        def __init__(self):
            self.shares, self.rounds = [], []

        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context):
            if context.task_name == "round":
                self.rounds.append(estimator.round_)

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "candidates":
                self.shares.append(estimator.progress_)

    progress = Progress()
    tune(FAST, X, Y, cv=3, n_jobs=2, callbacks=[progress])
    assert progress.rounds[0] == "fold 1 of 3: 30 candidates"
    assert progress.shares == sorted(progress.shares)
    assert 0 < progress.shares[0] < 0.5 < progress.shares[-1] <= 1


# --- the rounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_candidates", "n_rows", "more", "expected"),
    [
        (36, 2999, {}, [(36, 2999)]),
        (36, 3000, {}, [(36, 1000), (12, 3000)]),
        (36, 10**6, {}, [(36, 37037), (12, 111111), (4, 333333), (2, 999999)]),
        (2, 10**6, {}, [(2, 10**6)]),
        (1000, 10**6, {}, [(1000, 12345), (334, 37035), (112, 111105), (38, 333315), (13, 999945)]),
        (36, 20_000, {"largest_budget": 1000}, [(36, 6666), (12, 19998)]),
        (36, 100_000, {"n_rarest": 200}, [(36, 33333), (12, 99999)]),
    ],
)
def test_rounds_begin_with_enough_rows_and_end_with_all(n_candidates, n_rows, more, expected):
    assert rounds(n_candidates, n_rows, **{"largest_budget": 100, **more}) == expected


@pytest.mark.parametrize("n_candidates", [2, 3, 27, 36])
def test_the_search_follows_the_plan(n_candidates, monkeypatch):
    monkeypatch.setattr("pocketsvm.tuning.halving.MIN_ROWS", 10)
    rows, y = np.arange(1000.0)[:, None], np.arange(1000) % 2
    model = BudgetedSVC(budget=2, max_iter=1, polish=False, random_state=0)
    values = np.geomspace(0.1, 1, n_candidates)
    search = tune(model, rows, y, C=values, gamma=[1e-9], cv=2, n_jobs=1, search="halving")
    planned = rounds(n_candidates, 1000, largest_budget=2, n_rarest=500, cv=2)
    assert list(zip(search.n_candidates_, search.n_resources_, strict=True)) == planned


# --- the map --------------------------------------------------------------------------------------


def test_a_cell_shows_the_best_score_of_its_last_round():
    search = GridSearchCV(FAST, {})
    search.best_params_, search.best_score_ = {"C": 1, "gamma": 0.5}, 0.8
    search.cv_results_ = {
        "params": [
            {"C": 1, "gamma": 0.5, "budget": 2},
            {"C": 8, "gamma": 0.5, "budget": 2},
            {"C": 1, "gamma": 0.5, "budget": 4},
            {"C": 1, "gamma": 0.5, "budget": 8},
            {"C": 1, "gamma": 0.5, "budget": 16},
        ],
        "mean_test_score": np.array([0.9, 0.7, 0.8, 0.75, np.nan]),
        "n_resources": np.array([100, 100, 300, 300, 300]),
    }
    found = ScoreMap.of(search)
    assert (found.C, found.gamma, found.best) == ([1, 8], [0.5], (0, 0))
    assert_array_equal(found.scores, [[0.8, 0.7]])
    assert_array_equal(found.n_rows, [[300, 100]])
    assert_array_equal(found.is_final, [[True, False]])


def test_the_map_of_one_parameter_has_one_column():
    search = GridSearchCV(FAST, {"gamma": ["scale", 2.0, 0.01]}, cv=2).fit(X, Y)
    found = ScoreMap.of(search)
    assert (found.C, found.gamma) == ([1.0], [0.01, 2.0, "scale"])
    assert found.is_final.all()
    with pytest.raises(ValueError, match="neither C nor gamma"):
        ScoreMap.of(GridSearchCV(FAST, {"budget": [2, 3]}, cv=2).fit(X, Y))


def test_a_best_value_at_the_border_is_reported():
    def borders(best):
        found = ScoreMap([1, 2, 4], gammas, np.zeros((3, 3)), np.zeros((3, 3)), best, 0.0)
        return [hint for _, hint in found.at_border()]

    largest, smallest = (
        "the best C is the largest one tried",
        "the best C is the smallest one tried",
    )
    gammas = [0.1, 0.2, 0.3]
    assert borders((1, 1)) == []
    assert borders((1, 2)) == [largest]
    assert borders((1, 0)) == [smallest]
    gammas = [0.1, 0.2]
    assert borders((1, 1)) == ["the best gamma is the largest one tried"]
    assert borders((0, 0)) == [smallest, "the best gamma is the smallest one tried"]
    gammas = [0.1]
    assert borders((0, 1)) == []  # nothing was compared


def test_candidates_that_cannot_be_fitted_have_no_score():
    rows = X + 1e9
    search = GridSearchCV(FAST, {"gamma": [1e-9, 1e5]}, cv=2)
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        search.fit(rows, Y)
    found = ScoreMap.of(search)
    assert_array_equal(np.isnan(found.scores), [[False], [True]])
    assert found.best == (0, 0)
    with pytest.raises(ValueError, match="too large for the kernel"):
        tune(FAST, rows, Y, C=[1.0], gamma=[1e-9, 1e5])


def test_numbers_are_written_as_powers_of_two_if_all_are():
    assert written([0.5, 1, 8.0]) == ["2^-1", "2^0", "2^3"]
    assert written([2**-1.5, 2]) == ["2^-1.5", "2^1"]
    assert written([0.5, 3, 8.0, "scale"]) == ["0.5", "3", "8", "scale"]


@pytest.mark.parametrize("machine", [BudgetedOneClassSVM(), BudgetedRanker()])
def test_other_estimators_are_refused(machine):
    with pytest.raises(TypeError, match="BudgetedSVC and BudgetedSVR, got Budgeted"):
        tune(machine, X, Y)
