"""The benchmark of the search: guesses for gamma, and what selection explains."""

import numpy as np
import pytest

from benchmarks import data_sets, defaults, guesses, small_sets, tuning
from benchmarks.data_sets import SMALL_CLASSIFICATIONS, SMALL_REGRESSIONS
from benchmarks.datasets import functions
from benchmarks.guesses import jacobian, median, scale
from benchmarks.small_sets import selection_bias

NAN = np.nan


def test_selection_explains_what_the_best_of_each_fold_scores_more():
    scores = np.array([[0.9, 0.7], [0.7, 0.8], [0.8, 0.7], [1.0, NAN]])
    # The first candidate is the best one. In the second fold, another one scores 0.1 more.
    assert selection_bias(scores) == pytest.approx(0.05)
    assert selection_bias(scores[:1]) == 0


def test_guesses_of_gamma():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    assert scale(X) == pytest.approx(1 / 2)
    assert median(X) == pytest.approx(1 / 4)  # distances 1, 1, 1, 1, 2, 2, 2, 3, 3, 4
    # sigma = sqrt(2) / pi * 4 / (4 - 1)
    assert jacobian(X) == pytest.approx(1 / (2 * (2**0.5 / np.pi * 4 / 3) ** 2))
    assert jacobian(3 * X) == pytest.approx(jacobian(X) / 9)
    # A square of side 1: the largest distance is the diagonal, and (5 - 1)^(1/2) - 1 = 1.
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    assert jacobian(square) == pytest.approx(np.pi**2 / 8)


def test_totals_compare_guesses_with_the_default():
    table = guesses.table()
    table.progress = False
    table.add(data="a", tuned=90.0, scale=3.0, quarter=4.0, median=1.0, jacobian=3.0)
    table.add(data="b", tuned=90.0, scale=1.0, quarter=0.0, median=1.0, jacobian=9.0)
    guesses.add_totals(table)
    rows = {row["data"]: row for row in table.rows}
    assert (rows["mean"]["scale"], rows["worst"]["jacobian"]) == (2.0, 9.0)
    assert (rows["best on"]["quarter"], rows["best on"]["median"]) == (1.0, 1.0)
    assert rows['better than "scale" on']["median"] == 1.0
    assert rows['mean gain over "scale"']["median"] == 1.0
    assert rows["its standard error"]["median"] == pytest.approx(1.0)


def test_units_of_a_data_set_make_one_row():
    rows = [
        {"searches": {"data": "letter", "ratio": 8.0}},
        {"searches": {"data": "letter", "trees": 96.0}},
    ]
    searches, *others = tuning.assembled(rows, 8)
    assert searches.rows == [{"data": "letter", "ratio": 8.0, "trees": 96.0}]
    assert "8 data sets were measured at a time" in searches.note
    assert not any(others)


def test_there_are_ten_small_data_sets_of_each_kind():
    for found in (SMALL_CLASSIFICATIONS, SMALL_REGRESSIONS):
        assert len(found) == 10
        for load in found.values():
            if (rows := load()) is not None:
                X, y = rows
                assert len(X) == len(y) <= 600


@pytest.mark.parametrize(
    ("measure", "name"),
    [(guesses.rows, "ADULT"), (small_sets.rows, "ADULT"), (defaults.rows, "letter")],
)
def test_missing_files_are_skipped(measure, name, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("POCKETSVM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert measure(name, True) == {}
    assert f"not in $POCKETSVM_DATA: {name}" in capsys.readouterr().out


def test_searches_are_compared_with_default_settings(monkeypatch):
    monkeypatch.setitem(defaults.SETS, "waves", data_sets.made(functions.waves, 200, noise=0.1))
    row = defaults.rows("waves", quick=True)["defaults"]
    assert row["rows"] == 150
    assert row["gain"] > 0
    assert row["gain"] == pytest.approx(row["alike"] - row["default"])
    assert row["more"] == row["more_error"] == 0  # too few rows to learn scales
    assert set(defaults.table().columns) == set(row)
