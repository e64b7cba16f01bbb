"""Models in integers: the arithmetic, what rounding costs, and their files."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from model_files import GOLDEN, numbers, refused_after, value
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC, compress, load_model, load_svmlight
from pocketsvm.model import Model
from pocketsvm.model.export import export_onnx
from pocketsvm.model.integers import SHIFTS, TABLE, Integers, exp2_minus

(INTEGERS,) = (path for path in GOLDEN if path.stem.startswith("integers"))


@pytest.mark.parametrize("shift", [SHIFTS[0], 20, SHIFTS[1]])
def test_powers_of_two(shift):
    t = np.linspace(0, 18, 1001)
    values = np.round(t * 2.0**shift).astype(np.int64)
    found = exp2_minus(values, shift)
    exact = np.where(t < 17, 65535 * 2.0**-t, 0)
    assert np.abs(found - exact).max() < 3
    assert found[0] == 65535
    assert (found[t >= 17] == 0).all()


def slow_decision(integers, x):
    """Return the decision values of a row, one integer at a time."""
    row = []
    for i, k in enumerate(integers.features.tolist()):
        doubled = np.float32(np.float32(x[k]) - integers.offsets[i]) * integers.factors[i]
        doubled = min(max(float(doubled), -65534.0), 65534.0)
        row.append(int(math.copysign((int(abs(doubled)) + 1) // 2, doubled)))
    out = integers.intercepts.tolist()
    for vector, coefficients in zip(
        integers.vectors.tolist(), integers.coefficients.tolist(), strict=True
    ):
        steps = integers.steps.tolist()
        total = sum((q - m * p) ** 2 for q, m, p in zip(row, steps, vector, strict=True))
        if total >= 17 << integers.shift:
            continue
        whole, part = divmod(total, 1 << integers.shift)
        at, rest = divmod(part >> (integers.shift - 16), 1024)
        first, second = int(TABLE[at]), int(TABLE[at + 1])
        kernel = (first - ((first - second) * rest >> 10)) >> whole
        for o, coefficient in enumerate(coefficients):
            out[o] += coefficient * kernel
    return out


def test_arrays_are_computed_as_numbers():
    random = np.random.default_rng(0)
    integers = Integers(
        features=np.array([0, 2], dtype=np.int32),
        offsets=np.array([0.5, -3.0], dtype=np.float32),
        factors=np.array([1e4, -7e3], dtype=np.float32),
        steps=np.array([70, 3], dtype=np.uint16),
        vectors=random.integers(-127, 128, size=(9, 2)).astype(np.int8),
        shift=24,
        coefficients=random.integers(-32767, 32768, size=(9, 2)).astype(np.int16),
        coefficient_shift=5,
        intercepts=np.array([-(10**9), 10**12]),
    )
    X = random.normal(scale=3, size=(200, 3)).astype(np.float32)
    found = integers.decisions(integers.rows(X))
    assert_array_equal(found, [slow_decision(integers, x) for x in X])


# --- what rounding costs --------------------------------------------------------------------------


def data_set(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
        return X_train, y_train, X_test, y_test
    folder = Path(os.environ.get("POCKETSVM_DATA", "."))
    if not (folder / f"{name}.gz").exists():
        pytest.skip(f"{name} is not in $POCKETSVM_DATA")
    (X, y), (X_test, y_test) = (load_svmlight(folder / f"{name}{end}.gz") for end in ("", ".t"))
    X, X_test = X.toarray(), X_test.toarray()
    if name == "magic04":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X, y, X_test, y_test


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("digits", {"budget": 100, "C": 10}),
        ("magic04", {"budget": 50, "C": 100, "gamma": 0.025}),
        ("ijcnn1", {"budget": 100, "C": 32, "gamma": 2.0}),
    ],
)
def test_accuracy_is_kept(name, parameters):
    X, y, X_test, y_test = data_set(name)
    lost = {"int16": [], "int8": []}
    for seed in range(3):
        big = BudgetedSVC(**parameters, random_state=seed).fit(X, y)
        for dtype, losses in lost.items():
            small = compress(big, X, budget=parameters["budget"], dtype=dtype, random_state=0)
            integers = Model.of(small).integers
            values = integers.decisions(integers.rows(X_test))
            codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
            losses.append(big.score(X_test, y_test) - np.mean(small.classes_[codes] == y_test))
            assert np.mean(small.predict(X_test) == small.classes_[codes]) > 0.995
            assert len(small.support_vectors_) == parameters["budget"]
    assert np.mean(lost["int16"]) <= 0.0005
    assert np.mean(lost["int8"]) <= 0.003


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_vectors_far_away_do_not_make_the_steps_of_the_others_large(dtype):
    X, y = make_moons(2000, noise=0.2, random_state=0)
    X[:8, 0] += [200, -300, 400, 500, -500, 600, 700, -800]
    big = SVC(C=10, gamma=2.0).fit(X, y)
    X_test, _ = make_moons(2000, noise=0.2, random_state=1)
    small = compress(big, X, budget=len(big.support_), dtype=dtype, random_state=0)
    integers = Model.of(small).integers
    labels = integers.decisions(integers.rows(X_test))[:, 0] > 0
    assert np.mean(labels == big.predict(X_test)) > 0.99


# --- files ----------------------------------------------------------------------------------------


def test_files_keep_integers(tmp_path):
    model = load_model(INTEGERS)
    model.save(tmp_path / "again.psvm")
    one, other = (Model.of(m).integers for m in (model, load_model(tmp_path / "again.psvm")))
    X = np.random.default_rng(0).normal(scale=5, size=(100, 3))
    assert_array_equal(one.decisions(one.rows(X)), other.decisions(other.rows(X)))
    assert one.dtype == Model.of(model).dtype == "int8"


@pytest.mark.filterwarnings("ignore::pocketsvm.estimators.drift.DriftWarning")
def test_further_training_drops_integers():
    model = load_model(INTEGERS)
    random = np.random.default_rng(0)
    model.partial_fit(random.normal(size=(30, 3)), random.integers(3, size=30))
    assert Model.of(model).integers is None
    model = load_model(INTEGERS)
    model.intercept_ = model.intercept_ + 1
    assert Model.of(model).integers is None


FORGED = {
    "shift": (value("integers", "shift", to=28), "shift of its integers is not between"),
    "shift text": (value("integers", "shift", to="20"), "not int"),
    "coefficient shift": (value("integers", "coefficient_shift", to=-17), "is not between"),
    "features": (numbers("integers.features", 1, 3, "i4"), "out of range"),
    "order": (numbers("integers.features", 1, 0, "i4"), "out of range"),
    "steps": (numbers("integers.steps", 0, 0, "u2"), "out of range"),
    "positions": (numbers("integers.steps", 0, 60_000, "u2"), "out of range"),
    "coefficients": (numbers("integers.coefficients", 0, -32768, "i2"), "out of range"),
    "intercepts": (numbers("integers.intercepts", 0, -(2**63), "i8"), "out of range"),
    "factors": (numbers("integers.factors", 0, np.nan, "f4"), "not finite"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_integers_are_refused(path, name):
    change, reason = FORGED[name]
    refused_after(change, INTEGERS, path, reason)


def test_onnx_gives_the_labels_of_the_model_in_floating_point(tmp_path):
    ort = pytest.importorskip("onnxruntime")
    model = load_model(INTEGERS)
    export_onnx(model, tmp_path / "m.onnx")
    X = np.random.default_rng(0).normal(scale=5, size=(300, 3)).astype(np.float32)
    labels, _ = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})
    assert_array_equal(labels, model.predict(X))
