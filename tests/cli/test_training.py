"""The rows of ``train`` and ``tune``: standard input, compressed text, labels and their weights."""

import gzip
import io
import json
import tempfile

import numpy as np
import pandas as pd
import pytest

from pocketsvm import load_model
from pocketsvm.cli import training

from .files import FAST, assert_same_model


@pytest.fixture
def give(monkeypatch):
    """A function that gives bytes to commands as standard input."""

    def give(content):
        stream = io.BytesIO(content)
        monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream}))

    return give


@pytest.mark.parametrize("name", ["moons.txt", "blobs.csv", "blobs.csv.gz"])
def test_standard_input_is_trained_on_as_a_file(
    succeed, call, folder, moons, blobs, give, name, monkeypatch
):
    path, temporary = folder / name, folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress((folder / "blobs.csv").read_bytes()))
    succeed("train", name, "file.psvm", *FAST)
    give(path.read_bytes())
    code, _, err = call("train", "-", "input.psvm", *FAST)
    assert code == 0
    assert err.startswith("standard input: 300 rows, ")
    assert_same_model(load_model("file.psvm"), load_model("input.psvm"))
    give(path.read_bytes())
    expected = succeed("train", name, *FAST, "-v", 3)
    assert succeed("train", "-", *FAST, "-v", 3) == expected
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,y\n1,2,x\n3,oops,x\n", "standard input, row 3, column 'b': 'oops' is not a number"),
        (b"1 1:2\n1 x:3\n", "standard input, line 2, column 3: expected an integer index"),
        (b"a,b,y\n", "standard input holds no rows"),
        (b"", "standard input"),
    ],
)
def test_errors_call_it_standard_input(refuse, give, content, message):
    give(content)
    refuse(["train", "-", "m.psvm"], 1, message)


def test_a_file_without_rows_is_refused(refuse, folder):
    (folder / "a.csv").write_text("a,b,y\n")
    for more in ([], ["--memory", "0"]):
        refuse(["train", "a.csv", "m.psvm", *more], 1, "a.csv holds no rows")


def test_compressed_text_that_turns_out_larger_than_the_memory_goes_to_the_disk(
    call, folder, monkeypatch
):
    """The size of a compressed file is a bad guess at that of its rows."""
    monkeypatch.setattr(training, "LEAST_MEMORY", 1)
    kinds = (b"u", b"v")
    text = b"".join(b"%d,%d,%s\n" % (k % 7, k % 5, kinds[k % 2]) for k in range(10_000))
    (folder / "rows.csv").write_bytes(text)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(text))
    n_bytes = (folder / "rows.csv.gz").stat().st_size
    assert len(text) > 40 * n_bytes
    code, _, err = call("train", "rows.csv.gz", "m.psvm", *FAST, "--memory", 50 * n_bytes)
    assert code == 0
    assert "temporary cache of" in err
    code, _, err = call("train", "rows.csv", "n.psvm", *FAST)
    assert "temporary cache of" not in err
    assert_same_model(load_model("m.psvm"), load_model("n.psvm"))


@pytest.mark.parametrize("memory", ["1GB", "0"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        ([1, 2], ["2=3"], {2: 3.0}),
        (["1", "01"], ["01=3"], {"01": 3.0}),
        (["one", "two"], ["one=0.5", "two=2"], {"one": 0.5, "two": 2.0}),
    ],
)
def test_weights_of_classes_go_by_their_labels(
    succeed, refuse, memory, kind, labels, given, expected
):
    X = np.random.default_rng(0).normal(size=(300, 2)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] > 0, *labels))
    getattr(frame, {"csv": "to_csv", "parquet": "to_parquet"}[kind])(f"rows.{kind}", index=False)
    options = [*FAST, "--scale", "none", "--memory", memory]
    weights = [part for each in given for part in ("--class-weight", each)]
    succeed("train", f"rows.{kind}", "m.psvm", *options, *weights)
    assert load_model("m.psvm").class_weight == expected
    train = ["train", f"rows.{kind}", "n.psvm", *options, "--class-weight"]
    refuse([*train, "7=2"], 2, "no class is labelled '7'; there are")
    refuse([*train, "oak=2"], 2, "no class is labelled 'oak'; there are")


def test_labels_that_look_like_numbers_are_questioned_in_batches_too(refuse, folder):
    X = np.random.default_rng(0).normal(size=(300, 2)).round(3)
    for k in (0, 1):
        (folder / "rows").mkdir(exist_ok=True)
        pd.DataFrame(X, columns=["a", "b"]).to_parquet(f"rows/{k}.parquet", index=False)
    message = "is not a class label, which is a whole number or a word. To predict such numbers"
    refuse(["train", "rows", "m.psvm"], 1, message)
    refuse(["train", "rows", "m.psvm"], 1, "taken from column 'b'; if it is another, say --label")


def test_a_class_without_weight_is_left_out(succeed, folder, blobs):
    text = (folder / "blobs.csv").read_text()
    for label, number in (("oak", "+7"), ("elm", "8.0"), ("ash", "9")):
        text = text.replace(label, number)
    (folder / "numbers.csv").write_text(text)
    for data, left_out, others in (("blobs", "elm", ["ash", "oak"]), ("numbers", "8", ["+7", "9"])):
        weight = [*FAST, "--class-weight", f"{left_out}=0"]
        folds = json.loads(succeed("train", f"{data}.csv", "-v", 3, *weight, "--json"))
        assert (folds["rows"], folds["unknown_labels"]) == (300, 100)
        found = json.loads(succeed("train", f"{data}.csv", "m.psvm", *weight, "--json"))
        assert found["classes"] == others
        scores = json.loads(succeed("evaluate", "m.psvm", f"{data}.csv", "--json"))
        assert scores["unknown_labels"] == 100
        assert abs(scores["accuracy"] - folds["accuracy"]) < 0.1
