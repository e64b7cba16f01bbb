"""Exports: LIBSVM, ONNX and C, each run by the program that it is for."""

import doctest
import importlib
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_blobs, make_friedman1, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.model import Model, Scaling
from pocketsvm.model.export import FORMATS, export_c, export_libsvm, export_model, export_onnx

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def fitted(n_classes=2, labels=None, n_features=2, **parameters):
    """A model, and rows of which some are far from all its vectors."""
    if n_classes == 2 and n_features == 2:
        X, y = make_moons(600, noise=0.2, random_state=0)
    else:
        X, y = make_blobs(
            600, n_features=n_features, centers=n_classes, cluster_std=3.0, random_state=1
        )
    X = X.astype(np.float32)
    if labels is not None:
        y = np.asarray(labels)[y]
    settings = {"budget": 30, "C": 10.0, "max_iter": 3, "random_state": 0} | parameters
    clf = BudgetedSVC(**settings).fit(X[:500], y[:500])
    return clf, np.concatenate([X[500:], 100 * X[500:520]])


def exact(estimator, X):
    """Decision values in float64, (n_rows, n_outputs)."""
    model = Model.of(estimator)
    if model.scaling is not None:
        X = (X - model.scaling.offset) * model.scaling.factor
    kernel = rbf_kernel(
        np.asarray(X, dtype=np.float64), model.vectors.astype(np.float64), gamma=model.gamma
    )
    return kernel @ model.dual_coef.T + model.intercept


def tolerance(estimator):
    """The promise: 1e-5 of the sum of the coefficients."""
    return 1e-5 * np.abs(Model.of(estimator).dual_coef).sum(axis=1).min()


def assert_same_labels(found, clf, X):
    """Equal but where the best two values are equal to rounding, which only few may be."""
    values = clf.decision_function(X)
    best = np.sort(values.reshape(len(X), -1), axis=1)
    margin = np.abs(values) if values.ndim == 1 else best[:, -1] - best[:, -2]
    clear = margin > tolerance(clf)
    assert clear.mean() > 0.8
    assert_array_equal(np.asarray(found)[clear], clf.predict(X)[clear])


def regression(**parameters):
    """A regression, and rows of which some are far from all its vectors."""
    X, y = make_friedman1(300, noise=0.1, random_state=0)
    X = X.astype(np.float32)
    settings = {"budget": 20, "C": 10.0, "max_iter": 3, "random_state": 0} | parameters
    model = BudgetedSVR(**settings).fit(X[:250], y[:250])
    return model, np.concatenate([X[250:], 100 * X[250:260]])


def scaled():
    """A model that was trained on standardised rows, and rows as they were before."""
    clf, X = fitted(3, n_features=4)
    before = X * [1, 10, 100, 0.01] + [0, 5, -50, 0.3]
    scaler = StandardScaler().fit(before[:100])
    clf = BudgetedSVC(20, random_state=0).fit(scaler.transform(before), clf.predict(X))
    model = replace(Model.of(clf), scaling=Scaling(scaler.mean_, 1 / scaler.scale_))
    return model, before.astype(np.float32), clf.predict(scaler.transform(before))


SEVERAL = [
    pytest.param({"n_classes": 2}, id="two classes"),
    pytest.param({"n_classes": 2, "labels": [-1, 1]}, id="labels -1 and 1"),
    pytest.param({"n_classes": 2, "polish": False, "fit_intercept": False}, id="two, unpolished"),
    pytest.param({"n_classes": 3}, id="three classes"),
    pytest.param({"n_classes": 5, "n_features": 20}, id="five classes"),
    pytest.param({"n_classes": 4, "polish": False}, id="four, unpolished"),
    pytest.param({"n_classes": 3, "polish": False, "fit_intercept": False}, id="no intercept"),
]


REGRESSIONS = pytest.mark.parametrize(
    "setting",
    [
        pytest.param({}, id="polished"),
        pytest.param({"polish": False, "fit_intercept": False}, id="unpolished"),
        pytest.param({"epsilon": 1e3}, id="no vectors"),
    ],
)


# --- what all share ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", ".c", ".libsvm", ".onnx"])
def test_the_examples_in_the_docstrings_run(name):
    if name == ".onnx":
        pytest.importorskip("onnx")
    module = importlib.import_module(f"pocketsvm.model.export{name}")
    failed, attempted = doctest.testmod(module, optionflags=OPTIONS)
    assert failed == 0
    assert attempted > 0


