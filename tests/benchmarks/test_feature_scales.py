"""The benchmark of feature scales, on small data, and the flights."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from benchmark_tasks import a_task

from benchmarks import data_sets, feature_scales
from benchmarks.data_sets import NOISY_MOONS, noisy_moons
from benchmarks.datasets.flights import FLIGHTS, flights
from benchmarks.feature_scales import MODELS, ONE_GAMMA, SCALES, THOROUGH, TREES, assembled
from pocketsvm import BudgetedSVRCV


@pytest.fixture
def small(monkeypatch):
    """A regression, which is searched in a small grid."""
    grid = {"Cs": [1.0, 10.0], "gammas": [0.1, 1.0], "cv": 2}
    monkeypatch.setattr(feature_scales, "BudgetedSVRCV", partial(BudgetedSVRCV, **grid))
    monkeypatch.setattr(feature_scales, "NAMES", ("waves",))
    monkeypatch.setitem(data_sets.TASKS, "waves", lambda: a_task(values=True))
    monkeypatch.setattr(feature_scales, "QUICK_SHAPES", ((300, 4), (600, 4)))


def lines_of(table):
    return {row["model"]: row for row in table.rows}


def test_all_models_are_measured(small):
    compared, learning = feature_scales.measure(True)
    lines = lines_of(compared)
    assert {name.removesuffix(" (not installed)") for name in lines} == set(MODELS)
    for model in (ONE_GAMMA, SCALES, THOROUGH):
        line = lines[model]
        assert line["measure"] == "R²"
        assert 50 < line["score"] <= 100
        assert 0 < line["kilobytes"] < 10
        assert line["fit"] > 0
        assert line["microseconds"] >= 0
    assert lines[SCALES]["gain"] == lines[SCALES]["score"] - lines[ONE_GAMMA]["score"]
    assert lines[SCALES]["learnt"] == 0  # there are too few rows
    assert lines[ONE_GAMMA]["search"] > 0
    assert [(row["rows"], row["features"]) for row in learning.rows] == [(300, 4), (600, 4)]
    assert all(row["seconds"] > 0 for row in learning.rows)


def test_lightgbm_may_be_missing(small, monkeypatch):
    monkeypatch.setattr(feature_scales, "find_spec", lambda name: None)
    compared, _ = feature_scales.measure(True)
    *_, last = compared.rows
    assert last == {"data": "waves", "model": "LightGBM (not installed)"}
    assert all("lead" not in row for row in compared.rows)


def test_a_data_set_may_be_missing(small, monkeypatch, capsys):
    monkeypatch.setitem(data_sets.TASKS, "waves", lambda: None)
    compared, _ = feature_scales.measure(True)
    assert not compared
    assert "missing: waves" in capsys.readouterr().out


def test_lines_are_means_and_differences():
    seeds = [(90.0, 93.0, 94.0, 92.0), (91.0, 92.0, 94.0, 92.0)]
    results = [
        {model: {"measure": "accuracy", "score": score, "fit": 2.0} for model, score in found}
        for found in (zip(MODELS, scores, strict=True) for scores in seeds)
    ]
    table = assembled(["a", "b"], 2, [*results, {}, {}])
    lines = lines_of(table)
    assert {row["data"] for row in table.rows} == {"a"}
    assert lines[SCALES]["score"] == 92.5
    assert (lines[SCALES]["gain"], lines[SCALES]["error"]) == (2.0, pytest.approx(1.0))
    assert (lines[SCALES]["lead"], lines[ONE_GAMMA]["lead"]) == (0.5, -1.5)
    assert lines[TREES]["gain"] == 1.5
    assert not {"gain", "error"} & set(lines[ONE_GAMMA])


def test_the_note_says_that_the_machine_was_busy(monkeypatch):
    monkeypatch.setattr(feature_scales.os, "cpu_count", lambda: 2)
    for load, busy in ((1.5, False), (13.0, True)):
        monkeypatch.setattr(feature_scales.os, "getloadavg", lambda load=load: (load, 0, 0))
        assert ("The machine was busy (load 13 on 2 cores)" in feature_scales._business(1)) == busy
    assert "4 data sets and seeds were measured at a time" in feature_scales._business(4)


# --- data sets ------------------------------------------------------------------------------------


def test_moons_among_noise():
    rows = noisy_moons().rows
    assert rows.X.shape == rows.X_test.shape == (5000, 22)
    X = np.vstack([rows.X, rows.X_test])
    np.testing.assert_allclose(X.std(axis=0), 1, rtol=1e-5)
    correlations = np.corrcoef(X.T, np.append(rows.y, rows.y_test))[-1, :-1]
    assert (np.abs(correlations[:2]) > 0.3).all()
    assert (np.abs(correlations[2:]) < 0.05).all()
    assert data_sets.TASKS[NOISY_MOONS] is noisy_moons


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with as few flights as suffice."""
    folder = tmp_path / FLIGHTS / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ImportError('pkg_resources')\n")
    n_flights = 40
    places = {"origin": ["EWR", "JFK"] * (n_flights // 2), "year": 2013, "month": 3, "hour": 6}
    delays = np.where(np.arange(n_flights) % 4 == 0, 40.0, 15.0)
    delays[-1] = np.nan
    table = pd.DataFrame(
        places
        | {
            "day": np.arange(n_flights) % 20 + 1,
            "arr_delay": delays,
            "dep_delay": 0.0,
            "sched_dep_time": [630, 645] * (n_flights // 2),
            "distance": np.arange(n_flights, dtype=float),
            "carrier": ["AA", "UA", "DL", "B6"] * (n_flights // 4),
        }
    )
    table.to_csv(folder / "flights.csv.zip", index=False)
    days = np.arange(1, 20)  # a day has no weather
    weather = pd.DataFrame({"year": 2013, "month": 3, "day": days, "hour": 6, "origin": "EWR"})
    weather = pd.concat([weather, weather.assign(origin="JFK")])
    for name in ("temp", "humid", "precip", "visib", "pressure"):
        weather[name] = np.arange(len(weather), dtype=float)
    weather["wind_speed"] = [1000.0, *np.arange(1.0, len(weather))]
    weather.to_csv(folder / "weather.csv", index=False)
    monkeypatch.syspath_prepend(tmp_path)


def test_flights_are_read_without_their_package(package):
    task = flights()
    X, y, X_test, y_test = task.rows
    assert (len(X), len(X_test)) == (31, 8)  # a flight without a delay is left out
    every = np.vstack([X, X_test])
    assert every.shape == (39, 5 + 6 + 4 + 2)
    np.testing.assert_allclose(every[:, 2:11].mean(axis=0), 0, atol=1e-5)
    assert set(np.unique(every[:, 11:])) == {0, 1}
    np.testing.assert_array_equal(every[:, 11:].sum(axis=1), 2)
    assert set(np.unique(y)) == set(np.unique(y_test)) == {0, 1}
    assert np.append(y, y_test).sum() == 10  # 15 minutes are not late
    wind = every[:, 7]
    assert wind.max() < 5  # a gale of 1,000 would be far from all others


def test_flights_may_be_missing(monkeypatch):
    monkeypatch.setattr("benchmarks.datasets.flights.find_spec", lambda name: None)
    assert flights() is None


def test_the_area_under_the_curve_is_that_of_decisions_or_probabilities():
    class Decides:
        def decision_function(self, X):
            return X[:, 0]

    class Estimates:
        def predict_proba(self, X):
            return np.column_stack([-X[:, 0], X[:, 0]])

    task = replace(a_task(), measure="AUC")
    assert task.score(Decides()) == task.score(Estimates())
    assert 60 < task.score(Decides()) < 90  # moons: the first feature tells something
