"""The summary of the reproduction, computed by hand."""

import pytest
from paper_data import a_problem, row

from pocketsvm import golden_section
from pocketsvm.paper.protocol import Setting
from pocketsvm.paper.summary import MARK, has_other_rows, marked, summary
from pocketsvm.paper.tables import accuracy
from pocketsvm.paper.toolkit.tables import Table

OWN = a_problem(n_rows=32_561)  # as many rows as ADULT has in the paper
SETTING = Setting(("gss", "lookup-wd"), runs=2)


def paper_rows():
    values = {"gss": (84.0, 84.4, 2.0), "lookup-wd": (84.2, 84.6, 1.5)}
    return [
        row(
            "paper",
            strategy,
            seed,
            accuracy=found[seed],
            seconds_total=found[2] * (budget / 100),
            seconds_solve=found[2] - 1,
            seconds_rest=0.5,
            merge_frequency=0.25 if budget == 100 else 0.30,
            budget=budget,
        )
        for strategy, found in values.items()
        for budget in (100, 500)
        for seed in (0, 1)
    ]


def lines_of(table):
    return {line[0].ours: [cell.ours for cell in line[2:]] for line in table.lines}


def test_nothing_without_runs():
    assert list(summary([], [OWN], SETTING)) == []


def test_each_question_and_table_has_a_line():
    audits = [
        row("audit", "lookup-wd", passes=n, equal_gss=share, factor_of_sums=factor)
        for n, share, factor in ((1, 0.92, 1.0001), (20, 0.25, 1.32))
    ]
    exact = row("exact", "SVC", accuracy=85.07)
    _, table, decisions, frequencies = summary([*paper_rows(), *audits, exact], [OWN], SETTING)
    lines = lines_of(table)
    assert lines["Question 1: which speed-up?"] == ["25.0 to 25.0 %", "yes"]
    assert lines["Question 2: at the price of accuracy?"] == [
        "below one standard deviation in 2 of 2 comparisons with gss",
        "yes",
    ]
    assert lines["Question 3: does it depend on the budget?"] == [
        "it changes by at most 5.0 points (ADULT)",
        "**partly**",
    ]
    assert lines["Question 4: do the decisions differ?"] == [
        "92.0 to 92.0 % in the first pass, 25.0 to 25.0 % over all passes",
        "**partly**",
    ]
    assert lines["Table 1: the exact SVM"][0].startswith("within 0.25 points")
    assert lines["Table 2: test accuracies"][0].startswith("4 of 4 agree")
    assert lines["Table 3: merging frequency"] == [
        "differs by 7.0 to 7.0 points on the paper's rows",
        "**no**",
    ]
    assert lines["Figure 1"][1] == "nothing to measure"
    assert lines["Figure 3: merging time"] == [
        "A is shorter than that of gss in 2 of 2 settings",
        "yes",
    ]
    assert "Over 20 passes on ADULT, gss and lookup-wd choose the same partner in 25 %" in decisions
    assert "is 1.32 (1.004). In the first pass, they are 92 % and 1.000" in decisions
    assert "ADULT 25.0 % (32 %)" in frequencies


def test_other_rows_are_marked_and_take_no_part():
    other = a_problem(n_rows=1000)
    assert has_other_rows(other)
    assert not has_other_rows(OWN)
    table = accuracy(paper_rows(), [other], SETTING, "paper")
    (table,) = marked([table], [other])
    assert table.lines[0][0].ours == f"ADULT {MARK}"
    assert table.note.endswith("† other rows than the paper's.")
    _, table = summary(paper_rows(), [other], SETTING)
    assert isinstance(table, Table)
    assert not any(where.startswith(("Table 2", "Table 3")) for where in lines_of(table))


def test_the_misprint_of_the_algorithm():
    """What its line 5 finds, and the optimum: figures in the remarks."""
    a_min, a, kappa = 0.2, 1.0, 0.5
    m = a_min / (a_min + a)
    h, wd = golden_section(m, kappa, 1e-10)
    assert (h, (a_min + a) ** 2 * wd) == pytest.approx((0.103, 0.014), abs=5e-4)
    wrong, _ = golden_section(1 - m, kappa, 1e-10)
    s = m * kappa ** ((1 - wrong) ** 2) + (1 - m) * kappa ** (wrong**2)
    lost = m**2 + (1 - m) ** 2 - s**2 + 2 * m * (1 - m) * kappa
    assert (wrong, (a_min + a) ** 2 * lost) == pytest.approx((0.897, 0.645), abs=5e-4)