@pytest.mark.parametrize("to", FORMATS)
def test_export_model_names_the_format(tmp_path, to):
    if to == "onnx":
        pytest.importorskip("onnx")
    clf, _ = fitted(labels=[10, 20])
    exported = export_model(clf, tmp_path / "one", to)
    FORMATS[to](clf, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert exported.path == str(tmp_path / "one")
    assert exported.file_size == (tmp_path / "one").stat().st_size
    assert exported.labels == [10, 20]


def test_what_cannot_be_exported(tmp_path):
    with pytest.raises(ValueError, match="to must be one of 'libsvm', 'onnx', 'c', got 'pmml'"):
        export_model(fitted()[0], tmp_path / "model", to="pmml")
    with pytest.raises(NotFittedError):
        export_model(BudgetedSVC(), tmp_path / "model", to="c")
    with pytest.raises(TypeError, match="Expected a fitted estimator of pocketsvm, got str"):
        export_model("model", tmp_path / "model", to="libsvm")
    assert not list(tmp_path.iterdir())


def test_exporting_without_onnx_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'pocketsvm[onnx]'")):
        export_onnx(fitted()[0], tmp_path / "model.onnx")


def test_exports_load_nothing_before_they_are_asked(tmp_path):
    script = "import sys, pocketsvm.model.export; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


# --- LIBSVM --------------------------------------------------------------------------------------


@pytest.fixture
def run_libsvm(tmp_path):
    """Labels and decision values by LIBSVM itself."""
    svmutil = pytest.importorskip(
        "libsvm.svmutil", reason="LIBSVM is not there: pip install libsvm-official"
    )

    def run(path, X):
        model = svmutil.svm_load_model(str(path))
        y, _, values = svmutil.svm_predict([], np.asarray(X, dtype=np.float64), model, "-q")
        return np.array(y), np.array(values)

    return run


@pytest.mark.parametrize("setting", SEVERAL)
def test_libsvm_decides_the_same(tmp_path, run_libsvm, setting):
    clf, X = fitted(**setting)
    export_libsvm(clf, tmp_path / "svm.model")
    labels, values = run_libsvm(tmp_path / "svm.model", X)
    assert_same_labels(labels, clf, X)
    expected = exact(clf, X)
    if len(clf.classes_) > 2:  # all pairs, the later class first
        first, second = np.triu_indices(len(clf.classes_), 1)
        expected = expected[:, ::-1]
        expected = expected[:, first] - expected[:, second]
    sums = np.abs(clf.dual_coef_).sum()
    assert_allclose(values, expected, rtol=0, atol=1e-14 * sums)
    if len(clf.classes_) == 2:
        assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=1e-6 * sums)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_libsvm_gives_a_tie_to_the_first_class(tmp_path, run_libsvm, n_classes):
    """As predict does; so far from all vectors that every value is zero, all classes tie."""
    clf, X = fitted(n_classes, labels=[5, 3, 4][:n_classes], fit_intercept=False)
    export_libsvm(clf, tmp_path / "svm.model")
    labels, values = run_libsvm(tmp_path / "svm.model", 1e5 * X)
    assert_array_equal(values, 0)
    assert_array_equal(labels, 3)


def test_libsvm_takes_sparse_and_float64_vectors(tmp_path, run_libsvm):
    X, y = load_digits(return_X_y=True)
    clf = BudgetedSVC(60, max_iter=2, random_state=0).fit(X, y)
    export_libsvm(clf, tmp_path / "svm.model")
    assert_array_equal(run_libsvm(tmp_path / "svm.model", X[:200])[0], clf.predict(X[:200]))
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = BudgetedSVC(30, gamma=1.0, polish=False, random_state=0).fit(X + 1e5, y)
    assert clf.support_vectors_.dtype == np.float64
    export_libsvm(clf, tmp_path / "svm.model")
    values = run_libsvm(tmp_path / "svm.model", X + 1e5)[1]
    difference = np.abs(values[:, 0] - clf.decision_function(X + 1e5))
    assert difference.max() < tolerance(clf)


def test_libsvm_vectors_stand_as_often_as_they_must(tmp_path):
    for polish, copies in ((False, 1), (True, 3)):
        clf, _ = fitted(4, polish=polish)
        export_libsvm(clf, tmp_path / "svm.model")
        text = (tmp_path / "svm.model").read_text()
        assert f"total_sv {copies * len(clf.support_vectors_)}\n" in text


@pytest.mark.parametrize("labels", [["a", "b"], [0, 2**40]])
def test_libsvm_labels_that_are_no_integers_are_positions(tmp_path, run_libsvm, labels):
    clf, X = fitted(labels=labels)
    assert export_libsvm(clf, tmp_path / "svm.model").labels == [0, 1]
    found = run_libsvm(tmp_path / "svm.model", X)[0].astype(int)
    assert_array_equal(clf.classes_[found], clf.predict(X))


