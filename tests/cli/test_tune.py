"""`pocketsvm tune`: the model, the map, JSON, and misuse."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import balanced_accuracy_score

from pocketsvm import (
    load_model,
)
from pocketsvm.cli import console
from pocketsvm.cli.app import run

X, Y = make_moons(600, noise=0.2, random_state=0)


@pytest.fixture
def csv(tmp_path):
    """A file of rows with names, labels and very different scales."""
    path = tmp_path / "moons.csv"
    table = pd.DataFrame(X * [1, 1000], columns=["east", "north"])
    table.assign(kind=np.where(Y, "spam", "ham")).to_csv(path, index=False)
    return path


def pocketsvm(*arguments):
    return run([str(argument) for argument in arguments])


FEW = ("-B", 20, "--max-iter", 2, "--scale", "standard", "-v", 3)


def test_the_command_saves_the_model_that_train_would(csv, tmp_path, capsys):
    tuned, trained = tmp_path / "tuned.psvm", tmp_path / "trained.psvm"
    assert pocketsvm("tune", csv, tuned, *FEW, "-c", "2^-5,8", "-g", "0.001,1", "-q") == 0
    assert capsys.readouterr() == ("", "")
    fitted = (*FEW[:-2], "-c", 8, "-g", 1, "-q")
    assert pocketsvm("train", csv, trained, *fitted) == 0
    rows = pd.read_csv(csv)[["east", "north"]]
    one, other = load_model(tuned), load_model(trained)
    assert_array_equal(one.decision_function(rows), other.decision_function(rows))


def test_the_command_prints_a_map_and_the_best(csv, tmp_path, capsys):
    plot = tmp_path / "map.svg"
    grid = ("--log2c", "-3,3,3", "-g", "2^-9,2^0", "--plot", plot)
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid) == 0
    printed, said = capsys.readouterr()
    lines = printed.splitlines()
    assert lines[0].split() == ["C", "\\", "gamma", "2^-9", "2^0"]  # the longer axis goes down
    assert [line.split()[0] for line in lines[1:4]] == ["2^3", "2^0", "2^-3"]
    assert printed.count("*") == 1
    assert re.search(r"^best: C \S+, gamma 1, budget 20: accuracy 0.9\d+ \(3 folds\)", lines[4])
    assert "6 candidates on 3 folds of 400 training rows" in said
    assert "<svg" in plot.read_text()


def test_the_progress_names_the_round_and_promises_no_end_of_it(csv, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    grid = ("--log2c", "-3,9,2", "-g", "2^-1,2^0")
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid) == 0
    lines = capsys.readouterr().err.splitlines()
    rounds = [line for line in lines if line.startswith("tuning")]
    numbers = [int(re.match(r"tuning: round (\d+): \d+%, ", line)[1]) for line in rounds]
    assert sorted(set(numbers)) == [1, 2, 3] == list(dict.fromkeys(numbers))
    assert not any("left" in line for line in rounds)
    assert any(re.match("training: .* left$", line) for line in lines)


def test_the_command_speaks_json(csv, tmp_path, capsys):
    grid = ("-c", "1,8", "-g", "0.1,1", "--scoring", "balanced_accuracy", "--json")
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["candidates"]) == 4
    best = max(found["candidates"], key=lambda candidate: candidate["score"])
    assert found["score"] == best["score"]
    assert found["best"] == {name: best[name] for name in ("c", "gamma", "budget", "loss")}
    assert {candidate["rows"] for candidate in found["candidates"]} == {600}
    assert found["scoring"] == "balanced_accuracy"


def test_the_command_tunes_regressions(tmp_path, capsys):
    path = tmp_path / "sine.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=np.sin(3 * X[:, 0])).to_csv(path, index=False)
    grid = ("-c", "0.01,10", "-g", "0.0001,1", "-B", 20, "--max-iter", 2, "-v", 3, "-p", 0.01)
    assert pocketsvm("tune", path, tmp_path / "a.psvm", *grid, "--regression", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scoring"], found["best"]["c"], found["best"]["gamma"]) == ("r2", 10, 1)
    assert load_model(tmp_path / "a.psvm")["svm"].epsilon == 0.01
    assert pocketsvm("tune", path, tmp_path / "b.psvm", "--regression", "-w1", 2) == 2


def test_scores_of_small_copies_stand_in_parentheses(tmp_path, capsys):
    rows, y = make_moons(3000, noise=0.2, random_state=0)
    path = tmp_path / "moons.csv"
    pd.DataFrame(rows).assign(label=y).to_csv(path, index=False, header=False)
    grid = ("-c", "1,8,64", "-g", "1,4", "-B", 10, "--max-iter", 1, "-v", 2)
    assert pocketsvm("tune", path, tmp_path / "a.psvm", *grid) == 0
    printed, said = capsys.readouterr()
    assert len(re.findall(r"\(\.\d{3}\)", printed)) == 5
    assert "(in parentheses: scored on fewer rows)" in printed
    assert "2 candidates on 1 fold of 1,500 training rows" in said
    assert "1 candidate on 1 fold of 1,500 training rows" in said


def test_the_model_is_tested_on_other_rows(csv, tmp_path, capsys):
    grid = ("-c", 8, "-g", 1, "--test", csv)
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid) == 0
    assert re.search(r"^test accuracy 9\d\.\d+% \(", capsys.readouterr().out, re.MULTILINE)
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid, "--json") == 0
    assert json.loads(capsys.readouterr().out)["test"]["accuracy"] > 0.9


def test_a_smaller_budget_is_chosen(csv, tmp_path, capsys):
    grid = ("-c", 8, "-g", 1, "--auto-budget", "--json")
    assert pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["budget"] == found["vectors"] < 150


def test_a_search_that_was_killed_goes_on(csv, tmp_path):
    """The checkpoint keeps scores, and both of its files go in the end."""
    kept = tmp_path / "a.checkpoint"
    grid = ("-c", 8, "-g", 1, "--checkpoint", kept, "--every", "0s", "-q")
    for name in ("a", "b"):
        assert pocketsvm("tune", csv, tmp_path / f"{name}.psvm", *FEW, *grid) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.psvm", "b.psvm", "moons.csv"]


@pytest.mark.parametrize("scoring", ["f1", "average_precision"])
def test_rows_on_disk_have_the_scores_of_rows_in_memory(scoring, tmp_path, capsys):
    """A rare class has all of its rows in a sample: they count as few among the others."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(200_000, 4)).round(3)
    value = rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.3 * random.normal(size=len(rows))
    path = tmp_path / "rare.csv"
    table = pd.DataFrame(rows, columns=list("abcd"))
    table.assign(label=(value > np.quantile(value, 0.995)).astype(int)).to_csv(path, index=False)
    given = ("-B", 40, "-c", 8, "-g", "0.125", "--scoring", scoring, "--json")
    found = []
    for memory in ("1G", "1M"):
        more = ("--memory", memory, "--test", path)
        assert pocketsvm("tune", path, tmp_path / "a.psvm", *given, *more) == 0
        found.append(json.loads(capsys.readouterr().out))
    scores = [each["score"] for each in found]
    assert abs(scores[0] - scores[1]) < 0.02
    assert pocketsvm("tune", path, tmp_path / "a.psvm", *given, "--memory", "1M") == 0
    assert re.search(r"compared on 128,\d+ of 200,000 rows", capsys.readouterr().err)


