"""The paper's tables, computed by hand."""

from paper_data import a_problem, row

from pocketsvm.paper.protocol import Setting
from pocketsvm.paper.tables import accuracy, decisions, targets, time_saved
from pocketsvm.paper.toolkit.tables import Cell


def cell_of(table, line, column):
    return table.lines[line][table.headings.index(column)]


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


def test_decisions_and_targets():
    factors = {"gss-precise": 1.0, "gss": 1.05, "lookup-wd": 1.002, "merge": 1.0}
    shares = {"equal_exact": 0.9, "equal_or_tied_exact": 0.999, "equal_gss": 0.95}
    shares |= {"passes": 1, "events": 9}
    rows = [row("audit", s, factor_of_sums=f, **shares) for s, f in factors.items()]
    setting = Setting(tuple(factors))
    table = decisions(rows, [a_problem()], setting)
    assert cell_of(table, 0, "gss = lookup-wd") == Cell("95.00", "92.54", "+2.46")
    assert cell_of(table, 0, "merge = exact") == Cell("90.00 (99.90)")
    assert cell_of(table, 0, "lookup-wd, factor") == Cell("1.002000", "1.004020", "-0.002020")
    held = {line[0].ours: line[-1].ours for line in targets(rows, [a_problem()], setting).lines}
    assert held == {
        "factor of lookup-wd, first pass": "**no**",
        "factor of merge, first pass": "yes",
        "factor of lookup-wd minus that of gss, first pass": "yes",
        "share of events in which merge is as good as gss-precise, first pass": "yes",
    }