@REGRESSIONS
def test_libsvm_regression(tmp_path, run_libsvm, setting):
    model, X = regression(**setting)
    assert export_libsvm(model, tmp_path / "svm.model").labels is None
    found = run_libsvm(tmp_path / "svm.model", X)[0]
    assert_allclose(found, model.predict(X), rtol=1e-15, atol=0.1 * tolerance(model))
    if len(model.support_vectors_):
        assert_allclose(found, exact(model, X)[:, 0], rtol=0, atol=1e-8 * tolerance(model))


def test_libsvm_has_no_place_for_scaling(tmp_path):
    with pytest.raises(ValueError, match="cannot hold the scaling"):
        export_libsvm(scaled()[0], tmp_path / "svm.model")


# --- ONNX ----------------------------------------------------------------------------------------


@pytest.fixture
def run_onnx():
    """All outputs by onnxruntime."""
    pytest.importorskip("onnx", reason="onnx is not there: pip install 'pocketsvm[onnx]'")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not there: pip install onnxruntime"
    )

    def run(path, X):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, {"X": X}), strict=True))

    return run


@pytest.mark.parametrize("setting", SEVERAL)
def test_onnxruntime_decides_the_same(tmp_path, run_onnx, setting):
    clf, X = fitted(**setting)
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    expected = clf.decision_function(X)
    assert (found["decision"].dtype, found["decision"].shape) == (np.float32, expected.shape)
    assert_allclose(found["decision"], expected, rtol=0, atol=tolerance(clf))
    assert found["label"].dtype == np.int64
    assert_same_labels(found["label"], clf, X)
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
    clf, X = fitted(len(labels), labels=labels)
    assert export_onnx(clf, tmp_path / "svm.onnx").labels == labels
    found = run_onnx(tmp_path / "svm.onnx", X)["label"]
    assert found.dtype.kind == kind
    assert found.tolist() == clf.predict(X).tolist()


def test_onnx_labels_that_have_no_type_are_refused(tmp_path):
    pytest.importorskip("onnx")
    clf, _ = fitted(labels=np.array([0, 2**63], dtype=np.uint64))
    with pytest.raises(ValueError, match="ONNX has no labels like"):
        export_onnx(clf, tmp_path / "svm.onnx")


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_onnx_does_not_cancel(tmp_path, run_onnx, gamma, offset):
    """Where vectors are wide or far out for their kernel, against the exact values."""
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(40, 10)) + offset).astype(np.float32)
    model = Model(vectors, random.normal(size=(2, 40)), np.zeros(2), gamma, np.arange(3))
    model = replace(model, dual_coef=random.normal(size=(3, 40)), intercept=np.zeros(3))
    X = np.repeat(vectors, 5, axis=0) + random.normal(size=(200, 10)) / np.sqrt(20 * gamma)
    X = X.astype(np.float32)
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)["decision"]
    direct = np.square(X[:, None].astype(np.float64) - vectors).sum(axis=2)
    expected = np.exp(-gamma * direct) @ model.dual_coef.T
    assert np.abs(found - expected).max() < tolerance(model)


