"""The solver as a whole: it improves the model of the passes, and never makes it worse."""

import numpy as np
import pytest
from models import assert_same_states, moons
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.solving import newton, sample


def test_class_weight_shifts_the_boundary():
    X, y = moons(2000, noise=0.4)
    plain = BudgetedSVC(30, random_state=0).fit(X, y)
    weighted = BudgetedSVC(30, class_weight={0: 1.0, 1: 5.0}, random_state=0).fit(X, y)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.05


def test_fit_intercept_false_gives_zero_intercept():
    X, y = moons()
    clf = BudgetedSVC(20, fit_intercept=False, random_state=0).fit(X, y)
    assert_array_equal(clf.intercept_, [0.0])


def test_every_class_uses_all_vectors():
    X, y = make_blobs(900, centers=5, cluster_std=2.0, random_state=0)
    clf = BudgetedSVC(50, random_state=0).fit(X, y)
    assert clf.dual_coef_.shape == (5, len(clf.support_vectors_))
    assert np.count_nonzero(clf.dual_coef_) > 4 * len(clf.support_vectors_)
    unpolished = BudgetedSVC(50, random_state=0, polish=False).fit(X, y)
    assert clf.score(X, y) >= unpolished.score(X, y) - 0.01


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_result_does_not_depend_on_threads_or_layout(layout):
    X, y = make_classification(9000, 12, n_informative=6, random_state=0)
    X = X.astype(np.float32)
    one = BudgetedSVC(40, random_state=0).fit(X, y)
    two = BudgetedSVC(40, random_state=0, n_jobs=3).fit(layout(X), y)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)


def test_large_data_sets_are_subsampled(monkeypatch):
    X, y = moons(4000)
    whole = BudgetedSVC(20, random_state=0).fit(X, y)
    monkeypatch.setattr(sample, "LARGEST_BLOCK", 4 * 20 * 1000)
    assert sample.sample_size(len(X), 20) == 1000
    clf = BudgetedSVC(20, random_state=0).fit(X, y)
    assert not np.array_equal(clf.dual_coef_, whole.dual_coef_)
    # The objective of the sample is scaled to all rows.
    assert_allclose(clf.profile_.objective_after, whole.profile_.objective_after, rtol=0.3)
    assert abs(clf.score(X, y) - whole.score(X, y)) < 0.01


def test_duplicate_vectors_are_joined():
    X, y = moons(40)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    clf = BudgetedSVC(500, 100.0, gamma=5.0, random_state=0).fit(X, y)
    assert len(np.unique(clf.support_vectors_, axis=0)) == len(clf.support_vectors_) <= 40
    assert clf.score(X, y) > 0.95


def test_reaching_the_step_limit_gives_a_warning(monkeypatch):
    monkeypatch.setattr(newton, "MAX_STEPS", 1)
    X, y = moons()
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        BudgetedSVC(20, 100.0, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        BudgetedSVR(20, 100.0, random_state=0).fit(X, X[:, 0])


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
        {"n_classes": 10, "n_informative": 8, "n_samples": 4000},
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


def test_partial_fit_does_not_polish():
    X, y = moons()
    clf = BudgetedSVC(20, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert clf.profile_.newton_steps == 0
    # Polishing does not change the last iterate, from which partial_fit continues.
    fitted = BudgetedSVC(20, random_state=0).fit(X, y)
    plain = BudgetedSVC(20, random_state=0, polish=False).fit(X, y)
    assert_same_states(fitted._state, plain._state)
