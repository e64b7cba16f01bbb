"""``pocketsvm evaluate``."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from pocketsvm import load_model

from .files import FAST, write_csv


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


def test_roc_auc_is_that_of_the_decision_values(succeed, folder, moons, blobs):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    found = json.loads(succeed("evaluate", "m.psvm", "moons.txt", "--json"))
    values = load_model("m.psvm").decision_function(moons[0])
    expected = roc_auc_score(np.array(moons[1]) == "+1", values)
    assert found["roc_auc"] == pytest.approx(expected, abs=1e-6)
    assert (found["log_loss"], found["brier"]) == (None, None)
    shown = succeed("evaluate", "m.psvm", "moons.txt")
    assert f"ROC-AUC {found['roc_auc']:.4f}\n" in shown
    assert "log loss and Brier score: none, because the model predicts no probabilities" in shown
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "none", "-q")
    found = json.loads(succeed("evaluate", "m.psvm", "blobs.csv", "--json"))
    values = load_model("m.psvm").decision_function(pd.DataFrame(blobs[0], columns=list("abc")))
    areas = [
        roc_auc_score(np.array(blobs[1]) == label, values[:, k])
        for k, label in enumerate(("ash", "elm", "oak"))
    ]
    assert found["roc_auc"] == pytest.approx(np.mean(areas), abs=1e-6)


def test_roc_auc_needs_rows_of_all_classes(succeed, folder, moons, monkeypatch):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    (folder / "test.txt").write_text("1 1:1\n1 1:2\n")
    assert json.loads(succeed("evaluate", "m.psvm", "test.txt", "--json"))["roc_auc"] is None
    assert "ROC-AUC" not in succeed("evaluate", "m.psvm", "test.txt")
    monkeypatch.setattr("pocketsvm.cli.scores.MOST_VALUES", 100)
    assert json.loads(succeed("evaluate", "m.psvm", "moons.txt", "--json"))["roc_auc"] is None


@pytest.mark.parametrize("header", [True, False])
def test_weights_of_rows(succeed, refuse, folder, blobs, header):
    X, labels = blobs
    weights = np.random.default_rng(0).integers(0, 4, len(X)) / 2
    succeed("train", "blobs.csv", "m.psvm", *FAST)
    rows = np.column_stack([X[:, :1], weights, X[:, 1:]])
    names = ["a", "weight", "b", "c", "tree"]
    write_csv(folder / "test.csv", names, rows, labels)
    arguments = ["evaluate", "m.psvm", "test.csv", "--weights", "weight"]
    if not header:
        lines = (folder / "test.csv").read_text().splitlines(keepends=True)
        (folder / "test.csv").write_text("".join(lines[1:]))
        arguments = ["evaluate", "m.psvm", "test.csv", "--weights", "2"]
    found = json.loads(succeed(*arguments, "--json"))
    predicted = succeed("predict", "m.psvm", "blobs.csv").split()
    assert found["rows"] == len(X)
    expected = accuracy_score(labels, predicted, sample_weight=weights)
    assert found["accuracy"] == pytest.approx(expected)
    assert found["correct"] == pytest.approx(expected * weights.sum())
    assert f"{expected:.2%} (weighted, 300 rows)" in succeed(*arguments)
    write_csv(folder / "test.csv", names, rows * [1, -1, 1, 1], labels)
    refuse(
        ["evaluate", "m.psvm", "test.csv", "--weights", "weight"], 1, "a weight must be a number"
    )
    write_csv(folder / "test.csv", names, rows * [1, 0, 1, 1], labels)
    refuse(["evaluate", "m.psvm", "test.csv", "--weights", "weight"], 1, "all rows are zero")
    refuse(["evaluate", "m.psvm", "test.csv", "--weights", "mass"], 1, "no column 'mass'")


def test_weights_of_a_regression(succeed, folder):
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 2))
    y = X[:, 0] + random.normal(size=100) / 4
    rows = np.column_stack([X, random.uniform(size=100)])
    write_csv(folder / "a.csv", ["a", "b", "w", "y"], rows, map(str, y))
    succeed("train", "a.csv", "m.psvm", *FAST, "--regression", "--drop", "w")
    found = json.loads(succeed("evaluate", "m.psvm", "a.csv", "--weights", "w", "--json"))
    predicted = list(map(float, succeed("predict", "m.psvm", "a.csv").split()))
    assert found["r2"] == pytest.approx(r2_score(y, predicted, sample_weight=rows[:, 2]))


def test_libsvm_text_has_no_weights(refuse, succeed, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    refuse(
        ["evaluate", "m.psvm", "moons.txt", "--weights", "1"], 1, "has no columns of other kinds"
    )
