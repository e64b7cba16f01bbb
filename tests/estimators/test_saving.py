"""Saving estimators: everything is restored, and further training makes the same bits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from model_files import assert_equal, entry, numbers, problem, refused_after, round_trip, small
from numpy.testing import assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, save_model
from pocketsvm.model import Model
from pocketsvm.profile import Profile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.psvm"


@pytest.mark.parametrize("polish", [True, False, "thorough"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_is_restored(path, n_classes, polish):
    X, y = problem(n_classes)
    clf = small(polish=polish).fit(X, y)
    twin = round_trip(clf, path)
    assert_equal(vars(clf), vars(twin))
    assert_array_equal(clf.decision_function(X), twin.decision_function(X), strict=True)
    assert_array_equal(clf.predict(X), twin.predict(X), strict=True)


def test_the_method_save_writes_the_same_file(path):
    X, y = problem()
    clf = small().fit(X, y)
    clf.save(path)
    assert_equal(vars(load_model(path)), vars(clf))


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_continues_to_the_same_bits(path, n_classes, polish):
    X, y = problem(n_classes)
    clf = small(polish=polish, warm_start=True).fit(X[:200], y[:200])
    twin = round_trip(clf, path)
    for machine in (clf, twin):
        machine.partial_fit(X[200:], y[200:])
    assert_equal(clf._state.states, twin._state.states)
    twin = round_trip(clf, path)
    for machine in (clf, twin):
        machine.fit(X, y)
    assert_equal(clf._state.states, twin._state.states)
    assert_array_equal(clf.decision_function(X), twin.decision_function(X), strict=True)


def forgetting(n_classes):
    X, y = problem(n_classes)
    clf = small(half_life=50.0)
    return clf.partial_fit(X[:200], y[:200], classes=np.unique(y)), X[200:], y[200:]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stream_with_a_half_life_continues_to_the_same_bits(path, n_classes):
    clf, X, y = forgetting(n_classes)
    assert all(state.weight < state.steps == 200 for state in clf._state.states)
    twin = round_trip(clf, path)
    assert_equal(vars(clf), vars(twin))
    for machine in (clf, twin):
        machine.partial_fit(X, y)
    assert_equal(clf._state.states, twin._state.states)


@pytest.mark.parametrize("weight", [0.0, 0.5, -1.0, 200.5, np.nan, np.inf])
def test_a_weight_that_no_stream_has_is_refused(path, weight):
    clf, _, _ = forgetting(3)
    clf.save(path)
    reason = "weights of the rows|not finite"
    refused_after(numbers("training.weight", 1, weight, "f8"), path, path, reason)


def test_weights_of_the_wrong_shape_are_refused(path):
    clf, _, _ = forgetting(3)
    clf.save(path)
    reason = "'training.weight' is float64 of shape .1, 3., but float64 of shape .3,. is expected"
    refused_after(entry("training.weight", shape=[1, 3]), path, path, reason)


def test_sparse_and_float64_models_are_restored(path):
    X, y = problem()
    twin = round_trip(small().fit(sp.csr_array(X), y), path)
    assert_array_equal(twin.predict(X), twin.predict(sp.csr_array(X)))
    clf = small(gamma=1.0).fit(X + 1e5, y)
    assert clf.support_vectors_.dtype == np.float64
    assert_equal(vars(round_trip(clf, path)), vars(clf))


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-3, 8]),
        np.array([1, 200], dtype=np.uint8),
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        np.array([-1.0, 1.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "yes"], dtype="U9"),
        np.array(["", "größer\n\0x"], dtype=object),
        np.array(["ä", "\ud800"], dtype=object),
        np.array([1, 3, 200], dtype=">i4"),
        np.array(["a", "b", "c"]),
    ],
    ids=lambda classes: f"{classes.dtype}{len(classes)}",
)
def test_labels_of_every_kind_are_restored(path, classes):
    X, y = problem(len(classes))
    clf = small().fit(X, y)
    clf.classes_ = classes
    twin = round_trip(clf, path)
    assert twin.classes_.dtype == classes.dtype.newbyteorder("=")
    assert twin.classes_.tolist() == classes.tolist()
    assert_array_equal(twin.predict(X), clf.predict(X))


def test_labels_that_no_file_can_keep_are_refused(path):
    clf = small().fit(*problem())
    clf.classes_ = np.array(["2001-01-01", "2002-02-02"], dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"cannot be saved: its classes are of dtype datetime64"):
        save_model(clf, path)
    assert not path.exists()


def test_parameters_are_restored(path):
    X, y = problem(3)
    parameters = {
        "budget": np.int64(15),
        "C": 3,
        "gamma": 0.1 + 0.2,
        "class_weight": {0: 2.0, np.int64(1): np.float32(0.5), 2: 1},
        "alpha": 1e-3,
        "fit_intercept": np.True_,
        "n_jobs": 1,
        "random_state": 7,
        "verbose": 0,
    }
    clf = small(**parameters).fit(X, y)
    assert round_trip(clf, path).get_params() == clf.get_params()
    clf.set_params(random_state=np.random.RandomState(0), class_weight="balanced")
    twin = round_trip(clf, path)
    assert twin.random_state is None
    assert twin.class_weight == "balanced"


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ({"C": -1.0}, "cannot be saved: The 'C' parameter"),
        ({"C": float("inf")}, "cannot be saved: The 'C' parameter"),
        ({"class_weight": {0: np.inf}}, "cannot be saved: a file cannot keep class_weight=inf"),
        ({"n_jobs": 2**31}, "cannot be saved: its n_jobs=2147483648 is out of range"),
    ],
)
def test_parameters_that_cannot_be_loaded_are_refused(path, parameter, reason):
    clf = small().fit(*problem()).set_params(**parameter)
    with pytest.raises(ValueError, match=reason):
        save_model(clf, path)
    assert not path.exists()


def test_feature_names_are_restored(path):
    X, y = problem()
    frame = pd.DataFrame(X, columns=["Länge", ""])
    clf = small().fit(frame, y)
    twin = round_trip(clf, path)
    assert_equal(twin.feature_names_in_, clf.feature_names_in_)
    twin.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        twin.predict(frame[["", "Länge"]])


def test_a_lowered_budget_is_restored(path):
    X, y = problem()
    clf = small(warm_start=True).fit(X, y).set_params(budget=5)
    twin = round_trip(clf, path)
    assert (len(twin.support_vectors_), twin.budget) == (12, 5)
    assert len(twin.fit(X, y).support_vectors_) == 5


def test_a_profile_that_is_not_finite_does_not_prevent_saving(path):
    clf = small().fit(*problem())
    clf.profile_ = replace(clf.profile_, seconds_total=np.inf, steps=np.int64(3))
    twin = round_trip(clf, path)
    assert (twin.profile_.seconds_total, twin.profile_.steps) == (0.0, 3)


@pytest.mark.parametrize("polish", [True, False])
def test_a_regression_is_restored_and_continues(path, polish):
    X, y = make_friedman1(300, random_state=0)
    model = BudgetedSVR(12, 10.0, max_iter=2, polish=polish, random_state=0).fit(X[:200], y[:200])
    twin = round_trip(model, path)
    assert_equal(vars(model), vars(twin))
    assert_array_equal(model.predict(X), twin.predict(X), strict=True)
    assert_equal(model.partial_fit(X, y)._state.states, twin.partial_fit(X, y)._state.states)
    assert_array_equal(model.predict(X), twin.predict(X), strict=True)


def test_a_regression_without_vectors_is_restored(path):
    X, y = make_friedman1(100, random_state=0)
    twin = round_trip(BudgetedSVR().fit(X, np.full(100, 7.0)), path)
    assert twin.support_vectors_.shape == (0, 10)
    assert_array_equal(twin.predict(X), 7.0)
    assert len(twin.partial_fit(X, y).support_vectors_) > 0


def test_only_fitted_estimators_of_this_package_are_saved(path):
    class Mine(BudgetedSVC):
        pass

    with pytest.raises(NotFittedError):
        save_model(small(), path)
    for thing in (Mine(), "model", Profile()):
        with pytest.raises(TypeError, match="Only the estimators of pocketsvm"):
            save_model(thing, path)
    with pytest.raises(TypeError, match="Expected a fitted estimator of pocketsvm"):
        Model.of("model")
