"""BudgetedSVCCV and BudgetedSVRCV: what they find, folds, weights, files, interrupts."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from children import interrupt
from models import blobs, expected_failures, friedman, moons
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import make_gaussian_quantiles
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import f1_score, make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pocketsvm import BudgetedSVC, BudgetedSVCCV, BudgetedSVR, BudgetedSVRCV, load_model, save_model
from pocketsvm.callbacks import Checkpoint
from pocketsvm.model.export import export_model

X, Y = moons(400)


def probability_of_the_label(estimator, rows, y):
    """Return the mean probability of the right class."""
    return estimator.predict_proba(rows)[np.arange(len(y)), y].mean()


def few(**parameters):
    """Return a search of few candidates."""
    given = {"Cs": [0.01, 10.0], "gammas": [1e-3, 1.0], "cv": 3, "random_state": 0}
    return BudgetedSVCCV(**{"budget": 20} | given | parameters)


@parametrize_with_checks(
    [
        BudgetedSVCCV(20, Cs=[1.0, 10.0], gammas=[0.1], cv=2, max_iter=5),
        BudgetedSVRCV(20, Cs=[1.0, 10.0], gammas=[0.1], cv=2, max_iter=5),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- what it finds --------------------------------------------------------------------------------


def test_the_best_candidate_is_fitted_on_all_rows():
    found = few().fit(X, Y)
    assert (found.C_, found.gamma_) == (10.0, 1.0)
    assert found.best_params_ == {"C": 10.0, "gamma": 1.0}
    assert found.cv_results_["params"][found.best_index_] == found.best_params_
    twin = BudgetedSVC(20, 10.0, gamma=1.0, random_state=0).fit(X, Y)
    assert_array_equal(found.decision_function(X), twin.decision_function(X))
    assert_array_equal(found.support_vectors_, twin.support_vectors_)
    assert_array_equal(found.predict(X), twin.predict(X))


def test_scores_are_those_of_held_out_rows():
    """Without polishing, candidates are trained just as a plain estimator is."""
    found = few(polish=False, max_iter=3).fit(X, Y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    parts = StratifiedKFold(3, shuffle=True, random_state=seed)
    plain = BudgetedSVC(20, 10.0, gamma=1.0, polish=False, max_iter=3, random_state=seed)
    expected = cross_val_score(plain, X, Y, cv=parts)
    assert_allclose(found.scores_[1, 1], expected)
    assert_allclose(found.best_score_, expected.mean())


@pytest.mark.parametrize("data", [moons, blobs])
def test_the_default_search_scores_as_well_as_a_full_grid(data):
    rows, y = data()
    found = BudgetedSVCCV(30, random_state=0).fit(rows[::2], y[::2])
    assert len(found.cv_results_["params"]) >= 18
    scores = [
        BudgetedSVC(30, C, gamma=gamma, random_state=0)
        .fit(rows[::2], y[::2])
        .score(rows[1::2], y[1::2])
        for C in (0.1, 1.0, 10.0, 100.0)
        for gamma in (0.03, 0.1, 0.3, 1.0)
    ]
    assert found.score(rows[1::2], y[1::2]) >= max(scores) - 0.03


def test_regressions_are_tuned_in_the_units_of_their_targets():
    rows, y = friedman()
    one = BudgetedSVRCV(15, epsilon=0.1, cv=2, random_state=0).fit(rows, y)
    other = BudgetedSVRCV(15, epsilon=0.1 * 1024, cv=2, random_state=0).fit(rows, 1024 * y)
    assert one.best_score_ > 0.8
    assert other.C_ == 1024 * one.C_
    assert_allclose(other.predict(rows), 1024 * one.predict(rows), rtol=1e-3, atol=1)


def test_results_are_lists_of_what_was_tried():
    found = BudgetedSVCCV(20, cv=3, random_state=0).fit(*moons(1600))
    results, n_tried = found.cv_results_, len(found.cv_results_["params"])
    assert all(len(values) == n_tried for values in results.values())
    assert found.scores_.shape == (len(found.gammas_), len(found.Cs_), 3)
    splits = np.column_stack([results[f"split{k}_test_score"] for k in range(3)])
    for params, line in zip(results["params"], splits, strict=True):
        place = list(found.gammas_).index(params["gamma"]), list(found.Cs_).index(params["C"])
        assert_array_equal(found.scores_[place], line)
    complete = np.isfinite(splits).all(axis=1)
    assert_allclose(results["mean_test_score"][complete], splits[complete].mean(axis=1))
    assert results["rank_test_score"][complete].max() <= complete.sum()
    assert np.isnan(found.scores_).sum() >= np.isnan(splits).sum() > 0  # some were dropped
    assert results["rank_test_score"][found.best_index_] == 1
    assert found.best_score_ == results["mean_test_score"][found.best_index_]


def test_the_result_does_not_depend_on_the_number_of_threads():
    one, two = (BudgetedSVCCV(20, random_state=0, n_jobs=n).fit(X, Y) for n in (1, 2))
    assert_array_equal(one.scores_, two.scores_)
    assert one.best_params_ == two.best_params_
    assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_sparse_rows_give_the_same_result():
    dense, sparse = (few().fit(rows, Y) for rows in (X, sp.csr_array(X)))
    assert_array_equal(dense.scores_, sparse.scores_)


def test_many_rows_are_compared_on_small_copies_of_folds():
    rows, y = moons(10_000)
    found = BudgetedSVCCV(20, random_state=0, gammas=[1e-4, 1.0, 4.0]).fit(rows, y)
    results = found.cv_results_
    assert found.best_score_ > 0.95
    dropped = np.array([params["gamma"] == 1e-4 for params in results["params"]])
    # Small copies have dropped them: they have a score, but none on a whole fold.
    assert np.isfinite(results["mean_test_score"][dropped]).all()
    assert np.isnan(results["split0_test_score"][dropped]).all()
    assert (results["n_resources"][dropped] < len(y)).all()
    assert results["n_resources"][found.best_index_] == len(y)


def test_honest_scores_of_labels_without_a_pattern():
    """Rows that are held out choose neither vectors nor coefficients."""
    random = np.random.default_rng(0)
    rows, y = random.normal(size=(600, 5)), random.integers(2, size=600)
    found = BudgetedSVCCV(100, random_state=0).fit(rows, y)
    # The highest of some forty scores of a coin, whose standard error is 0.02.
    assert 0.45 < found.best_score_ < 0.58
    assert found.score(rows, y) > found.best_score_


def test_the_smallest_budget_within_one_standard_error_is_chosen():
    found = few(cv=5).set_params(budget="auto").fit(X, Y)
    means, at = found.budget_scores_.mean(axis=1), list(found.budgets_).index(found.budget_)
    assert list(found.budgets_) == [3, 6, 12, 25, 50, 100, 200, 400]
    assert found.budget_scores_.shape == (8, 5)
    best = means.argmax()
    error = found.budget_scores_[best].std(ddof=1) / 5**0.5
    assert means[at] >= means[best] - error
    assert (means[:at] < means[best] - error).all()
    assert found.best_params_ == {"C": found.C_, "gamma": found.gamma_, "budget": found.budget_}
    assert found.best_score_ == means[at]
    assert len(found.support_vectors_) <= found.budget_ < 400
    assert found.best_estimator_.budget == found.budget_
    assert not hasattr(found.set_params(budget=20).fit(X, Y), "budget_scores_")


def test_scores_of_budgets_are_close_to_those_of_fits():
    found = few(cv=3).set_params(budget="auto").fit(X, Y)
    for budget, scores in zip(found.budgets_, found.budget_scores_, strict=True):
        plain = BudgetedSVC(int(budget), found.C_, gamma=found.gamma_, random_state=0)
        assert abs(cross_val_score(plain, X, Y, cv=3).mean() - scores.mean()) < 0.03


def test_the_loss_of_few_rows_of_several_classes_is_found():
    """The middle one of three shells is hard to separate from the two others together."""
    rows, y = make_gaussian_quantiles(n_samples=400, n_features=4, n_classes=3, random_state=0)
    given = {"Cs": [1.0, 100.0], "gammas": [0.01], "cv": 3, "random_state": 0}
    found = BudgetedSVCCV(100, **given).fit(rows, y)
    hinge, log = (
        BudgetedSVCCV(100, loss=loss, **given).fit(rows, y) for loss in ("hinge", "log_loss")
    )
    assert log.best_score_ > hinge.best_score_ + 0.05
    assert (found.loss_, found.best_score_, found.C_) == ("log_loss", log.best_score_, log.C_)
    assert found.best_params_ == {"C": log.C_, "gamma": 0.01, "loss": "log_loss"}
    assert found.cv_results_["params"][found.best_index_] == found.best_params_
    assert list(found.cv_results_["param_loss"]) == ["hinge"] * 2 + ["log_loss"] * 2
    assert_array_equal(found.predict(rows), log.predict(rows))
    assert found.best_estimator_.loss == "log_loss"
    assert found.predict_proba(rows).shape == (400, 3)
    assert "loss" not in hinge.best_params_


def test_a_score_of_probabilities_finds_the_loss_that_has_them():
    rows, y = make_gaussian_quantiles(n_samples=300, n_features=4, n_classes=3, random_state=0)
    search = BudgetedSVCCV(60, Cs=[1.0], gammas=[0.1], cv=3, scoring="neg_log_loss", random_state=0)
    assert search.fit(rows, y).loss_ == "log_loss"
    with pytest.raises(ValueError, match="needs probabilities"):
        search.set_params(loss="hinge").fit(rows, y)


@pytest.mark.parametrize(("rows", "y"), [moons(200), blobs(n=1001)])
def test_two_classes_or_many_rows_have_the_hinge(rows, y):
    found = few().fit(rows, y)
    assert found.loss_ == "hinge"
    assert set(found.best_params_) == {"C", "gamma"}
    assert not hasattr(found, "predict_proba")


def test_candidates_of_few_rows_are_solved_as_the_final_fit_is():
    """With a large C, a rough solution would score worse than the estimator that is searched."""
    rows, y = make_gaussian_quantiles(n_samples=400, n_features=4, n_classes=3, random_state=0)
    found = BudgetedSVCCV(
        80, Cs=[1.0, 2.0**8, 2.0**15], gammas=[2.0**-5], loss="hinge", random_state=0
    )
    found.fit(rows, y)
    parts = StratifiedKFold(5, shuffle=True, random_state=0)
    for C, score in zip(found.Cs_, found.scores_[0].mean(axis=1), strict=True):
        plain = BudgetedSVC(80, C, gamma=2.0**-5, random_state=0)
        if np.isfinite(score):
            assert_allclose(score, cross_val_score(plain, rows, y, cv=parts).mean(), atol=0.03)
    assert found.C_ == 2.0**15


def test_other_losses_are_tuned():
    found = few(loss="log_loss", scoring="neg_log_loss").fit(X, Y)
    assert found.predict_proba(X).shape == (len(Y), 2)
    assert found.best_score_ > -0.3
    assert not hasattr(few(), "predict_proba")
    rows, y = friedman(240)
    for loss in ("squared_error", "huber", "quantile"):
        model = BudgetedSVRCV(10, loss=loss, cv=2, random_state=0).fit(rows, y)
        assert model.best_score_ > 0.4
        assert model.score(rows, y) == model.best_estimator_.score(rows, y)


# --- pipelines, folds, groups, weights ------------------------------------------------------------


def test_it_works_in_pipelines_and_cross_validation():
    model = make_pipeline(StandardScaler(), few())
    assert cross_val_score(model, X * [1, 1000], Y, cv=3).mean() > 0.9
    frame = pd.DataFrame(X, columns=["a", "b"])
    found = few().fit(frame, np.where(Y, "yes", "no"))
    assert_array_equal(found.feature_names_in_, ["a", "b"])
    assert set(found.predict(frame)) == {"yes", "no"}


def test_sorted_labels_are_shuffled():
    order = np.argsort(Y, kind="stable")
    assert few().fit(X[order], Y[order]).best_score_ > 0.9


def test_groups_reach_the_splitter():
    groups = np.arange(len(Y)) % 7
    found = few(cv=LeaveOneGroupOut()).fit(X, Y, groups=groups)
    assert found.n_splits_ == 7
    with pytest.raises(ValueError, match="groups"):
        few(cv=GroupKFold(3)).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        few(cv=GroupKFold(3)).fit(X, Y, groups=groups[:10])


def test_metadata_is_routed():
    groups, weights = np.arange(len(Y)) % 7, np.linspace(0.5, 1.5, len(Y))
    with config_context(enable_metadata_routing=True):
        machine = few(cv=GroupKFold(3)).set_fit_request(groups=True, sample_weight=True)
        machine.set_score_request(sample_weight=False)
        given = {"groups": groups, "sample_weight": weights}
        scores = cross_validate(machine, X, Y, cv=2, params=given)["test_score"]
    assert scores.mean() > 0.9


def test_weights_count_in_training_and_in_scores():
    """Rows with wrong labels hurt, unless they have no weight."""
    wrong = np.random.default_rng(0).random(len(Y)) < 0.4
    y, weights = np.where(wrong, 1 - Y, Y), np.where(wrong, 0.0, 1.0)
    assert few().fit(X, y).best_score_ < 0.7
    found = few().fit(X, y, sample_weight=weights)
    assert found.best_score_ > 0.9
    cut = [(np.flatnonzero(~wrong)[::2], np.arange(1, len(Y), 2))]
    one = few(cv=cut).fit(X, y, sample_weight=weights)
    assert one.best_score_ > 0.9


def test_weights_reach_scorers_that_take_them():
    rows, y = friedman()
    weights = np.random.default_rng(0).integers(0, 2, len(y)).astype(float)
    cut = [(np.arange(0, 200), np.arange(200, 400))]
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    model = BudgetedSVRCV(30, Cs=[1.0], gammas=[0.1], cv=cut, scoring=scorer, random_state=0)
    weighted = model.fit(rows, y, sample_weight=weights).best_score_
    kept = weights > 0
    cut = [(np.arange(kept[:200].sum()), np.arange(kept[:200].sum(), kept.sum()))]
    alone = clone(model).set_params(cv=cut).fit(rows[kept], y[kept]).best_score_
    assert_allclose(weighted, alone, rtol=1e-6)


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "f1"])
def test_other_scores_are_maximised(scoring):
    found = few(scoring=scoring).fit(X, Y)
    assert found.best_params_ == {"C": 10.0, "gamma": 1.0}
    assert 0.9 < found.best_score_ < 1


def test_a_scorer_may_look_at_other_rows():
    def on_the_first(estimator, rows, y):
        return estimator.score(rows[:10], y[:10])

    assert 0.5 < few(scoring=on_the_first).fit(X, Y).best_score_ <= 1


def test_a_fold_may_lack_a_class():
    rows, y = blobs()
    y = y.copy()
    y[:3], y[y == 2] = 2, 0
    y[:3] = 2
    cut = [(np.arange(450, 900), np.arange(450)), (np.arange(450), np.arange(450, 900))]
    with pytest.warns(
        UserWarning, match="training rows of fold 1 have no row of the class 2: no c"
    ):
        found = few(cv=cut, gammas=[0.1]).fit(rows, y)
    assert found.best_score_ > 0.8
    with pytest.raises(ValueError, match="fold 1 have none of 2"):
        few(cv=cut, class_weight="balanced").fit(rows, y)


def test_rare_classes_are_handled():
    y = Y.copy()
    y[:3] = 7
    with pytest.warns(UserWarning, match="least populated class"):
        found = few(cv=5).fit(X, y)
    assert list(found.classes_) == [0, 1, 7]


def test_bad_input_is_named():
    order = np.argsort(Y, kind="stable")
    with pytest.raises(ValueError, match="All training rows of fold 1 belong to the class 1"):
        few(cv=KFold(2)).fit(X[order], Y[order])
    with pytest.raises(ValueError, match="Cs must be a list of positive numbers"):
        few(Cs=[1.0, -1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="gammas must be a list of positive numbers"):
        few(gammas=[]).fit(X, Y)
    with pytest.raises(ValueError, match="gives no folds"):
        few(cv=[]).fit(X, Y)
    with pytest.raises(ValueError, match=r"Fold 1 of .* has no held-out rows"):
        few(cv=[(np.arange(9), np.arange(0))]).fit(X, Y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        BudgetedSVRCV(20).fit(X, X)
    with pytest.raises(ValueError, match="No candidate has a finite score"):
        few(scoring=lambda *_: np.nan).fit(X, Y)
    one_class = [(np.arange(200), np.flatnonzero(Y == 1))]
    with pytest.raises(ValueError, match="No candidate has a finite score"):
        few(cv=one_class, scoring="roc_auc").fit(X, Y)
    with pytest.raises(ValueError, match=r"Fold 2 has one held-out row, .* two or more"):
        BudgetedSVRCV(20).fit(*friedman(6))
    with pytest.raises(ValueError, match=r"score on fold 1\. Choose .* or another `cv`\."):
        BudgetedSVRCV(20, scoring=lambda *_: np.nan).fit(*friedman(6))
    with pytest.raises(ValueError, match="A data set has no groups"):
        few().fit(Source(X, Y), groups=Y)
    with pytest.raises(ValueError, match="leave out y"):
        few().fit(Source(X, Y), Y)


# --- data sets ------------------------------------------------------------------------------------


class Source:
    def __init__(self, X, y, scaler=None):
        self.X, self.y, self.scaler = X, y, scaler

    def batches(self):
        for k in range(0, len(self.y), 150):
            yield self.X[k : k + 150], self.y[k : k + 150]


def test_a_data_set_is_searched_as_rows_in_memory():
    found, expected = few().fit(Source(X, Y)), few().fit(X, Y)
    assert found.best_params_ == expected.best_params_
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.dual_coef_, expected.dual_coef_)


def test_candidates_are_compared_on_a_sample_and_the_best_is_fitted_to_all_rows():
    many, labels = moons(3000)
    settings = {"budget": 4, "random_state": 0}
    found = few(**settings).fit(Source(100 * many, labels, StandardScaler()))
    assert found.best_params_["gamma"] == 1.0  # as for rows that are scaled
    plain = BudgetedSVC(**settings, **found.best_params_)
    plain.fit(Source(100 * many, labels, StandardScaler()))
    assert_array_equal(found.predict(100 * many), plain.predict(100 * many))
    assert found.score(100 * many, labels) > 0.85


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", probability_of_the_label])
@pytest.mark.parametrize(("rows", "y"), [moons(300), moons(1600), blobs(n=1300)])
def test_a_score_of_probabilities_has_the_log_loss(scoring, rows, y):
    if scoring == "roc_auc_ovr":
        y = np.where(rows[:, 0] > 1, 2, y)  # it is for three classes or more
    found = few(scoring=scoring, n_jobs=2).set_callbacks(ProgressBar()).fit(rows, y)
    assert found.loss_ == found.best_params_["loss"] == found.best_estimator_.loss == "log_loss"
    assert found.predict_proba(rows).shape == (len(y), len(found.classes_))
    given = few(scoring=scoring, loss="log_loss").fit(rows, y)
    assert_array_equal(found.scores_, given.scores_)
    assert_array_equal(found.dual_coef_, given.dual_coef_)


def test_a_loss_without_probabilities_is_named():
    with pytest.raises(
        ValueError, match="'neg_log_loss' needs probabilities, which only loss='log"
    ):
        few(scoring="neg_log_loss", loss="hinge").fit(X, Y)


def test_it_is_saved_and_exported_as_the_plain_estimator(tmp_path):
    found = few().fit(X, Y)
    for path in (tmp_path / "a.psvm", tmp_path / "b.psvm"):
        found.save(path) if path.name == "a.psvm" else save_model(found, path)
        plain = load_model(path)
        assert isinstance(plain, BudgetedSVC)
        assert (plain.C, plain.gamma) == (found.C_, found.gamma_)
        assert_array_equal(plain.decision_function(X), found.decision_function(X))
    pipeline = make_pipeline(StandardScaler(), few()).fit(X, Y)
    save_model(pipeline, tmp_path / "c.psvm")
    assert_array_equal(load_model(tmp_path / "c.psvm").predict(X), pipeline.predict(X))
    export_model(found, tmp_path / "model.c", to="c")
    assert (tmp_path / "model.c").exists()
    twin = pickle.loads(pickle.dumps(found))
    assert_array_equal(twin.predict(X), found.predict(X))


def test_a_regression_is_saved_as_the_plain_estimator(tmp_path):
    rows, y = friedman()
    found = BudgetedSVRCV(20, Cs=[1.0], gammas=[0.1], cv=2, random_state=0).fit(rows, y)
    found.save(tmp_path / "a.psvm")
    assert isinstance(load_model(tmp_path / "a.psvm"), BudgetedSVR)


# --- interrupts -----------------------------------------------------------------------------------

INTERRUPTED = """
import signal, threading
import numpy as np
from sklearn.datasets import make_classification
from pocketsvm import BudgetedSVCCV
signal.signal(signal.SIGINT, signal.default_int_handler)
X, y = make_classification(30_000, 20, n_informative=10, random_state=0)
clf = BudgetedSVCCV(400, random_state=0, n_jobs=N_JOBS)
print("started", flush=True)
try:
    clf.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), hasattr(clf, "best_score_"), flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_the_search_and_its_threads(n_jobs):
    lines, _ = interrupt(f"N_JOBS = {n_jobs}\n{INTERRUPTED}", delay=0.7)
    assert lines == ["started", "interrupted 1 False"]


