"""BudgetedSVC: what it learns, weights, continued training, and scikit-learn's own targets."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from models import (
    STRATEGIES,
    assert_same_model,
    blobs,
    differs,
    expected_failures,
    moons,
    small_svc,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import REMOVING
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pocketsvm import BudgetedSVC, BudgetedSVR, load_svmlight
from pocketsvm.paper.datasets.files import find

# --- scikit-learn's own checks --------------------------------------------------------------------


@parametrize_with_checks(
    [
        BudgetedSVC(),
        BudgetedSVC(  # as many parameters as possible differ from their defaults
            budget=50,
            C=2.0,
            gamma=0.01,
            max_iter=10,
            maintenance="lookup-wd",
            polish=False,
            fit_intercept=False,
            alpha=1e-3,
            n_jobs=2,
        ),
        BudgetedSVC(loss="squared_hinge"),
        BudgetedSVC(loss="log_loss"),
        BudgetedSVC(loss="log_loss", polish=False),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- what it learns -------------------------------------------------------------------------------


@STRATEGIES
def test_every_strategy_learns_the_moons(maintenance):
    X, y = moons(3000, noise=0.15)
    clf = BudgetedSVC(30, 10.0, maintenance=maintenance, random_state=0).fit(X[:2000], y[:2000])
    assert clf.score(X[2000:], y[2000:]) > (0.8 if maintenance in REMOVING else 0.95)
    assert 28 <= len(clf.support_vectors_) <= 30  # duplicates are joined


def svm_without_intercept(kernel, signs, C):
    """Return the coefficients of the exact SVM and its objective, by dual coordinate descent."""
    quadratic, a = signs[:, None] * kernel * signs, np.zeros(len(signs))
    for _ in range(200):
        for i in range(len(a)):
            a[i] = np.clip(a[i] + (1 - quadratic[i] @ a) / quadratic[i, i], 0, C)
    return signs * a, a.sum() - a @ quadratic @ a / 2


def test_passes_without_overflow_solve_the_svm_without_intercept():
    X, y = moons(150)
    signs, C = np.where(y, 1.0, -1.0), 1.0
    exact, minimum = svm_without_intercept(rbf_kernel(X, gamma=1.0), signs, C)
    # The model is the last iterate of Pegasos: nothing is merged, solved for or moved.
    clf = small_svc(budget=100_000, C=C, gamma=1.0, max_iter=60, fit_intercept=False).fit(X, y)
    assert clf.profile_.merges == clf.profile_.removals == clf.profile_.solver_steps == 0
    values, beta = clf.decision_function(X), clf.dual_coef_[0]
    penalty = beta @ rbf_kernel(clf.support_vectors_, gamma=1.0) @ beta / 2
    losses = np.maximum(0, 1 - signs * values)
    assert penalty + C * losses.sum() < 1.02 * minimum  # the two are equal at the optimum
    assert_allclose(values, rbf_kernel(X, gamma=1.0) @ exact, rtol=0, atol=0.12)


def test_polished_model_without_overflow_comes_close_to_svc():
    X, y = moons(400)
    exact = SVC(C=1.0, gamma=1.0).fit(X, y)
    clf = BudgetedSVC(100_000, 1.0, gamma=1.0, random_state=0).fit(X, y)
    assert np.mean(clf.predict(X) == exact.predict(X)) > 0.98
    assert np.corrcoef(clf.decision_function(X), exact.decision_function(X))[0, 1] > 0.99


@pytest.mark.parametrize(("n_classes", "budget"), [(2, 25), (3, 25), (10, 47)])
def test_budget_limits_the_whole_model(n_classes, budget):
    X, y = blobs(n_classes)
    clf = small_svc(budget=budget).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert len(clf.support_vectors_) <= budget
    assert clf.dual_coef_.shape == (n_outputs, len(clf.support_vectors_))
    assert clf.intercept_.shape == (n_outputs,)
    # Each vector belongs to one output, and no output has more than its share.
    assert_array_equal((clf.dual_coef_ != 0).sum(axis=0), 1)
    assert (clf.dual_coef_ != 0).sum(axis=1).max() <= -(-budget // n_outputs)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_attributes_reproduce_the_decision_function(n_classes, fit_intercept):
    X, y = blobs(n_classes)
    clf = small_svc(budget=60, fit_intercept=fit_intercept).fit(X, y)
    kernel = rbf_kernel(X, clf.support_vectors_.astype(np.float64), gamma=clf.gamma_)
    values = kernel @ clf.dual_coef_.T + clf.intercept_
    scale = np.abs(clf.dual_coef_).sum()
    decisions = clf.decision_function(X)
    assert decisions.shape == ((len(X),) if n_classes == 2 else (len(X), n_classes))
    assert_allclose(decisions.reshape(values.shape), values, rtol=0, atol=1e-5 * scale)
    if n_classes == 10:  # with ten classes, no intercept is zero by chance
        assert np.any(clf.intercept_ != 0) == fit_intercept


def test_digits_with_ten_classes():
    X, y = load_digits(return_X_y=True)
    clf = BudgetedSVC(500, 10.0, random_state=0).fit(X[:1200], y[:1200])
    assert clf.score(X[1200:], y[1200:]) > 0.9
    assert_array_equal(clf.predict(X), clf.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize(
    "names", [["no", "yes"], [-1, 1], [False, True], [2.0, 7.0], ["c", "a", "b"], [30, 10, 20]]
)
def test_labels_can_be_any_sortable_type(names):
    X, codes = blobs(len(names))
    clf = small_svc().fit(X, codes)
    renamed = small_svc().fit(X, np.array(sorted(names))[codes])
    assert_array_equal(renamed.classes_, sorted(names))
    assert_array_equal(renamed.predict(X), np.array(sorted(names))[clf.predict(X)])
    assert_array_equal(renamed.dual_coef_, clf.dual_coef_)


def test_gamma_is_the_same_as_in_svc():
    X, y = moons()
    assert small_svc(gamma="scale").fit(X, y).gamma_ == pytest.approx(1 / (2 * X.var()), rel=1e-6)
    assert small_svc(gamma="auto").fit(X, y).gamma_ == 0.5
    assert small_svc(gamma=0.7).fit(X, y).gamma_ == 0.7
    assert small_svc(gamma="scale").fit(np.ones_like(X), y).gamma_ == 1.0


def test_budget_above_the_number_of_rows():
    X, y = moons(60)
    clf = small_svc(budget=10_000).fit(X, y)
    assert clf.score(X, y) > 0.8
    assert clf.profile_.merge_frequency == 0


# --- weights --------------------------------------------------------------------------------------


def test_rows_with_zero_weight_are_ignored():
    X, y = blobs(4)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[y == 3] = 0
    kept = weight > 0
    for rows in (X, sp.csr_array(X)):
        clf = small_svc().fit(rows, y, sample_weight=weight)
        assert_same_model(clf, small_svc().fit(X[kept], y[kept], sample_weight=weight[kept]))
        assert_array_equal(clf.classes_, [0, 1, 2])


def test_class_with_zero_weight_is_ignored():
    X, y = blobs(4)
    clf = small_svc(class_weight={1: 0.0, 2: 2.0}).fit(X, y)
    assert_same_model(clf, small_svc(class_weight={2: 2.0}).fit(X[y != 1], y[y != 1]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weights_equal_row_weights(n_classes):
    X, y = blobs(n_classes)
    weight = np.linspace(1, 2, len(y))
    per_class = {0: 0.5, 1: 3.0}
    per_row = np.array([0.5, 3.0, 1.0])[y]
    by_class = small_svc(class_weight=per_class).fit(X, y, sample_weight=weight)
    assert_same_model(by_class, small_svc().fit(X, y, sample_weight=weight * per_row))
    assert differs(by_class, small_svc().fit(X, y, sample_weight=weight))


@pytest.mark.parametrize(("budget", "margin"), [(50, 0.05), (100, 0.02)])
def test_a_heavy_rare_class_does_not_use_up_the_budget(budget, margin):
    # One letter against the rest, 1 row in 25. If the vectors stay where the passes have put them,
    # the average precision is 0.03 to 0.09 below that of the exact SVM.
    paths = find("letter"), find("letter.t")
    if None in paths:
        pytest.skip("letter is not in $POCKETSVM_DATA")
    (X, y), (X_test, y_test) = (load_svmlight(path, n_features=16) for path in paths)
    parameters = {"C": 100.0, "gamma": 1.0, "class_weight": "balanced"}

    def precision(model):
        return average_precision_score(y_test == 8, model.fit(X, y == 8).decision_function(X_test))

    ours = [precision(BudgetedSVC(budget, random_state=seed, **parameters)) for seed in (0, 1)]
    assert np.mean(ours) >= precision(SVC(**parameters)) - margin


def test_passes_see_more_rows_if_a_rare_class_is_heavy():
    X, y = make_classification(6000, weights=[0.95], flip_y=0.1, random_state=0)
    plain = BudgetedSVC(4, random_state=0).fit(X, y).profile_
    heavy = BudgetedSVC(4, class_weight="balanced", random_state=0).fit(X, y).profile_
    assert plain.merges == 50 * 4
    assert heavy.merges == 400 * 4


def test_balanced_weights_follow_the_class_counts():
    X, y = make_classification(800, weights=[0.9], flip_y=0.02, random_state=0)
    counts = np.bincount(y)
    by_hand = dict(enumerate(len(y) / (2 * counts)))
    balanced = small_svc(class_weight="balanced").fit(X, y)
    assert_same_model(balanced, small_svc(class_weight=by_hand).fit(X, y))
    plain = small_svc().fit(X, y)
    assert np.mean(balanced.predict(X) == 1) > np.mean(plain.predict(X) == 1)
    # Rows are counted with their weights, as if they were repeated.
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    by_hand = dict(enumerate(weight.sum() / (2 * np.bincount(y, weight))))
    balanced.fit(X, y, sample_weight=weight)
    assert_same_model(balanced, small_svc(class_weight=by_hand).fit(X, y, sample_weight=weight))


def test_weight_of_one_changes_nothing():
    X, y = moons()
    assert_same_model(small_svc().fit(X, y), small_svc().fit(X, y, sample_weight=np.ones(len(y))))


def test_integer_weights_act_like_repeated_rows():
    X, y = moons(2000)
    times = np.where(y == 1, 4, 1)
    weighted = BudgetedSVC(200, random_state=0).fit(X, y, sample_weight=times)
    # Repeating rows increases n; a fixed alpha keeps the regularisation the same.
    repeated = BudgetedSVC(200, random_state=0, C=2000 / times.sum()).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.95
    assert np.mean(weighted.predict(X)) > np.mean(y) + 0.02  # the weights have an effect


# --- continued training ---------------------------------------------------------------------------


@STRATEGIES
def test_warm_start_continues_from_the_last_fit(maintenance):
    X, y = blobs(3)
    clf = small_svc(max_iter=2, warm_start=True, maintenance=maintenance)
    clf.fit(X, y)
    profile = clf.profile_
    clf = pickle.loads(pickle.dumps(clf)).set_params(max_iter=3).fit(X, y)
    whole = small_svc(max_iter=5, maintenance=maintenance).fit(X, y)
    assert_same_model(clf, whole)
    assert clf.n_iter_ == 3
    assert (profile + clf.profile_).merges == whole.profile_.merges
    # Without warm_start, fit starts from scratch.
    assert_same_model(clf.set_params(max_iter=5, warm_start=False).fit(X, y), whole)


def test_warm_start_keeps_gamma_and_updates_alpha():
    X, y = moons(2000)
    clf = small_svc(warm_start=True).fit(X[:500], y[:500])
    gamma = clf.gamma_
    clf.fit(X[500:] * 1.5, y[500:])
    assert clf.gamma_ == gamma
    assert clf.alpha_ == pytest.approx(1 / (1500 * 10))


def test_warm_start_can_change_the_budget():
    X, y = moons()
    clf = small_svc(budget=60, warm_start=True).fit(X, y)
    assert len(clf.support_vectors_) == 60
    assert len(clf.set_params(budget=10).fit(X, y).support_vectors_) == 10
    assert clf.score(X, y) > 0.8
    assert len(clf.set_params(budget=40).fit(X, y).support_vectors_) == 40


def test_passes_see_rows_after_a_warm_start_with_a_much_smaller_budget():
    X, y = moons(3000, noise=0.3)
    clf = BudgetedSVC(600, random_state=0, warm_start=True).fit(X, y)
    assert clf.set_params(budget=5).fit(X, y).profile_.violations > 0


def test_warm_start_rejects_other_features_classes_and_gamma():
    X, y = blobs(3)
    clf = small_svc(warm_start=True).fit(X, y)
    before = clf.support_vectors_
    with pytest.raises(ValueError, match="X has 4 features, but BudgetedSVC is expecting 5"):
        clf.fit(X[:, :4], y)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\], but y holds \[0, 1\]"):
        clf.fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"gamma=0.123 differs from the gamma_="):
        clf.set_params(gamma=0.123).fit(X, y)
    assert clf.support_vectors_ is before
    clf.set_params(gamma=clf.gamma_).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_makes_one_pass(n_classes):
    X, y = blobs(n_classes)
    once = small_svc(alpha=1e-3).partial_fit(X, y, classes=np.unique(y))
    assert_same_model(once, small_svc(alpha=1e-3, max_iter=1).fit(X, y))
    assert once.n_iter_ == 1
    assert once.profile_.steps == len(y) * len(once.classes_ if n_classes > 2 else [1])


def test_partial_fit_in_batches_learns_like_fit():
    X, y = moons(6000)
    stream = BudgetedSVC(50, alpha=1 / 40_000, random_state=0)
    for i in range(0, 4000, 250):
        stream.partial_fit(X[i : i + 250], y[i : i + 250], classes=[0, 1])
        assert len(stream.support_vectors_) <= 50
    whole = BudgetedSVC(50, alpha=1 / 40_000, max_iter=1, random_state=0).fit(X[:4000], y[:4000])
    test = X[4000:], y[4000:]
    assert stream._state.states[0].steps == 4000
    assert stream.score(*test) > whole.score(*test) - 0.03
    assert stream.score(*test) > 0.9


def test_partial_fit_accepts_batches_without_a_class():
    X, y = blobs(3)
    clf = small_svc()
    for k in (2, 0, 1, 0, 1, 2):
        clf.partial_fit(X[y == k], y[y == k], classes=[0, 1, 2])
    assert clf.dual_coef_.shape[0] == 3
    assert clf.score(X, y) > 1 / 3


def test_partial_fit_rejects_invalid_classes_and_balanced_weights():
    X, y = moons()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        small_svc().partial_fit(X, y)
    with pytest.raises(
        ValueError, match="class_weight 'balanced' is not supported for partial_fit"
    ):
        small_svc(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="has to be greater than one; got 1 class"):
        small_svc().partial_fit(X, np.zeros(len(y)), classes=[0])
    clf = small_svc().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y holds the label .*7.*, which is not in classes"):
        clf.partial_fit(X[:2], [1, 7])
    with pytest.raises(ValueError, match="y holds labels of another type than classes"):
        clf.partial_fit(X[:2], np.array(["a", "b"], dtype=object))


# --- with scikit-learn's tools --------------------------------------------------------------------


def test_pipeline_and_feature_names():
    X, y = moons()
    frame = pd.DataFrame(X * 1000 + 1e6, columns=["left", "right"])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), small_svc())
    assert pipeline.fit(frame, y).score(frame, y) > 0.9
    clf = pipeline[-1]
    assert_array_equal(clf.feature_names_in_, ["left", "right"])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["right", "left"]])


def test_grid_search():
    X, y = moons()
    grid = {"C": [1e-3, 10.0], "gamma": ["scale", 1e-4], "maintenance": ["merge", "removal"]}
    search = GridSearchCV(small_svc(), grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["gamma"] == "scale"
    assert search.best_score_ > 0.9


def test_calibration():
    X, y = moons(2000)
    weight = np.random.default_rng(0).uniform(0.5, 2, 1000)
    calibrated = CalibratedClassifierCV(small_svc(), cv=3)
    calibrated.fit(X[:1000], y[:1000], sample_weight=weight)
    likely = calibrated.predict_proba(X[1000:])[:, 1]
    assert np.mean((likely - y[1000:]) ** 2) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_fit_into_the_budget_need_few_passes(seed):
    X, y = make_moons(400, noise=0.25, random_state=seed)
    clf = BudgetedSVC(random_state=0).fit(X, y)
    assert clf.n_iter_ == 5
    assert len(clf.support_vectors_) < 200
    assert clf.score(X, y) > SVC().fit(X, y).score(X, y) - 0.01
    assert BudgetedSVC(random_state=0, polish=False).fit(X, y).n_iter_ == 20
    assert BudgetedSVC(budget=399, random_state=0).fit(X, y).n_iter_ > 2


@pytest.mark.parametrize("make", [BudgetedSVC, BudgetedSVR])
def test_weights_that_differ_too_much_for_their_c_are_refused(make):
    X, y = moons()
    weight = 10.0 ** np.linspace(-8, 8, len(y))
    message = (
        r"weights of rows range from 1e-08 to 1e\+08, and C is 2.*above 1e\+07.*at most 1e\+12"
    )
    with pytest.raises(ValueError, match=message):
        make(20, C=2.0).fit(X, y, sample_weight=weight)
    for fitted in (make(20, C=2e-8).fit(X, y, weight), make(20, C=2.0).fit(X, y, weight**0.7)):
        assert np.isfinite(fitted.predict(X)).all()
