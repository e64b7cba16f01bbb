"""``pocketsvm train``."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_friedman1, make_moons
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, load_svmlight
from pocketsvm.files import memory
from pocketsvm.rows import preparation as reading

from .files import FAST, assert_same_model, write_csv


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
        succeed("train", name, "m.psvm", *FAST, "--scale", "none")
        model = load_model("m.psvm")
        assert_same_model(model, clf)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert model.classes_.tolist() == ["ash", "elm", "oak"]


def test_commands_ignore_the_index_that_pandas_wrote(succeed, blobs):
    pd.read_csv("blobs.csv").sort_values("a").to_parquet("blobs.parquet")
    pd.read_csv("blobs.csv").sort_values("a").to_csv("sorted.csv", index=False)
    for name in ("sorted.csv", "blobs.parquet"):
        succeed("train", name, f"{name}.psvm", *FAST)
        succeed("tune", name, f"tuned.{name}.psvm", *FAST, "-c", "1", "-g", "1e-4,1e-3")
    for kind in ("", "tuned."):
        models = f"{kind}sorted.csv.psvm", f"{kind}blobs.parquet.psvm"
        assert_same_model(*map(load_model, models))
        for command in ("predict", "evaluate"):
            expected = succeed(command, models[0], "sorted.csv")
            assert succeed(command, models[1], "blobs.parquet") == expected


@pytest.mark.parametrize(
    ("header", "options", "label"),
    [
        ("a,b,c,tree", [], "column 'tree' (the last column)"),
        ("a,b,c,tree", ["--label", "4"], "column 'tree' (named by --label)"),
        (
            "a,b,c,Class",
            [],
            "column 'Class' (the only column named label, target, class or y)",
        ),
        (None, [], "column 4 (the last column)"),
    ],
)
@pytest.mark.parametrize("command", ["train", "tune"])
def test_one_line_tells_what_was_read(call, folder, blobs, command, header, options, label):
    rows = (folder / "blobs.csv").read_text().split("\n", 1)[1]
    (folder / "a.csv").write_text(rows if header is None else f"{header}\n{rows}")
    grid = ["-c", "1", "-g", "1e-4,1e-3"] if command == "tune" else []
    arguments = [command, "a.csv", "m.psvm", *FAST, *options, *grid]
    code, _, err = call(*arguments)
    assert code == 0
    assert err.startswith(f"a.csv: 300 rows, 3 features; label: {label}\n")
    assert "rows" not in call(*arguments, "-q")[2]


def test_an_ambiguous_label_asks_for_the_flag(refuse, folder):
    (folder / "points.csv").write_text("x,y,kind\n1,2,a\n3,4,b\n")
    message = "beside a column 'x', a coordinate. Say which column is the label: --label COLUMN."
    for command in ("train", "tune"):
        refuse([command, "points.csv", "m.psvm"], 1, message)


def test_options_become_parameters(succeed, moons):
    options = ["--polish", "no", "--no-intercept", "--alpha", "1e-3", "--maintenance", "removal"]
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


@pytest.mark.parametrize(
    ("options", "polish"),
    [([], True), (["--polish", "yes"], True), (["--polish", "thorough"], "thorough")],
)
def test_polishing_can_be_thorough(options, polish, succeed, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST, *options)
    clf = load_model("m.psvm")
    assert clf.polish == polish
    assert type(clf.polish) is type(polish)
    assert clf.profile_.seconds_polish > 0


def test_polishing_refuses_other_words(refuse, moons):
    refuse(["train", "moons.txt", "m.psvm", "--polish", "twice"], 2, "'twice' is not one of 'yes'")


def test_training_prints_a_summary(call, moons, blobs):
    code, out, err = call("train", "moons.txt", "m.psvm", *FAST, "--test", "moons.txt")
    assert code == 0
    assert "20 support vectors from 300 rows" in out
    assert "test accuracy 9" in out
    assert err.startswith("moons.txt: 300 rows, 2 features; label: at the start of each line\n")
    assert "training" not in err  # less than five seconds
    scores = out.splitlines()[-1] + "\n"
    quiet = ["train", "moons.txt", "m.psvm", *FAST, "-q"]
    assert call(*quiet) == (0, "", "")
    assert call(*quiet, "--test", "moons.txt") == (0, scores, "")  # results are not remarks
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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.25] * 150, "0.5 is not a class label"),
        (range(300), "warning: numbers.csv has 300 classes in 300 rows."),
    ],
)
def test_a_numeric_column_in_place_of_the_label_is_questioned(call, folder, values, message):
    write_csv(folder / "numbers.csv", ["kind", "a"], np.ones((300, 1)), map(str, values))
    code, _, err = call("train", "numbers.csv", "m.psvm", *FAST)
    assert code == 1
    assert message in err
    assert "taken from column 'a'; if it is another, say --label COLUMN" in err


@pytest.mark.parametrize(
    ("rows", "message", "flag"),
    [
        (lambda X: X * [1.0, 5000.0], "differ in scale", "--scale standard"),
        (lambda X: np.add(X, [0.0, 5000.0]), "large offset", "--scale standard"),
        (lambda X: np.where(X[0] == X, 1e5, X), "far outside the rest", "--scale robust"),
    ],
)
def test_a_warning_about_scales_names_the_flag(call, folder, rows, message, flag):
    X = rows(np.random.default_rng(0).normal(size=(300, 2)))
    labels = ["yes" if x > 0 else "no" for x in X[:, 0]]
    write_csv(folder / "wide.csv", ["a", "b", "kind"], X, labels)
    code, _, err = call("train", "wide.csv", "m.psvm", *FAST, "--scale", "none")
    assert code == 0
    assert message in err
    assert flag in err
    code, _, err = call("train", "wide.csv", "m.psvm", *FAST, *flag.split())
    assert code == 0
    assert "warning" not in err


def test_tables_are_scaled_by_default(call, succeed, folder, moons, blobs):
    code, _, err = call("train", "blobs.csv", "m.psvm", *FAST)
    assert code == 0
    assert "the features are scaled (--scale standard); --scale none turns this off" in err
    assert type(load_model("m.psvm")["scale"]) is StandardScaler
    _, _, err = call("train", "blobs.csv", "n.psvm", *FAST, "--scale", "standard")
    assert "are scaled" not in err
    assert_same_model(load_model("m.psvm"), load_model("n.psvm"))
    _, _, err = call("train", "moons.txt", "m.psvm", *FAST)
    assert "are scaled" not in err
    assert type(load_model("m.psvm")) is BudgetedSVC


def test_robust_scaling_ignores_outliers(call, succeed, folder):
    X, y = make_moons(1000, noise=0.2, random_state=0)
    labels = np.array(["no", "yes"])[y].tolist()
    write_csv(folder / "test.csv", ["a", "b", "kind"], X[500:], labels[500:])
    X[:2] = 1e4
    write_csv(folder / "train.csv", ["a", "b", "kind"], X[:500], labels[:500])
    found = {}
    for scale in ("standard", "robust"):
        succeed("train", "train.csv", "m.psvm", "-B", 30, "--scale", scale)
        found[scale] = json.loads(succeed("evaluate", "m.psvm", "test.csv", "--json"))["accuracy"]
    assert found["robust"] > 0.94
    assert found["robust"] > found["standard"] + 0.05
    assert load_model("m.psvm")["svm"].gamma == "auto"
    succeed("train", "train.csv", "m.psvm", "-B", 30, "--scale", "robust", "-g", "2.0")
    assert load_model("m.psvm")["svm"].gamma == 2.0


def test_too_many_sparse_rows_are_not_made_dense(call, moons, monkeypatch):
    monkeypatch.setattr(reading, "MOST_DENSE_BYTES", 100)
    code, _, err = call("train", "moons.txt", "m.psvm", "--scale", "minmax")
    assert code == 1
    assert "makes sparse rows dense" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(call, folder, moons):
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    code, _, err = call("train", "moons.txt", closed / "m.psvm")
    assert code == 1
    assert "no permission to write" in err


def test_a_huge_index_is_refused_with_its_place(refuse, folder, monkeypatch):
    (folder / "wide.txt").write_text("1 1:1 7:2\n-1 2:1\n1 3:1 100000000:1\n" * 20)
    monkeypatch.setattr(memory, "available_memory", lambda: 2**33)
    message = "wide.txt, line 3, column 7: index 100,000,000 is the largest one, and training needs"
    refuse(["train", "wide.txt", "m.psvm"], 1, message)


@pytest.mark.parametrize("scale", ["none", "maxabs"])
@pytest.mark.parametrize("gamma", ["0.5", "auto"])
def test_columns_that_no_row_uses_cost_nothing(succeed, folder, scale, gamma):
    rng = np.random.default_rng(0)
    used, n_features = [1, 5, 70, 200_001, 300_000], 300_000
    X = rng.normal(size=(80, len(used))).round(3)
    y = (X[:, 0] * X[:, 3] > 0).astype(int)
    (folder / "wide.txt").write_text(
        "".join(
            f"{label} {' '.join(f'{k}:{v}' for k, v in zip(used, row, strict=True))}\n"
            for label, row in zip(y, X, strict=True)
        )
    )
    options = ["-B", "30", "--scale", scale, "--gamma", gamma]
    succeed("train", "wide.txt", "wide.psvm", *options)
    assert load_model("wide.psvm").n_features_in_ == n_features
    assert (folder / "wide.psvm").stat().st_size < 20_000
    prepared = X / np.abs(X).max(axis=0) if scale == "maxabs" else X
    width = 1 / n_features if gamma == "auto" else float(gamma)
    svm = BudgetedSVC(30, gamma=width, random_state=0).fit(prepared, y)
    # Rows to predict may use columns that the training rows do not use.
    with open(folder / "wide.txt", "a") as file:
        file.write("0 3:1\n")
    expected = svm.predict(np.r_[prepared, np.zeros((1, len(used)))])
    assert succeed("predict", "wide.psvm", "wide.txt").split() == expected.astype(str).tolist()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "none.txt", "m.psvm"], 1, "none.txt: No such file or directory"),
        (["train", "moons.txt", "no/folder/m.psvm"], 1, "There is no folder"),
        (["train", "moons.txt", "."], 1, "not a regular file"),
        (["train", "moons.txt", "/dev/full"], 1, "not a regular file"),
        (["train", "moons.txt"], 2, "MODEL file to write, or -v FOLDS"),
        (["train", "moons.txt", "m.psvm", "-v", "3"], 2, "writes no model; leave out m.psvm or -v"),
        (["train", "moons.txt", "-v", "3", "--test", "moons.txt"], 2, "leave out --test or -v"),
        (["train", "moons.txt", "-v", "1"], 2, "Invalid value for '-v'"),
        (["train", "moons.txt", "m.psvm", "-B", "1"], 2, "Invalid value for '--budget' / '-B'"),
        (["train", "moons.txt", "m.psvm", "--max-iter", "0"], 2, "Invalid value for '--max-iter'"),
        (["train", "moons.txt", "m.psvm", "--seed", "-1"], 2, "Invalid value for '--seed'"),
        (["train", "moons.txt", "m.psvm", "--n-jobs", "0"], 2, "0 threads do nothing"),
        (["train", "moons.txt", "m.psvm", "--n-jobs", "1025"], 2, "give at most 1024"),
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
        (
            ["train", "moons.txt", "moons.txt"],
            2,
            "moons.txt is an input of this command, and would be overwritten",
        ),
    ],
)
def test_errors(refuse, moons, blobs, arguments, code, message):
    refuse(arguments, code, message)