# --- callbacks and checkpoints --------------------------------------------------------------------


class Followed:
    """A callback that notes the tasks of a search, and may end it."""

    def __init__(self, fatal=None):
        self.begun, self.ended, self.fatal = [], [], fatal

    def setup(self, estimator, context): ...

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.ended.append((context.task_name, fitted_estimator))
        if len(self.ended) == self.fatal:
            raise ZeroDivisionError


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_follow_a_search(n_jobs):
    followed = Followed()
    found = few(n_jobs=n_jobs).set_callbacks(followed).fit(X, Y)
    name = "candidate-split-evaluation"
    assert followed.begun == [
        ("fit", None),
        ("4 candidates on 3 folds of 266 training rows", 12),
        *[(name, 0)] * 12,
        ("refit-with-best-params", 0),
    ]
    assert [name for name, _ in followed.ended].count(name) == 12
    last, model = followed.ended[-1]
    assert last == "fit"
    assert_array_equal(model.predict(X), found.predict(X))


def test_a_progress_bar_follows_a_search():
    found = few().set_callbacks(ProgressBar()).fit(X, Y)
    assert_array_equal(found.scores_, few().fit(X, Y).scores_)


@pytest.mark.parametrize("fatal", [1, 7, 12])
@pytest.mark.parametrize("scoring", [None, make_scorer(f1_score)])
def test_a_search_that_was_killed_goes_on(fatal, scoring, tmp_path):
    path, expected = tmp_path / "search", few(scoring=scoring).fit(X, Y)
    killed = few(scoring=scoring).set_callbacks(Checkpoint(path, every=0), Followed(fatal))
    with pytest.raises(ZeroDivisionError):
        killed.fit(X, Y)
    assert path.exists()
    followed = Followed()
    found = few(scoring=scoring).set_callbacks(Checkpoint(path, every=0), followed).fit(X, Y)
    names = [name for name, _ in followed.ended]
    assert names.count("candidate-split-evaluation") == 12 - fatal
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.dual_coef_, expected.dual_coef_)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_belongs_to_one_search(tmp_path):
    path = tmp_path / "search"
    with pytest.raises(ZeroDivisionError):
        few().set_callbacks(Checkpoint(path, every=0), Followed(3)).fit(X, Y)
    with pytest.raises(ValueError, match="with budget 20, and this fit has 30"):
        few(budget=30).set_callbacks(Checkpoint(path)).fit(X, Y)
    with pytest.raises(ValueError, match="for other rows"):
        few().set_callbacks(Checkpoint(path)).fit(X + 1, Y)