def test_onnx_of_a_float64_model_takes_float64(tmp_path, run_onnx):
    X, y = make_moons(300, noise=0.2, random_state=0)
    X += 1e5
    clf = BudgetedSVC(30, gamma=1.0, polish=False, random_state=0).fit(X, y)
    assert clf.support_vectors_.dtype == np.float64
    export_onnx(clf, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert found["decision"].dtype == np.float64
    assert_allclose(found["decision"], clf.decision_function(X), rtol=0, atol=tolerance(clf))


def test_onnx_far_rows_have_no_kernel(tmp_path, run_onnx):
    clf, X = fitted(3)
    export_onnx(clf, tmp_path / "svm.onnx")
    far = np.concatenate([1e18 * X, 1e25 * X, np.full_like(X, 3e38)]).astype(np.float32)
    found = run_onnx(tmp_path / "svm.onnx", far)["decision"]
    assert_allclose(found, np.broadcast_to(clf.intercept_, found.shape), rtol=1e-6)


@REGRESSIONS
def test_onnx_regression(tmp_path, run_onnx, setting):
    model, X = regression(**setting)
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert found.keys() == {"value"}
    assert_allclose(found["value"], model.predict(X), rtol=1e-7, atol=tolerance(model))


def test_onnx_scales(tmp_path, run_onnx):
    model, X, labels = scaled()
    export_onnx(model, tmp_path / "svm.onnx")
    found = run_onnx(tmp_path / "svm.onnx", X)
    assert_allclose(found["decision"], exact(model, X), rtol=0, atol=tolerance(model))
    assert_array_equal(found["label"], labels)


def test_onnx_keeps_feature_names(tmp_path):
    onnx = pytest.importorskip("onnx")
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = BudgetedSVC(10, random_state=0).fit(pd.DataFrame(X, columns=["a", "größe"]), y)
    export_onnx(clf, tmp_path / "svm.onnx")
    (kept,) = onnx.load(tmp_path / "svm.onnx").metadata_props
    assert (kept.key, kept.value) == ("feature_names", '["a", "gr\\u00f6\\u00dfe"]')


# --- C -------------------------------------------------------------------------------------------

PROGRAM = """\
#include <stdio.h>
#include "model.h"

int main(void)
{
    FLOAT x[MODEL_FEATURES], values[MODEL_OUTPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        model_decision(x, values);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) printf("%.17g ", (double)values[o]);
        printf("%.17g\\n", (double)model_predict(x));
    }
    return 0;
}
"""


@pytest.fixture
def run_c(tmp_path):
    """Decision values and predictions by a program around model.h."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")

    def run(X, real="float"):
        (tmp_path / "main.c").write_text(PROGRAM)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-DFLOAT={real}"]
        subprocess.run(
            [compiler, *flags, "-o", "program", "main.c", "-lm"], check=True, cwd=tmp_path
        )
        done = subprocess.run([tmp_path / "program"], input=X.tobytes(), capture_output=True)
        table = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
        return table[:, :-1], table[:, -1]

    return run


@pytest.mark.parametrize("setting", SEVERAL)
def test_c_decides_the_same(tmp_path, run_c, setting):
    clf, X = fitted(**setting)
    export_c(clf, tmp_path / "model.h")
    values, labels = run_c(X)
    expected = clf.decision_function(X).reshape(len(X), -1)
    assert_allclose(values, expected, rtol=0, atol=tolerance(clf))
    assert_same_labels(labels, clf, X)


def test_c_of_a_float64_model_takes_double(tmp_path, run_c):
    X, y = make_moons(300, noise=0.2, random_state=0)
    X += 1e5
    clf = BudgetedSVC(30, gamma=1.0, polish=False, random_state=0).fit(X, y)
    export_c(clf, tmp_path / "model.h")
    values, labels = run_c(X, real="double")
    assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=tolerance(clf))
    assert_array_equal(labels, clf.predict(X))


@REGRESSIONS
def test_c_regression(tmp_path, run_c, setting):
    model, X = regression(**setting)
    export_c(model, tmp_path / "model.h")
    values, predicted = run_c(X)
    assert_array_equal(values[:, 0], predicted)
    assert_allclose(predicted, model.predict(X), rtol=1e-7, atol=tolerance(model))


def test_c_scales(tmp_path, run_c):
    model, X, labels = scaled()
    export_c(model, tmp_path / "model.h")
    values, predicted = run_c(X)
    assert_allclose(values, exact(model, X), rtol=0, atol=tolerance(model))
    assert_array_equal(predicted, labels)


def test_c_spells_any_label_and_name(tmp_path, run_c):
    labels = ['a" ??/ \\ */ %d', "long label of many words, " * 10, "ä\n\0"]
    clf, X = fitted(3, labels=np.array(sorted(labels), dtype=object))
    clf.feature_names_in_ = np.array(["*/ int main;", "??/\n#error"], dtype=object)
    exported = export_c(clf, tmp_path / "model.h")
    assert exported.labels == [0, 1, 2]
    _, positions = run_c(X)
    del clf.feature_names_in_
    assert_array_equal(clf.classes_[positions.astype(int)], clf.predict(X))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\n'
        "int main(void) { for (int i = 0; i < 3; ++i) puts(model_labels[i]); return 0; }\n"
    )
    subprocess.run(["cc", "-std=c99", "-o", "spell", "main.c", "-lm"], check=True, cwd=tmp_path)
    spelled = subprocess.run([tmp_path / "spell"], capture_output=True).stdout.decode()
    assert spelled == "".join(f"{label.rstrip(chr(0))}\n" for label in sorted(labels))


def test_c_tells_its_size(tmp_path):
    clf, _ = fitted(3)
    exported = export_c(clf, tmp_path / "model.h", name="iris_2")
    n_vectors, n_features = clf.support_vectors_.shape
    assert exported.table_size == 4 * (n_vectors * (n_features + 3) + 3 + 3)
    text = (tmp_path / "model.h").read_text()
    assert f"Tables: {exported.table_size:,} bytes" in text
    assert "static inline int iris_2_predict(const float *x)" in text
    assert "malloc" not in text


@pytest.mark.parametrize("name", ["", "2d", "a-b", "a b", "ä", "_x", "a;"])
def test_c_names_must_be_identifiers(tmp_path, name):
    with pytest.raises(ValueError, match="name must be an identifier of C"):
        export_c(fitted()[0], tmp_path / "model.h", name=name)


def test_c_numbers_beyond_float_are_refused(tmp_path):
    model = Model.of(fitted()[0])
    with pytest.raises(ValueError, match="too large for float32"):
        export_c(replace(model, intercept=np.array([1e39])), tmp_path / "model.h")
