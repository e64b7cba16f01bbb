"""The benchmarks: parts on small data, stored records, pages, targets."""

import json
import re
import shutil
import subprocess

import pytest

from benchmarks import __main__ as command
from benchmarks import child, growth, page, peers, polish
from benchmarks.page import ORDER
from benchmarks.parts import PARTS, Part
from benchmarks.record import CHANGED, Record, measured_commit
from benchmarks.targets import targets
from pocketsvm.cli.app import run
from pocketsvm.paper.toolkit.tables import Table


def sweep_of_two(quick):
    return {axis: [5, 10, 20, 40] for axis in growth.AXES}


def small_problem(axis, value, quick):
    X, y = growth.susy_like(20 * value, 6)
    return X, y, 5, 0.1


@pytest.fixture
def small_growth(monkeypatch):
    monkeypatch.setattr(growth, "_sweeps", sweep_of_two)
    monkeypatch.setattr(growth, "_problem", small_problem)


@pytest.fixture
def one_part(monkeypatch):
    """A part that is measured at once, and its number of measurements."""
    calls = []

    def measure(quick):
        calls.append(quick)
        return [Table("t", "T", {"a": ("a", "")}, rows=[{"a": "x"}])]

    monkeypatch.setitem(PARTS, "speed", Part("Speed", measure))
    monkeypatch.setattr(command, "measured_commit", lambda: "abc")
    return calls


def test_a_part_is_stored_and_shown(data, small_growth, tmp_path, capsys):
    results, docs = tmp_path / "results", tmp_path / "docs"
    folders = ["--results", str(results), "--docs", str(docs)]
    command.main(["--quick", "--only", "growth,peers", *folders])
    record = json.loads((results / "growth.json").read_text())
    assert record["command"] == 'make bench ARGS="--quick --only growth"'
    assert set(record) >= {"commit", "date", "machine", "versions", "seconds", "tables"}
    page = (docs / "benchmarks.md").read_text()
    for text in ("This was a quick run", "## How cost grows", "Nystroem"):
        assert text in page
    assert str(tmp_path) not in page
    assert (docs / "images" / "growth.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert re.search(r"=== growth: [\d.]+ s", out)
    assert re.search(r"peers +[\d.]+ s", out)
    command.main(["--readme", *folders])
    assert "| ONE | 20 |" not in capsys.readouterr().out  # only budgets of the curves are measured


def test_a_part_is_measured_once_for_a_commit(one_part, tmp_path, capsys, monkeypatch):
    arguments = ["--only", "speed", "--results", str(tmp_path), "--docs", str(tmp_path)]
    command.main(arguments)
    command.main(arguments)
    assert one_part == [False]
    assert "speed: already measured for this commit" in capsys.readouterr().out
    command.main([*arguments, "--again"])
    assert len(one_part) == 2
    for commit in ("def", "abc" + CHANGED, "abc" + CHANGED, None, None):
        monkeypatch.setattr(command, "measured_commit", lambda commit=commit: commit)
        command.main(arguments)
    assert len(one_part) == 7


def test_the_page_is_written_from_stored_results(one_part, tmp_path):
    folders = ["--results", str(tmp_path), "--docs", str(tmp_path / "docs")]
    command.main(["--only", "speed", *folders])
    command.main(["--only", "none", *folders])
    assert len(one_part) == 1
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "## Speed" in page
    assert "commit abc" in page
    record = Record.read(tmp_path / "speed.json")
    assert record.tables[0].rows == [{"a": "x"}]
    assert record.machine["cores"] >= 1


def test_a_page_without_some_parts_does_not_replace_that_of_the_docs(
    one_part, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    folder = tmp_path / "results"
    command.main(["--only", "speed", "--results", str(folder)])
    out = capsys.readouterr().out
    assert "docs/benchmarks.md stays as it is: there are no results of growth, polish" in out
    assert not (tmp_path / "docs").exists()
    record = Record.read(folder / "speed.json")
    for name in PARTS:
        record.write(folder / f"{name}.json")
    monkeypatch.setattr(page, "_pictures", lambda part, tables: [])
    command.main(["--only", "none", "--results", str(folder)])
    assert "## Speed" in (tmp_path / "docs" / "benchmarks.md").read_text()


def test_a_piece_of_a_part_is_printed_and_not_stored(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(polish, "BUDGETS", {"ONE": (10,), "TWO": (10, 20)})
    folders = ["--results", str(tmp_path), "--docs", str(tmp_path)]
    command.main(["--only", "polish", "--data", "two", "--budget", "5,10", *folders])
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines() if line.startswith("polish: ")]
    assert [line[1:3] for line in lines] == [["TWO", "5"], ["TWO", "10"]]
    assert list(tmp_path.glob("*.json")) == []
    with pytest.raises(SystemExit):
        command.main(["--data", "two"])
    assert "add --only polish" in capsys.readouterr().err


def test_polish_compares_the_paper_with_the_defaults(data, monkeypatch):
    monkeypatch.setattr(polish, "BUDGETS", {"ONE": (10,), "TWO": (10, 20)})
    (table,) = polish.measure(True)
    assert [(row["data"], row["budget"]) for row in table.rows] == [
        ("ONE", 10),
        ("TWO", 10),
        ("TWO", 20),
    ]
    for row in table.rows:
        assert row["ratio"] == pytest.approx(row["fit"] / row["paper"])
        assert 0 < row["passes"] < 1
        assert row["steps"] > 0
        assert row["accuracy"] > 80


def test_the_commit_is_the_last_one_that_changed_what_is_measured(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("needs git")

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", *who, "-C", str(tmp_path), *arguments], check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def add(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert measured_commit(tmp_path / "nowhere") is None
    git("init", "-q")
    add("src/a.py", "1")
    git("add", ".")
    git("commit", "-qm", "One")
    first = git("rev-parse", "HEAD")
    assert measured_commit(tmp_path) == first
    add("benchmarks/results/speed.json", "{}")
    add("README.md", "Text.")
    git("add", ".")
    git("commit", "-qm", "Two")
    assert measured_commit(tmp_path) == first
    add("src/a.py", "2")
    assert measured_commit(tmp_path) == first + CHANGED


def test_peers_come_from_a_reproduction(data, tmp_path):
    out = tmp_path / "reproduction"
    parts = "defaults,peers,exact"
    assert run(["reproduce", "--runs", "1", "--only", parts, "--out", str(out)]) == 0
    (table,) = peers.measure(False, runs=out / "runs.csv")
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "everything"], "there is no part 'everything'"),
        (["--only", "polish", "--data", "iris"], "There is no data set 'iris'"),
        (["--only", "polish", "--budget", "1"], "whole numbers of at least 2, got '1'"),
        (["--only", "polish", "--budget", "x"], "invalid budgets_of value: 'x'"),
        (["--rows", "10"], "at least 100,000 rows are needed, got 10"),
    ],
)
def test_misuse(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_readme_needs_results(tmp_path):
    with pytest.raises(FileNotFoundError, match="measure it first"):
        command.main(["--readme", "--results", str(tmp_path)])


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


@pytest.mark.parametrize("part", PARTS)
def test_the_page_and_the_command_line_know_every_part(part, capsys):
    assert part in ORDER
    with pytest.raises(SystemExit):
        command.main(["--help"])
    assert part in capsys.readouterr().out
