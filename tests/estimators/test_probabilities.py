"""Probabilities: `BudgetedSVC(loss="log_loss")`, and the squared hinge."""

import numpy as np
import pytest
from models import moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import get_scorer, log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedSVC, load_model
from pocketsvm.metrics import expected_calibration_error

SETTINGS = [
    pytest.param(n_classes, polish, id=f"{n_classes} classes, polish={polish}")
    for n_classes in (2, 3)
    for polish in (True, False)
]


def blobs(n_classes=3, n=600):
    return make_blobs(n, centers=n_classes, cluster_std=4.0, random_state=0)


def log_model(n_classes=3, **parameters):
    X, y = blobs(n_classes)
    return log_svc(**parameters).fit(X, y), X, y


def log_svc(**parameters):
    return small_svc(**{"loss": "log_loss", "polish": True, "C": 1.0} | parameters)


@pytest.mark.parametrize(("n_classes", "polish"), SETTINGS)
def test_probabilities_sum_to_one_and_agree_with_predict(n_classes, polish):
    clf, X, y = log_model(n_classes, polish=polish)
    found = clf.predict_proba(X)
    assert found.shape == (len(X), n_classes)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1.0)
    assert_array_equal(clf.classes_[found.argmax(axis=1)], clf.predict(X))
    assert_allclose(np.exp(clf.predict_log_proba(X)), found, rtol=1e-12)
    if polish:
        assert log_loss(y, found) < 0.9 * np.log(n_classes)
    far = clf.predict_log_proba(np.vstack([X, 1e4 * X]))
    assert np.isfinite(far).all()


def cross_entropy(f, y):
    """Return the log loss of each row, its slopes, and the probabilities."""
    scores = np.hstack([np.zeros_like(f), f]) if f.shape[1] == 1 else f
    shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    slopes = (shares - np.eye(scores.shape[1])[y])[:, -f.shape[1] :]
    return -np.log(shares[np.arange(len(y)), y]), slopes


def squared_hinge(f, y):
    """Return the squared hinge of each row, summed over the outputs, and its slopes."""
    signs = np.where(np.eye(max(f.shape[1], 2))[y][:, -f.shape[1] :], 1.0, -1.0)
    excess = np.maximum(1 - signs * f, 0)
    return (excess**2).sum(axis=1), -2 * signs * excess


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("loss", "formula"), [("log_loss", cross_entropy), ("squared_hinge", squared_hinge)]
)
def test_with_all_rows_as_vectors_it_is_the_exact_solution(n_classes, loss, formula):
    X, y = blobs(n_classes, 40)
    C, gamma = 2.0, 0.05
    K = rbf_kernel(X, gamma=gamma)
    n_outputs = 1 if n_classes == 2 else n_classes

    def decisions(flat):
        point = flat.reshape(n_outputs, -1)
        return K @ point[:, :-1].T + point[:, -1]

    def objective(flat):
        beta = flat.reshape(n_outputs, -1)[:, :-1]
        losses, slopes = formula(decisions(flat), y)
        gradient = np.column_stack([beta @ K + C * slopes.T @ K, C * slopes.sum(axis=0)])
        return 0.5 * np.sum(beta * (beta @ K)) + C * losses.sum(), gradient.ravel()

    start = np.zeros(n_outputs * (len(X) + 1))
    options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-13}
    with threadpool_limits(1):
        best = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    clf = BudgetedSVC(n_outputs * len(X), C, gamma=gamma, loss=loss, random_state=0).fit(X, y)
    assert clf.profile_.objective_after <= best.fun * (1 + 2e-3)
    found = clf.decision_function(X).reshape(len(X), -1)
    expected = decisions(best.x)
    if loss == "log_loss" and n_outputs > 1:  # a constant for all outputs changes nothing
        found, expected = (f - f.mean(axis=1, keepdims=True) for f in (found, expected))
    assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_other_losses_have_no_probabilities_and_say_what_has(loss):
    clf = small_svc(loss=loss).fit(*moons())
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(clf, name)
        with pytest.raises(AttributeError, match="has no attribute") as error:
            getattr(clf, name)
        message = str(error.value.__cause__)
        assert "loss='log_loss'" in message
        assert "CalibratedClassifierCV" in message


