"""The paper's experiments: which runs there are, what the tables say of them, what is written."""

import csv
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from sklearn.datasets import make_moons

from pocketsvm import _core
from pocketsvm.cli import reproduce as module
from pocketsvm.cli.app import run
from pocketsvm.experiments.paper import figures, peers, protocol, results
from pocketsvm.experiments.paper.datasets import DATA_SETS, DataSet, File, Source, named
from pocketsvm.experiments.paper.pages import write_html, write_markdown
from pocketsvm.experiments.paper.protocol import PARTS, Problem, Setting, default_strategies, plan
from pocketsvm.experiments.paper.results import COLUMNS, Results
from pocketsvm.experiments.paper.tables import (
    Cell,
    Table,
    accuracy,
    checks,
    compare,
    decisions,
    time_saved,
)

N_TRAIN, N_TEST = 240, 80
STRATEGIES = default_strategies()


def text_of(n_rows, seed):
    X, y = make_moons(n_rows, noise=0.2, random_state=seed)
    lines = (f"{2 * label - 1} 1:{a:.4f} 2:{b:.4f}" for (a, b), label in zip(X, y, strict=True))
    return ("\n".join(lines) + "\n").encode()


def make_set(folder, name, budgets=(10, 20)):
    """A small data set in the folder, with the figures that the paper prints for ADULT."""
    files = []
    for ending, n_rows in (("", N_TRAIN), (".t", N_TEST)):
        text = text_of(n_rows, seed=len(ending))
        (folder / (name.lower() + ending)).write_bytes(text)
        digest = hashlib.sha256(text).hexdigest()
        files.append(File(name.lower() + ending, n_rows, 2, digest))
    source = Source(name, tuple(files), "Rows made for a test.")
    return DataSet(name, 8, 2, budgets, 2, (source,), named("ADULT").published)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the only two data sets there are."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "DATA_SETS", [make_set(folder, name) for name in ("ONE", "TWO")])
    monkeypatch.setattr(protocol, "CURVE_BUDGETS", (10, 30))
    return folder


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


# --- whole runs ----------------------------------------------------------------------------------


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
    for heading in ("What should hold", "Table 1:", "Table 2:", "Table 3, time", "Table 3, dec"):
        assert heading in page
    assert "Written by `pocketsvm reproduce --runs 2`." in page
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
    assert f"{n_runs} of {n_runs} runs are done already" in capsys.readouterr().err


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
    assert "the same command goes on" in capsys.readouterr().err
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
    monkeypatch.setattr(protocol, "QUICK_ROWS", 50)
    assert command("--quick", "--only", "one,paper", "--strategies", "merge") == 0
    lines = lines_of(tmp_path / "out")
    assert {line["rows"] for line in lines} == {"50"}
    assert {line["seed"] for line in lines} == {"0", "1"}
    assert "A quick run" in (tmp_path / "out" / "reproduction.md").read_text()


# --- what goes wrong -----------------------------------------------------------------------------


def test_finished_results_outlive_a_missing_data_set(command, data, tmp_path, capsys):
    arguments = ("--runs", 1, "--only", "paper", "--strategies", "merge")
    assert command(*arguments) == 0
    before = (tmp_path / "out" / "runs.csv").read_bytes()
    (data / "two.t").unlink()
    assert command(*arguments) == 1
    assert "TWO" in capsys.readouterr().err
    assert (tmp_path / "out" / "runs.csv").read_bytes() == before


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


# --- the plan ------------------------------------------------------------------------------------


def a_problem(name="ADULT", n_rows=1000, generated=False):
    empty = (None,) * 4
    return Problem(named(name), name, "Rows.", lambda: empty, n_rows, generated)


def test_strategies_take_turns_within_a_run():
    setting = Setting(("gss", "merge"), runs=2, parts=("paper",))
    tasks = plan([a_problem()], setting)
    order = [(task.budget, task.seed, task.strategy) for task in tasks]
    assert order == [(b, run, s) for b in (100, 500) for run in (0, 1) for s in ("gss", "merge")]


def test_a_new_strategy_needs_no_edit(monkeypatch):
    monkeypatch.setattr(_core, "strategies", lambda: ["mine", "merge", "gss", "removal"])
    assert default_strategies() == ["gss-precise", "gss", "lookup-h", "lookup-wd", "mine", "merge"]
    setting = Setting(default_strategies())
    parts = {task.part for task in plan([a_problem()], setting) if "mine" in task.strategies}
    assert parts == {"paper", "audit", "defaults"}
    rows = [row("paper", strategy, accuracy=80.0) for strategy in setting.strategies]
    for table in (accuracy(rows, [a_problem()], setting, "paper"), time_saved([], [], setting)):
        assert "mine" in table.columns


