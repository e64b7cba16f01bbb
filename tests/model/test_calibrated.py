"""CalibratedClassifierCV through files and exports."""

import json

import numpy as np
import pandas as pd
import prepared_models as prepared
import pytest
from export_steps import run_c, run_onnx
from model_files import GOLDEN, closed, opened, problem, refused, round_trip, small
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC, load_model, save_model
from pocketsvm.model.export import export_c, export_libsvm

METHODS = pytest.mark.parametrize("method", ["sigmoid", "temperature"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
UNKNOWN = pytest.mark.filterwarnings("ignore:Found unknown categories")


def calibrated(method="sigmoid", n_classes=2, ensemble=True, chain="columns"):
    """Return a calibrated pipeline of texts and numbers, and rows that it has not seen."""
    clf, X, trained, y = prepared.fitted(chain, n_classes)
    machine = CalibratedClassifierCV(clf, method=method, ensemble=ensemble, cv=3)
    return machine.fit(trained, y), X[:2000]


@UNKNOWN
@METHODS
@CLASSES
@pytest.mark.parametrize("ensemble", [True, False])
def test_probabilities_are_the_same_after_loading(path, method, n_classes, ensemble):
    clf, X = calibrated(method, n_classes, ensemble)
    twin = round_trip(clf, path)
    assert_array_equal(twin.predict_proba(X), clf.predict_proba(X), strict=True)
    assert_array_equal(twin.predict(X), clf.predict(X), strict=True)
    assert type(twin) is CalibratedClassifierCV
    assert (twin.method, twin.ensemble, twin.cv) == (method, ensemble, 3)
    assert twin.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert_array_equal(round_trip(twin, path).predict_proba(X), clf.predict_proba(X))


@METHODS
@CLASSES
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_a_calibration_inside_a_pipeline_stays_there(path, method, n_classes, loss):
    X, y = problem(n_classes)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    labels = np.array(["a", "b", "c"])[y]
    machine = CalibratedClassifierCV(small(loss=loss), method=method, cv=folds)
    clf = make_pipeline(StandardScaler(), machine).fit(X, labels)
    twin = round_trip(clf, path)
    assert type(twin) is Pipeline
    assert list(twin.named_steps) == ["scale", "svm"]
    assert_array_equal(twin.predict_proba(X), clf.predict_proba(X), strict=True)
    assert twin[-1].cv is None
    assert_array_equal(twin.predict(X), clf.predict(X))


def test_a_frozen_estimator_stays_frozen(path):
    X, y = problem()
    fitted = make_pipeline(StandardScaler(), small()).fit(X[:150], y[:150])
    clf = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X[150:], y[150:])
    twin = round_trip(clf, path)
    assert type(twin.estimator) is FrozenEstimator
    assert_array_equal(twin.predict_proba(X), clf.predict_proba(X), strict=True)
    twin.fit(X, y)
    assert_array_equal(twin.predict(X), clf.fit(X, y).predict(X))


@UNKNOWN
@METHODS
@CLASSES
@pytest.mark.parametrize("ensemble", [True, False])
def test_exports_give_the_calibrated_probabilities(tmp_path, method, n_classes, ensemble):
    clf, X = calibrated(method, n_classes, ensemble)
    expected = clf.predict_proba(X)
    labels, in_c = run_c(clf, X, tmp_path, "probabilities")
    found = run_onnx(clf, X, tmp_path)
    best = np.sort(expected, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-4
    assert clear.mean() > 0.95
    for probabilities, label in ((in_c, labels), (found["probabilities"], found["label"])):
        assert_allclose(probabilities, expected, rtol=0, atol=5e-5)
        assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
        assert_array_equal(label[clear], clf.predict(X)[clear])


def test_members_of_an_export_share_the_numbers_of_texts(tmp_path):
    """Each fold lacks some texts."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": [f"t{k % 60}" for k in range(120)]})
    y = (X["a"] + (np.arange(120) % 2) > 0).to_numpy()
    X.loc[:59, "b"] = "t0"
    steps = ColumnTransformer(
        [("b", OneHotEncoder(handle_unknown="ignore"), ["b"])], remainder="passthrough"
    )
    machine = make_pipeline(steps, BudgetedSVC(10, random_state=0))
    clf = CalibratedClassifierCV(machine, cv=3).fit(X, y)
    known = [
        list(p.estimator[0].transformers_[0][1].categories_[0]) for p in clf.calibrated_classifiers_
    ]
    assert known[0] != known[1]
    assert_allclose(
        run_c(clf, X, tmp_path, "probabilities")[1], clf.predict_proba(X), rtol=0, atol=5e-5
    )
    found = run_onnx(clf, X, tmp_path)["probabilities"]
    assert_allclose(found, clf.predict_proba(X), rtol=0, atol=5e-5)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_numbers_alone_are_exported(tmp_path, loss):
    """Without a preparation, and with vectors of different precision."""
    X, y = problem(3)
    clf = CalibratedClassifierCV(small(loss=loss), cv=3).fit(X, y)
    frame = pd.DataFrame(X)
    assert_allclose(
        run_c(clf, frame, tmp_path, "probabilities")[1], clf.predict_proba(X), rtol=0, atol=1e-5
    )
    found = run_onnx(clf, frame, tmp_path)
    assert list(found) == ["label", "probabilities"]
    assert_allclose(found["probabilities"], clf.predict_proba(X), rtol=0, atol=1e-5)


def test_what_cannot_be_kept_is_refused_with_what_to_do(path):
    X, y = problem()
    with pytest.raises(ValueError, match="Fit it with method='sigmoid' or method='temperature'"):
        save_model(CalibratedClassifierCV(small(), method="isotonic").fit(X, y), path)
    with pytest.raises(TypeError, match="CalibratedClassifierCV of them, got"):
        save_model(CalibratedClassifierCV(SVC(), cv=2).fit(X, y), path)
    with pytest.raises(ValueError, match=r"cannot hold a CalibratedClassifierCV. Export it to C"):
        export_libsvm(CalibratedClassifierCV(small()).fit(X, y), path)
    with pytest.raises(ValueError, match="Fit it with method='sigmoid'"):
        export_c(CalibratedClassifierCV(small(), method="isotonic").fit(X, y), path)
    assert not path.exists()


def section(header):
    return header["sections"]["calibration"]


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda header: header["sections"].pop("classes"), "lacks 'classes'"),
        (lambda header: section(header).update(members=[]), "it calibrates 0 models"),
        (lambda header: section(header).update(members={}), "not list"),
        (lambda header: section(header).update(method="isotonic"), "'isotonic', which"),
        (lambda header: section(header).update(method="temperature"), "is expected"),
        (lambda header: section(header).update(n_outer=2), "follows 2 of 1 steps"),
        (lambda header: section(header).update(n_outer=-1), "follows -1 of 1 steps"),
        (lambda header: section(header).update(is_frozen=1), "not bool"),
        (lambda header: section(header).update(parameters={}), "parameters of its calibration"),
        (lambda header: section(header)["parameters"].update(cv=1.5), "not int"),
        (lambda header: section(header)["parameters"].update(ensemble="x"), "not bool"),
        (lambda header: section(header)["members"].pop(), "is expected"),
        (lambda header: section(header)["members"].append({}), "not a classification"),
        (
            lambda header: section(header)["members"][1].update(calibration={}),
            "not a classification",
        ),
        (lambda header: section(header)["members"][0]["decision"].update(gamma=-1.0), "gamma"),
        (
            lambda header: section(header)["members"][1]["training"].update(estimator="X"),
            "which this pocketsvm does not know",
        ),
    ],
)
def test_forged_calibrations_are_refused(path, forge, reason):
    X, y = problem(3)
    machine = CalibratedClassifierCV(make_pipeline(StandardScaler(), small()), cv=2)
    save_model(machine.fit(X, y), path)
    header, data = opened(path)
    forge(header)
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("calibration.slopes", np.nan, "slopes of the calibration are not finite"),
        ("calibration.offsets", np.inf, "offsets of the calibration are not finite"),
        ("calibration.1.decision.vectors", np.nan, "not finite"),
        ("calibration.0.preparation.0.scale", -1.0, "not positive"),
    ],
)
def test_forged_numbers_of_calibrations_are_refused(path, name, value, reason):
    X, y = problem()
    machine = CalibratedClassifierCV(make_pipeline(StandardScaler(), small()), cv=2)
    save_model(machine.fit(X, y), path)
    header, data = opened(path)
    dtype = header["arrays"][name]["dtype"]
    array = np.frombuffer(data[name], dtype=dtype).copy()
    array[0] = value
    data[name] = array.tobytes()
    refused(path, closed(header, data), reason)


def test_forged_classes_that_differ_are_refused(path):
    X, y = problem()
    save_model(CalibratedClassifierCV(small(), cv=2).fit(X, y), path)
    header, data = opened(path)
    data["calibration.1.classes.numbers"] = np.array([0, 5]).tobytes()
    refused(path, closed(header, data), "do not have the same classes")


def test_a_fold_without_a_class_is_refused(path):
    X, y = problem(3)
    folds = [(np.flatnonzero(y != 2), np.arange(len(y))), (np.arange(len(y)), np.arange(len(y)))]
    clf = CalibratedClassifierCV(BudgetedSVC(10, random_state=0), cv=folds).fit(X, y)
    with pytest.raises(ValueError, match="lacks a class: calibrate with fewer folds"):
        save_model(clf, path)


CALIBRATED = sorted((GOLDEN[0].parent / "calibrated").glob("*.psvm"))


@pytest.mark.parametrize("golden", CALIBRATED, ids=lambda path: path.stem)
def test_golden_files_keep_their_probabilities(path, golden):
    known = json.loads(golden.with_suffix(".json").read_text())
    X = pd.DataFrame(np.array(known["X"], dtype=object), columns=known["columns"])
    clf = load_model(golden)
    assert clf.classes_.tolist() == known["classes"]
    assert_allclose(clf.predict_proba(X), known["probabilities"], rtol=1e-4)
    assert_array_equal(round_trip(clf, path).predict_proba(X), clf.predict_proba(X))
