"""The benchmark of probabilities, quantiles and squared errors, on few rows."""

import pytest

from benchmarks import learners, probabilities, targets, value_learners


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    sizes = {"SEEDS": 1, "QUICK_ROWS": 300, "QUICK_BUDGET": 20}
    classes = {"MOST_TEST_ROWS": 300, "CLASS_ROWS": 300, "CLASS_TEST_ROWS": 300, "CLASSES": (3,)}
    classes |= {"C_FACTORS": (1.0, 4.0), "GAMMA_FACTORS": (1.0,)}
    values = {"N_TEST_ROWS": 300, "QUANTILE_C": (10.0,), "QUANTILE_GAMMA": (0.25, 1.0)}
    for name, value in (sizes | classes).items():
        monkeypatch.setattr(probabilities, name, value)
    for name, value in (sizes | values | {"REAL": ()}).items():
        monkeypatch.setattr(value_learners, name, value)
    monkeypatch.setattr(probabilities.registry, "DATA_SETS", ())


def test_all_tables(capsys):
    tables = learners.measure(quick=True)
    shown, quantiles, squares = tables
    (row,) = shown.rows
    assert row["data"] == "3 classes (generated)"
    assert 0 < row["log_loss"] < 1.1
    assert 0 < row["svc_log_loss"] < 1.1
    assert abs(row["accuracy"] - row["hinge_accuracy"]) < 15
    assert row["C_factor"] in (1.0, 4.0)
    assert [row["data"] for row in quantiles.rows] == ["borehole", "piston", "Ishigami"]
    assert all(row["crossed"] == 0 for row in quantiles.rows)
    assert all(0 < row["low"] < 40 < row["high"] < 100 for row in quantiles.rows)
    assert all(row["vectors"] == 30 for row in squares.rows)
    assert all(abs(row["r2"] - row["exact"]) < 0.1 for row in squares.rows)
    found = targets.targets({table.name: table.rows for table in tables})
    assert [row["met"] for row in found.rows if row["what"].startswith("R²")] == ["yes"]
    assert len(found.rows) == 6


def test_missing_files_are_skipped(monkeypatch, capsys):
    monkeypatch.setenv("POCKETSVM_DATA", "/nowhere")
    monkeypatch.setattr(value_learners, "SMOOTH", {})
    monkeypatch.setattr(value_learners, "REAL", ("cpusmall",))
    monkeypatch.setattr(probabilities, "CLASSES", ())
    assert not any(learners.measure(quick=True))
    assert "not in $POCKETSVM_DATA: cpusmall" in capsys.readouterr().out
