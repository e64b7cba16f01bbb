"""``pocketsvm evaluate``."""

import json

import numpy as np
import pytest

from .files import FAST


def test_evaluate(succeed, folder, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard")
    found = json.loads(succeed("evaluate", "m.psvm", "blobs.csv", "--json"))
    predicted = np.array(succeed("predict", "m.psvm", "blobs.csv").split())
    labels = np.array(blobs[1])
    assert found["accuracy"] == np.mean(predicted == labels)
    for k, row in enumerate(found["classes"]):
        right = np.sum((predicted == row["label"]) & (labels == row["label"]))
        assert found["confusion"][k][k] == right
        assert row["recall"] == pytest.approx(right / np.sum(labels == row["label"]))
        assert row["precision"] == pytest.approx(right / np.sum(predicted == row["label"]))
    shown = succeed("evaluate", "m.psvm", "blobs.csv")
    assert "accuracy" in shown
    assert "true \\ predicted" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_unknown_labels_are_counted(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    (folder / "test.txt").write_text("1 1:1\n3 1:1\n")
    found = json.loads(succeed("evaluate", "m.psvm", "test.txt", "--json"))
    assert (found["rows"], found["unknown_labels"]) == (2, 1)
    assert "1 rows have labels that the model does not know" in succeed(
        "evaluate", "m.psvm", "test.txt"
    )
