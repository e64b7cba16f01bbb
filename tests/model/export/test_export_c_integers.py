"""Exports to C in integers, compiled and run: the same bits as the arithmetic in NumPy."""

import re
import shutil
import subprocess

import export_models as models
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler
from sklearn.svm import SVC

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVR, compress
from pocketsvm.model import Model
from pocketsvm.model.export import export_c
from pocketsvm.model.export.c_integers import folded
from pocketsvm.model.export.common import Exportable

PROGRAM = """\
#include <stdio.h>
#include "model.h"

int main(void)
{
    float x[MODEL_FEATURES];
    int16_t row[MODEL_COLUMNS];
    int64_t values[MODEL_OUTPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        model_quantise(x, row);
        model_decision(row, values);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) printf("%lld ", (long long)values[o]);
        PRINT
    }
    return 0;
}
"""
LABEL = 'printf("%d\\n", model_predict(row));'
VALUE = 'printf("%.9g\\n", (double)model_predict(row));'
VALUES = """float out[MODEL_OUTPUTS];
        model_predict(row, out);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) printf("%.9g ", (double)out[o]);
        printf("\\n");"""
SHARES = """uint16_t out[MODEL_OUTPUTS + 1];
        model_probabilities(row, out);
        printf("%d", model_predict(row));
        for (int o = 0; o < CLASSES; ++o) printf(" %u", out[o]);
        printf("\\n");"""
N_ROWS = 100_000


