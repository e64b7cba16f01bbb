"""The command line: files in, files out, exit codes and what is said on the way."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from rich.console import Console
from sklearn.datasets import dump_svmlight_file, make_blobs, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, load_svmlight
from pocketsvm.cli import console, fitting
from pocketsvm.cli.app import run
from pocketsvm.model import save_model
from pocketsvm.model.preparation import split

FAST = ["-B", "20", "--max-iter", "3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """A function that runs a command line: exit code, stdout and stderr."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def succeed(call):
    def succeed(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out

    return succeed


@pytest.fixture
def moons(folder):
    """moons.txt with the labels +1 and -1.0; returns rows and labels."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    X = np.round(X, 5)
    dump_svmlight_file(X, y, "moons.txt", zero_based=False)
    lines = (folder / "moons.txt").read_text().splitlines()
    spelled = ["+1" if label else "-1.0" for label in y]
    rows = [line.split(" ", 1)[1] for line in lines if not line.startswith("#")]
    (folder / "moons.txt").write_text("\n".join(map(" ".join, zip(spelled, rows, strict=True))))
    return X, spelled


@pytest.fixture
def blobs(folder):
    """blobs.csv with a header and three named classes."""
    X, y = make_blobs(300, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    X = np.round(X * [1, 100, 0.01], 5)
    labels = np.array(["oak", "elm", "ash"])[y].tolist()
    write_csv(folder / "blobs.csv", ["a", "b", "c", "tree"], X, labels)
    return X, labels


def write_csv(path, names, X, labels):
    rows = [
        ",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), labels, strict=True)
    ]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")


def assert_same_model(one, other):
    for a, b in zip(split(one), split(other), strict=True):
        names = ("support_vectors_", "dual_coef_", "intercept_", "gamma_", "mean_", "scale_")
        for name in names:
            assert_array_equal(getattr(a, name, None), getattr(b, name, None))


# --- train ---------------------------------------------------------------------------------------


def test_train_on_libsvm_text_is_fit_on_its_arrays(succeed, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST, "-c", 10, "-g", 0.5, "--seed", 3)
    X, y = load_svmlight("moons.txt")
    clf = BudgetedSVC(20, 10.0, gamma=0.5, max_iter=3, random_state=3).fit(X, y)
    assert_same_model(load_model("m.psvm"), clf)
    assert_array_equal(load_model("m.psvm").classes_, clf.classes_)


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler)]
)
def test_train_with_scaling_is_fit_of_a_pipeline(succeed, moons, blobs, scale, scaler):
    clf = BudgetedSVC(20, max_iter=3, random_state=0)
    pipeline = Pipeline([("scale", scaler()), ("svm", clf)])
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", scale)
    assert_same_model(load_model("m.psvm"), pipeline.fit(*blobs))
    succeed("train", "moons.txt", "m.psvm", *FAST, "--scale", scale)
    X, y = load_svmlight("moons.txt")
    assert_same_model(load_model("m.psvm"), pipeline.fit(X.toarray(), y))


def test_train_on_tables_is_fit_on_their_arrays(succeed, folder, blobs):
    X, labels = blobs
    with pytest.warns(UserWarning, match="differ in scale"):
        clf = BudgetedSVC(20, max_iter=3, random_state=0).fit(X, labels)
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True)) | {"tree": labels}), "blobs.parquet")
    for name in ("blobs.csv", "blobs.parquet"):
        succeed("train", name, "m.psvm", *FAST)
        model = load_model("m.psvm")
        assert_same_model(model, clf)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert model.classes_.tolist() == ["ash", "elm", "oak"]


def test_parameters_arrive(succeed, moons):
    options = ["--no-polish", "--no-intercept", "--alpha", "1e-3", "--maintenance", "removal"]
    succeed("train", "moons.txt", "m.psvm", *FAST, *options, "-w+1", "5", "-w-1", "0.5")
    clf = load_model("m.psvm")
    assert (clf.polish, clf.fit_intercept, clf.alpha, clf.maintenance) == (
        False,
        False,
        1e-3,
        "removal",
    )
    assert clf.class_weight == {1.0: 5.0, -1.0: 0.5}
    succeed("train", "moons.txt", "m.psvm", *FAST, "--class-weight", "balanced")
    assert load_model("m.psvm").class_weight == "balanced"


def test_the_words_of_training(call, moons, blobs):
    code, out, err = call("train", "moons.txt", "m.psvm", *FAST, "--test", "moons.txt")
    assert code == 0
    assert "20 support vectors from 300 rows" in out
    assert "test accuracy 9" in out
    assert "read 300 rows of 2 features" in err
    assert "training" not in err  # less than five seconds
    assert call("train", "moons.txt", "m.psvm", *FAST, "-q", "--test", "moons.txt") == (0, "", "")
    found = json.loads(call("train", "moons.txt", "m.psvm", *FAST, "--json")[1])
    assert (found["rows"], found["vectors"], found["classes"]) == (300, 20, ["-1.0", "+1"])


def test_cross_validation_writes_no_model(succeed, folder, moons, blobs):
    before = sorted(folder.iterdir())
    assert "cross-validation accuracy 9" in succeed("train", "moons.txt", *FAST, "-v", 3)
    found = json.loads(
        succeed("train", "blobs.csv", *FAST, "-v", 3, "--scale", "standard", "--json")
    )
    assert found["folds"] == 3
    assert found["rows"] == 300
    assert [row["label"] for row in found["classes"]] == ["ash", "elm", "oak"]
    assert sorted(folder.iterdir()) == before


def test_a_warning_is_one_line(call, moons, monkeypatch):
    def fit(self, X, y):
        warnings.warn("not yet\nthere", ConvergenceWarning, stacklevel=2)
        return original(self, X, y)

    original = BudgetedSVC.fit
    monkeypatch.setattr(BudgetedSVC, "fit", fit)
    err = call("train", "moons.txt", "m.psvm", *FAST)[2]
    assert "pocketsvm: warning: not yet there\n" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "none.txt", "m.psvm"], 1, "none.txt: No such file or directory"),
        (["train", "moons.txt", "no/folder/m.psvm"], 1, "there is no folder"),
        (["train", "moons.txt", "."], 1, "not a regular file"),
        (["train", "moons.txt", "/dev/full"], 1, "not a regular file"),
        (["train", "moons.txt"], 2, "MODEL file to write, or -v FOLDS"),
        (["train", "moons.txt", "m.psvm", "-v", "3"], 2, "MODEL file to write, or -v FOLDS"),
        (["train", "moons.txt", "-v", "1"], 2, "Invalid value for '-v'"),
        (["train", "moons.txt", "m.psvm", "-B", "1"], 2, "Invalid value for '--budget' / '-B'"),
        (["train", "moons.txt", "m.psvm", "--max-iter", "0"], 2, "Invalid value for '--max-iter'"),
        (["train", "moons.txt", "m.psvm", "--seed", "-1"], 2, "Invalid value for '--seed'"),
        (["train", "moons.txt", "m.psvm", "--n-jobs", "0"], 2, "0 threads do nothing"),
        (["train", "moons.txt", "m.psvm", "-c", "0"], 2, "'C'"),
        (["train", "moons.txt", "m.psvm", "-B", "x"], 2, "valid integer"),
        (["train", "moons.txt", "m.psvm", "-g", "x"], 2, "'gamma'"),
        (["train", "moons.txt", "m.psvm", "--scale", "x"], 2, "--scale"),
        (["train", "moons.txt", "m.psvm", "--maintenance", "x"], 2, "--maintenance"),
        (["train", "moons.txt", "m.psvm", "-w7", "1"], 2, "no class is labelled '7'"),
        (["train", "moons.txt", "m.psvm", "-w1"], 2, "not LABEL=WEIGHT"),
        (["train", "moons.txt", "m.psvm", "--test", "none.txt"], 1, "none.txt: No such file"),
        (["train", "moons.txt", "m.psvm", "--format", "csv"], 1, "moons.txt"),
        (["train", "blobs.csv", "m.psvm", "--label", "leaf"], 1, "no column 'leaf'"),
        (["train", "blobs.csv", "m.psvm", "--label", "a", "--drop", "tree"], 1, "--regression"),
        (["train", "moons.txt", "m.psvm", "--unknown"], 2, "--unknown"),
        (["train", "moons.txt", "moons.txt"], 2, "moons.txt is read; it would be overwritten"),
        (["predict", "none.psvm", "moons.txt", "-o", "./moons.txt"], 2, "would be overwritten"),
        (["predict", "none.psvm", "moons.txt", "--n-jobs", "0"], 2, "0 threads do nothing"),
        (["predict", "none.psvm", "moons.txt"], 1, "none.psvm: No such file or directory"),
        (["predict", "moons.txt", "moons.txt"], 1, "not a model file"),
        (["export", "none.psvm", "out.xyz"], 2, "ending of out.xyz does not tell"),
        (["unknown"], 2, "unknown"),
    ],
)
def test_errors(call, folder, moons, blobs, arguments, code, message):
    before = sorted(folder.iterdir())
    found, out, err = call(*arguments)
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.25] * 150, "0.5 is no label of a class"),
        (range(300), "warning: numbers.csv has 300 classes in 300 rows."),
    ],
)
def test_a_feature_taken_for_the_label_is_asked_about(call, folder, values, message):
    write_csv(folder / "numbers.csv", ["kind", "a"], np.ones((300, 1)), map(str, values))
    code, _, err = call("train", "numbers.csv", "m.psvm", *FAST)
    assert code == 1
    assert message in err
    assert "taken from column 'a'; if it is another, say --label COLUMN" in err


def test_without_arguments_the_commands_are_shown(call):
    code, out, err = call()
    assert code == 2
    assert "train" in out + err
    assert call("--version")[1].startswith("pocketsvm ")


def test_sparse_rows_too_many_to_be_dense(call, moons, monkeypatch):
    monkeypatch.setattr(fitting, "MOST_DENSE_BYTES", 100)
    code, _, err = call("train", "moons.txt", "m.psvm", "--scale", "minmax")
    assert code == 1
    assert "makes sparse rows dense" in err


# --- predict -------------------------------------------------------------------------------------


def test_labels_keep_their_spelling(succeed, moons, blobs):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    labels = succeed("predict", "m.psvm", "moons.txt").splitlines()
    assert set(labels) == {"+1", "-1.0"}
    assert np.mean(np.array(labels) == moons[1]) > 0.9
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard")
    labels = succeed("predict", "m.psvm", "blobs.csv").splitlines()
    assert np.mean(np.array(labels) == blobs[1]) > 0.5


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
def test_predictions_as_json_are_those_of_the_lines(succeed, folder, moons, blobs, data):
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
    monkeypatch.setattr("pocketsvm.data.svmlight.CHUNK", 100)
    monkeypatch.setattr("pocketsvm.data.tables.BATCH_CHUNKS", 1)
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


def test_more_and_fewer_features_than_the_training_file(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    (folder / "test.txt").write_text("1 1:0.5 2:0.25 7:100\n1 1:0.5\n\n1\n")
    lines = succeed("predict", "m.psvm", "test.txt", "--decision").splitlines()
    clf = load_model("m.psvm")
    values = clf.decision_function([[0.5, 0.25], [0.5, 0], [0, 0]])
    assert_array_equal([float(line.split("\t")[1]) for line in lines], values)


def test_predictions_appear_in_one_step(call, folder, moons):
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


def test_models_saved_in_python_predict_too(succeed, folder, moons):
    X, y = load_svmlight("moons.txt")
    save_model(BudgetedSVC(20, random_state=0).fit(X, y.astype(int)), "m.psvm")
    assert set(succeed("predict", "m.psvm", "moons.txt").split()) == {"-1", "1"}
    save_model(BudgetedSVC(20, random_state=0).fit(X, y), "m.psvm")
    assert set(succeed("predict", "m.psvm", "moons.txt").split()) == {"-1", "1"}
    assert json.loads(succeed("evaluate", "m.psvm", "moons.txt", "--json"))["accuracy"] > 0.9


@pytest.mark.parametrize(
    "extra",
    [
        {"spellings": ["a"]},
        {"spellings": [1, 2]},
        {"spellings": "ab"},
        {"label": []},
        {"dropped": ["a"]},
        {"first_index": 7},
    ],
)
def test_what_is_kept_beside_the_model_is_checked(call, folder, extra):
    X, y = make_moons(100, random_state=0)
    save_model(BudgetedSVC(5, random_state=0).fit(X, y), "m.psvm", extra=extra)
    code, _, err = call("inspect", "m.psvm")
    assert (code, err) == (1, "pocketsvm: m.psvm: what is kept beside the model is damaged.\n")


def test_sparse_rows_are_scaled_part_by_part(succeed, moons, monkeypatch):
    succeed("train", "moons.txt", "m.psvm", *FAST, "--scale", "standard")
    expected = succeed("predict", "m.psvm", "moons.txt", "--decision")
    monkeypatch.setattr("pocketsvm.cli.saved.DENSE_VALUES", 14)
    assert succeed("predict", "m.psvm", "moons.txt", "--decision") == expected


# --- regression ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_regression(call, succeed, folder, scale):
    X, y = make_friedman1(300, n_features=5, random_state=0)
    write_csv(folder / "r.csv", [*"abcde", "y"], X, map(repr, y.tolist()))
    options = ["--regression", "-p", "0.2", "-B", "40", "-c", "100", "--scale", scale]
    assert "test R2 0.9" in succeed("train", "r.csv", "m.psvm", *options, "--test", "r.csv")
    machine = BudgetedSVR(40, 100.0, epsilon=0.2, random_state=0)
    if scale == "standard":
        machine = Pipeline([("scale", StandardScaler()), ("svm", machine)])
    assert_same_model(load_model("m.psvm"), machine.fit(X, y))
    values = [float(line) for line in succeed("predict", "m.psvm", "r.csv").split()]
    assert_array_equal(values, machine.predict(X))
    assert "no decision values" in call("predict", "m.psvm", "r.csv", "--decision")[2]
    found = json.loads(succeed("evaluate", "m.psvm", "r.csv", "--json"))
    assert found["r2"] == pytest.approx(machine.score(X, y))
    assert "cross-validation R2 0." in succeed("train", "r.csv", *options, "-v", 3)
    assert json.loads(succeed("inspect", "m.psvm", "--json"))["classes"] is None
    succeed("export", "m.psvm", "m.h")
    (folder / "words.csv").write_text("a,b,c,d,e,y\n1,2,3,4,5,word\n")
    assert "'word' is not a number" in call("evaluate", "m.psvm", "words.csv")[2]
    assert call("train", "r.csv", "m.psvm", *options, "-w1", "2")[0] == 2


# --- evaluate, inspect, export -------------------------------------------------------------------


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


def test_labels_the_model_does_not_know(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    (folder / "test.txt").write_text("1 1:1\n3 1:1\n")
    found = json.loads(succeed("evaluate", "m.psvm", "test.txt", "--json"))
    assert (found["rows"], found["unknown_labels"]) == (2, 1)
    assert "1 rows have labels that the model does not know" in succeed(
        "evaluate", "m.psvm", "test.txt"
    )


def test_inspect(succeed, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard", "--n-jobs", 1)
    found = json.loads(succeed("inspect", "m.psvm", "--json"))
    assert (found["estimator"], found["format_version"]) == ("BudgetedSVC", 2)
    vectors = load_model("m.psvm")[-1].support_vectors_
    assert (found["vectors"], found["features"]) == vectors.shape
    assert (found["scaling"], found["classes"]) == ("StandardScaler", ["ash", "elm", "oak"])
    assert found["feature_names"] == ["a", "b", "c"]
    assert found["label_column"] == "tree"
    assert found["parameters"]["n_jobs"] == 1
    shown = succeed("inspect", "m.psvm")
    assert "StandardScaler" in shown
    assert max(map(len, shown.splitlines())) <= 80


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


def test_exports_include_scaling_or_refuse_it(call, succeed, folder, blobs):
    ort = pytest.importorskip("onnxruntime")
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--scale", "standard")
    succeed("export", "m.psvm", "m.onnx")
    rows = blobs[0].astype(np.float32)
    labels, _ = ort.InferenceSession("m.onnx").run(None, {"X": rows})
    assert_array_equal(labels, succeed("predict", "m.psvm", "blobs.csv").split())
    code, _, err = call("export", "m.psvm", "m.model")
    assert code == 1
    assert "cannot hold the scaling" in err
    assert not (folder / "m.model").exists()


# --- progress ------------------------------------------------------------------------------------


def test_a_terminal_sees_a_bar(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        console,
        "Console",
        lambda **_: Console(file=screen, force_terminal=True, width=80, legacy_windows=False),
    )
    monkeypatch.setenv("TERM", "xterm")
    with console.Reporter(quiet=False).task("training", total=4) as task:
        task.advance(1000)
    assert "25%" in screen.getvalue()
    assert "rows/s, 0:00:00 left" in screen.getvalue()


def test_elsewhere_there_are_lines(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    reporter = console.Reporter(quiet=False)
    with reporter.task("training", total=4) as task:
        task.advance(1000)
    with reporter.task("predicting") as task:
        task.advance(1000, 1000)
    first, second = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"training: 25%, [0-9,]+ rows/s, 0:00:00 left", first)
    assert re.fullmatch(r"predicting: 1,000 rows, [0-9,]+ rows/s", second)


@pytest.mark.parametrize("name", ["moons.txt", "blobs.csv"])
def test_reading_and_predicting_are_followed(call, moons, blobs, name, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    _, _, err = call("train", name, "m.psvm", *FAST)
    assert re.search(r"^reading: 300 rows, [0-9,]+ rows/s$", err, re.MULTILINE)
    _, out, err = call("predict", "m.psvm", name)
    assert len(out.splitlines()) == 300
    assert re.fullmatch(r"predicting: 300 rows, [0-9,]+ rows/s\n", err)
    assert call("predict", "m.psvm", name, "-q")[2] == ""


def test_labels_on_a_terminal_are_not_mixed_with_progress(call, moons, monkeypatch):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    call("train", "moons.txt", "m.psvm", *FAST)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert call("predict", "m.psvm", "moons.txt")[2] == ""


# --- processes -----------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "pocketsvm.cli"]


def test_a_full_disk_and_a_closed_pipe(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    command = [*COMMAND, "predict", "m.psvm", "moons.txt"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "pocketsvm: output: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_interrupt_leaves_no_model(folder, moons):
    command = [*COMMAND, "train", "moons.txt", "m.psvm", "--max-iter", "100000000"]
    before = sorted(folder.iterdir())
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # may be ignored here
    ) as process:
        try:
            assert "read 300 rows" in process.stderr.readline()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.endswith("pocketsvm: interrupted\n")
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(call, folder, moons):
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    code, _, err = call("train", "moons.txt", closed / "m.psvm")
    assert code == 1
    assert "no permission to write" in err