# --- as scikit-learn ------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_brier_score"])
def test_the_score_is_that_of_scoring(scoring):
    weights = np.linspace(0.5, 1.5, len(Y))
    found = few(scoring=scoring, loss="log_loss").fit(X, Y)
    grid = {"C": [found.C_], "gamma": [found.gamma_]}
    plain = BudgetedSVC(20, loss="log_loss", random_state=0)
    twin = GridSearchCV(plain, grid, scoring=scoring, cv=2).fit(X, Y)
    assert found.score(X, Y) == twin.score(X, Y)
    assert found.score(X, Y, sample_weight=weights) == found.scorer_(
        found.best_estimator_, X, Y, sample_weight=weights
    )


def test_a_score_that_cannot_be_has_a_reason():
    model = BudgetedSVRCV(20, Cs=[1.0], gammas=[0.1], scoring="max_error", random_state=0)
    model.set_params(scoring="neg_max_error").fit(*friedman())
    rows, y = friedman()
    with pytest.raises(ValueError, match="does not take sample_weight: leave it out"):
        model.score(rows, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="'neg_max_error' needs rows in memory"):
        model.score(Source(rows, y))


def test_a_number_of_values_of_c_means_what_it_does_in_scikit_learn():
    exact = LogisticRegressionCV(
        Cs=5, cv=2, scoring="accuracy", use_legacy_attributes=False, l1_ratios=(0,)
    ).fit(X, Y)
    found = few(Cs=5, gammas=[1.0]).fit(X, Y)
    assert_allclose(found.Cs_, exact.Cs_)
    assert_allclose(few(Cs=1, gammas=[1.0]).fit(X, Y).Cs_, [1e-4])
    with pytest.raises(ValueError, match="'Cs' parameter"):
        few(Cs=0).fit(X, Y)
    rows, y = friedman()
    one, other = (
        BudgetedSVRCV(20, Cs=3, gammas=[0.1], cv=2, random_state=0).fit(rows, k * y).Cs_
        for k in (1, 1024)
    )
    assert_allclose(other, 1024 * one, rtol=1e-6)


