"""Converters for skl2onnx: labels and numbers are those of the estimators."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pocketsvm.onnx
from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    BudgetedSVRCV,
    open_dataset,
)

skl2onnx = pytest.importorskip(
    "skl2onnx", reason="skl2onnx is not there: make ecosystem installs it"
)
N = 10_000


@pytest.fixture(autouse=True, scope="module")
def registered():
    pocketsvm.onnx.register_converters()


def problem(n_classes=2, n_rows=N + 2000):
    X, y = make_classification(
        n_rows, 12, n_informative=6, n_classes=n_classes, flip_y=0.05, random_state=0
    )
    return X, y


def run(estimator, X, **options):
    """Convert an estimator, and return what onnxruntime finds for rows."""
    from onnxruntime import InferenceSession

    if options:
        options = {"options": {id(estimator): options}}
    model = skl2onnx.to_onnx(estimator, X[:1], **options)
    inputs = {"X": X}
    if isinstance(X, pd.DataFrame):
        inputs = {name: X[[name]].to_numpy() for name in X}
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "texts"])
def test_labels_of_a_pipeline_with_pca(n_classes, loss, texts):
    X, y = problem(n_classes)
    y = np.array(["a", "b", "c", "d"])[y] if texts else y
    machine = BudgetedSVC(40, gamma=0.1, loss=loss, random_state=0)
    pipeline = make_pipeline(StandardScaler(), PCA(8, random_state=0), machine)
    pipeline.fit(X[N:], y[N:])
    found = run(pipeline, X[:N], zipmap=False)
    assert_array_equal(found["label"], pipeline.predict(X[:N]))
    if loss == "log_loss":
        assert_allclose(found["probabilities"], pipeline.predict_proba(X[:N]), atol=1e-5)
    else:
        values = pipeline.decision_function(X[:N])
        values = np.column_stack([-values, values]) if n_classes == 2 else values
        assert_allclose(found["probabilities"], values, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_in_place_of_probabilities(n_classes):
    X, y = problem(n_classes, 1000)
    model = BudgetedSVC(20, loss="log_loss", random_state=0).fit(X, y)
    found = run(model, X, zipmap=False, raw_scores=True)["probabilities"]
    expected = model.decision_function(X)
    assert_allclose(found[:, 1] if n_classes == 2 else found, expected, atol=1e-4)


def test_labels_of_a_pipeline_with_a_column_transformer():
    X, y = problem(3)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["word"] = np.array(["red", "green", "blue"])[(X[:, 5] > 0).astype(int) + (X[:, 6] > 0)]
    columns = ColumnTransformer(
        [("n", StandardScaler(), list("abcd")), ("w", OneHotEncoder(sparse_output=False), ["word"])]
    )
    pipeline = make_pipeline(columns, BudgetedSVC(40, random_state=0))
    pipeline.fit(frame[N:], y[N:])
    found = run(pipeline, frame[:N].astype({"word": object}), zipmap=False)
    assert_array_equal(found["label"], pipeline.predict(frame[:N]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_labels_of_a_calibrated_pipeline(n_classes, method, loss):
    X, y = problem(n_classes)
    machine = BudgetedSVC(30, gamma=0.1, loss=loss, random_state=0)
    pipeline = make_pipeline(StandardScaler(), CalibratedClassifierCV(machine, method=method, cv=2))
    pipeline.fit(X[N:], y[N:])
    found = run(pipeline, X[:N], zipmap=False)
    wrong = found["label"] != pipeline.predict(X[:N])
    if method == "sigmoid":
        assert_allclose(found["probabilities"], pipeline.predict_proba(X[:N]), atol=1e-5)
        assert not wrong.any()
    else:  # skl2onnx takes the nearest value of the fitted steps, and does not interpolate
        assert wrong.mean() < 0.02


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types_of_rows(dtype):
    X, y = problem(n_rows=2000)
    X = (10 * X).astype(dtype)
    model = BudgetedSVC(30, gamma=0.001, random_state=0).fit(X, y)
    found = run(model, X, zipmap=False)
    sure = np.abs(model.decision_function(X)) > 1e-4
    assert sure.mean() > 0.99
    assert_array_equal(found["label"][sure], model.predict(X)[sure])
    assert found["probabilities"].dtype == np.float32


def test_regressions():
    X, y = make_regression(1000, 6, random_state=0, n_targets=2)
    X, y = X / 3, y / 100
    one = BudgetedSVR(30, random_state=0).fit(X, y[:, 0])
    assert_allclose(run(one, X)["variable"].ravel(), one.predict(X), atol=1e-4)
    two = make_pipeline(StandardScaler(), BudgetedSVR(30, random_state=0)).fit(X, y)
    assert_allclose(run(two, X)["variable"], two.predict(X), atol=1e-4)
    fan = BudgetedSVR(30, loss="quantile", quantile=[0.1, 0.5, 0.9], random_state=0).fit(X, y[:, 0])
    assert_allclose(run(fan, X)["variable"], fan.predict(X), atol=1e-4)


def test_novelties():
    X, _ = problem(n_rows=3000)
    model = BudgetedOneClassSVM(30, nu=0.2, gamma=0.05, random_state=0).fit(X)
    found = run(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert_allclose(found["scores"].ravel(), model.decision_function(X), atol=1e-3)


def test_rankings():
    X, y = problem(3, 300)
    model = BudgetedRanker(20, random_state=0).fit(X, y, qid=np.arange(300) // 10)
    assert_allclose(run(model, X)["variable"].ravel(), model.predict(X), atol=1e-5)


def test_searches():
    X, y = problem(n_rows=600)
    options = {"Cs": [1.0], "gammas": [0.05], "cv": 2, "random_state": 0}
    classes = BudgetedSVCCV(20, **options).fit(X, y)
    assert_array_equal(run(classes, X, zipmap=False)["label"], classes.predict(X))
    values = BudgetedSVRCV(20, **options).fit(X, X[:, 0])
    assert_allclose(run(values, X)["variable"].ravel(), values.predict(X), atol=1e-4)


def test_a_scaler_of_the_model_is_converted(tmp_path):
    X, y = problem(n_rows=600)
    pd.DataFrame(X * 50, columns=[f"c{j}" for j in range(12)]).assign(y=y).to_csv(
        tmp_path / "rows.csv", index=False
    )
    rows = open_dataset(tmp_path / "rows.csv", "y", scaler=StandardScaler())
    model = BudgetedSVC(20, random_state=0).fit(rows)
    assert_array_equal(run(model, X * 50, zipmap=False)["label"], model.predict(rows))


def test_two_estimators_in_one_model():
    X, y = problem(n_rows=600)
    votes = VotingClassifier(
        [
            ("few", BudgetedSVC(5, loss="log_loss", random_state=0)),
            ("many", BudgetedSVC(20, loss="log_loss", random_state=0)),
            ("linear", LogisticRegression()),
        ],
        voting="soft",
        flatten_transform=False,
    ).fit(X, y)
    assert_array_equal(run(votes, X, zipmap=False)["label"], votes.predict(X))


def test_texts_and_old_operators_are_refused(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": np.arange(100) % 7.0, "y": [0, 1] * 50})
    model = BudgetedSVC(10, random_state=0).fit(open_dataset(frame, "y", one_hot="text"))
    with pytest.raises(ValueError, match="encodes texts itself"):
        skl2onnx.to_onnx(model, np.zeros((1, 2)))
    X, y = problem(n_rows=300)
    with pytest.raises(ValueError, match="BudgetedSVC needs target_opset=13"):
        skl2onnx.to_onnx(BudgetedSVC(10).fit(X, y), X[:1], target_opset=12)


def test_probabilities_by_class_and_labels_by_number():
    X, y = problem(3, 600)
    X = X.astype(np.float32)  # onnxruntime makes no dictionaries of float64
    words = np.array(["a", "b", "c"])[y]
    model = BudgetedSVC(20, loss="log_loss", random_state=0).fit(X, words)
    found = run(model, X)  # skl2onnx makes dictionaries of probabilities
    assert found["output_label"].tolist() == model.predict(X).tolist()
    assert found["output_probability"][0].keys() == {"a", "b", "c"}
    numbers = run(model, X, nocl=True, zipmap=False)
    assert_array_equal(model.classes_[numbers["label"]], model.predict(X))
