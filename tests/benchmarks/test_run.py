"""The benchmarks: parts on small data, stored records, pages, targets."""

import inspect
import json
import re
import shutil
import subprocess
from operator import truediv

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import child, exact, growth, page, peers, polish
from benchmarks.page import ORDER, caption, filled, without_remarks
from benchmarks.parts import PARTS, Part
from benchmarks.pieces import Pieces, each, kept_in, piece, table_piece
from benchmarks.record import CHANGED, RESULTS, ROOT, Record, measured_commit
from benchmarks.targets import targets
from pocketsvm.cli.app import run
from pocketsvm.paper.toolkit.pages import markdown
from pocketsvm.paper.toolkit.tables import Table

DOCS = ROOT / "docs"
MACHINE = {"cpu": "c", "cores": 1, "instruction_set": "i", "system": "s", "python": "3"}


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
    summary = (docs / "benchmarks.md").read_text()
    pages = {name: (docs / "benchmarks" / f"{name}.md").read_text() for name in PARTS}
    assert "This was a quick run" in summary
    assert "| growth | [How cost grows](benchmarks/growth.md) |" in summary
    assert "# How cost grows\n\nMeasured by `make bench" in pages["growth"]
    assert "Nystroem" in pages["peers"]
    assert not any(str(tmp_path) in text for text in (summary, *pages.values()))
    picture = docs / "benchmarks" / "images" / "growth.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert re.search(r"=== growth: [\d.]+ s", out)
    assert re.search(r"peers +[\d.]+ s", out)


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
    page = (tmp_path / "docs" / "benchmarks" / "speed.md").read_text()
    assert "# Speed" in page
    assert "commit abc" in page
    record = Record.read(tmp_path / "speed.json")
    assert record.tables[0].rows == [{"a": "x"}]
    assert record.machine["cores"] >= 1


