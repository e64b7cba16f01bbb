"""Exports to ONNX, run by onnxruntime."""

from dataclasses import replace

import export_models as models
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from pocketsvm import BudgetedSVC
from pocketsvm.model import Model
from pocketsvm.model.export import export_onnx

HINGE = {"task": "classification", "loss": "hinge"}


@pytest.fixture
def run_onnx():
    """All outputs by onnxruntime."""
    pytest.importorskip("onnx", reason="onnx is not there: pip install 'pocketsvm[onnx]'")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not there: pip install onnxruntime"
    )

    def run(path, X, **more):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, {"X": X, **more}), strict=True))

    return run


@pytest.mark.parametrize("setting", models.SEVERAL)
def test_onnxruntime_decides_the_same(tmp_path, run_onnx, setting):
    clf, X = models.fitted(**setting)
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    expected = clf.decision_function(X)
    assert (found["decision"].dtype, found["decision"].shape) == (np.float32, expected.shape)
    assert_allclose(found["decision"], expected, rtol=0, atol=models.tolerance(clf))
    assert found["label"].dtype == np.int64
    models.assert_same_labels(found["label"], clf, X)
    assert run_onnx(tmp_path / "svm.onnx", X[:1])["label"] == clf.predict(X[:1])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["no", "yes"], "O"),
        (["a", "ä", "日本"], "O"),
        ([False, True], "i"),
        ([-1.0, 1.0], "i"),
        ([0, 2**40], "i"),
    ],
)
def test_onnx_labels_keep_their_spelling(tmp_path, run_onnx, labels, kind):
    clf, X = models.fitted(len(labels), labels=labels)
    assert export_onnx(clf, tmp_path / "svm.onnx").labels == labels
    found = run_onnx(tmp_path / "svm.onnx", X)["label"]
    assert found.dtype.kind == kind
    assert found.tolist() == clf.predict(X).tolist()


def test_onnx_labels_that_have_no_type_are_refused(tmp_path):
    pytest.importorskip("onnx")
    clf, _ = models.fitted(labels=np.array([0, 2**63], dtype=np.uint64))
    with pytest.raises(ValueError, match="ONNX has no labels like"):
        export_onnx(clf, tmp_path / "svm.onnx")


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_onnx_does_not_cancel(tmp_path, run_onnx, gamma, offset):
    """Where vectors are wide or far out for their kernel, against the exact values."""
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(40, 10)) + offset).astype(np.float32)
    model = Model(vectors, random.normal(size=(2, 40)), np.zeros(2), gamma, np.arange(3), **HINGE)
    model = replace(model, dual_coef=random.normal(size=(3, 40)), intercept=np.zeros(3))
    X = np.repeat(vectors, 5, axis=0) + random.normal(size=(200, 10)) / np.sqrt(20 * gamma)
    X = X.astype(np.float32)
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)["decision"]
    direct = np.square(X[:, None].astype(np.float64) - vectors).sum(axis=2)
    expected = np.exp(-gamma * direct) @ model.dual_coef.T
    assert np.abs(found - expected).max() < models.tolerance(model)


def test_onnx_refuses_vectors_that_cancel_in_float64(tmp_path):
    pytest.importorskip("onnx")
    vectors = np.array([[-1.0], [1.0]])
    model = Model(vectors, np.ones((1, 2)), np.zeros(1), 1.1 * 2.0**40, np.arange(2), **HINGE)
    with pytest.raises(ValueError, match=r"too far apart for ONNX.*choose a smaller gamma"):
        export_onnx(model, tmp_path / "svm.onnx")
    assert not (tmp_path / "svm.onnx").exists()
    export_onnx(replace(model, gamma=2.0**40), tmp_path / "svm.onnx")


def test_onnx_of_a_float64_model_takes_float64(tmp_path, run_onnx):
    clf, X = models.float64_model()
    assert clf.support_vectors_.dtype == np.float64
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert found["decision"].dtype == np.float64
    assert_allclose(found["decision"], clf.decision_function(X), rtol=0, atol=models.tolerance(clf))


def test_onnx_far_rows_have_no_kernel(tmp_path, run_onnx):
    clf, X = models.fitted(3)
    export_onnx(clf, tmp_path / "svm.onnx")
    far = np.concatenate([1e18 * X, 1e25 * X, np.full_like(X, 3e38)]).astype(np.float32)
    found = run_onnx(tmp_path / "svm.onnx", far)["decision"]
    assert_allclose(found, np.broadcast_to(clf.intercept_, found.shape), rtol=1e-6)


