"""``pocketsvm compress``."""

import json

import numpy as np
from numpy.testing import assert_array_equal

from pocketsvm import load_model
from pocketsvm.model import read_model

from .files import FAST


def test_compress(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    out = succeed("compress", "m.psvm", "s.psvm", "--rows", "moons.txt", "-B", "8")
    assert "vectors         20 -> 8" in out.splitlines()
    found = json.loads(succeed("compress", "m.psvm", "n.psvm", "-B", "8", "--json"))
    assert (found["model"], found["vectors"], found["dtype"]) == ("n.psvm", 8, "float32")
    assert len(load_model("s.psvm").support_vectors_) == 8
    labels = [succeed("predict", name, "moons.txt").split() for name in ("m.psvm", "s.psvm")]
    assert np.mean(np.array(labels[0]) == labels[1]) > 0.95


def test_tables_keep_their_layout(succeed, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST)
    found = json.loads(
        succeed("compress", "m.psvm", "s.psvm", "--rows", "blobs.csv", "-B", "12", "--json")
    )
    assert found["score_before"] - found["score"] < 0.1
    before, after = read_model("m.psvm"), read_model("s.psvm")
    assert before[1] == after[1]
    assert_array_equal(before[0].feature_names, after[0].feature_names)
    assert set(succeed("predict", "s.psvm", "blobs.csv").split()) <= {"oak", "elm", "ash"}


def test_models_of_libsvm(succeed, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    succeed("export", "m.psvm", "m.model")
    succeed("compress", "m.model", "s.psvm", "--rows", "moons.txt", "--bytes", "200")
    labels = [succeed("predict", name, "moons.txt").split() for name in ("m.psvm", "s.psvm")]
    assert np.mean(np.array(labels[0], float) == np.array(labels[1], float)) > 0.9


def test_labels_that_the_model_does_not_know_give_no_score(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    succeed("export", "m.psvm", "m.model")
    lines = (folder / "moons.txt").read_text().splitlines()
    (folder / "other.txt").write_text("".join(f"7 {line.split(maxsplit=1)[1]}\n" for line in lines))
    for name, known in (("moons.txt", True), ("other.txt", False)):
        options = "--rows", name, "-B", "8", "--json"
        found = json.loads(succeed("compress", "m.model", "s.psvm", *options))
        assert (found["score"] is not None) == known


def test_a_tolerance(succeed, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    found = json.loads(succeed("compress", "m.psvm", "s.psvm", "--tolerance", "0.05", "--json"))
    assert found["agreement"] >= 0.95


def test_errors(refuse, succeed, moons, folder):
    refuse(["compress", "none.psvm", "s.psvm", "-B", "5"], 1, "none.psvm: No such file")
    succeed("train", "moons.txt", "m.psvm", *FAST)
    refuse(["compress", "m.psvm", "s.psvm"], 2, "give one of --budget, --bytes and --tolerance")
    refuse(["compress", "m.psvm", "m.psvm", "-B", "5"], 2, "would be overwritten")
    refuse(["compress", "m.psvm", "s.psvm", "--bytes", "10"], 1, "bytes=10 is too small")
    refuse(["compress", "moons.txt", "s.psvm", "-B", "5"], 1, "neither a model of pocketsvm")
