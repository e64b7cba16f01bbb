"""``--feature-scales`` of `train` and `tune`, and ``train --plot``."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, load_model

from .files import FAST, assert_same_model, write_csv

RUN = ("train", "blobs.csv", "m.psvm", *FAST)


@pytest.fixture
def noisy(folder):
    """noisy.csv: the first of four columns tells the class."""
    X = np.random.default_rng(0).normal(size=(1200, 4)).round(4)
    labels = np.where(np.sin(2 * X[:, 0]) > 0, "up", "down")
    write_csv(folder / "noisy.csv", [*"abcd", "way"], X, labels)


@pytest.mark.parametrize("given", ["2,1,0.5", "scales.txt", "lines.txt"])
def test_numbers_are_a_list_or_a_file(succeed, folder, blobs, given):
    (folder / "scales.txt").write_text("2, 1 0.5\n")
    (folder / "lines.txt").write_text("2\n1\n0.5\n")
    succeed(*RUN, "--feature-scales", given)
    clf = BudgetedSVC(20, max_iter=3, random_state=0, feature_scales=[2.0, 1.0, 0.5])
    assert_same_model(load_model("m.psvm"), make_pipeline(StandardScaler(), clf).fit(*blobs))


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        ("often", "'often' is not none, learn or auto, and neither numbers with commas nor", 2),
        ("1,2,x", "'1,2,x' is not none, learn or auto", 2),
        ("1,-2,1", "feature 1 (counted from 0) is -2.0", 2),
        ("0,0,0", "All feature_scales are zero", 2),
        ("words.txt", "'word' in words.txt is not a number", 2),
        ("1,2", "feature_scales has 2 numbers, but the kernel sees 3 features", 1),
    ],
)
def test_other_values_are_refused(refuse, folder, blobs, given, message, code):
    (folder / "words.txt").write_text("1 word 2")
    refuse([*RUN, "--feature-scales", given, "-q"], code, message)


def test_a_task_without_labels_learns_nothing(refuse, noisy):
    message = "rows without labels do not tell which features matter"
    train = ("train", "noisy.csv", "m.psvm", "--drop", "way")
    refuse([*train, "--one-class", "--feature-scales", "learn", "-q"], 1, message)


def test_learnt_scales_are_kept_shown_and_drawn(succeed, noisy):
    train = ("train", "noisy.csv", "m.psvm", "--budget", 20, "--plot", "m.svg")
    succeed(*train, "--feature-scales", "learn")
    scales = load_model("m.psvm")[-1].feature_scales_
    assert scales.argmax() == 0
    found = json.loads(succeed("inspect", "m.psvm", "--json"))["feature_scales"]
    order = np.argsort(-scales)
    assert list(found) == ["abcd"[k] for k in order]
    assert list(found.values()) == scales[order].tolist()
    shown = " ".join(succeed("inspect", "m.psvm").split())
    assert f"feature scales a {scales[0]:.3g}, " in shown
    with open("m.svg") as file:
        picture = file.read()
    assert "<!-- feature scales -->" in picture
    assert "<!-- where " in picture
    succeed(*train)
    with open("m.svg") as file:
        picture = file.read()
    assert "<!-- feature scales -->" not in picture
    assert "<!-- where " in picture
    assert json.loads(succeed("inspect", "m.psvm", "--json"))["feature_scales"] is None


@pytest.mark.parametrize(
    ("data", "given", "begin"),
    [
        ("noisy.csv", "auto", "learnt: "),
        ("noisy.csv", "learn", "learnt: "),
        ("blobs.csv", "auto", "one gamma: fewer than"),
    ],
)
def test_what_was_decided_is_told(succeed, noisy, blobs, data, given, begin):
    train = ("train", data, "m.psvm", *FAST, "--feature-scales", given)
    found = json.loads(succeed(*train, "--json"))["feature_scales"]
    assert found == load_model("m.psvm")[-1].profile_.scales
    assert found.startswith(begin)
    assert f"feature scales: {found}" in " ".join(succeed(*train).split())


def test_nothing_is_told_if_nothing_was_to_be_learnt(succeed, blobs):
    assert json.loads(succeed(*RUN, "--json"))["feature_scales"] is None
    assert "feature scales" not in succeed(*RUN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["m.psvm", "--plot", "m.doc"], "'m.doc' ends in none of"),
        (["m.png", "--plot", "m.png"], "the model is written to m.png"),
        (["-v", "3", "--plot", "m.png"], "-v writes no model to draw"),
        (["m.psvm", "--plot", "blobs.csv"], "blobs.csv is an input of this command"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused(refuse, blobs, options, message):
    refuse(["train", "blobs.csv", *options], 2, message)


def test_a_search_compares_both(succeed, noisy):
    grid = ("--budget", 10, "-v", 3, "-c", "1")
    run = ("tune", "noisy.csv", "m.psvm", *grid, "--feature-scales", "auto")
    found = json.loads(succeed(*run, "--json"))
    assert found["best"]["feature_scales"] == "learn"
    assert {each["feature_scales"] for each in found["candidates"]} == {None, "learn"}
    assert "feature scales learnt: accuracy" in " ".join(succeed(*run).split())
    assert load_model("m.psvm")[-1].feature_scales == "learn"


def test_a_search_takes_numbers(succeed, blobs):
    grid = ("--budget", 10, "-v", 3, "-c", "1", "-g", "0.5")
    succeed("tune", "blobs.csv", "m.psvm", *grid, "--feature-scales", "1,0,2")
    assert_array_equal(load_model("m.psvm")[-1].feature_scales_, [1.0, 0.0, 2.0])