def test_generated_rows_are_for_time_alone():
    tasks = plan([a_problem("SUSY", 4_500_000, generated=True)], Setting(STRATEGIES))
    assert {task.part for task in tasks} == {"paper"}


def test_huge_sets_get_one_pass_and_no_more():
    tasks = plan([a_problem("SUSY", 4_500_000)], Setting(STRATEGIES))
    assert {task.part for task in tasks} == {"paper", "audit"}


def test_susy_in_part_brings_generated_rows_along(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "SCALE_ROWS", 600)
    whole = Source("SUSY", (File("absent", 1, 2),), "Not there.")
    part = make_set(tmp_path, "SUSY").sources[0]
    susy = named("SUSY")
    data_set = DataSet("SUSY", 32, 0.1, (10, 20), 1, (whole, part), susy.published)
    real, generated = protocol.load_problems([data_set], tmp_path)
    assert not real.generated
    assert generated.generated
    assert "600 generated" in generated.label
    assert generated.rows[0].shape == (600, 18)


# --- the tables, by hand --------------------------------------------------------------------------


def row(part, strategy, seed=0, budget=100, data="ADULT", **values):
    return {
        "part": part,
        "data": data,
        "strategy": strategy,
        "budget": budget,
        "seed": seed,
        **values,
    }


def cell_of(table, line, column):
    return table.lines[line][list(table.columns).index(column)]


def test_mean_deviation_difference():
    assert compare([84.0, 86.0], (83.0, 0.5)) == Cell("85.00 ± 1.41", "83.00 ± 0.50", "+2.00", True)
    assert compare([84.0, 86.0], (83.5, 0.5)) == Cell(
        "85.00 ± 1.41", "83.50 ± 0.50", "+1.50", False
    )
    assert compare([84.0], 85.0) == Cell("84.00", "85.00", "-1.00", False)
    assert compare([], 85.0) == Cell("–")


def test_accuracy_stands_beside_the_published_one():
    rows = [row("paper", "gss", seed, accuracy=a) for seed, a in enumerate((80.0, 82.0, 84.0))]
    setting = Setting(("gss", "merge"), runs=3)
    table = accuracy(rows, [a_problem()], setting, "paper")
    assert [str(cell) for cell in table.lines[0][:2]] == ["ADULT", "100"]
    assert cell_of(table, 0, "gss") == Cell("82.00 ± 2.00", "84.17 ± 0.70", "-2.17", False)
    assert cell_of(table, 0, "merge") == Cell("–")
    assert len(table.lines) == 1  # nothing was run with the other budget


def test_time_saved_is_that_of_medians():
    seconds = {"gss": (2.0, 9.0, 1.0), "lookup-wd": (1.0, 1.5, 0.5)}
    rows = [
        row("paper", s, seed, seconds_total=t, merge_frequency=0.25)
        for s, times in seconds.items()
        for seed, t in enumerate(times)
    ]
    table = time_saved(rows, [a_problem()], Setting(("gss", "lookup-h", "lookup-wd")))
    assert cell_of(table, 0, "gss, s") == Cell("2.000")
    assert cell_of(table, 0, "lookup-wd") == Cell("50.0", "18.5", "+31.5")
    assert cell_of(table, 0, "lookup-h") == Cell("–")
    assert cell_of(table, 0, "merging frequency") == Cell("25.0", "32.0", "-7.0")


def test_decisions_and_what_should_hold():
    factors = {"gss-precise": 1.0, "gss": 1.05, "lookup-wd": 1.002, "merge": 1.0}
    shares = {"equal_exact": 0.9, "equal_or_tied_exact": 0.999, "equal_gss": 0.95}
    shares |= {"passes": 1, "events": 9}
    rows = [row("audit", s, factor_of_sums=f, **shares) for s, f in factors.items()]
    setting = Setting(tuple(factors))
    table = decisions(rows, [a_problem()], setting)
    assert cell_of(table, 0, "gss = lookup-wd") == Cell("95.00", "92.54", "+2.46")
    assert cell_of(table, 0, "merge = exact") == Cell("90.00 (99.90)")
    assert cell_of(table, 0, "lookup-wd, factor") == Cell("1.002000", "1.004020", "-0.002020")
    held = {line[0].ours: line[-1].ours for line in checks(rows, [a_problem()], setting).lines}
    assert held == {
        "factor of lookup-wd, first pass": "**no**",
        "factor of merge, first pass": "yes",
        "factor of lookup-wd less that of gss, first pass": "yes",
        "share of events that merge decides as gss-precise does, or ties, first pass": "yes",
    }


