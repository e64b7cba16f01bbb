"""The benchmarks: parts on small data, stored records, pages, targets."""

import json

import pytest

from pocketsvm.cli.app import run
from pocketsvm.experiments.bench import child, growth, peers
from pocketsvm.experiments.bench import run as module
from pocketsvm.experiments.bench.targets import targets
from pocketsvm.experiments.toolkit.tables import Table


def sweep_of_two(quick):
    return {axis: [5, 10, 20, 40] for axis in growth.AXES}


def small_problem(axis, value, quick):
    X, y = growth.susy_like(20 * value, 6)
    return X, y, 5, 0.1


@pytest.fixture
def small_growth(monkeypatch):
    monkeypatch.setattr(growth, "_sweeps", sweep_of_two)
    monkeypatch.setattr(growth, "_problem", small_problem)


def test_a_part_is_stored_and_shown(data, small_growth, tmp_path, capsys):
    out, docs = tmp_path / "out", tmp_path / "docs"
    arguments = ["--quick", "--only", "growth,peers", "--out", str(out)]
    assert run(["bench", *arguments, "--docs", str(docs), "--remark", "A remark."]) == 0
    record = json.loads((out / "quick" / "growth.json").read_text())
    assert record["command"] == "pocketsvm bench --quick --only growth"
    page = (docs / "benchmarks.md").read_text()
    for text in ("A remark.", "This was a quick run", "## How cost grows", "Nystroem"):
        assert text in page
    assert str(tmp_path) not in page
    assert (docs / "images" / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "quick" / "benchmarks.html").is_file()
    assert run(["bench", "--quick", "--readme", "--out", str(out)]) == 0
    assert "| ONE | 20 |" not in capsys.readouterr().out  # only budgets of the curves are measured


def test_the_page_is_written_from_stored_results(data, tmp_path, monkeypatch):
    monkeypatch.setitem(module.PARTS, "speed", lambda quick: [Table("t", "T", {"a": ("a", "")})])
    assert run(["bench", "--only", "speed", "--out", str(tmp_path)]) == 0
    monkeypatch.setitem(module.PARTS, "speed", None)
    assert run(["bench", "--only", "none", "--out", str(tmp_path)]) == 0
    assert "# Benchmarks" in (tmp_path / "benchmarks.md").read_text()


def test_peers_come_from_a_reproduction(data, tmp_path):
    out = str(tmp_path / "reproduction")
    assert run(["reproduce", "--runs", "1", "--only", "defaults,peers,exact", "--out", out]) == 0
    (table,) = peers.from_runs(tmp_path / "reproduction" / "runs.csv")
    assert {row["data"] for row in table.rows} == {"ONE", "TWO"}
    assert {row["budget"] for row in table.rows} == {10, 30, None}


def test_the_readme_shows_the_larger_budget():
    points = [
        {"data": "SKIN", "model": model, "budget": budget, "accuracy": 99.0, "fit": 1.25, "size": 9}
        for model, budget in (("pocketsvm", 200), ("SVC", None))
    ]
    (line,) = peers.readme_table(points).lines
    cells = [cell.ours for cell in line]
    assert cells == ["SKIN", "200", "99.00 %, 1.2 s", "–", "99.00 %, 1.2 s", "9"]


def test_misuse(capsys, tmp_path):
    assert run(["bench", "--only", "everything"]) == 2
    assert "there is no part 'everything'" in " ".join(capsys.readouterr().err.split())
    assert run(["bench", "--readme", "--out", str(tmp_path)]) == 1
    assert "measure it first" in capsys.readouterr().err


def test_help_lists_the_options(capsys):
    assert run(["bench", "--help"]) == 0
    assert "--remark" in capsys.readouterr().out


def test_a_child_process_measures():
    found = child.call("training_memory", n_rows=2000, n_features=5, budget=10)
    assert found["vectors"] == 10


def test_targets_are_those_of_the_measured_parts():
    assert not targets({})
    slopes = [
        {"axis": "n", "what": "one pass", "slope": 1.05},
        {"axis": "B", "what": "one pass", "slope": None},
    ]
    memory = [{"budget": 500, "megabytes": 6.0, "ratio": 1.0}]
    lines = targets({"slopes": slopes, "memory": memory}).lines
    assert [[cell.ours for cell in line] for line in lines] == [
        ["memory of training, B = 500, MB", "≤ 64", "6", "–", "yes"],
        ["growth of one pass, slope minus 1", "≤ 0.10", "inf", "B", "**no**"],
    ]


@pytest.mark.parametrize("part", module.PARTS)
def test_the_command_line_names_every_part(part, capsys):
    assert run(["bench", "--help"]) == 0
    assert part in capsys.readouterr().out
