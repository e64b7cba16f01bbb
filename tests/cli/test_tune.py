"""`pocketsvm tune`: the model, the map, JSON, and misuse."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, make_moons

from pocketsvm import (
    load_model,
)
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
    assert lines[4] == "(in parentheses: dropped early, scored on fewer rows)"
    assert re.search(r"^best: C \S+, gamma 1, budget 20: accuracy 0.9\d+ \(3 folds\)", lines[5])
    assert max(map(len, lines[:5])) <= 80
    assert "fold 1 of 3: 6 candidates" in said
    assert "<svg" in plot.read_text()


def test_the_command_speaks_json(csv, tmp_path, capsys):
    grid = ("-c", 1, "-g", "0.1,1", "--budgets", "5,20", "--scoring", "balanced_accuracy")
    assert (
        pocketsvm("tune", csv, tmp_path / "a.psvm", *FEW, *grid, "--search", "grid", "--json") == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert len(found["candidates"]) == 4
    best = max(found["candidates"], key=lambda candidate: candidate["score"])
    assert found["score"] == best["score"]
    assert found["best"] == {name: best[name] for name in ("c", "gamma", "budget")}
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


def test_scores_of_dropped_candidates_stand_in_parentheses(tmp_path, capsys):
    rows, y = make_moons(3000, noise=0.2, random_state=0)
    path = tmp_path / "moons.csv"
    pd.DataFrame(rows).assign(label=y).to_csv(path, index=False, header=False)
    grid = ("-c", "1,8", "-g", "1,4", "-B", 10, "--max-iter", 1, "-v", 2, "--search", "halving")
    assert pocketsvm("tune", path, tmp_path / "a.psvm", *grid) == 0
    printed, said = capsys.readouterr()
    assert len(re.findall(r"\(\.\d{3}\)", printed)) == 2
    assert "round 2 of 2: 2 candidates, 4 fits" in said


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
        (["--budgets", "1,5"], "'1,5' is not a list of budgets"),
        (["--search", "random"], "'random' is not one of 'race', 'halving', 'grid'"),
        (["--scoring", "luck"], "no score 'luck'"),
        (["--plot", "map.doc"], "'map.doc' ends in none of"),
        (["--plot", "a.png"], "a.png is the model, too"),
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
    assert "there is no folder" in said
    content = csv.read_bytes()
    assert pocketsvm("tune", csv, csv, *grid) == 2
    assert pocketsvm("tune", csv, model, *grid, "--plot", csv) == 2
    assert csv.read_bytes() == content


def test_the_command_says_what_decided_and_does_not_wrap_the_map(tmp_path, capsys):
    """Many accuracies of the irises are equal, and the range of C grows."""
    path = tmp_path / "iris.csv"
    load_iris(as_frame=True).frame.to_csv(path, index=False)
    assert pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 20) == 0
    lines = capsys.readouterr().out.splitlines()
    n_columns = len(lines[0].split()) - 3
    assert n_columns > 10
    below = [line for line in lines[1:] if re.match(r" *2\^", line)]
    assert {len(line.split()) for line in below} == {1 + n_columns}
    cells = [text for line in below for text in line.split()[1:]]
    scores = [float(text.rstrip("*")) for text in cells if re.fullmatch(r"0?\.\d+\*?", text)]
    (best,) = (float(text.rstrip("*")) for text in cells if text.endswith("*"))
    decided = (
        f"accuracies from {best:.3f} to {max(scores):.3f} differ by chance: the log loss decided"
    )
    assert decided in lines


def test_only_given_values_may_be_better_beyond_the_border(tmp_path, capsys):
    """Without noise, the search itself ends at the largest C that it tries."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"])
    path = tmp_path / "line.csv"
    rows.assign(kind=(rows.a > 0).astype(int)).to_csv(path, index=False)
    hint = "the best C is the largest one tried"
    assert pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 20) == 0
    assert hint in capsys.readouterr().out.splitlines()
    assert pocketsvm("tune", path, tmp_path / "a.psvm", "-B", 20, "-c", "0.01,1") == 0
    assert f"{hint}: others beyond it may be better" in capsys.readouterr().out.splitlines()