@pytest.fixture
def run_c(tmp_path):
    """Compile a program around model.h; run it on rows, and return the words that it prints."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")

    def run(X, ending, *more):
        (tmp_path / "main.c").write_text(PROGRAM.replace("PRINT", ending))
        flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", *more]
        flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
        subprocess.run([compiler, *flags, "-o", "program", "main.c"], check=True, cwd=tmp_path)
        given = np.ascontiguousarray(X, dtype=np.float32).tobytes()
        done = subprocess.run([tmp_path / "program"], input=given, capture_output=True, check=True)
        return np.array([line.split() for line in done.stdout.splitlines()])

    return run


def random_rows(X, n=N_ROWS):
    """Return rows like these, rows far away, and numbers that no sensor should give."""
    random = np.random.default_rng(0)
    spread, middle = X.std(axis=0), X.mean(axis=0)
    near = X[random.integers(len(X), size=n // 2)] + 0.1 * spread * random.normal(
        size=(n // 2, X.shape[1])
    )
    far = middle + spread * random.standard_cauchy(size=(n // 2, X.shape[1]))
    rows = np.concatenate([near, far]).astype(np.float32)
    extreme = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, -0.0], dtype=np.float32)
    places = random.random(rows.shape) < 0.01
    rows[places] = random.choice(extreme, places.sum())
    return rows


def moons():
    return make_moons(1000, noise=0.2, random_state=0)


def integers_of(model):
    return folded(Exportable.of(model))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_two_classes(tmp_path, run_c, dtype):
    X, y = moons()
    model = compress(SVC(C=10).fit(X, y), X, budget=20, dtype=dtype, random_state=0)
    exported = export_c(model, tmp_path / "model.h")
    rows = random_rows(X)
    found = run_c(rows, LABEL).astype(np.int64)
    integers = integers_of(model)
    expected = integers.decisions(integers.rows(rows))
    assert_array_equal(found[:, :1], expected)
    assert_array_equal(found[:, 1], expected[:, 0] > 0)
    assert np.ptp(expected) > 1000
    assert exported.table_size == model.compression_.bytes
    assert (
        np.mean(found[: N_ROWS // 2, 1] == model.predict(np.nan_to_num(rows[: N_ROWS // 2]))) > 0.9
    )
    assert np.mean((integers.decisions(integers.rows(X))[:, 0] > 0) == model.predict(X)) > 0.995


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler(), None])
def test_scalers_are_folded(tmp_path, run_c, scaler):
    X, y = make_blobs(600, n_features=5, centers=3, cluster_std=4.0, random_state=0)
    if scaler is not None:
        X = X * [1, 1000, 0.001, 1, 1] + [0, 5, 0, -100, 0]
    scales = None if scaler is None else [1.0, 0.0, 2.0, 0.0, 0.5]
    machine = BudgetedSVC(30, C=10, feature_scales=scales, random_state=0)
    big = make_pipeline(scaler, machine) if scaler else machine
    model = compress(big.fit(X, y), X, budget=30, dtype="int8", random_state=0)
    export_c(model, tmp_path / "model.h")
    text = (tmp_path / "model.h").read_text()
    n_columns = 3 if scales else 5
    assert f"#define MODEL_COLUMNS {n_columns}\n" in text
    assert "#include <math.h>" not in text
    rows = random_rows(X, 2000)
    found = run_c(rows, LABEL).astype(np.int64)
    integers = integers_of(model)
    expected = integers.decisions(integers.rows(rows))
    assert_array_equal(found[:, :3], expected)
    assert_array_equal(found[:, 3], expected.argmax(axis=1))
    assert np.mean(run_c(X, LABEL)[:, 3].astype(int) == big.predict(X)) > 0.97


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities(tmp_path, run_c, n_classes):
    X, y = moons() if n_classes == 2 else make_blobs(800, centers=4, random_state=3)
    big = BudgetedSVC(40, C=10, loss="log_loss", random_state=0).fit(X, y)
    model = compress(big, X, budget=25, dtype="int16", random_state=0)
    export_c(model, tmp_path / "model.h")
    rows = random_rows(X, 5000)
    n_outputs = 1 if n_classes == 2 else n_classes
    found = run_c(rows, SHARES, f"-DCLASSES={n_classes}").astype(np.int64)
    integers = integers_of(model)
    values = integers.decisions(integers.rows(rows))
    assert_array_equal(found[:, :n_outputs], values)
    assert_array_equal(found[:, n_outputs + 1 :], integers.probabilities(values))
    shares = integers.probabilities(integers.decisions(integers.rows(X))) / 65535
    assert np.abs(shares - model.predict_proba(X)).max() < 0.02
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-3


@pytest.mark.parametrize("kind", ["value", "quantiles", "novelty"])
def test_other_tasks(tmp_path, run_c, kind):
    X = np.random.default_rng(0).normal(size=(800, 3))
    y = 1000 * np.sin(X[:, 0])
    machine = {
        "value": BudgetedSVR(50, C=1000, random_state=0),
        "quantiles": BudgetedSVR(50, C=1000, loss="quantile", quantile=[0.2, 0.8], random_state=0),
        "novelty": BudgetedOneClassSVM(50, nu=0.1, random_state=0),
    }[kind].fit(X, y)
    model = compress(machine, X, budget=40, dtype="int16", random_state=0)
    truth = y if kind != "novelty" else np.where(np.abs(X).max(axis=1) < 3, 1, -1)
    export_c(model, tmp_path / "model.h", X=X, y=truth)
    header = (tmp_path / "model.h").read_text()
    if kind == "value":
        assert re.search(rf"R2 on them: .*; in floating point {model.score(X, y):.4f}\.", header)
    assert ("Accuracy on them" in header) is (kind == "novelty")
    rows, integers = random_rows(X, 2000), integers_of(model)
    values = integers.decisions(integers.rows(rows))
    ending = {"value": VALUE, "quantiles": VALUES, "novelty": LABEL}[kind]
    found = run_c(rows, ending)
    assert_array_equal(found[:, : values.shape[1]].astype(np.int64), values)
    predicted = found[:, values.shape[1] :].astype(np.float32)
    if kind == "novelty":
        assert_array_equal(predicted[:, 0], np.where(values[:, 0] >= 0, 1, -1))
        assert "% of 800 rows get the label" in (tmp_path / "model.h").read_text()
    else:
        assert_array_equal(
            predicted, np.sort(values, axis=1).astype(np.float32) * np.float32(integers.unit)
        )
        assert "Root mean square" in (tmp_path / "model.h").read_text()
        exact = model.predict(X).reshape(len(X), -1)
        rough = np.sort(integers.decisions(integers.rows(X)) * integers.unit, axis=1)
        assert np.sqrt(np.mean(np.square(rough - exact))) < 0.01 * y.std()


HALF_PROGRAM = """\
#include <stdio.h>
#include "model.h"