def test_the_fitted_loss_decides_not_the_parameter():
    X, y = moons()
    clf = small_svc(loss="log_loss").fit(X, y).set_params(loss="hinge")
    assert hasattr(clf, "predict_proba")
    assert not hasattr(clf.fit(X, y), "predict_proba")
    assert hasattr(small_svc(loss="log_loss"), "predict_proba")


def test_one_class_and_an_unknown_loss_are_refused():
    X, y = moons()
    with pytest.raises(ValueError, match="greater than one"):
        small_svc(loss="log_loss").fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="'loss' parameter of BudgetedSVC must be a str among"):
        small_svc(loss="logistic").fit(X, y)


def test_class_weights_shift_the_probabilities():
    X, y = moons()
    plain = log_svc().fit(X, y).predict_proba(X)[:, 1].mean()
    heavy = log_svc(class_weight={1: 10.0}).fit(X, y)
    assert heavy.predict_proba(X)[:, 1].mean() > plain + 0.05
    weight = np.where(y == 1, 10.0, 1.0)
    same = log_svc().fit(X, y, sample_weight=weight)
    assert_allclose(same.predict_proba(X), heavy.predict_proba(X), atol=1e-6)


def test_probabilities_are_calibrated():
    X, y = make_classification(6000, 8, n_informative=5, flip_y=0.1, class_sep=0.7, random_state=0)
    clf = BudgetedSVC(60, loss="log_loss", random_state=0).fit(X[:4000], y[:4000])
    found = clf.predict_proba(X[4000:])
    assert expected_calibration_error(y[4000:], found) < 0.04
    assert clf.score(X[4000:], y[4000:]) > 0.75


def test_scikit_learn_scorers_calibration_and_voting():
    X, y = moons(900)
    clf = log_svc()
    for name, least in (("roc_auc", 0.95), ("neg_log_loss", -0.3), ("neg_brier_score", -0.1)):
        assert cross_val_score(clf, X, y, scoring=name, cv=3).min() > least
    assert get_scorer("roc_auc_ovr")(*log_model()) > 0.65
    calibrated = CalibratedClassifierCV(clf, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    members = [("a", clf), ("b", log_svc(gamma=5.0))]
    assert VotingClassifier(members, voting="soft").fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_and_warm_start(n_classes):
    X, y = blobs(n_classes, 3000)
    clf = log_svc(warm_start=True, alpha=1e-2)
    for begin in range(0, 3000, 500):
        batch = slice(begin, begin + 500)
        clf.partial_fit(X[batch], y[batch], classes=range(n_classes))
    streamed = log_loss(y, clf.predict_proba(X))
    assert streamed < 0.95 * np.log(n_classes)
    assert log_loss(y, clf.fit(X, y).predict_proba(X)) < streamed


@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_keeps_the_model(tmp_path, loss, n_classes):
    X, y = blobs(n_classes)
    clf = small_svc(loss=loss).fit(X, y)
    clf.save(tmp_path / "model.psvm")
    twin = load_model(tmp_path / "model.psvm")
    assert twin.loss == loss
    assert_array_equal(twin.decision_function(X), clf.decision_function(X))
    assert hasattr(twin, "predict_proba") == (loss == "log_loss")
    twin.partial_fit(X, y)


def test_calibration_error():
    y = np.array([0, 0, 1, 1])
    right = np.eye(2)[y]
    assert expected_calibration_error(y, right) == 0.0
    assert expected_calibration_error(y, 1 - right) == 1.0
    assert_allclose(expected_calibration_error(y, 0.2 + 0.6 * right), 0.2)
    weight = np.array([1, 0, 0, 0])
    assert_allclose(expected_calibration_error(y, right[::-1], sample_weight=weight), 1.0)
    with pytest.raises(ValueError, match="2 columns, but there are 1 labels"):
        expected_calibration_error(np.zeros(4), right)
    names = np.array(["a", "b"])
    assert expected_calibration_error(["a"], [[0.75, 0.25]], labels=names) == 0.25
