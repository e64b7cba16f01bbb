"""Model files: what comes back, what is refused, and what a failure leaves behind."""

import errno
import hashlib
import json
import os
import resource
import stat
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs, make_friedman1, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, _replacing
from pocketsvm.model import Model, load_model, read_model, save_model
from pocketsvm.model.container import CHECKSUM_SIZE, MAGIC, PREFIX, VERSION
from pocketsvm.model.preparation import split
from pocketsvm.profile import Profile

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.psvm"))


def problem(n_classes=2, n=300):
    if n_classes == 2:
        return make_moons(n, noise=0.2, random_state=0)
    return make_blobs(n, n_features=3, centers=n_classes, cluster_std=2.0, random_state=1)


def small(**parameters):
    return BudgetedSVC(**{"budget": 12, "max_iter": 2, "random_state": 0} | parameters)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.psvm"


def round_trip(clf, path):
    save_model(clf, path)
    return load_model(path)


def assert_equal(one, other):
    """Equal types, values and bits, whatever it is."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert_array_equal(one, other, strict=True)
    elif isinstance(one, list):
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    else:
        assert one == other


# --- what comes back -----------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_everything_comes_back(path, n_classes, polish):
    X, y = problem(n_classes)
    clf = small(polish=polish).fit(X, y)
    twin = round_trip(clf, path)
    assert_equal(vars(clf), vars(twin))
    assert_array_equal(clf.decision_function(X), twin.decision_function(X), strict=True)
    assert_array_equal(clf.predict(X), twin.predict(X), strict=True)


def test_the_public_way(path):
    import pocketsvm

    X, y = problem()
    clf = small().fit(X, y)
    clf.save(path)
    assert_equal(vars(pocketsvm.load_model(path)), vars(clf))


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_training_goes_on_to_the_same_bits(path, n_classes, polish):
    X, y = problem(n_classes)
    clf = small(polish=polish, warm_start=True).fit(X[:200], y[:200])
    twin = round_trip(clf, path)
    for machine in (clf, twin):
        machine.partial_fit(X[200:], y[200:])
    assert_equal(clf._states, twin._states)
    twin = round_trip(clf, path)
    for machine in (clf, twin):
        machine.fit(X, y)
    assert_equal(clf._states, twin._states)
    assert_array_equal(clf.decision_function(X), twin.decision_function(X), strict=True)


def test_sparse_and_float64_models_come_back(path):
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
def test_labels_of_every_kind_come_back(path, classes):
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


def test_parameters_come_back(path):
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


def test_feature_names_come_back(path):
    X, y = problem()
    frame = pd.DataFrame(X, columns=["Länge", ""])
    clf = small().fit(frame, y)
    twin = round_trip(clf, path)
    assert_equal(twin.feature_names_in_, clf.feature_names_in_)
    twin.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        twin.predict(frame[["", "Länge"]])


def test_a_lowered_budget_comes_back(path):
    X, y = problem()
    clf = small(warm_start=True).fit(X, y).set_params(budget=5)
    twin = round_trip(clf, path)
    assert (len(twin.support_vectors_), twin.budget) == (12, 5)
    assert len(twin.fit(X, y).support_vectors_) == 5


def test_profiles_of_other_versions_are_read(path):
    clf = small().fit(*problem())
    save_model(clf, path)
    header, data = opened(path)
    header["profile"] = {"steps": 5, "seconds_of_tomorrow": 1.5}
    path.write_bytes(closed(header, data))
    assert load_model(path).profile_ == Profile(steps=5)


def test_a_profile_that_is_not_finite_does_not_stop_saving(path):
    clf = small().fit(*problem())
    clf.profile_ = replace(clf.profile_, seconds_total=np.inf, steps=np.int64(3))
    twin = round_trip(clf, path)
    assert (twin.profile_.seconds_total, twin.profile_.steps) == (0.0, 3)


def test_what_is_kept_beside_the_model(path):
    clf = small().fit(*problem())
    extra = {"scaling": "standard", "mean": np.array([1.5, 2.5]), "more": {"a": [1, None]}}
    save_model(clf, path, extra=extra)
    twin, found = read_model(path)
    assert_equal(vars(twin), vars(clf))
    assert_equal(dict(sorted(found.items())), dict(sorted(extra.items())))
    for value in (np.array([np.nan]), np.array(["a"]), np.zeros((1, 1, 1)), np.inf):
        with pytest.raises(ValueError, match="cannot be saved"):
            save_model(clf, path, extra={"value": value})


@pytest.mark.parametrize("polish", [True, False])
def test_a_regression_comes_back_and_goes_on(path, polish):
    X, y = make_friedman1(300, random_state=0)
    model = BudgetedSVR(12, 10.0, max_iter=2, polish=polish, random_state=0).fit(X[:200], y[:200])
    twin = round_trip(model, path)
    assert_equal(vars(model), vars(twin))
    assert_array_equal(model.predict(X), twin.predict(X), strict=True)
    assert_equal(vars(model.partial_fit(X, y))["_states"], twin.partial_fit(X, y)._states)
    assert_array_equal(model.predict(X), twin.predict(X), strict=True)


def test_a_regression_without_vectors_comes_back(path):
    X, y = make_friedman1(100, random_state=0)
    twin = round_trip(BudgetedSVR().fit(X, np.full(100, 7.0)), path)
    assert twin.support_vectors_.shape == (0, 10)
    assert_array_equal(twin.predict(X), 7.0)
    assert len(twin.partial_fit(X, y).support_vectors_) > 0


@pytest.mark.parametrize(
    "scaler",
    [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler((-1, 2))],
    ids=str,
)
@pytest.mark.parametrize("kind", ["float64", "float32", "names"])
def test_scaling_comes_back(path, scaler, kind):
    X, y = problem()
    X = X.astype("float64" if kind == "names" else kind) * [1, 1000]
    if kind == "names":
        X = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_pipeline(clone(scaler), small()).fit(X, y)
    twin = round_trip(pipeline, path)
    assert list(twin.named_steps) == ["scale", "svm"]
    assert_array_equal(twin.decision_function(X), pipeline.decision_function(X), strict=True)
    assert_equal(vars(twin[-1]), vars(pipeline[-1]))
    expected, found = vars(pipeline[0]), vars(twin[0])
    assert found.keys() == expected.keys()
    for name in expected:
        assert_array_equal(found[name], expected[name])
    scaling = Model.of(twin).scaling
    affine = (np.asarray(X) - scaling.offset) * scaling.factor
    assert_allclose(affine, pipeline[0].transform(X), rtol=1e-5, atol=1e-5)
    assert path.read_bytes()[8] == 2  # the version: readers of version 1 refuse it
    save_model(twin[-1], path)
    assert path.read_bytes()[8] == 1


def test_only_scaling_that_a_file_can_keep_is_saved(path):
    X, y = problem()
    for scaler in (MinMaxScaler(clip=True), StandardScaler(with_std=False)):
        with pytest.raises(ValueError, match="This Pipeline cannot be saved"):
            save_model(make_pipeline(scaler, small()).fit(X, y), path)
    for pipeline in (make_pipeline(MaxAbsScaler(), small()), make_pipeline(small())):
        with pytest.raises(TypeError, match="Only the estimators of pocketsvm"):
            save_model(pipeline.fit(X, y), path)
    with pytest.raises(NotFittedError):
        save_model(make_pipeline(StandardScaler(), small().fit(X, y)), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scaler": "Other"}, "scales by 'Other'"),
        ({"n_rows": 0}, "number of rows of its scaling"),
        ({"parameters": {}}, "the parameters of its StandardScaler"),
        ({"parameters": {"with_mean": 1, "with_std": True}}, "no bool"),
        ({"scaler": "MinMaxScaler", "parameters": {"feature_range": [1, 0]}}, "is empty"),
        ({"scaler": "MinMaxScaler", "parameters": {"feature_range": [1]}}, "no pair"),
        ({"scaler": "MinMaxScaler", "parameters": {"feature_range": [0, 1]}}, "scaling.data_max"),
    ],
)
def test_forged_scaling_is_refused(path, changes, reason):
    header, data = opened(next(golden for golden in GOLDEN if golden.stem == "scaled-v2"))
    header["scaling"] |= changes
    refused(path, closed(header, data), reason)


def test_a_scale_must_be_positive(path):
    X, y = problem()
    pipeline = make_pipeline(StandardScaler(), small()).fit(X, y)
    pipeline[0].scale_[1] = 0
    with pytest.raises(ValueError, match="scale that is not positive"):
        save_model(pipeline, path)
    pipeline[0].scale_[1] = 1e-320
    with pytest.raises(ValueError, match="scale out of range"):
        save_model(pipeline, path)


def test_vectors_are_kept_once(path):
    X, y = make_blobs(600, n_features=400, centers=2, cluster_std=20.0, random_state=0)
    clf = small(budget=50).fit(X, y)
    assert len(clf.support_vectors_) == 50
    save_model(clf, path)
    assert path.stat().st_size < 1.2 * clf.support_vectors_.nbytes


def test_only_fitted_estimators_of_ours_are_saved(path):
    class Mine(BudgetedSVC):
        pass

    with pytest.raises(NotFittedError):
        save_model(small(), path)
    for thing in (Mine(), "model", Profile()):
        with pytest.raises(TypeError, match="Only the estimators of pocketsvm"):
            save_model(thing, path)
    with pytest.raises(TypeError, match="Expected a fitted estimator of pocketsvm"):
        Model.of("model")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_files_of_all_versions_load(golden):
    known = json.loads(golden.with_suffix(".json").read_text())
    clf = load_model(golden)
    X = np.array(known["X"])
    if known["columns"]:
        X = pd.DataFrame(X, columns=known["columns"])
    svm = getattr(clf, "named_steps", {"svm": clf})["svm"]
    tolerance = {"rtol": 1e-4, "atol": 1e-6 * np.abs(svm.dual_coef_).sum()}
    if known["classes"] is None:
        assert_allclose(clf.predict(X), np.ravel(known["decision"]), **tolerance)
    else:
        values = clf.decision_function(X).reshape(len(X), -1)
        assert_allclose(values, known["decision"], **tolerance)
        assert clf.predict(X).tolist() == known["predicted"]
        assert clf.classes_.tolist() == known["classes"]
    assert svm.get_params().items() >= known["parameters"].items()
    if svm is clf:
        clf.partial_fit(X, known["predicted"])


def test_there_are_golden_files_of_this_version():
    stems = ["regression-v1", "scaled-v2", "three-classes-v1", "two-classes-v1"]
    assert [path.stem for path in GOLDEN] == stems
    assert VERSION == 2


# --- what is refused -----------------------------------------------------------------------------


def opened(path):
    """A file as header and bytes of its arrays."""
    content = path.read_bytes()
    length = PREFIX.unpack_from(content)[2]
    start = PREFIX.size + length
    header = json.loads(content[PREFIX.size : start])
    bounds = [entry["offset"] for entry in header["arrays"].values()]
    bounds.append(len(content) - start - CHECKSUM_SIZE)
    data = {
        name: content[start + begin : start + end]
        for name, begin, end in zip(header["arrays"], bounds, bounds[1:], strict=False)
    }
    return header, data


def closed(header, data, version=VERSION):
    """A file with right lengths and checksum around any header (or text) and bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = b"".join(data.values())
    length = PREFIX.size + len(text) + len(body) + CHECKSUM_SIZE
    content = PREFIX.pack(MAGIC, version, len(text), length) + text + body
    return content + hashlib.sha256(content).digest()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model file with everything in it."""
    X, y = problem(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = small(class_weight={"x": 2.0, "z": 0.5}).fit(frame, np.array(["x", "y", "z"])[y])
    path = tmp_path_factory.mktemp("saved") / "model.psvm"
    save_model(clf, path, extra={"scaling": "none", "values": np.arange(3.0)})
    return path


def refused(path, content, reason, **options):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(path, **options)
    assert str(path) in str(caught.value)


def test_files_that_are_no_model_files(path, saved):
    content = saved.read_bytes()
    refused(path, b"", "not a model file of pocketsvm")
    refused(path, b"svm_type c_svc\nkernel_type rbf\n", "not a model file of pocketsvm")
    refused(path, content.replace(b"\r\n", b"\n", 1), "not a model file of pocketsvm")
    refused(path, content[:20], "truncated to 20 bytes")
    refused(path, content[:-1], "truncated: .* bytes long")
    refused(path, content + b"\0", "damaged: .* bytes long")
    refused(path, content[:500] + b"\xff" + content[501:], "checksum does not fit")
    with pytest.raises(FileNotFoundError):
        load_model(path.with_name("missing"))
    with pytest.raises(ValueError, match="not a regular file"):
        load_model(path.parent)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_does_not_block(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        load_model(path)


def test_newer_files_are_refused(path, saved):
    header, data = opened(saved)
    refused(path, closed(header, data, VERSION + 1), f"version {VERSION + 1} of the format")
    refused(path, closed(header, data, 0), "no version 0")
    refused(path, closed({**header, "estimator": "Future"}, data), "'Future', which this")
    header["parameters"]["future"] = 1
    refused(path, closed(header, data), "parameter 'future' is not known")


def test_a_limit_on_bytes(path, saved):
    size = saved.stat().st_size
    refused(path, saved.read_bytes(), "more than max_bytes=1,000", max_bytes=1000)
    refused(path, saved.read_bytes(), "more in memory", max_bytes=size)
    load_model(path, max_bytes=2 * size)
    header, data = opened(saved)
    header["classes"]["width"] = 2**40
    refused(path, closed(header, data), "more in memory")


def entry(name, **changes):
    def change(header, data):
        header["arrays"][name] |= changes

    return change


def item(*where, to):
    def change(header, data):
        for name in where[:-1]:
            header = header[name]
        header[where[-1]] = to

    return change


def numbers(name, index, value, dtype):
    def change(header, data):
        array = np.frombuffer(data[name], dtype=dtype).copy()
        array[index] = value
        data[name] = array.tobytes()

    return change


FORGERIES = {
    "dtype": (entry("dual_coef", dtype="object"), "dtype 'object'"),
    "unicode dtype": (entry("dual_coef", dtype="<U1000000000"), "is of dtype"),
    "swapped dtype": (entry("dual_coef", dtype="int64"), "int64 of shape .* where float64"),
    "half vectors": (
        entry("support_vectors", dtype="float16", shape=[12, 6]),
        "names for 6 features",
    ),
    "many vectors": (entry("support_vectors", shape=[2**62, 3]), "has the shape"),
    "product overflows": (entry("support_vectors", shape=[2**32, 2**32]), "has the shape"),
    "large product": (entry("support_vectors", shape=[800, 800]), "of 2560000 bytes would"),
    "negative size": (entry("support_vectors", shape=[-12, -3]), "has the shape"),
    "size true": (entry("intercept", shape=[True]), "has the shape"),
    "size 3.0": (entry("intercept", shape=[3.0]), "has the shape"),
    "many dimensions": (entry("intercept", shape=[3] + [1] * 40), "has the shape"),
    "shape missing": (entry("intercept", shape=None), "'shape' is 'None'"),
    "overlap": (entry("dual_coef", offset=0), "would start at 0"),
    "gap": (entry("dual_coef", offset=10**6), "would start at 1000000"),
    "negative offset": (entry("support_vectors", offset=-8), "would start at -8"),
    "offset text": (entry("dual_coef", offset="0"), "no int"),
    "turned": (entry("support_vectors", shape=[3, 12]), "feature names for 12 features"),
    "scalar": (entry("support_vectors", shape=[]), "would start at 144, where 8"),
    "bytes at the end": (item("arrays", "extra.values", "shape", to=[2]), "arrays end at"),
    "arrays a list": (item("arrays", to=[]), "'arrays' is '.*' in its header: no dict"),
    "budget": (item("budget", to=11), "with a budget of 11"),
    "budget text": (item("budget", to="12"), "no int"),
    "huge budget": (item("parameters", "budget", to=10**400), "too large"),
    "bad parameter": (item("parameters", "C", to=-1.0), "'C' parameter"),
    "infinite parameter": (item("parameters", "C", to=float("inf")), "holds Infinity"),
    "parameter a list": (item("parameters", "gamma", to=[1]), "no value of a parameter"),
    "weights": (item("parameters", "class_weight", to={"pairs": [["x"]]}), "made of pairs"),
    "weight of a list": (item("parameters", "class_weight", to={"pairs": [[[], 1]]}), "no value"),
    "gamma": (item("gamma", to=0.0), "gamma is not positive"),
    "gamma NaN": (item("gamma", to=float("nan")), "holds NaN"),
    "gamma text": (item("gamma", to="0.1"), "no float"),
    "large gamma": (item("gamma", to=1e35), "gamma=1e.35 is out of range"),
    "huge gamma": (item("gamma", to=10**400), "too large"),
    "alpha": (item("alpha", to=-1e-3), "alpha is not positive"),
    "unit_alpha": (item("unit_alpha", to=1e-300), "unit_alpha is out of range"),
    "n_iter": (item("n_iter", to=-1), "n_iter is negative"),
    "n_iter true": (item("n_iter", to=True), "no int"),
    "profile": (item("profile", "steps", to="many"), "'steps' is 'many'"),
    "profile infinite": (item("profile", "seconds_total", to=10**400), "too large"),
    "no profile": (item("profile", to=None), "'profile' is 'None'"),
    "extra": (item("extra", to=[]), "'extra' is"),
    "kind of labels": (item("classes", "kind", to="date"), "unknown kind 'date'"),
    "no labels": (item("classes", to=None), "its array 'classes.bytes' is"),
    "labels as numbers": (item("classes", to={"kind": "number"}), "lacks the array 'classes'"),
    "narrow labels": (item("classes", "width", to=0), "longer than 0 characters"),
    "negative width": (item("classes", "width", to=-5), "longer than -5 characters"),
    "unsorted labels": (numbers("classes.bytes", 1, 120, "u1"), "not sorted, or not unique"),
    "no UTF-8": (numbers("classes.bytes", 1, 255, "u1"), "can't decode"),
    "ends": (numbers("classes.ends", 0, -1, "i8"), "do not fit the bytes"),
    "last end": (numbers("feature_names.ends", 2, 2**60, "i8"), "do not fit the bytes"),
    "vector NaN": (numbers("support_vectors", 5, np.nan, "f4"), "not finite"),
    "vector infinite": (numbers("support_vectors", 5, -np.inf, "f4"), "not finite"),
    "vector huge": (numbers("support_vectors", 5, 1e30, "f4"), "squared norm overflows"),
    "coefficient NaN": (numbers("dual_coef", 7, np.nan, "f8"), "not finite"),
    "coefficient huge": (numbers("dual_coef", 7, 1e39, "f8"), "decision values overflow"),
    "intercept": (numbers("intercept", 0, np.inf, "f8"), "not finite"),
    "extra values": (numbers("extra.values", 0, np.nan, "f8"), "not finite"),
    "state zero": (numbers("state.coefficients", 3, 0.0, "f8"), "is zero"),
    "sizes": (numbers("state.sizes", 0, 2**62, "i8"), "do not sum up"),
    "sizes sum": (numbers("state.sizes", 0, 1, "i8"), "do not sum up"),
    "steps": (numbers("state.steps", 1, 2**63 - 1, "i8"), "steps are out of range"),
    "no steps": (numbers("state.steps", 1, 0, "i8"), "steps are out of range"),
    "births": (numbers("state.births", 0, 2**40, "i8"), "in the steps that were made"),
    "generator": (numbers("state.generator", slice(0, 4), 0, "u8"), "all zeros"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_files_are_refused(path, saved, name):
    change, reason = FORGERIES[name]
    header, data = opened(saved)
    change(header, data)
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize("name", ["support_vectors", "intercept", "state.steps", "classes.ends"])
def test_missing_and_unknown_arrays_are_refused(path, saved, name):
    header, data = opened(saved)
    del header["arrays"][name], data[name]
    offset = 0
    for key, described in header["arrays"].items():
        described["offset"] = offset
        offset += len(data[key])
    refused(path, closed(header, data), f"lacks the array '{name}'|'{name}' is none|0 classes")
    header, data = opened(saved)
    header["arrays"]["unknown"] = {
        "dtype": "float64",
        "shape": [1],
        "offset": sum(map(len, data.values())),
    }
    refused(path, closed(header, data | {"unknown": bytes(8)}), "'unknown' is float64 of shape")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Expecting value"),
        (b"{}", "lacks 'arrays'"),
        (b"[]", "lacks 'arrays'"),
        (b"[" * 100_000, "recursion"),
        (b'{"arrays": ' * 50_000, "recursion"),
        (b'{"a": 1, "a": 2}', "a name twice"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "digits"),
        (b"\xff\xfe{\x00}\x00", "can't decode"),
        (b" " * (2**20 + 8), "claims a header"),
    ],
)
def test_hostile_headers_are_refused(path, saved, text, reason):
    refused(path, closed(text, opened(saved)[1]), reason)


def damage(random, content):
    """Flip, cut or extend; what is damaged is told by the checksum, or before."""
    kind = random.integers(4)
    if kind == 0:
        return content[: random.integers(len(content))]
    if kind == 1:
        return content + random.bytes(random.integers(1, 100))
    if kind == 2:
        begin, end = np.sort(random.integers(len(content), size=2))
        return content[:begin] + content[end + 1 :]
    return flipped(random, content)


def flipped(random, content, first=0):
    changed = bytearray(content)
    for place in random.integers(first, len(content), size=random.integers(1, 5)):
        changed[place] ^= random.integers(1, 256)
    return bytes(changed)


VALUES = [None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e308, "", "x", [], {}]


def forge(random, header, data):
    """Change a header or the arrays and make lengths and checksum fit."""
    kind = random.integers(4)
    if kind == 0:
        text = json.dumps(header).encode()
        return closed(flipped(random, text), data)
    if kind == 1:
        name = list(data)[random.integers(len(data))]
        return closed(header, data | ({name: flipped(random, data[name])} if data[name] else {}))
    place, keys = header, list(header)
    while True:
        key = keys[random.integers(len(keys))]
        inside = place[key]
        if not isinstance(inside, dict | list) or not inside or random.random() < 0.1:
            break
        place, keys = inside, list(inside) if isinstance(inside, dict) else range(len(inside))
    if kind == 2 and isinstance(place, dict) and random.random() < 0.3:
        del place[key]
    else:
        place[key] = VALUES[random.integers(len(VALUES))]
    return closed(header, data)


@pytest.mark.parametrize("golden", range(len(GOLDEN)))
def test_half_a_thousand_damaged_and_forged_files_do_no_harm(path, golden):
    """Damaged files are refused; forged ones are refused, or hold a model that works."""
    original = GOLDEN[golden]
    content, clf = original.read_bytes(), load_model(original)
    X = np.random.default_rng(0).normal(size=(20, clf.n_features_in_))
    y = np.arange(20) % 3
    if is_classifier(clf):
        y = clf.classes_[y % len(clf.classes_)]
    tracemalloc.start()
    n_loaded = 0
    for seed in range(500):
        random = np.random.default_rng([golden, seed])
        forged = seed % 2
        changed = forge(random, *opened(original)) if forged else damage(random, content)
        path.write_bytes(changed)
        twin, reason, peak = attempt(path, max_bytes=2**18)
        assert peak < 2**19, reason
        if twin is None:
            assert str(path) in reason
        elif forged:
            n_loaded += 1
            use(twin, X, y)
        else:
            assert changed == content
    tracemalloc.stop()
    assert 20 < n_loaded < 200


def attempt(path, max_bytes):
    """Load a file: the model or the reason why not, and the memory that it took."""
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    model, reason = None, None
    try:
        model = load_model(path, max_bytes=max_bytes)
    except ValueError as error:
        reason = str(error)
    return model, reason, tracemalloc.get_traced_memory()[1] - before


def use(clf, X, y):
    """Whatever a file says that loads: no crash, no hang, finite numbers."""
    scaler, svm = split(clf)
    (svm if scaler is None else scaler).__dict__.pop("feature_names_in_", None)
    svm.set_params(verbose=0)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = X if scaler is None else scaler.transform(X)
            assert np.isfinite(svm._decision_values(scaled)).all()
            svm.partial_fit(scaled, y)
            assert np.isfinite(svm._decision_values(scaled)).all()
    except ValueError:
        pass


# --- what a failure leaves behind ----------------------------------------------------------------


def fails(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_what_was_there(path, monkeypatch, function, exists):
    clf = small().fit(*problem())
    if exists:
        path.write_bytes(b"old")
    monkeypatch.setattr(_replacing.os, function, fails)
    with pytest.raises(OSError, match="No space left") as caught:
        save_model(clf, path)
    assert caught.value.filename == str(path)
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"old"] * exists


def test_an_interrupt_leaves_what_was_there(path, monkeypatch):
    def interrupts(*_):
        raise KeyboardInterrupt

    clf = small().fit(*problem())
    path.write_bytes(b"old")
    monkeypatch.setattr(_replacing.os, "fsync", interrupts)
    with pytest.raises(KeyboardInterrupt):
        save_model(clf, path)
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"old"]


def test_a_file_that_may_not_grow_leaves_nothing(path):
    clf = small().fit(*problem())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            save_model(clf, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(path.parent.iterdir())


def test_places_where_nothing_can_be_written(path):
    clf = small().fit(*problem())
    with pytest.raises(FileNotFoundError, match="missing"):
        save_model(clf, path.parent / "missing" / "model.psvm")
    with pytest.raises(IsADirectoryError):
        save_model(clf, path.parent)
    with pytest.raises(ValueError, match="not a regular file"):
        save_model(clf, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_permissions_are_respected(path):
    clf = small().fit(*problem())
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        save_model(clf, path)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            save_model(clf, path.with_name("new"))
    finally:
        path.parent.chmod(0o755)


def test_links_and_permissions_stay(path):
    clf = small().fit(*problem())
    target = path.with_name("target.psvm")
    target.write_bytes(b"old")
    target.chmod(0o640)
    path.symlink_to(target)
    save_model(clf, path)
    assert path.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    load_model(target)
    umask = os.umask(0o022)
    os.umask(umask)
    save_model(clf, path.with_name("new.psvm"))
    assert stat.S_IMODE(path.with_name("new.psvm").stat().st_mode) == 0o666 & ~umask
