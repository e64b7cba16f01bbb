"""Model files: what is written and read, and thousands of damaged and forged files."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from model_files import GOLDEN, assert_equal, closed, opened, problem, refused, small
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.datasets import make_blobs

from pocketsvm import load_model, save_model
from pocketsvm.estimators.loading import read_estimator
from pocketsvm.model import Model, read_model, write_model
from pocketsvm.model.container import VERSION
from pocketsvm.model.preparation import Preparation, split
from pocketsvm.model.sections import SECTIONS

# --- what is written and read --------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reading_returns_the_model_that_was_written(path, n_classes):
    model = Model.of(small(polish=True).fit(*problem(n_classes)))
    write_model(model, path, {"note": "kept"})
    twin, extra = read_model(path)
    assert_equal(twin, model)
    assert extra == {"note": "kept"}


def test_a_model_without_its_training_is_refused(path):
    numbers = np.zeros((1, 2), np.float32), np.ones((1, 1)), np.zeros(1), 0.5
    model = Model(*numbers, task="regression", loss="epsilon_insensitive")
    with pytest.raises(ValueError, match="does not hold the state of its training"):
        write_model(model, path, {})
    assert not path.exists()


def test_what_is_kept_beside_the_model(path):
    clf = small().fit(*problem())
    extra = {"scaling": "standard", "mean": np.array([1.5, 2.5]), "more": {"a": [1, None]}}
    save_model(clf, path, extra=extra)
    twin, found = read_estimator(path)
    assert_equal(vars(twin), vars(clf))
    assert_equal(dict(sorted(found.items())), dict(sorted(extra.items())))
    for value in (np.array([np.nan]), np.array(["a"]), np.zeros((1, 1, 1)), np.inf):
        with pytest.raises(ValueError, match="cannot be saved"):
            save_model(clf, path, extra={"value": value})


def test_vectors_are_kept_once(path):
    X, y = make_blobs(600, n_features=400, centers=2, cluster_std=20.0, random_state=0)
    clf = small(budget=50, polish=False).fit(X, y)  # polishing may move them
    assert len(clf.support_vectors_) == 50
    save_model(clf, path)
    assert path.stat().st_size < 1.2 * clf.support_vectors_.nbytes


def test_a_limit_on_bytes(path, saved):
    size = saved.stat().st_size
    refused(path, saved.read_bytes(), "more than max_bytes=1,000", max_bytes=1000)
    refused(path, saved.read_bytes(), "more in memory", max_bytes=size)
    load_model(path, max_bytes=2 * size)
    header, data = opened(saved)
    header["sections"]["classes"]["width"] = 2**40
    refused(path, closed(header, data), "more in memory")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_golden_files_keep_their_decisions(golden):
    known = json.loads(golden.with_suffix(".json").read_text())
    clf = load_model(golden)
    X = np.array(known["X"], dtype=object if golden.stem.startswith("prepared") else None)
    if known["columns"]:
        X = pd.DataFrame(X, columns=known["columns"])
    svm = getattr(clf, "named_steps", {"svm": clf})["svm"]
    tolerance = {"rtol": 1e-4, "atol": 1e-6 * np.abs(svm.dual_coef_).sum()}
    if not hasattr(clf, "decision_function"):
        found, expected = clf.predict(X), np.array(known["decision"])
        is_list = isinstance(svm._quantile, tuple)
        expected = np.sort(expected, axis=1) if is_list else expected.reshape(found.shape)
        assert_allclose(found, expected, **tolerance)
    else:
        values = clf.decision_function(X).reshape(len(X), -1)
        assert_allclose(values, known["decision"], **tolerance)
        assert clf.predict(X).tolist() == known["predicted"]
    if known["classes"] is not None:
        assert clf.classes_.tolist() == known["classes"]
    assert svm.get_params().items() >= known["parameters"].items()
    if svm is clf:
        y = np.array(known["predicted"])
        clf.partial_fit(X, y[:, 0] if isinstance(svm._quantile, tuple) else y)
    if svm._loss == "log_loss":
        scores = np.exp(known["decision"])
        expected = scores / scores.sum(axis=1, keepdims=True)
        assert_allclose(load_model(golden).predict_proba(X), expected, rtol=1e-3)


def test_there_is_a_golden_file_of_every_kind():
    kinds = (
        "feature-scales",
        "float64",
        "huber",
        "integers",
        "novelty",
        "prepared",
        "prepared-steps",
        "probabilities",
    )
    kinds += ("quantiles", "ranking", "regression", "reservoir", "scaled", "several-targets")
    kinds += ("stream", "three-classes", "two-classes")
    found = [path.stem for path in GOLDEN]
    assert sorted(found) == sorted(f"{kind}-v{VERSION}" for kind in kinds)


def test_golden_files_have_all_sections_and_precisions():
    calibrated = (GOLDEN[0].parent / "calibrated").glob("*.psvm")
    found = {name for golden in (*GOLDEN, *calibrated) for name in opened(golden)[0]["sections"]}
    assert found == set(SECTIONS)
    dtypes = {opened(golden)[0]["arrays"]["decision.vectors"]["dtype"] for golden in GOLDEN}
    assert dtypes == {"float32", "float64"}
    (reservoir,) = (golden for golden in GOLDEN if golden.stem == "reservoir-v3")
    assert_equal(read_model(reservoir)[1], {"note": "kept", "numbers": np.arange(3.0)})


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_file_that_is_saved_again_is_the_same_model(path, golden):
    clf = load_model(golden)
    save_model(clf, path)
    assert_equal(Model.of(load_model(path)).training, Model.of(clf).training)
    names = ("vectors", "dual_coef", "intercept", "classes", "feature_names", "feature_scales")
    for name in names:
        assert_array_equal(getattr(Model.of(load_model(path)), name), getattr(Model.of(clf), name))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0.0, 0.0], "feature scales are negative, or all of them are zero"),
        ([1.0, -1.0], "feature scales are negative"),
        ([1.0, np.nan], "holds a number that is not finite"),
        ([1.0, 2.0, 3.0], "'feature_scales.values' is float64 of shape \\(3,\\), but"),
    ],
)
def test_wrong_feature_scales_are_refused(path, wrong, message):
    model = small().fit(*problem()).to_model()
    with pytest.raises(ValueError, match=message):
        write_model(replace(model, feature_scales=np.array(wrong)), path, {})


# --- damaged and forged files --------------------------------------------------------------------


def damage(random, content):
    """Flip, cut or extend; the checksum, or a check before it, finds the damage."""
    kind = random.integers(4)
    if kind == 0:
        return content[: random.integers(len(content))]
    if kind == 1:
        return content + random.bytes(random.integers(1, 100))
    if kind == 2:
        begin, end = np.sort(random.integers(len(content), size=2))
        return content[:begin] + content[end + 1 :]
    return flipped(random, content)


def flipped(random, content):
    changed = bytearray(content)
    for place in random.integers(len(content), size=random.integers(1, 5)):
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
        changed = {name: flipped(random, data[name])} if data[name] else {}
        return closed(header, data | changed)
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


@pytest.mark.filterwarnings("ignore::pocketsvm.estimators.drift.DriftWarning")
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_damaged_and_forged_files_are_refused_or_hold_a_model_that_works(path, golden):
    """Damaged files are refused; forged ones are refused, or predict and can be continued."""
    content, clf = golden.read_bytes(), load_model(golden)
    n_features = clf.n_features_in_
    X = np.random.default_rng(0).normal(size=(20, n_features))
    if golden.stem.startswith("prepared"):
        known = json.loads(golden.with_suffix(".json").read_text())
        X = np.array(4 * known["X"], dtype=object)
    y = np.arange(20) % 3
    if is_classifier(clf):
        y = clf.classes_[y % len(clf.classes_)]
    if golden.stem.startswith("several-targets"):
        y = np.tile(y[:, None], len(clf.intercept_))
    n_files, n_loaded, n_continued = 500, 0, 0
    tracemalloc.start()
    for seed in range(n_files):
        random = np.random.default_rng([GOLDEN.index(golden), seed])
        forged = seed % 2
        changed = forge(random, *opened(golden)) if forged else damage(random, content)
        path.write_bytes(changed)
        twin, reason, peak = attempt(path, max_bytes=2**18)
        assert peak < 2**19, reason
        if twin is None:
            assert str(path) in reason
        elif forged:
            n_loaded += 1
            n_continued += use(twin, X, y)
        else:
            assert changed == content
    tracemalloc.stop()
    assert 0.04 * n_files < n_loaded < 0.4 * n_files
    assert n_continued > 0.5 * n_loaded


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
    """Predict, continue and predict again; return whether the model could be continued.

    Predictions must always be finite. Parameters may be valid and still not allow a further pass.
    """
    steps, svm = split(clf)
    if steps:
        Preparation.of(steps).set_names(None)
    else:
        del svm.feature_names_in_
    svm.set_params(verbose=0, n_jobs=1)
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            for step in steps:
                X = step.transform(X)
        except ValueError:
            return False  # another column is taken for the text
        assert np.isfinite(svm._decision_values(X)).all()
        try:
            svm.partial_fit(X, y)
        except ValueError:
            return False
        assert np.isfinite(svm._decision_values(X)).all()
        return True