def test_missing_parts_say_how_to_measure_them(one_part, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    readme = tmp_path / "README.md"
    readme.write_text("One\n<!-- table: speed/t -->\n\nold\n<!-- end of table -->\nTwo\n")
    command.main(["--only", "speed", "--results", str(tmp_path / "results")])
    said = 'ot measured on this version: `make bench ARGS="--only solver"`'
    assert f"N{said}." in (tmp_path / "docs" / "benchmarks" / "solver.md").read_text()
    assert f"| n{said} |" in (tmp_path / "docs" / "benchmarks.md").read_text()
    text = readme.read_text()
    assert text.startswith("One\n<!-- table: speed/t -->\n\n| a |\n")
    assert "old" not in text
    assert "commit abc" in text
    assert filled(text, {}).count('Not measured on this version: `make bench ARGS="--only speed"`')


def test_text_between_empty_tables_stays():
    text = "".join(
        f"{name}\n\n<!-- table: {part}/t -->\n\n<!-- end of table -->\n\n"
        for name, part in (("One", "speed"), ("Two", "solver"))
    )
    for _ in range(2):
        text = filled(text, {})
        for part in ("speed", "solver"):
            said = f'Not measured on this version: `make bench ARGS="--only {part}"`.'
            assert text.count(f"-->\n\n{said}\n\n<!-- end") == 1
        assert text.count("Two\n\n<!-- table: solver/t -->") == 1


def test_a_caption_says_that_the_code_has_changed(monkeypatch):
    monkeypatch.setattr(Record, "changed_since", lambda self: ["src", "native"])
    record = Record([], "abc", "2026-01-01", "make bench", 1.0, False, MACHINE, {})
    assert caption(record).endswith("**Measured before the last changes in `src/` and `native/`.**")
    assert without_remarks(caption(record)) == record.provenance
    monkeypatch.setattr(Record, "changed_since", lambda self: [])
    assert caption(record) == record.provenance


def test_the_pages_are_those_of_the_stored_results():
    records = page.stored(RESULTS)
    docs = {"benchmarks.md": page.summary(records)}
    docs |= {f"benchmarks/{name}.md": page.part_page(name, records.get(name)) for name in PARTS}
    for name, blocks in docs.items():
        expected = without_remarks(markdown(list(blocks)))
        assert without_remarks((DOCS / name).read_text()) == expected, f"{name}: run make pages"
    for path in (ROOT / "README.md", *(DOCS / f"{name}.md" for name in ("gpu", "cost", "ranking"))):
        text = path.read_text()
        assert page.MARKED.search(text)
        assert without_remarks(text) == without_remarks(filled(text, records)), "run make pages"


# --- pieces ---------------------------------------------------------------------------------------


def test_a_run_that_was_stopped_resumes(tmp_path):
    path, calls = tmp_path / "pieces.json", []

    def measure(name):
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {"name": name, "value": np.float64(0.1)}

    with pytest.raises(KeyboardInterrupt), kept_in(Pieces(path, "one")):
        each(measure, [("a",), ("b",), ("c",)], 1)
    with kept_in(Pieces(path, "one")) as pieces:
        found = each(measure, [("a",), ("b",), ("c",)], 1)
    assert calls == ["a", "b", "b", "c"]
    assert found == [{"name": name, "value": 0.1} for name in "abc"]
    assert pieces.seconds > 0
    assert Pieces(path, "another commit").found == {}
    pieces.remove()
    assert not path.exists()


def test_an_error_in_one_process_keeps_what_the_others_measured(tmp_path):
    path = tmp_path / "pieces.json"
    with pytest.raises(ZeroDivisionError), kept_in(Pieces(path, "one")):
        each(truediv, [(1, 0), (4, 2), (1, 1)], 2)
    assert Pieces(path, "one").found == {"4, 2": 2.0, "1, 1": 1.0}


def test_nothing_is_kept_without_a_file():
    values = iter([1, 2])
    assert [piece("a", lambda: next(values)) for _ in range(2)] == [1, 2]
    table = Table("t", "T", {"a": ("a", ".1f")}, rows=[{"a": 1.0}])
    assert table_piece("t", lambda: table).lines == table.lines


def test_a_part_keeps_its_pieces_until_it_is_stored(tmp_path, monkeypatch):
    stops = [True]

    def measure(quick):
        first = piece("first", lambda: len(stops))
        if stops.pop():
            raise SystemExit
        return [Table("t", "T", {"a": ("a", "d")}, rows=[{"a": first}])]

    monkeypatch.setitem(PARTS, "speed", Part("Speed", measure))
    monkeypatch.setattr(command, "measured_commit", lambda: "abc")
    arguments = ["--only", "speed", "--results", str(tmp_path), "--docs", str(tmp_path)]
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert (tmp_path / "pieces" / "speed.json").exists()
    stops.extend([False, False, False])
    command.main(arguments)
    assert Record.read(tmp_path / "speed.json").tables[0].rows == [{"a": 1}]
    assert not (tmp_path / "pieces" / "speed.json").exists()


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
    record = Record([], first, "2026-01-01", "make bench", 1.0, False, {}, {})
    assert record.changed_since(tmp_path) == record.changed_since(tmp_path / "nowhere") == []
    add("benchmarks/results/speed.json", "{}")
    add("README.md", "Text.")
    git("add", ".")
    git("commit", "-qm", "Two")
    assert measured_commit(tmp_path) == first
    add("src/a.py", "2")
    assert measured_commit(tmp_path) == first + CHANGED
    git("commit", "-qam", "Three")
    assert record.changed_since(tmp_path) == ["src"]


def test_peers_come_from_a_reproduction(data, tmp_path):
    out = tmp_path / "reproduction"
    parts = "defaults,peers,exact"
    assert run(["reproduce", "--runs", "1", "--only", parts, "--out", str(out)]) == 0
    (table,) = peers.measure(False, runs=out / "runs.csv")
    assert {row["data"] for row in table.rows} == {"ONE", "TWO"}
    assert {row["budget"] for row in table.rows} == {10, 30, None}


def test_the_readme_has_accuracy_time_and_size():
    row = {"data": "SKIN", "rows": 9000, "accuracy": 99.0, "fit": 1.25, "kilobytes": 1500.0}
    many = {"data": "9 generated rows", "rows": 9, "accuracy": 80.0, "fit": 0.5, "kilobytes": 20.0}
    rows = [row | {"model": "pocketsvm"}, row | {"model": "SVC", "fit": 250.0}]
    table = exact.readme_table([*rows, many | {"model": "pocketsvm"}])
    assert [[cell.ours for cell in line] for line in table.lines] == [
        ["SKIN", "9,000", "99.00 %, 1.2 s, 1.5 MB", "99.00 %, 250 s, 1.5 MB", "–"],
        ["9 generated rows", "9", "80.00 %, 0.50 s, 20 kB", "–", "–"],
    ]


def test_all_models_are_compared(data, monkeypatch):
    monkeypatch.setattr(exact, "QUICK_MANY_ROWS", 500)
    monkeypatch.setattr(exact, "TEST_ROWS", 100)
    (table,) = exact.measure(True)
    models = {(row["data"], row["model"]) for row in table.rows}
    assert {("ONE", "pocketsvm"), ("TWO", "SVC"), ("500 generated rows", "pocketsvm")} <= models
    assert ("500 generated rows", "SVC") not in models
    assert all(row["kilobytes"] > 0 and row["accuracy"] > 40 for row in table.rows)


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


@pytest.mark.parametrize("name", PARTS)
def test_a_part_takes_its_options(name):
    part = PARTS[name]
    assert set(inspect.signature(part.measure).parameters) == {"quick", *part.options}
