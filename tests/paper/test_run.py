"""Whole reproductions on small data sets: runs, resuming, pages, errors."""

import csv
import re
from urllib.parse import urlsplit

import pytest
from html_page import Page

from pocketsvm.cli.app import run
from pocketsvm.paper import protocol
from pocketsvm.paper import run as module
from pocketsvm.paper.datasets import problems
from pocketsvm.paper.protocol import COLUMNS, PARTS, default_strategies
from pocketsvm.paper.toolkit import results

STRATEGIES = default_strategies()


@pytest.fixture
def command(data, tmp_path):
    """Call ``pocketsvm reproduce`` on the small data sets; returns the exit code."""

    def call(*arguments, out=tmp_path / "out"):
        words = ["reproduce", "--data", str(data), "--out", str(out), *arguments]
        return run([str(word) for word in words])

    return call


def lines_of(folder):
    with open(folder / "runs.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_everything_once(command, tmp_path, capsys):
    assert command("--runs", 2) == 0
    lines = lines_of(tmp_path / "out")
    assert list(lines[0]) == list(COLUMNS)
    counts = {part: sum(line["part"] == part for line in lines) for part in PARTS}
    fits = 2 * 2 * 2 * len(STRATEGIES)  # data sets, budgets, runs
    curve = 2 * 2  # the budget that only the curves have: data sets, runs
    assert counts == {
        "paper": fits,
        "audit": 2 * 2 * len(STRATEGIES),  # after one pass and after all
        "defaults": fits + curve,
        "peers": 2 * 2 * 2 * 2,
        "exact": 2,
    }
    for line in lines:
        assert line["cpu"]
        assert line["python"]
        assert line["part"] == "audit" or 50 <= float(line["accuracy"]) <= 100
        assert (line["part"] in ("paper", "defaults")) == (line["steps"] != "")
    page = (tmp_path / "out" / "reproduction.md").read_text()
    for heading in ("## Targets", "Table 1:", "Table 2:", "Table 3, time", "Table 3, dec"):
        assert heading in page
    assert re.search(r"Written by `pocketsvm reproduce --runs 2` on [\d-]{10} with pocketsvm", page)
    assert str(tmp_path) not in page
    assert "Incomplete" not in page
    assert "Table 3, time" in capsys.readouterr().out


def test_done_runs_are_not_made_again(command, tmp_path, capsys, monkeypatch):
    assert command("--runs", 1, "--only", "one,paper,exact") == 0
    before = (tmp_path / "out" / "runs.csv").read_bytes()
    monkeypatch.setattr(module, "execute", None)
    assert command("--runs", 1, "--only", "one,paper,exact") == 0
    assert (tmp_path / "out" / "runs.csv").read_bytes() == before
    n_runs = 2 * len(STRATEGIES) + 1
    assert f"{n_runs} of {n_runs} runs are already done" in capsys.readouterr().err


def test_interrupted_and_resumed(command, tmp_path, capsys, monkeypatch):
    arguments = ("--runs", 1, "--only", "one,paper", "--strategies", "gss,merge")
    assert command(*arguments, out=tmp_path / "whole") == 0
    made = []

    def interrupted(task):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(task)
        return protocol.execute(task)

    monkeypatch.setattr(module, "execute", interrupted)
    assert command(*arguments) == 130
    assert "the same command resumes" in capsys.readouterr().err
    assert len(lines_of(tmp_path / "out")) == 3
    assert "Incomplete: 3 of 4 runs" in (tmp_path / "out" / "reproduction.md").read_text()
    monkeypatch.setattr(module, "execute", protocol.execute)
    assert command(*arguments) == 0
    resumed, whole = lines_of(tmp_path / "out"), lines_of(tmp_path / "whole")
    for column in ("strategy", "budget", "accuracy", "merges"):
        assert [line[column] for line in resumed] == [line[column] for line in whole]
    assert "Incomplete" not in (tmp_path / "out" / "reproduction.md").read_text()


def test_another_build_is_run_anew(command, tmp_path, monkeypatch):
    arguments = ("--runs", 1, "--only", "one,paper,exact", "--strategies", "merge")
    assert command(*arguments) == 0
    stamp = results.stamp
    changed = {"program": "pocketsvm 9.9+other"}
    monkeypatch.setattr(protocol, "stamp", lambda own: stamp(own) | (changed if own else {}))
    assert command(*arguments) == 0
    programs = [line["program"].split()[0] for line in lines_of(tmp_path / "out")]
    assert sorted(programs) == ["pocketsvm"] * 4 + ["scikit-learn"]  # the exact SVM is the same


def test_parquet_holds_the_same(command, tmp_path):
    from pyarrow import parquet

    assert command("--runs", 1, "--only", "one,paper", "--format", "parquet") == 0
    table = parquet.read_table(tmp_path / "out" / "runs.parquet")
    lines = lines_of(tmp_path / "out")
    assert table.column_names == list(COLUMNS)
    assert table["seconds_solve"].to_pylist() == [float(line["seconds_solve"]) for line in lines]
    assert table["strategy"].to_pylist() == [line["strategy"] for line in lines]


def test_docs_get_the_page_and_its_pictures(command, tmp_path):
    docs = tmp_path / "docs"
    assert command("--runs", 1, "--only", "one,paper", "--docs", docs) == 0
    page = (docs / "reproduction.md").read_text()
    images = re.findall(r"\]\((images/[^)]+)\)", page)
    assert images
    assert {path.relative_to(docs).as_posix() for path in docs.rglob("*.svg")} == set(images)
    assert not (docs / "runs.csv").exists()


def test_quick_takes_a_part_of_the_rows(command, tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "QUICK_ROWS", 50)
    assert command("--quick", "--only", "one,paper", "--strategies", "merge") == 0
    lines = lines_of(tmp_path / "out")
    assert {line["rows"] for line in lines} == {"50"}
    assert {line["seed"] for line in lines} == {"0", "1"}
    assert "This was a quick run" in (tmp_path / "out" / "reproduction.md").read_text()


def test_the_page_asks_nobody_for_anything(command, tmp_path):
    assert command("--runs", 1) == 0
    text = (tmp_path / "out" / "reproduction.html").read_text()
    page = Page(text)
    assert page.tags.count("img") == 4
    assert {urlsplit(address).scheme for address in page.addresses} == {"data"}
    assert not re.search(r"url\(|@import|https?://", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert "script" not in page.tags
    for table in re.finditer("<table>", text):
        assert text[: table.start()].endswith('<div class="scroll" tabindex="0">')


# --- errors ---------------------------------------------------------------------------------------


def test_finished_results_outlive_a_missing_data_set(command, data, tmp_path, capsys):
    arguments = ("--runs", 1, "--only", "paper", "--strategies", "merge")
    assert command(*arguments) == 0
    before = (tmp_path / "out" / "runs.csv").read_bytes()
    (data / "two.t").unlink()
    assert command("--only", "two,paper") == 1
    assert "TWO is missing" in capsys.readouterr().err
    assert (tmp_path / "out" / "runs.csv").read_bytes() == before


def test_missing_data_sets_are_skipped_and_named(command, data, tmp_path, capsys):
    (data / "two.t").unlink()
    arguments = ("--runs", 1, "--only", "paper", "--strategies", "merge")
    assert command(*arguments) == 0
    assert "Skipped: the files of TWO are not in" in capsys.readouterr().err
    assert {line["data"] for line in lines_of(tmp_path / "out")} == {"ONE"}
    page = (tmp_path / "out" / "reproduction.md").read_text()
    assert "**Skipped, because the data are missing: TWO.**" in page
    (data / "one").unlink()
    assert command(*arguments) == 1
    err = capsys.readouterr().err
    assert "There is nothing to run: the files of ONE, TWO are not in" in err
    assert "pocketsvm data fetch" in err


def test_a_changed_file_is_refused(command, data, capsys):
    text = (data / "one").read_bytes()
    (data / "one").write_bytes(text.replace(b"1:0", b"1:1", 1))
    assert command() == 1
    assert "SHA-256" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "three"), "no data set or part 'three'; there are one, two, paper"),
        (("--strategies", "merge,best"), "there is no 'best'"),
        (("--budgets", "ten"), "whole numbers"),
        (("--budgets", "1,10"), "whole numbers"),
    ],
)
def test_misuse(command, capsys, arguments, message):
    assert command(*arguments) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_folder_that_cannot_be_written(command, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert command(out=tmp_path / "file" / "out") == 1
    assert "file" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "", ",".join(COLUMNS) + "\npaper,ONE,gss,ten\n"])
def test_results_of_something_else_are_left_alone(command, tmp_path, capsys, text):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs.csv").write_text(text)
    assert command() == 1
    assert "move it away" in capsys.readouterr().err
    assert (tmp_path / "out" / "runs.csv").read_text() == text