# scikit-learn's check of finite rows adds up all numbers, which may give inf - inf.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
@models.WITHOUT_INTERCEPT
def test_onnx_gives_far_rows_the_same_class(tmp_path, run_onnx, setting):
    clf, X = models.fitted(**setting, polish=False, fit_intercept=False)
    far = models.far_rows(clf, X)
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", far)
    expected = clf.decision_function(far)
    assert (expected != 0).all()
    assert_allclose(found["decision"], expected, rtol=1e-4)
    assert_array_equal(found["label"], clf.predict(far))


@models.REGRESSIONS
def test_onnx_regression(tmp_path, run_onnx, setting):
    model, X = models.regression(**setting)
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert found.keys() == {"value"}
    assert_allclose(found["value"], model.predict(X), rtol=1e-7, atol=models.tolerance(model))


def test_onnx_scales(tmp_path, run_onnx):
    model, X, labels = models.scaled()
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert_allclose(found["decision"], models.exact(model, X), rtol=0, atol=models.tolerance(model))
    assert_array_equal(found["label"], labels)


@pytest.mark.parametrize("texts", [True, False])
def test_onnx_prepares_numbers_and_texts(tmp_path, run_onnx, texts):
    clf, X = models.prepared(texts)
    export_onnx(clf, tmp_path / "svm.onnx")
    if texts:
        numbers = X[["length", "stars", "weight"]].to_numpy(np.float32)
        more = {"texts": X[["wood", "soil"]].fillna("").to_numpy(object)}
    else:
        numbers = X.assign(wood=0, soil=0).to_numpy(np.float32)
        more = {}
    found = run_onnx(tmp_path / "svm.onnx", numbers, **more)
    tolerance = models.tolerance(clf)
    assert_allclose(found["decision"], clf.decision_function(X), rtol=0, atol=tolerance)
    assert_array_equal(found["label"], clf.predict(X))


def test_onnx_keeps_feature_names(tmp_path):
    onnx = pytest.importorskip("onnx")
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = BudgetedSVC(10, random_state=0).fit(pd.DataFrame(X, columns=["a", "größe"]), y)
    export_onnx(clf, tmp_path / "svm.onnx")
    (kept,) = onnx.load(tmp_path / "svm.onnx").metadata_props
    assert (kept.key, kept.value) == ("feature_names", '["a", "gr\\u00f6\\u00dfe"]')


@models.LOG_LOSS
def test_onnx_probabilities(tmp_path, run_onnx, n_classes):
    clf, X = models.fitted(n_classes, loss="log_loss")
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert list(found) == ["label", "probabilities", "decision"]
    models.assert_same_probabilities(found["probabilities"], clf, X)
    assert_allclose(found["decision"], clf.decision_function(X), rtol=0, atol=models.tolerance(clf))
    models.assert_same_labels(found["label"], clf, X)


@models.SEVERAL_VALUES
def test_onnx_several_values(tmp_path, run_onnx, kind):
    model, X = models.several_values(kind)
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)["value"]
    assert found.shape == model.predict(X).shape
    assert_allclose(found, model.predict(X), rtol=1e-6, atol=models.tolerance(model))


@models.POLISHED
def test_onnx_finds_the_same_outliers(tmp_path, run_onnx, polish):
    model, X = models.novelty(polish=polish)
    assert export_onnx(model, tmp_path / "svm.onnx").labels == [-1, 1]
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert_allclose(
        found["decision"], model.decision_function(X), rtol=0, atol=models.tolerance(model)
    )
    models.assert_same_labels(found["label"], model, X)
    zero = replace(Model.of(model), dual_coef=0 * model.dual_coef_, intercept=np.zeros(1))
    export_onnx(zero, tmp_path / "svm.onnx")
    assert_array_equal(run_onnx(tmp_path / "svm.onnx", X)["label"], 1)  # as predict


@models.POLISHED
def test_onnx_ranking(tmp_path, run_onnx, polish):
    model, X = models.ranking(polish=polish)
    assert export_onnx(model, tmp_path / "svm.onnx").labels is None
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert list(found) == ["value"]
    assert_allclose(found["value"], model.predict(X), rtol=0, atol=models.tolerance(model))


@models.WEIGHTED
def test_onnx_multiplies_the_feature_scales_in(tmp_path, run_onnx, kind):
    clf, X = models.weighted(kind)
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    expected = clf.decision_function(X)
    assert_allclose(found["decision"], expected, rtol=0, atol=3 * models.tolerance(clf))
    assert np.mean(found["label"] == clf.predict(X)) > 0.995