def test_three_classes_on_disk_have_the_score_of_their_model(tmp_path, capsys):
    random = np.random.default_rng(0)
    rows = random.normal(size=(90_000, 4)).round(3)
    value = rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.5 * random.normal(size=len(rows))
    path = tmp_path / "three.csv"
    kinds = np.digitize(value, np.quantile(value, [0.9, 0.99]))
    pd.DataFrame(rows, columns=list("abcd")).assign(label=kinds).to_csv(path, index=False)
    given = ("-B", 30, "-c", "0.5,8,128", "-g", "0.125", "--scoring", "balanced_accuracy")
    assert pocketsvm("tune", path, tmp_path / "a.psvm", *given, "--memory", "1M", "--json") == 0
    score = json.loads(capsys.readouterr().out)["score"]
    model, x = load_model(tmp_path / "a.psvm"), pd.DataFrame(rows, columns=list("abcd"))
    predicted = model.predict(x).astype(float)
    # A little more on the rows that the model was trained on.
    assert -0.02 < balanced_accuracy_score(kinds, predicted) - score < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-c", "1,zero"], "'zero' is not a positive number"),
        (["-c", "-1"], "'-1' is not a positive number"),
        (["-g", "2^9999"], "'2^9999' is not a positive number"),
        (["--log2c", "1,2"], "'1,2' is not BEGIN,END,STEP"),
        (["--log2c", "1,2,0"], "'1,2,0' is not BEGIN,END,STEP"),
        (["--log2g", "1,9,-1"], "'1,9,-1' is not BEGIN,END,STEP"),
        (["-c", "1", "--log2c", "1,2,1"], "--c or --log2c, not both"),
        (["--scoring", "luck"], "no score 'luck'"),
        (["--plot", "map.doc"], "'map.doc' ends in none of"),
        (["--plot", "a.png"], "the model is written to a.png"),
        (["-v", "1"], "Invalid value for '-v'"),
        (["-B", "1"], "Invalid value for '--budget'"),
        (["--scale", "log"], "'log' is not one of 'none'"),
    ],
)
def test_misuse_is_named_before_the_work(arguments, message, csv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert pocketsvm("tune", csv, "a.png", *arguments) == 2
    said = re.sub(r"[│\s]+", " ", capsys.readouterr().err)
    assert message in said
    assert "600 rows" not in said
    assert not (tmp_path / "a.png").exists()


def test_what_fails_leaves_nothing_behind(csv, tmp_path, capsys):
    model = tmp_path / "a.psvm"
    grid = ("-c", 1, "-g", 1)
    assert pocketsvm("tune", csv, model, "-v", 400, *grid) == 1
    assert pocketsvm("tune", csv, tmp_path / "no" / "a.psvm", *grid) == 1
    assert pocketsvm("tune", tmp_path / "none.csv", model, *grid) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["moons.csv"]
    said = capsys.readouterr().err
    assert "There is no folder" in said
    content = csv.read_bytes()
    assert pocketsvm("tune", csv, csv, *grid) == 2
    assert pocketsvm("tune", csv, model, *grid, "--plot", csv) == 2
    assert csv.read_bytes() == content


def test_the_map_fits_a_terminal(tmp_path, capsys):
    """Columns far from the best are left out, and counted."""
    path = tmp_path / "iris.csv"
    load_iris(as_frame=True).frame.to_csv(path, index=False)
    grid = ("--log2c", "-8,7,1", "--log2g", "-12,2,1")
    assert (
        pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 8, "-v", 2, "--polish", "no", *grid) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    n_columns = len(lines[0].split()) - 3
    below = [line for line in lines[1:] if re.match(r" *2\^", line)]
    assert len(below) == 16
    assert {len(line) for line in below} == {len(lines[0])}
    assert 65 < len(lines[0]) <= 80
    assert sum(line.count("*") for line in below) == 1
    assert f"({15 - n_columns} values of gamma farther from the best not shown" in lines[17]


def test_only_given_values_may_be_better_beyond_the_border(tmp_path, capsys):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"])
    path = tmp_path / "line.csv"
    rows.assign(kind=(rows.a > 0).astype(int)).to_csv(path, index=False)
    hint = "the best C is the largest one tried"
    assert pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 20) == 0
    assert hint not in capsys.readouterr().out
    assert pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 20, "-c", "0.01,1") == 0
    assert f"{hint}: others beyond it may be better" in capsys.readouterr().out.splitlines()
