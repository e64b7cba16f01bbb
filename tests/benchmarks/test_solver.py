"""The benchmarks of the solver and of threads, on small tasks."""

import pytest
from benchmark_tasks import a_task

from benchmarks import child, solver, threads
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


def test_lines_stand_beside_the_exact_machine_and_their_targets(cases, capsys):
    (table,) = solver.measure(quick=True)
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


def test_threads_change_no_model(monkeypatch):
    cases = [
        ("overlapping", 60_000, 2, 10),
        ("shell", 60_000, 2, 10),
        ("many classes", 60_000, 3, 9),
    ]
    monkeypatch.setattr(threads, "CASES", tuple(threads.Case(*case) for case in cases))
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 2)
    (table,) = threads.measure(quick=True)
    assert [row["rows"] for row in table.rows] == [2_000] * 5
    assert [row["same"] for row in table.rows] == [None, "yes", None, "yes", None]
    for row in table.rows:
        assert row["ratio"] == pytest.approx(row["fit"] / row["deciding"])
        assert row["accuracy"] > 50


def test_targets_of_the_solver():
    row = {"data": "eeg", "budget": 500, "polish": "thorough", "measure": "accuracy"}
    row |= {"score": 96.0, "least": 96.2, "slowest": 1.0, "ratio": 0.5}
    other = row | {"polish": "True", "least": None, "ratio": 2.0}
    scale = [
        {"data": "shell", "rows": 9, "classes": 2, "budget": budget, "threads": n}
        | {"megabytes": 100.0 * n, "same": same, "ratio": 4.0 + n / 8, "speedup": speedup}
        for budget in (500, 2000)
        for n, speedup, same in ((1, None, None), (16, 8.5, "yes"))
    ]
    lines = targets({"solver": [row, other], "threads": scale}).lines
    assert [[cell.ours for cell in line] for line in lines] == [
        ["accuracy, %", "≥ 96.20", "96.00", "eeg, B = 500, thorough", "**no**"],
        ["whole fit, relative to the exact SVM", "≤ 1.00", "2.00", "eeg, B = 500", "**no**"],
        [
            "fit, relative to decision_function, one thread",
            "≤ 6.00",
            "4.12",
            "shell, B = 500",
            "yes",
        ],
        ["fit on 16 threads, speedup, B = 500", "≥ 9.00", "8.50", "shell", "**no**"],
        ["fit on 16 threads, speedup, B = 2,000", "≥ 8.00", "8.50", "shell", "yes"],
        ["memory of the fit beside the data, MB", "≤ 768", "1,600", "shell, B = 500", "**no**"],
        ["models that depend on the number of threads", "≤ 0", "0", "shell, B = 500", "yes"],
    ]


def test_every_line_can_be_trained(monkeypatch):
    for case in solver.CASES:
        assert len(set(case.lines)) == len(case.lines)
        assert all(line.polish in (True, solver.THOROUGH) for line in case.lines)


def test_the_digest_is_that_of_the_model():
    arguments = {"data": "", "n_rows": 1500, "n_features": 5, "budget": 10}
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