def test_published_figures_are_the_papers():
    printed = {data_set.name: data_set.published for data_set in DATA_SETS}
    assert printed["SKIN"].accuracy[200]["lookup-wd"] == pytest.approx((99.75, 0.09), abs=0.005)
    assert printed["IJCNN"].accuracy[100]["gss"] == pytest.approx((96.81, 0.34), abs=0.005)
    assert printed["WEB"].time_saved[500] == pytest.approx(
        {"lookup-h": 7.5, "lookup-wd": 0.5}, abs=0.05
    )
    assert printed["SUSY"].merge_frequency == 43
    assert printed["PHISHING"].factor == {"gss": 1.00055, "lookup-wd": 1.00008}
    assert [p.exact_accuracy for p in printed.values()] == [
        79.79,
        99.96,
        98.77,
        84.82,
        98.81,
        97.55,
    ]


# --- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [peers.EXACT, *peers.APPROXIMATIONS])
def test_peers_learn(name):
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = peers.make(name, C=10.0, gamma=2.0, n_rows=len(y), budget=60, seed=0)
    made = peers.fit_and_predict(model, X, y, X, y)
    assert made.accuracy > 90
    assert made.vectors == (60 if name != peers.EXACT else len(model.support_vectors_))
    assert min(made.seconds_fit, made.seconds_a_prediction) > 0


def test_summary_of_runs():
    runs = [peers.Run(80.0, 1.0, 2e-6, 10), peers.Run(84.0, 3.0, 1e-6, 12)]
    assert peers.summarise(runs) == {
        "size": 12,
        "accuracy": 82.0,
        "deviation": pytest.approx(8**0.5),
        "fit": 2.0,
        "predict": pytest.approx(1.0),
        "seeds": 2,
    }


# --- pages ----------------------------------------------------------------------------------------

VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    """The tags of a page, which must nest, and the addresses in it."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tags = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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


def test_pages_escape_what_they_show(tmp_path):
    table = Table("t", "a < b", ("x & y", "z"))
    table.add("<i>", Cell("1", "<2", "-1", beyond=True))
    blocks = ["# Title & more", "**bold** `code <`", table]
    text = write_html(blocks, tmp_path).read_text()
    Page(text)
    assert "<h1>Title &amp; more</h1>" in text
    assert "<strong>bold</strong> <code>code &lt;</code>" in text
    assert '<th scope="row">&lt;i&gt;</th>' in text
    assert "&lt;2 <strong>-1</strong>" in text
    assert "| 1<br><sub><2, **-1**</sub> |" in write_markdown(blocks, tmp_path).read_text()


def test_pictures_follow_the_readers_scheme():
    bars = {"gss": (0.3, 0.1), "merge": (0.0, 0.0)}
    spent = {("ONE", 10): bars, ("ONE", 20): bars, ("TWO", 10): bars}
    points = [
        {"data": d, "model": m, "budget": b, "size": b, "accuracy": 90.0, "deviation": None}
        for d in ("ONE", "TWO", "THREE", "FOUR")
        for m, b in ((peers.POCKETSVM, 50), (peers.POCKETSVM, 100))
    ]
    for figure in (figures.breakdown(spent), figures.draw_accuracy(points, "size", "vectors")):
        text = figures.svg(figure)
        ET.fromstring(text)
        assert "currentColor" in text
        assert figures.INK not in text.replace(figures.SVG_STYLE, "")
        assert "prefers-color-scheme: dark" in text


def test_the_same_results_give_the_same_picture():
    spent = {("ONE", 10): {"gss": (0.3, 0.1), "merge": (0.1, 0.1)}}
    first, second = (figures.svg(figures.breakdown(spent)) for _ in range(2))
    assert first == second


# --- results --------------------------------------------------------------------------------------


def test_numbers_survive_the_file(tmp_path):
    kept = Results(tmp_path)
    line = dict.fromkeys(COLUMNS)
    line |= {"part": "paper", "budget": 10, "C": 2**-7, "accuracy": 100 / 3, "steps": 5}
    kept.add([line])
    (found,) = Results(tmp_path).of([line])
    assert found == {name: value for name, value in line.items() if value is not None}
    assert Results(tmp_path).of([line | {"budget": 20}]) == [None]
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_failed_write_loses_nothing(tmp_path, monkeypatch):
    kept = Results(tmp_path)
    kept.add([{"part": "paper", "budget": 10}])
    before = kept.path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        kept.add([{"part": "paper", "budget": 20}])
    assert kept.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
