"""Searches with feature scales: an array, or scales that each fold learns from its own rows."""

import numpy as np
import pytest
from models import friedman
from numpy.testing import assert_array_equal
from sklearn.metrics import accuracy_score, make_scorer

from pocketsvm import BudgetedSVC, BudgetedSVCCV, BudgetedSVRCV, load_model
from pocketsvm.callbacks import Checkpoint
from pocketsvm.solving.feature_scales import Learnt

SCALES = np.array([2.0, 1.0, 0.0, 0.0])


def problem(n=1500):
    """Return rows of four features, of which the last two tell nothing, and two classes."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)


def few(**parameters):
    given = {"Cs": [1.0, 10.0], "gammas": [0.25, 1.0], "cv": 3, "random_state": 0}
    return BudgetedSVCCV(**{"budget": 20} | given | parameters)


@pytest.fixture
def learner(monkeypatch):
    """Let the learner return scales that depend on its rows; return the numbers of rows."""
    seen = []

    def learned_scales(rows, targets, parameters, *, auto):
        assert not auto
        seen.append(rows.n_rows)
        return Learnt(SCALES * (1 + 1e-3 * rows.X.mean()), "learnt here")

    for place in ("pocketsvm.fit.learned_scales", "pocketsvm.search.running.learned_scales"):
        monkeypatch.setattr(place, learned_scales)
    return seen


def test_an_array_gives_the_search_of_multiplied_rows():
    X, y = problem()
    one = few(feature_scales=SCALES, gammas=None).fit(X, y)
    other = few(gammas=None, feature_scales=None).fit(X * SCALES, y)
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == other.best_score_
    assert_array_equal(one.gammas_, other.gammas_)
    assert_array_equal(one.predict(X), other.predict(X * SCALES))
    assert_array_equal(one.feature_scales_, SCALES)
    assert_array_equal(one.support_vectors_[:, 2:], 0.0)


def test_a_regression_takes_an_array():
    X, y = friedman(300)
    scales = [1.0, 2.0, 1.0, 1.0, 0.5, 0.0]
    given = {"budget": 20, "Cs": [1.0, 10.0], "cv": 3, "random_state": 0}
    one = BudgetedSVRCV(feature_scales=scales, **given).fit(X, y)
    other = BudgetedSVRCV(feature_scales=None, **given).fit(X * np.array(scales, np.float32), y)
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == other.best_score_


def test_each_fold_learns_scales_once_from_its_training_rows(learner, tmp_path):
    X, y = problem()
    found = few(feature_scales="learn", gammas=None).fit(X, y)
    assert learner == [1000] * 3 + [1500]
    assert 1.0 in found.gammas_
    assert found.best_params_ == {"C": found.C_, "gamma": found.gamma_}
    expected = SCALES * (1 + 1e-3 * X.mean())
    assert_array_equal(found.feature_scales_, expected)
    assert found.best_estimator_.feature_scales == "learn"
    twin = BudgetedSVC(20, found.C_, gamma=found.gamma_, feature_scales=expected, random_state=0)
    assert_array_equal(found.decision_function(X), twin.fit(X, y).decision_function(X))
    found.save(tmp_path / "m.psvm")
    assert_array_equal(load_model(tmp_path / "m.psvm").predict(X), found.predict(X))


def test_scores_are_those_of_scales_that_were_learnt_in_the_fold(learner):
    X, y = problem()
    rows = np.arange(len(X))
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    found = few(feature_scales="learn", Cs=[1.0], gammas=[0.5], cv=folds).fit(X, y)
    seed = found.best_estimator_.random_state
    assert seed == 0
    inner = np.random.RandomState(0).randint(2**31 - 1)
    for (train, test), score in zip(folds, found.scores_[0, 0], strict=True):
        plain = BudgetedSVC(20, 1.0, gamma=0.5, feature_scales="learn", random_state=inner)
        assert plain.fit(X[train], y[train]).score(X[test], y[test]) == score


def test_auto_makes_two_searches_and_takes_the_better_one(learner):
    X, y = problem()
    noise = np.hstack([X[:, :2], 3 * X[:, 2:]])
    found = few(feature_scales="auto", gammas=2).fit(noise, y)
    assert found.best_params_ == {"C": found.C_, "gamma": found.gamma_, "feature_scales": "learn"}
    tried = [each["feature_scales"] for each in found.cv_results_["params"]]
    assert set(tried) == {None, "learn"}
    plain = few(feature_scales=None, gammas=2).fit(noise, y)
    assert found.best_score_ > plain.best_score_
    is_plain = np.array([each is None for each in tried])
    assert found.cv_results_["mean_test_score"][is_plain].max() == plain.best_score_


def test_a_scorer_in_other_units_chooses_the_same_scales(learner):
    X, y = problem()
    noise = np.hstack([X[:, :2], 3 * X[:, 2:]])
    percent = make_scorer(lambda true, found: 100 * accuracy_score(true, found))
    found = few(feature_scales="auto", gammas=2, scoring=percent).fit(noise, y)
    expected = few(feature_scales="auto", gammas=2, scoring="accuracy").fit(noise, y)
    assert found.best_params_ == expected.best_params_
    assert found.best_params_["feature_scales"] == "learn"
    assert found.best_score_ == pytest.approx(100 * expected.best_score_)


def test_scales_that_are_no_better_are_dropped_after_a_few_folds(monkeypatch):
    X, y = problem()
    seen = []

    def learned_scales(rows, targets, parameters, *, auto):
        seen.append(rows.n_rows)
        return Learnt(SCALES[::-1].copy(), "noise alone")

    monkeypatch.setattr("pocketsvm.search.running.learned_scales", learned_scales)
    found = few(feature_scales="auto", gammas=2).fit(X, y)
    assert seen == [1000, 1000]
    assert found.best_params_["feature_scales"] is None
    assert found.n_splits_ == 3
    results = found.cv_results_
    dropped = np.array([each["feature_scales"] == "learn" for each in results["params"]])
    assert np.isnan(results["split0_test_score"][dropped]).all()
    assert results["n_resources"][dropped].max() == 1000
    assert results["rank_test_score"][dropped].min() > results["rank_test_score"][~dropped].min()


def test_only_the_best_scales_are_scored_on_all_folds(learner):
    X, y = problem()
    found = few(feature_scales="learn", gammas=None).fit(X, y)
    finished = np.isfinite(found.cv_results_["split2_test_score"])
    assert finished.sum() == 1
    assert found.cv_results_["params"][np.flatnonzero(finished)[0]] == found.best_params_


def test_auto_weighs_features_of_few_rows_alike(learner):
    X, y = problem(300)
    found = few(feature_scales="auto", gammas=2).fit(X, y)
    assert not learner
    assert found.best_params_["feature_scales"] is None
    assert found.feature_scales_ is None
    assert_array_equal(found.predict(X), few(gammas=2).fit(X, y).predict(X))


def test_any_number_of_threads_gives_the_same_search(learner):
    X, y = problem()
    one, other = (few(feature_scales="auto", n_jobs=n).fit(X, y) for n in (1, 3))
    assert one.best_params_ == other.best_params_
    assert_array_equal(one.scores_, other.scores_)


def test_a_budget_is_found_with_the_scales_of_the_folds(learner):
    X, y = problem()
    found = few(feature_scales="learn", budget="auto", Cs=[1.0], gammas=[0.5]).fit(X, y)
    assert learner == [1000] * 3 + [1500]
    best = found.budget_scores_[found.budgets_.tolist().index(found.budget_)]
    assert best.mean() == found.best_score_


def test_a_checkpoint_keeps_both_searches(learner, tmp_path):
    X, y = problem()

    class Stop:
        n = 0

        def setup(self, estimator, context): ...

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context):
            self.n += context.task_name == "candidate-split-evaluation"
            if self.n == 20:
                raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "search.checkpoint", every=0)
    with pytest.raises(KeyboardInterrupt):
        few(feature_scales="auto", gammas=2).set_callbacks(kept, Stop()).fit(X, y)
    found = few(feature_scales="auto", gammas=2).set_callbacks(kept).fit(X, y)
    expected = few(feature_scales="auto", gammas=2).fit(X, y)
    assert found.best_params_ == expected.best_params_
    assert_array_equal(found.scores_, expected.scores_)


def test_searches_refuse_what_plain_fits_refuse():
    X, y = problem(300)
    with pytest.raises(ValueError, match="polish=False is the setting of the paper"):
        few(feature_scales="learn", polish=False).fit(X, y)
    with pytest.raises(ValueError, match="has 2 numbers, but the kernel sees 4 features"):
        few(feature_scales=[1.0, 2.0]).fit(X, y)


def test_auto_weighs_features_alike_without_polish():
    X, y = problem(1200)
    found = few(feature_scales="auto", polish=False).fit(X, y)
    assert "feature_scales" not in found.best_params_ or not found.best_params_["feature_scales"]
