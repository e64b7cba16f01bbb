"""The command line with other losses: probabilities and quantiles."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import brier_score_loss, log_loss, mean_pinball_loss

from pocketsvm import load_model
from pocketsvm.metrics import expected_calibration_error

from .files import FAST, write_csv


@pytest.fixture
def wedge(folder):
    """Write wedge.csv, whose noise grows with a feature; return rows and targets."""
    random = np.random.default_rng(0)
    X = np.round(random.uniform(size=(400, 2)), 5)
    y = np.round(X[:, 0] + (0.1 + X[:, 0]) * random.normal(size=400), 5)
    write_csv(folder / "wedge.csv", ["a", "b", "y"], X, map(repr, y.tolist()))
    return X, y


def test_probabilities_of_three_classes(succeed, folder, blobs):
    succeed("train", "blobs.csv", "m.psvm", *FAST, "--loss", "log_loss")
    model, X, labels = load_model("m.psvm"), blobs[0], np.array(blobs[1])
    expected = model.predict_proba(pd.DataFrame(X, columns=["a", "b", "c"]))
    lines = [
        line.split("\t")
        for line in succeed("predict", "m.psvm", "blobs.csv", "--proba").splitlines()
    ]
    assert_array_equal([line[0] for line in lines], model.classes_[expected.argmax(axis=1)])
    assert_allclose(np.array([line[1:] for line in lines], dtype=float), expected, rtol=1e-4)
    rows = json.loads(succeed("predict", "m.psvm", "blobs.csv", "--proba", "--json"))
    assert_allclose([row["probability"] for row in rows], expected, rtol=1e-4)
    succeed("predict", "m.psvm", "blobs.csv", "--proba", "--decision", "-o", "out.parquet")
    names = ["label"] + [
        f"{kind}_{k}" for kind in ("decision", "probability") for k in model.classes_
    ]
    assert list(pd.read_parquet("out.parquet").columns) == names
    found = json.loads(succeed("evaluate", "m.psvm", "blobs.csv", "--json"))
    assert found["log_loss"] == pytest.approx(log_loss(labels, expected), rel=1e-4)
    error = expected_calibration_error(labels, expected)
    assert found["calibration_error"] == pytest.approx(error, rel=1e-2)
    squares = np.square(expected - (labels[:, None] == model.classes_)).sum(axis=1).mean()
    assert found["brier"] == pytest.approx(squares, rel=1e-4)
    assert "expected calibration error" in succeed("evaluate", "m.psvm", "blobs.csv")


def test_probabilities_of_two_classes(succeed, folder, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST, "--loss", "log_loss")
    X, spelled = moons
    truth = np.array([label == "+1" for label in spelled])
    likely = load_model("m.psvm").predict_proba(X)[:, 1]
    found = json.loads(succeed("evaluate", "m.psvm", "moons.txt", "--json"))
    assert found["log_loss"] == pytest.approx(log_loss(truth, likely), rel=1e-4)
    assert found["brier"] == pytest.approx(brier_score_loss(truth, likely), rel=1e-4)
    folds = json.loads(
        succeed("train", "moons.txt", "-v", "3", *FAST, "--loss", "log_loss", "--json")
    )
    assert 0 < folds["log_loss"] < 0.5


def test_quantiles(succeed, folder, wedge):
    X, y = wedge
    given = ["--regression", "--quantiles", "0.1,0.5,0.9"]
    succeed("train", "wedge.csv", "m.psvm", *FAST, *given)
    predicted = load_model("m.psvm").predict(pd.DataFrame(X, columns=["a", "b"]))
    lines = succeed("predict", "m.psvm", "wedge.csv").splitlines()
    assert_allclose([list(map(float, line.split("\t"))) for line in lines], predicted, rtol=1e-4)
    succeed("predict", "m.psvm", "wedge.csv", "-o", "out.parquet")
    names = ["prediction_0.1", "prediction_0.5", "prediction_0.9"]
    assert list(pd.read_parquet("out.parquet").columns) == names
    found = json.loads(succeed("evaluate", "m.psvm", "wedge.csv", "--json"))
    for k, row in enumerate(found["quantiles"]):
        assert row["quantile"] == [0.1, 0.5, 0.9][k]
        loss = mean_pinball_loss(y, predicted[:, k], alpha=row["quantile"])
        assert row["pinball"] == pytest.approx(loss, rel=1e-4)
        assert abs(row["coverage"] - row["quantile"]) < 0.08
    assert "below the 0.9 quantile" in succeed("evaluate", "m.psvm", "wedge.csv")
    folds = json.loads(succeed("train", "wedge.csv", "-v", "3", *FAST, *given, "--json"))
    assert folds["pinball"] < 2 * found["pinball"]


def test_one_quantile_and_other_losses(succeed, folder, wedge):
    for more in (["--quantiles", "0.9"], ["--loss", "squared_error"], ["--loss", "huber"]):
        succeed("train", "wedge.csv", "m.psvm", *FAST, "--regression", *more)
        assert len(succeed("predict", "m.psvm", "wedge.csv").splitlines()) == 400
        scores = json.loads(succeed("evaluate", "m.psvm", "wedge.csv", "--json"))
        assert ("pinball" if "--quantiles" in more else "r2") in scores
    succeed("predict", "m.psvm", "wedge.csv", "-o", "out.parquet")
    assert list(pd.read_parquet("out.parquet").columns) == ["prediction"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regression", "--quantiles", "0.9,0.1"], "numbers between 0 and 1 that increase"),
        (["--regression", "--quantiles", "0.5,x"], "numbers between 0 and 1 that increase"),
        (["--regression", "--quantiles", "1.5"], "numbers between 0 and 1 that increase"),
        (["--quantiles", "0.5"], "quantiles need --regression"),
        (["--regression", "--loss", "huber", "--quantiles", "0.5"], "the loss quantile"),
        (["--loss", "huber"], "'loss' parameter of BudgetedSVC must be"),
        (["--regression", "--loss", "log_loss"], "'loss' parameter of BudgetedSVR must be"),
        (["--rank", "--loss", "hinge"], "models trained with --rank have no such parameter"),
    ],
)
def test_wrong_losses_are_refused(refuse, wedge, arguments, message):
    refuse(["train", "wedge.csv", "m.psvm", *FAST, *arguments], 2, message)


def test_probabilities_of_a_hinge_model_are_refused(succeed, refuse, moons):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    refuse(["predict", "m.psvm", "moons.txt", "--proba"], 2, "train one with --loss log_loss")


def test_tune_takes_the_losses_of_train(succeed, call, folder, blobs):
    given = ("--c", "1,10", "--gamma", "0.1", "-v", "3", "--budget", "20")
    succeed("tune", "blobs.csv", "m.psvm", *given, "--loss", "log_loss", "--no-intercept")
    model = load_model(folder / "m.psvm")[-1]
    assert model.loss == "log_loss"
    assert not model.intercept_.any()
    assert (
        "quantiles need --regression"
        in call("tune", "blobs.csv", "m.psvm", *given, "--quantiles", "0.1,0.9")[2]
    )


def test_tune_names_the_score_of_quantiles(succeed, folder, wedge):
    given = ("--regression", "--c", "1", "--gamma", "0.1", "-v", "3", "--budget", "20", "--json")
    for loss, name in (("quantile", "d2_pinball_score"), ("huber", "r2")):
        found = json.loads(succeed("tune", "wedge.csv", "m.psvm", *given, "--loss", loss))
        assert found["scoring"] == name