def test_a_number_of_values_of_gamma_reaches_as_far_as_the_default_ones():
    found = few(gammas=6).fit(X, Y)
    scale = 1 / (2 * X.var())
    assert_allclose(found.gammas_, scale * 2.0 ** np.arange(-6, 5, 2), rtol=1e-6)
    assert len(found.cv_results_["params"]) == 12
    ends = few(gammas=2).fit(X, Y).gammas_
    assert_allclose(ends, found.gammas_[[0, -1]])
    with pytest.raises(ValueError, match="'gammas' parameter"):
        few(gammas=1).fit(X, Y)


def test_fitted_attributes_are_those_of_the_final_fit():
    found = few()
    with pytest.raises(AttributeError, match="This BudgetedSVCCV has no gamma_, or is not fitted"):
        _ = found.gamma_
    found.fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    best = found.best_estimator_
    names = "support_vectors_", "dual_coef_", "intercept_", "classes_", "feature_names_in_"
    for name in names:
        assert_array_equal(getattr(found, name), getattr(best, name))
    for name in ("gamma_", "alpha_", "n_iter_", "profile_", "n_features_in_"):
        assert getattr(found, name) == getattr(best, name)
    assert found.fit(X, Y).n_features_in_ == 2
    assert not hasattr(found, "feature_names_in_")


def test_groups_need_no_request():
    groups = np.arange(len(Y)) % 7
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(few(cv=GroupKFold(3)), X, Y, cv=2, params={"groups": groups})
        assert scores["test_score"].mean() > 0.9
        with pytest.raises(UnsetMetadataPassedError):
            cross_validate(few(), X, Y, cv=2, params={"sample_weight": np.ones(len(Y))})
    # A number of folds has no use for them.
    assert few().fit(X, Y, groups=groups).n_splits_ == 3
