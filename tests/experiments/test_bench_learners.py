"""The benchmark of probabilities, quantiles and squared errors, on few rows."""

import pytest

from pocketsvm.experiments.bench import learners


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    sizes = {"SEEDS": 1, "QUICK_ROWS": 300, "MOST_ROWS": 300, "QUICK_BUDGET": 20}
    sizes |= {"MOST_TEST_ROWS": 300, "VALUE_TEST_ROWS": 300, "CLASSES": (3,)}
    sizes |= {"VALUE_C": (10.0,), "VALUE_GAMMA": (0.25, 1.0), "C_FACTORS": (1.0, 4.0)}
    for name, value in sizes.items():
        monkeypatch.setattr(learners, name, value)
    monkeypatch.setattr(learners, "available", lambda quick: [])
    monkeypatch.setattr(learners, "TUNED", ())


def test_all_tables(capsys):
    probabilities, quantiles, squares = learners.measure(quick=True)
    (row,) = probabilities.rows
    assert row["data"] == "3 classes (generated)"
    assert 0 < row["log_loss"] < 1.1
    assert 0 < row["svc_log_loss"] < 1.1
    assert abs(row["accuracy"] - row["hinge_accuracy"]) < 15
    assert row["factor"] in (1.0, 4.0)
    assert [row["data"] for row in quantiles.rows] == ["friedman1", "friedman2", "friedman3"]
    assert all(row["crossed"] == 0 for row in quantiles.rows)
    assert all(0 < row["low"] < 40 < row["high"] < 100 for row in quantiles.rows)
    assert all(row["vectors"] == 30 for row in squares.rows)
    assert all(abs(row["r2"] - row["exact"]) < 0.1 for row in squares.rows)
