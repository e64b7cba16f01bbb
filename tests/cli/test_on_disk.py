"""Commands on folders, patterns, and files that are larger than the memory they may take."""

import json
import pathlib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import typer
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import load_model
from pocketsvm.cli import training as on_disk
from pocketsvm.cli.training import parse_size
from pocketsvm.model.preparation import split

from .files import FAST, assert_same_model

TINY = ["-B", "4", "--max-iter", "3"]


@pytest.fixture
def parts(folder):
    """Write 3,000 rows to three CSV files and three Parquet files; return all rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3)).round(4) * [1, 10, 0.1]
    kinds = np.where(np.sin(2 * X[:, 0]) + X[:, 1] / 10 > 0, "up", "down")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=kinds)
    for name in ("text", "columns"):
        (folder / name).mkdir()
    for k in range(3):
        part = frame[1000 * k : 1000 * (k + 1)]
        part.to_csv(folder / "text" / f"{k}.csv", index=False)
        part.to_parquet(folder / "columns" / f"{k}.parquet", index=False)
    frame.to_csv(folder / "all.csv", index=False)
    frame.drop(columns="label").to_csv(folder / "unlabelled.csv", index=False)
    return frame


def test_folders_and_patterns_give_the_model_of_one_file(succeed, parts):
    succeed("train", "all.csv", "one.psvm", *FAST)
    for k, data in enumerate(("text", "columns", "text/*.csv", "columns/?.parquet")):
        succeed("train", data, f"{k}.psvm", *FAST)
        # The scaler is learnt in batches, which rounds its figures.
        one, other = load_model("one.psvm"), load_model(f"{k}.psvm")
        frame = parts.drop(columns="label")
        assert_allclose(
            one.decision_function(frame), other.decision_function(frame), rtol=1e-3, atol=1e-2
        )
        assert other.classes_.tolist() == ["down", "up"]
        assert other.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_folder_may_be_the_test_data(succeed, parts):
    for data in ("text", "text/*.csv", "all.csv"):
        out = succeed("train", "all.csv", "text/m.csv.psvm", "--test", data, *TINY, "--json")
        found = json.loads(out)["test"]
        assert found["rows"] == 3000
        (pathlib.Path("text") / "m.csv.psvm").unlink()


def test_a_file_that_exceeds_the_memory_is_read_in_batches(call, succeed, parts):
    code, _, err = call("train", "all.csv", "m.psvm", *TINY, "--memory", "0")
    assert code == 0
    assert "read in batches" in err
    assert "temporary cache of" in err
    assert "label: column 'label'" in err
    code, _, err = call("train", "all.csv", "other.psvm", *TINY, "--memory", "1GB")
    assert "read in batches" not in err
    for name in ("m", "other"):
        found = json.loads(succeed("evaluate", f"{name}.psvm", "all.csv", "--json"))
        assert found["accuracy"] > 0.85
    assert_array_equal(split(load_model("m.psvm"))[1].alpha_, 1 / 3000)


def test_a_small_parquet_file_with_very_many_rows_is_read_in_batches(call, folder, monkeypatch):
    columns = {"a": np.arange(50_000) % 8 / 8, "y": np.arange(50_000) % 8 // 4}
    pd.DataFrame(columns).to_parquet("rows.parquet", index=False)
    arguments = ["train", "rows.parquet", "m.psvm", *TINY]
    assert "read in batches" not in call(*arguments)[2]
    monkeypatch.setattr(on_disk, "MOST_UNPACKED", 1 << 20)
    monkeypatch.setattr(on_disk, "MOST_EXPANSION", 10)
    code, _, err = call(*arguments)
    assert code == 0
    assert "read in batches" in err


def test_results_name_all_rows_and_tests_are_scored(succeed, parts):
    arguments = ["--test", "all.csv", "--json", "--class-weight", "up=2", "--scale", "none"]
    found = json.loads(succeed("train", "columns", "m.psvm", *TINY, *arguments))
    assert found["rows"] == 3000
    assert found["classes"] == ["down", "up"]
    assert found["test"]["accuracy"] > 0.5
    assert load_model("m.psvm").class_weight == {"up": 2.0}


def test_regressions_on_folders(succeed, parts, refuse):
    frame = parts.drop(columns="label").assign(target=parts["a"] ** 2)
    frame.to_parquet("columns/0.parquet", index=False)
    for k in (1, 2):
        frame.to_parquet(f"columns/{k}.parquet", index=False)
    succeed("train", "columns", "m.psvm", *TINY, "--regression")
    assert len(succeed("predict", "m.psvm", "columns").splitlines()) == 9000
    message = "train with --regression"
    refuse(["train", "columns", "other.psvm", *TINY], 1, message)


def test_a_folder_is_tuned(call, parts):
    arguments = ["-B", "4", "--c", "1,10", "--gamma", "0.1,1", "-v", "2"]
    code, out, err = call("tune", "columns", "m.psvm", *arguments, "--json")
    assert code == 0, err
    assert json.loads(out)["rows"] == 3000
    found = split(load_model("m.psvm"))[1]
    assert_allclose(found.alpha_ * 3000 * found.C, 1.0)


@pytest.mark.parametrize("decision", [False, True])
def test_predictions_as_parquet_are_those_of_text(succeed, parts, decision):
    succeed("train", "all.csv", "m.psvm", *FAST)
    more = ["--decision"] if decision else []
    text = succeed("predict", "m.psvm", "unlabelled.csv", *more)
    succeed("predict", "m.psvm", "unlabelled.csv", "-o", "out.parquet", *more)
    found = pq.read_table("out.parquet")
    assert found.column_names == ["label", "decision"][: 1 + decision]
    lines = [line.split("\t") for line in text.splitlines()]
    assert found["label"].to_pylist() == [line[0] for line in lines]
    if decision:
        assert found["decision"].to_pylist() == [float(line[1]) for line in lines]


def test_predictions_of_a_folder_are_in_the_order_of_its_files(succeed, parts):
    succeed("train", "all.csv", "m.psvm", *FAST)
    assert succeed("predict", "m.psvm", "text") == succeed("predict", "m.psvm", "all.csv")
    assert succeed("predict", "m.psvm", "columns") == succeed("predict", "m.psvm", "all.csv")


@pytest.mark.parametrize("data", ["text", "columns", "text/*.csv"])
def test_a_folder_is_evaluated_as_one_file(succeed, parts, data):
    succeed("train", "all.csv", "m.psvm", *FAST)
    expected = json.loads(succeed("evaluate", "m.psvm", "all.csv", "--json"))
    assert expected["rows"] == 3000
    assert json.loads(succeed("evaluate", "m.psvm", data, "--json")) == expected


def test_folders_that_cannot_be_evaluated_are_refused(refuse, succeed, parts):
    succeed("train", "all.csv", "m.psvm", *TINY)
    refuse(["evaluate", "m.psvm", "none/*.csv"], 1, "No file matches none/*.csv")
    weighted = ["evaluate", "m.psvm", "text", "--weights"]
    refuse([*weighted, "mass"], 1, "0.csv has no column 'mass'")
    for k in range(3):
        parts[:0].to_csv(f"text/{k}.csv", index=False)
    refuse(["evaluate", "m.psvm", "text"], 1, "0.csv and 2 more files: there are no rows")
    for k in range(3):
        parts[:10].assign(w=0).to_csv(f"text/{k}.csv", index=False)
    refuse([*weighted, "w"], 1, "2 more files: the weights of all rows are zero")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "text", "-v", "3"], 1, "-v needs all rows in memory"),
        (["train", "text", "m.psvm", "--memory", "much"], 2, "is not a size"),
        (["train", "nowhere/*.csv", "m.psvm"], 1, "No file matches nowhere/*.csv"),
        (["train", "text", "m.psvm", "--label", "size"], 1, "has no column 'size'"),
        (["train", "text", "m.psvm", "--class-weight", "up"], 2, "is not LABEL=WEIGHT"),
    ],
)
def test_what_folders_cannot_do_is_refused(refuse, parts, arguments, code, message):
    refuse(arguments, code, message)


def test_folders_are_prepared_as_files(succeed, parts):
    for data in ("all.csv", "text", "columns/*.parquet"):
        succeed("train", data, "m.psvm", *TINY, "--impute", "mean", "--memory", "1GB")
        found = load_model("m.psvm")
        assert list(found.named_steps) == ["impute", "scale", "svm"]
        assert_allclose(found["impute"].statistics_, parts[["a", "b", "c"]].mean(), rtol=1e-9)


def test_a_folder_that_fits_into_the_memory_is_one_file(call, succeed, parts):
    memory = ["--memory", "1GB"]
    for arguments in (["-v", "3"], ["m.psvm"]):
        expected = call("train", "all.csv", *arguments, *TINY)
        found = call("train", "text", *arguments, *TINY, *memory)
        assert found[2] == expected[2].replace("all.csv", "text")
    succeed("train", "all.csv", "one.psvm", *TINY)
    assert_same_model(load_model("m.psvm"), load_model("one.psvm"))
    grid = ["--c", "1,10", "--gamma", "0.1", "-v", "2"]
    assert (
        "settings are compared" not in call("tune", "text", "t.psvm", *TINY[:2], *grid, *memory)[2]
    )


def test_a_pandas_model_of_one_file_is_not_changed_by_memory(succeed, parts):
    succeed("train", "all.csv", "a.psvm", *FAST)
    succeed("train", "all.csv", "b.psvm", *FAST, "--memory", "4GB")
    assert_same_model(load_model("a.psvm"), load_model("b.psvm"))


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("2GiB", 2**31), ("500 mb", 5 * 10**8), ("1.5m", 1_500_000), ("0", 0)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


def test_wrong_sizes():
    with pytest.raises(typer.BadParameter, match="2GB"):
        parse_size("2 bytes")


@pytest.mark.parametrize("size", ["10K", "999999", "1"])
def test_a_memory_that_holds_no_rows_is_refused(refuse, parts, size):
    message = f"'{size}' is less than 1MB, the minimum"
    refuse(["train", "all.csv", "m.psvm", "--memory", size], 2, message)