int main(void)
{
    float x[MODEL_FEATURES], values[MODEL_OUTPUTS + 1];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        CALL(x, values);
        for (int o = 0; o < COUNT; ++o) printf("%.9g ", (double)values[o]);
        printf("\\n");
    }
    return 0;
}
"""


@pytest.mark.parametrize("kind", ["two classes", "scaler", "probabilities", "value"])
def test_half_precision(tmp_path, kind):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")
    X, y = moons()
    machine = SVC(C=10)
    if kind == "scaler":
        machine = make_pipeline(StandardScaler(), machine)
    elif kind == "probabilities":
        machine = BudgetedSVC(40, C=10, loss="log_loss", random_state=0)
    elif kind == "value":
        y, machine = np.sin(3 * X[:, 0]), BudgetedSVR(40, C=100, random_state=0)
    model = compress(machine.fit(X, y), X, budget=20, dtype="float16", random_state=0)
    assert Model.of(model).dtype == "float16"
    exported = export_c(model, tmp_path / "model.h")
    last = model[-1] if kind == "scaler" else model
    scaler, labels = 16 * (kind == "scaler"), 8 * (kind != "value")
    assert exported.table_size - scaler == 20 * 3 * 2 + 4 + labels == model.compression_.bytes
    text = (tmp_path / "model.h").read_text()
    assert re.findall("#include <(.*)>", text) == ["stdint.h"]
    (tmp_path / "main.c").write_text(HALF_PROGRAM)
    call = "model_probabilities" if kind == "probabilities" else "model_decision"
    count = 2 if kind == "probabilities" else 1
    flags = ["-std=c99", "-O1", "-Werror", "-Wall", "-Wextra", "-fsanitize=undefined"]
    flags += ["-fno-sanitize-recover=all", f"-DCALL={call}", f"-DCOUNT={count}"]
    subprocess.run([compiler, *flags, "main.c"], check=True, cwd=tmp_path)  # without -lm
    rows = random_rows(X, 10_000)
    done = subprocess.run(
        [tmp_path / "a.out"], input=rows.tobytes(), capture_output=True, check=True
    )
    found = np.array(done.stdout.split(), dtype=float).reshape(len(rows), count)
    usual = np.abs(rows).max(axis=1) < 1e15  # the library refuses numbers that are not finite
    ask = model.predict_proba if kind == "probabilities" else model.predict
    ask = getattr(model, "decision_function", ask) if count == 1 else ask
    expected = ask(rows[usual]).reshape(-1, count)
    assert np.abs(found[usual] - expected).max() < models.tolerance(last)
    assert np.isfinite(found).all()


def test_half_precision_without_a_library(tmp_path):
    """The code of a model in float16 calls no function, as on a device without a C library."""
    for program in ("cc", "nm"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    X, y = moons()
    model = compress(SVC(C=10).fit(X, y), X, budget=20, dtype="float16", random_state=0)
    export_c(model, tmp_path / "model.h")
    (tmp_path / "call.c").write_text(
        '#include "model.h"\nint call(const float *x) { return model_predict(x); }\n'
    )
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-ffreestanding", "-c", "call.c"], check=True, cwd=tmp_path
    )
    done = subprocess.run(
        ["nm", "--undefined-only", "call.o"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "exp" not in done.stdout
    assert "mem" not in done.stdout


def test_a_small_model_is_small(tmp_path):
    """Twenty vectors of ten features take at most 600 bytes of constants."""
    X, y = make_blobs(600, n_features=10, centers=2, cluster_std=6.0, random_state=0)
    model = compress(SVC().fit(X, y), X, budget=20, dtype="int8", random_state=0)
    assert export_c(model, tmp_path / "model.h").table_size <= 600


def test_refusals(tmp_path):
    X, y = moons()
    clf = BudgetedSVC(20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"not made for int8.*compress\(model, X, budget=20"):
        export_c(clf, tmp_path / "m.h", dtype="int8")
    with pytest.raises(ValueError, match="dtype must be one of"):
        export_c(clf, tmp_path / "m.h", dtype="int4")
    power = make_pipeline(PowerTransformer(), SVC()).fit(X, y)
    small = compress(power, X, budget=20, dtype="int8", random_state=0)
    with pytest.raises(ValueError, match=r"cannot be folded into integers \(Power\)"):
        export_c(small, tmp_path / "m.h")
    assert export_c(small, tmp_path / "m.h", dtype="float32").table_size > 0


def test_the_header_tells_the_accuracy_on_rows_with_labels(tmp_path):
    X, y = make_moons(900, noise=0.2, random_state=0)
    names = np.array(["left", "right"])[y]
    model = compress(
        BudgetedSVC(30, C=10, random_state=0).fit(X, names), X, budget=20, dtype="int8"
    )
    export_c(model, tmp_path / "model.h", X=X[:300], y=names[:300])
    found = re.search(
        r"Accuracy on them: (.*); in floating point (.*)\.\n", (tmp_path / "model.h").read_text()
    )
    in_integers, in_floats = map(float, found.groups())
    assert in_floats == round(model.score(X[:300], names[:300]), 4)
    assert abs(in_integers - in_floats) < 0.01
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        export_c(model, tmp_path / "model.h", X=X[:300], y=names)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16"])
def test_the_type_of_a_model_may_be_given(tmp_path, dtype):
    X, y = make_moons(900, noise=0.2, random_state=0)
    model = compress(SVC(C=10).fit(X, y), X, budget=20, dtype=dtype, random_state=0)
    export_c(model, tmp_path / "one.h", "model")
    export_c(model, tmp_path / "other.h", "model", dtype=dtype)
    assert (tmp_path / "other.h").read_text() == (tmp_path / "one.h").read_text()
    export_c(model, tmp_path / "float.h", "model", dtype="float32")
    assert "<math.h>" in (tmp_path / "float.h").read_text()
