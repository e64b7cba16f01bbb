"""``pocketsvm predict``."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC, load_model, load_svmlight, save_model
from pocketsvm.cli import console
from pocketsvm.cli.app import run

from .files import FAST, write_csv


def test_labels_keep_their_spelling(succeed, moons, blobs):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    labels = succeed("predict", "m.psvm", "moons.txt").splitlines()
    assert set(labels) == {"+1", "-1.0"}
    assert np.mean(np.array(labels) == moons[1]) > 0.9
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard")
    labels = succeed("predict", "m.psvm", "blobs.csv").splitlines()
    assert np.mean(np.array(labels) == blobs[1]) > 0.5


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_that_differ_in_leading_zeros_are_different_classes(succeed, folder, blobs, kind):
    spelled = {"oak": "01", "elm": "1", "ash": "+2"}
    table = pd.read_csv("blobs.csv").assign(tree=[spelled[label] for label in blobs[1]])
    write = getattr(table, f"to_{kind}")
    write(f"codes.{kind}", index=False)
    succeed("train", f"codes.{kind}", "m.psvm", *FAST, "--scale", "standard", "-w01", "2")
    assert load_model("m.psvm").classes_.tolist() == ["+2", "01", "1"]
    labels = succeed("predict", "m.psvm", f"codes.{kind}").splitlines()
    assert set(labels) == {"01", "1", "+2"}
    n_right = sum(np.array(labels) == table["tree"])
    table = table.replace({"tree": {"1": "1.0", "+2": "2"}})  # other spellings of the same numbers
    table.to_csv("other.csv", index=False)
    for name in (f"codes.{kind}", "other.csv"):
        found = json.loads(succeed("evaluate", "m.psvm", name, "--json"))
        assert (found["correct"], found["unknown_labels"]) == (n_right, 0)


@pytest.mark.parametrize(
    ("spelled", "classes"),
    [
        ({"oak": "01", "elm": "02", "ash": "10"}, [1, 2, 10]),
        ({"oak": "1", "elm": "-1.0", "ash": "+1"}, [-1, 1]),
    ],
)
def test_labels_that_are_different_numbers_are_numbers(succeed, folder, blobs, spelled, classes):
    labels = [spelled[label] for label in blobs[1]]
    write_csv(folder / "numbers.csv", ["a", "b", "c", "tree"], blobs[0], labels)
    succeed("train", "numbers.csv", "m.psvm", *FAST)
    assert load_model("m.psvm").classes_.tolist() == classes
    assert set(succeed("predict", "m.psvm", "numbers.csv").splitlines()) <= set(labels)


def test_leading_zeros_mean_nothing_in_libsvm_text(succeed, folder):
    (folder / "a.txt").write_text("01 1:1\n1 1:2\n-1 1:8\n-1.0 1:9\n")
    succeed("train", "a.txt", "m.psvm", *FAST)
    assert load_model("m.psvm").classes_.tolist() == [-1, 1]


def test_decision_values_follow_the_label(succeed, moons, blobs):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    lines = succeed("predict", "m.psvm", "moons.txt", "--decision").splitlines()
    values = load_model("m.psvm").decision_function(load_svmlight("moons.txt")[0])
    assert_array_equal([float(line.split("\t")[1]) for line in lines], values)
    assert all(
        line.startswith("+1\t") == (value > 0) for line, value in zip(lines, values, strict=True)
    )
    succeed("train", "blobs.csv", "m.psvm", *FAST)
    line = succeed("predict", "m.psvm", "blobs.csv", "--decision").splitlines()[0].split("\t")
    assert line[0] == ["ash", "elm", "oak"][np.argmax([float(value) for value in line[1:]])]


@pytest.mark.parametrize("data", ["moons.txt", "blobs.csv"])
def test_json_holds_the_same_predictions_as_the_lines(succeed, folder, moons, blobs, data):
    succeed("train", data, "m.psvm", *FAST)
    lines = succeed("predict", "m.psvm", data, "--decision").splitlines()
    found = json.loads(succeed("predict", "m.psvm", data, "--decision", "--json"))
    values = [np.atleast_1d(row["decision"]).tolist() for row in found]
    texts = ["\t".join([row["label"], *map(repr, v)]) for row, v in zip(found, values, strict=True)]
    assert texts == lines
    succeed("predict", "m.psvm", data, "--json", "-o", "out.json")
    rows = json.loads((folder / "out.json").read_text())
    assert rows == [{"label": row["label"]} for row in found]
    (folder / "none.txt").write_text("# nothing\n")
    succeed("train", "moons.txt", "m.psvm", *FAST)
    assert json.loads(succeed("predict", "m.psvm", "none.txt", "--json")) == []


def test_json_of_several_batches(succeed, moons, monkeypatch):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    expected = succeed("predict", "m.psvm", "moons.txt", "--json")
    assert expected.count("\n") == 302  # a row a line
    monkeypatch.setattr("pocketsvm.files.chunks.CHUNK", 100)
    monkeypatch.setattr("pocketsvm.files.svmlight.BATCH_CHUNKS", 1)
    assert succeed("predict", "m.psvm", "moons.txt", "--json") == expected


def test_columns_are_found_by_name(succeed, folder, blobs):
    X, _ = blobs
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "minmax")
    expected = succeed("predict", "m.psvm", "blobs.csv")
    rows = np.column_stack([X[:, 2], np.arange(300.0), X[:, 0]])
    write_csv(folder / "other.csv", ["c", "id", "a", "b"], rows, map(repr, X[:, 1].tolist()))
    assert succeed("predict", "m.psvm", "other.csv") == expected
    code = run(["evaluate", "m.psvm", "other.csv"])
    assert code == 1


def test_libsvm_text_has_no_names_for_a_model_that_needs_them(succeed, refuse, folder, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST)
    (folder / "rows.txt").write_text("1 1:0.5 2:3\n")
    message = "rows.txt is LIBSVM text, which has no names of columns"
    for command in ("predict", "evaluate"):
        refuse([command, "m.psvm", "rows.txt"], 1, message)
    refuse(["predict", "m.psvm", "rows.txt"], 1, "by name: 'a', 'b', 'c'. Give a table")
    lines = (folder / "blobs.csv").read_text().split("\n", 1)[1]
    (folder / "nameless.csv").write_text(lines)
    succeed("train", "nameless.csv", "m.psvm", *FAST, "--no-header")
    assert succeed("predict", "m.psvm", "rows.txt").strip() in {"oak", "elm", "ash"}


def test_more_and_fewer_features_than_the_training_file(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    (folder / "test.txt").write_text("1 1:0.5 2:0.25 7:100\n1 1:0.5\n\n1\n")
    lines = succeed("predict", "m.psvm", "test.txt", "--decision").splitlines()
    clf = load_model("m.psvm")
    values = clf.decision_function([[0.5, 0.25], [0.5, 0], [0, 0]])
    assert_array_equal([float(line.split("\t")[1]) for line in lines], values)


def test_the_output_file_appears_when_it_is_complete(call, folder, moons):
    call("train", "moons.txt", "m.psvm", *FAST)
    assert call("predict", "m.psvm", "moons.txt", "-o", "out", "-q") == (0, "", "")
    first = (folder / "out").read_text()
    assert len(first.splitlines()) == 300
    (folder / "bad.txt").write_text("1 1:1\nx 1:1\n")
    before = sorted(folder.iterdir())
    assert call("predict", "m.psvm", "bad.txt", "-o", "out")[0] == 1
    assert (folder / "out").read_text() == first
    assert sorted(folder.iterdir()) == before
    assert call("predict", "m.psvm", "bad.txt", "-o", "new")[0] == 1
    assert not (folder / "new").exists()


def test_models_saved_in_python_can_be_used(succeed, folder, moons):
    X, y = load_svmlight("moons.txt")
    save_model(BudgetedSVC(20, random_state=0).fit(X, y.astype(int)), "m.psvm")
    assert set(succeed("predict", "m.psvm", "moons.txt").split()) == {"-1", "1"}
    save_model(BudgetedSVC(20, random_state=0).fit(X, y), "m.psvm")
    assert set(succeed("predict", "m.psvm", "moons.txt").split()) == {"-1", "1"}
    assert json.loads(succeed("evaluate", "m.psvm", "moons.txt", "--json"))["accuracy"] > 0.9


def test_sparse_rows_are_scaled_part_by_part(succeed, moons, monkeypatch):
    succeed("train", "moons.txt", "m.psvm", *FAST, "--scale", "standard")
    expected = succeed("predict", "m.psvm", "moons.txt", "--decision")
    monkeypatch.setattr("pocketsvm.rows.preparation.DENSE_VALUES", 14)
    assert succeed("predict", "m.psvm", "moons.txt", "--decision") == expected


@pytest.mark.parametrize("name", ["moons.txt", "blobs.csv"])
def test_reading_and_predicting_report_progress(call, moons, blobs, name, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    _, _, err = call("train", name, "m.psvm", *FAST)
    assert re.search(r"^reading: 300 rows, [0-9,]+ rows/s$", err, re.MULTILINE)
    _, out, err = call("predict", "m.psvm", name)
    assert len(out.splitlines()) == 300
    assert re.fullmatch(r"predicting: 300 rows, [0-9,]+ rows/s\n", err)
    assert call("predict", "m.psvm", name, "-q")[2] == ""


def test_progress_does_not_mix_with_labels_on_a_terminal(call, moons, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    call("train", "moons.txt", "m.psvm", *FAST)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert call("predict", "m.psvm", "moons.txt")[2] == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "none.psvm", "moons.txt", "-o", "./moons.txt"], 2, "would be overwritten"),
        (["predict", "none.psvm", "moons.txt", "--n-jobs", "0"], 2, "0 threads do nothing"),
        (["predict", "none.psvm", "moons.txt"], 1, "none.psvm: No such file or directory"),
        (["predict", "moons.txt", "moons.txt"], 1, "not a file of pocketsvm"),
    ],
)
def test_errors(refuse, moons, blobs, arguments, code, message):
    refuse(arguments, code, message)


@pytest.mark.parametrize("kind", ["names", "numbers", "parquet"])
def test_names_of_rows_are_passed_through(succeed, folder, blobs, kind):
    X, _ = blobs
    succeed("train", "blobs.csv", "m.psvm", *FAST)
    expected = succeed("predict", "m.psvm", "blobs.csv").split()
    names = [f"tree {k:03}" for k in range(len(X))]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(1, "name", names)
    column = "name"
    if kind == "parquet":
        frame.to_parquet("new.file")
    else:
        frame.to_csv("new.file", index=False, header=kind == "names")
        column = "name" if kind == "names" else "2"
    options = ["--format", "parquet" if kind == "parquet" else "csv", "--id", column]
    if kind == "numbers":
        options.append("--no-header")
    found = succeed("predict", "m.psvm", "new.file", *options)
    lines = [f"{name}\t{label}" for name, label in zip(names, expected, strict=True)]
    assert found.splitlines() == lines
    found = json.loads(succeed("predict", "m.psvm", "new.file", *options, "--json"))
    assert found[7] == {"id": "tree 007", "label": expected[7]}
