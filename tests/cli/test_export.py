"""``pocketsvm export``."""

import json
import typing

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons

from pocketsvm import BudgetedSVC, save_model
from pocketsvm.cli.export import export
from pocketsvm.model.export import FORMATS

from .files import FAST


@pytest.mark.parametrize(
    ("out", "options", "to"),
    [
        ("m.h", [], "c"),
        ("m.onnx", [], "onnx"),
        ("m.model", [], "libsvm"),
        ("m.out", ["--to", "c", "--name", "moons"], "c"),
    ],
)
def test_export(succeed, folder, moons, out, options, to):
    if to == "onnx":
        pytest.importorskip("onnx")
    succeed("train", "moons.txt", "m.psvm", *FAST)
    found = json.loads(succeed("export", "m.psvm", out, *options, "--json"))
    assert (found["to"], found["labels"]) == (to, [-1, 1])
    assert found["bytes"] == (folder / out).stat().st_size
    assert "its labels are -1, 1" in succeed("export", "m.psvm", out, *options)


def test_exports_include_the_scaling_or_refuse_it(call, succeed, folder, blobs):
    ort = pytest.importorskip("onnxruntime")
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard")
    succeed("export", "m.psvm", "m.onnx")
    rows = blobs[0].astype(np.float32)
    labels, _ = ort.InferenceSession("m.onnx").run(None, {"X": rows})
    assert_array_equal(labels, succeed("predict", "m.psvm", "blobs.csv").split())
    code, _, err = call("export", "m.psvm", "m.model")
    assert code == 1
    assert "cannot hold the preparation of the rows (StandardScaler)" in err
    assert not (folder / "m.model").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["export", "none.psvm", "out.xyz"], 2, "format cannot be inferred from out.xyz"),
    ],
)
def test_errors(refuse, moons, blobs, arguments, code, message):
    refuse(arguments, code, message)


def test_the_formats_are_those_of_the_library():
    option = typing.get_type_hints(export)["to"]
    assert typing.get_args(typing.get_args(option)[0]) == tuple(FORMATS)


def test_calibrated_models_are_exported(succeed, refuse, folder, moons):
    X, y = make_moons(200, noise=0.2, random_state=0)
    clf = CalibratedClassifierCV(BudgetedSVC(10, random_state=0), cv=2).fit(X, y)
    save_model(clf, "calibrated.psvm")
    found = json.loads(succeed("export", "calibrated.psvm", "m.h", "--json"))
    assert found["labels"] == [0, 1]
    message = "holds a CalibratedClassifierCV, which only `pocketsvm export` takes"
    refuse(["predict", "calibrated.psvm", "moons.txt"], 1, message)


def test_labels_that_are_texts_are_named(succeed, folder):
    (folder / "pets.csv").write_text("a,label\n" + "1,cat\n2,dog\n3,dog\n0,cat\n" * 9)
    succeed("train", "pets.csv", "pets.psvm", "-B", "4")
    said = succeed("export", "pets.psvm", "pets.h")
    assert "it returns 0 for 'cat', 1 for 'dog'" in said
    assert "its labels" not in said
