"""The benchmark of the solver, on small tasks."""

import pytest
from benchmark_tasks import a_task

from benchmarks import child, solver
from benchmarks.solver import Case, Line
from benchmarks.targets import targets


@pytest.fixture
def cases(monkeypatch):
    """A classification with targets and a missing data set; a regression with a sampled SVR."""
    lines = (Line(10, least=50.0, stretch=101.0, slowest=1e9),)
    found = (
        Case("moons", lambda quick: a_task(), lines),
        Case("missing", lambda quick: None, (Line(10),)),
        Case("waves", lambda quick: a_task(values=True), (Line(10, slowest=0.0),)),
        Case("part", lambda quick: a_task(), (Line(10, slowest=1.0),), exact_rows=50),
        Case("alone", lambda quick: a_task(), (Line(10),), exact_rows=0, seeds=1),
        Case("slow", lambda quick: a_task(), (Line(10),), slow=True),
    )
    monkeypatch.setattr(solver, "CASES", found)
    monkeypatch.setattr(solver, "SCALES", ((60_000, 2), (60_000, 3)))
    monkeypatch.setattr(solver.os, "cpu_count", lambda: 2)


def test_lines_stand_beside_the_exact_machine_and_their_targets(cases, capsys):
    table, scale = solver.measure(quick=True)
    moons, waves, part, alone = table.rows
    assert moons["met"] == moons["time_met"] == "yes"
    assert (moons["target"], moons["stretch_met"]) == ("≥ 50.00", "**no**")
    assert moons["exact_score"] > 80
    assert moons["ratio"] == pytest.approx(moons["fit"] / moons["exact_fit"])
    assert moons["seeds"] == 2
    assert (waves["measure"], waves["time_met"]) == ("R²", "**no**")
    assert part["ratio"] is None  # the exact machine saw fewer rows
    assert "time_met" not in part
    assert part["exact_vectors"] <= 50
    assert "exact_fit" not in alone
    assert (alone["seeds"], alone["deviation"]) == (1, None)
    said = capsys.readouterr().out
    for text in ("$POCKETSVM_DATA: missing", "quick run: slow"):
        assert text in said
    one, two, three = scale.rows
    assert (one["rows"], one["same"], two["same"]) == (2_000, None, "yes")
    assert three["classes"] == 3
    assert one["ratio"] > 0


def test_targets_of_the_solver():
    row = {"data": "eeg", "budget": 500, "polish": "thorough", "measure": "accuracy"}
    row |= {"score": 96.0, "least": 96.2, "slowest": 1.0, "ratio": 0.5}
    other = row | {"polish": "True", "least": None, "ratio": 2.0}
    scale = [
        {"rows": 9, "classes": 2, "threads": n, "ratio": 4.0 + n, "speedup": speedup}
        | {"megabytes": 100.0 * n, "same": same}
        for n, speedup, same in ((1, None, None), (2, 1.9, "yes"))
    ]
    lines = targets({"solver": [row, other], "solver_scale": scale}).lines
    assert [[cell.ours for cell in line] for line in lines] == [
        ["accuracy, %", "≥ 96.20", "96.00", "eeg, B = 500, thorough", "**no**"],
        ["whole fit, relative to the exact SVM", "≤ 1.00", "2.00", "eeg, B = 500", "**no**"],
        ["solving, relative to decision_function", "≤ 5.00", "6.00", "9 rows, 2 threads", "**no**"],
        ["whole fit on 2 threads, speedup", "≥ 1.80", "1.90", "9 rows", "yes"],
        ["memory of the whole fit beside the data, MB", "≤ 768", "200", "9 rows, 2 classes", "yes"],
        ["models that depend on the number of threads", "≤ 0", "0", "9 rows", "yes"],
    ]


def test_every_line_can_be_trained(monkeypatch):
    for case in solver.CASES:
        assert len(set(case.lines)) == len(case.lines)
        assert all(line.polish in (True, solver.THOROUGH) for line in case.lines)


def test_the_digest_is_that_of_the_model():
    arguments = {"n_rows": 1500, "n_features": 5, "budget": 10}
    one, two = (child.solving(**arguments, n_classes=2, n_jobs=n, rounds=2) for n in (1, 2))
    assert one["digest"] == two["digest"]
    assert one["digest"] != child.solving(**arguments, n_classes=4, n_jobs=1, rounds=1)["digest"]


def test_seeds_may_be_measured_at_the_same_time():
    """In processes of their own, which know only the cases of the module."""
    number = next(k for k, case in enumerate(solver.CASES) if case.name == "weighted")
    units = [(number, 0), (number, 1)]
    (one,), (two,) = (list(solver._grouped(units, True, jobs)) for jobs in (1, 2))
    assert one[0] == two[0] == number
    for mine, other in zip(one[1], two[1], strict=True):
        assert mine.scores == other.scores
        assert len(mine.seconds) == 2
