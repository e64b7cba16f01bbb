"""Preparation on the command line: missing values, categories and scaling."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from pocketsvm import load_model

from .files import FAST, write_csv

PREPARED = ["--impute", "median", "--one-hot", "text", "--scale", "standard"]


@pytest.fixture
def trees(folder):
    """trees.csv and test.csv with numbers, booleans, texts and missing values; returns the test."""
    random = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame(
        {
            "height": random.normal(15.0, 5.0, n).round(2),
            "soil": random.choice(["clay", "sand", "loam, wet"], n),
            "old": random.choice(["True", "False"], n),
            "age": random.integers(1, 300, n),
        }
    )
    X["wood"] = np.where((X["soil"] == "clay") ^ (X["height"] > 15), "oak", "elm")
    X = X.astype(object)
    X.loc[random.random(n) < 0.05, "height"] = "NA"
    X.loc[random.random(n) < 0.05, "soil"] = "?"
    X[:400].to_csv("trees.csv", index=False)
    X[400:].to_csv("test.csv", index=False)
    return X[400:]


def test_missing_values_and_texts_are_refused_with_advice(refuse, trees):
    place = "trees.csv, row 2, column 'soil':"
    refuse(["train", "trees.csv", "m.psvm"], 1, place)
    refuse(["train", "trees.csv", "m.psvm"], 1, "text in column 'soil': --one-hot soil")
    arguments = ["train", "trees.csv", "m.psvm", "--one-hot", "text"]
    advice = "the value is missing. The table has: - missing values in columns 'height', 'soil': "
    refuse(arguments, 1, f"{advice}--impute mean")
    refuse([*arguments, "--drop", "soil", "--impute", "x"], 2, "--impute")


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
@pytest.mark.parametrize("impute", ["mean", "median", "most_frequent"])
def test_missing_values_and_texts(call, succeed, trees, scale, impute):
    prepared = ["--impute", impute, "--one-hot", "text", "--scale", scale]
    code, _, err = call("train", "trees.csv", "m.psvm", "-B", 100, "-c", 10, *prepared)
    assert code == 0
    assert "400 rows, 4 features (1 of text), " in err
    found = json.loads(succeed("evaluate", "m.psvm", "test.csv", "--json"))
    if scale != "none":
        assert found["accuracy"] > 0.85
    labels = succeed("predict", "m.psvm", "test.csv").splitlines()
    assert np.mean(np.array(labels) == trees["wood"]) == found["accuracy"]
    rows = pd.read_csv("test.csv", na_values=["?"]).drop(columns="wood")
    model = load_model("m.psvm")
    assert model.predict(rows).tolist() == labels
    assert list(model.named_steps) == ["columns", "svm"]


def test_unknown_texts_have_no_category(succeed, folder, trees):
    succeed("train", "trees.csv", "m.psvm", *FAST, *PREPARED)
    (folder / "new.csv").write_text("height,soil,old,age\n12,peat,True,30\n,,,\n")
    assert len(succeed("predict", "m.psvm", "new.csv").splitlines()) == 2


def test_categories_are_not_scaled(succeed, trees):
    succeed("train", "trees.csv", "m.psvm", *FAST, *PREPARED, "--one-hot", "age")
    branches = load_model("m.psvm")["columns"].named_transformers_
    assert [type(step).__name__ for step in branches["texts"]] == ["SimpleImputer", "OneHotEncoder"]
    assert branches["numbers"].n_features_in_ == 2
    found = json.loads(succeed("inspect", "m.psvm", "--json"))
    assert found["features"] == 4
    assert found["preparation"] == [
        "numbers (2 features): SimpleImputer + StandardScaler",
        "texts (2 features): SimpleImputer + OneHotEncoder",
    ]


def test_only_texts(succeed, folder):
    rows = "".join(f"{a},{b},{a}\n" for a in ("u", "v") for b in ("x", "z") for _ in range(20))
    (folder / "a.csv").write_text("first,second,kind\n" + rows)
    succeed("train", "a.csv", "m.psvm", *FAST, "--one-hot", "text")
    assert json.loads(succeed("evaluate", "m.psvm", "a.csv", "--json"))["accuracy"] == 1.0
    pytest.importorskip("onnx")
    succeed("export", "m.psvm", "m.onnx")


def test_cross_validation_and_tuning_prepare(succeed, trees):
    found = succeed("train", "trees.csv", "-v", 3, "-B", 50, "-c", 10, *PREPARED)
    assert "cross-validation accuracy" in found
    grid = ["-c", "1,10", "-g", "0.1,0.3", "-v", 3]
    succeed("tune", "trees.csv", "m.psvm", "-B", 50, *PREPARED, *grid, "-q")
    assert json.loads(succeed("evaluate", "m.psvm", "test.csv", "--json"))["accuracy"] > 0.85


def test_exports_prepare(succeed, refuse, folder, trees):
    succeed("train", "trees.csv", "m.psvm", *FAST, *PREPARED)
    refuse(["export", "m.psvm", "m.model"], 1, "cannot hold the preparation")
    pytest.importorskip("onnx")
    succeed("export", "m.psvm", "m.onnx")
    succeed("export", "m.psvm", "m.h")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "m.h"\nint main(void) {\n'
        '    const float row[] = {NAN, m_code(1, "clay"), 1.0f, 30.0f};\n'
        "    puts(m_labels[m_predict(row)]);\n    return 0;\n}\n"
    )
    subprocess.run([compiler, "main.c", "-o", "main", "-lm"], check=True)
    (folder / "row.csv").write_text("height,soil,old,age\n,clay,True,30\n")
    shown = subprocess.run(["./main"], check=True, capture_output=True, text=True).stdout
    assert shown == succeed("predict", "m.psvm", "row.csv")


def test_a_column_without_values_is_named(refuse, folder):
    (folder / "a.csv").write_text("a,b,y\n1,NA,u\n2,?,v\n3,,u\n")
    arguments = ["train", "a.csv", "m.psvm", "--impute", "mean"]
    refuse(arguments, 1, "column 'b' has no values: leave it out (--drop b)")


def test_a_column_that_names_the_rows_is_reported(call, folder):
    X = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    write_csv(folder / "a.csv", ["a", "name", "y"], X[:, :1], [f"n{k},{k % 2}" for k in range(60)])
    code, _, err = call("train", "a.csv", "m.psvm", *FAST, "--one-hot", "text")
    assert code == 0
    assert "column 'name' has 60 different texts in 60 rows" in err
    assert "--drop name" in err


def test_libsvm_text_has_no_columns_to_prepare(refuse, moons):
    for option in (["--impute", "mean"], ["--one-hot", "1"]):
        refuse(
            ["train", "moons.txt", "m.psvm", *option], 1, "--impute and --one-hot are for tables"
        )


@pytest.mark.parametrize("sep", [";", "|", "~", "tab", "space"])
def test_the_separator_can_be_given(succeed, refuse, folder, blobs, sep):
    character = {"tab": "\t", "space": " "}.get(sep, sep)
    text = (folder / "blobs.csv").read_text().replace(",", character)
    (folder / "other.csv").write_text(text)
    succeed("train", "other.csv", "m.psvm", *FAST, "--sep", sep)
    succeed("evaluate", "m.psvm", "other.csv", "--sep", sep)
    refuse(["evaluate", "m.psvm", "other.csv", "--sep", "ab"], 2, "not one character")
