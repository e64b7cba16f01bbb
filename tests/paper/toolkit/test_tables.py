"""Tables: formats, published figures, targets."""

from pocketsvm.paper.toolkit.tables import (
    Cell,
    Table,
    add_target,
    compare,
    headings,
    target_table,
)


def test_mean_deviation_difference():
    assert compare([84.0, 86.0], (83.0, 0.5)) == Cell("85.00 ± 1.41", "83.00 ± 0.50", "+2.00", True)
    assert compare([84.0, 86.0], (83.5, 0.5)) == Cell(
        "85.00 ± 1.41", "83.50 ± 0.50", "+1.50", False
    )
    assert compare([84.0], 85.0) == Cell("84.00", "85.00", "-1.00", False)
    assert compare([], 85.0) == Cell("–")


def test_values_are_formatted_by_their_columns():
    table = Table("t", "", {"name": ("model", ""), "share": ("share, %", ".1%")})
    table.add("SVC", 0.5)
    table.add(name="other", share=None, ignored=1)
    table.add("information", float("inf"))
    assert table.headings == ["model", "share, %"]
    assert [[str(cell) for cell in line] for line in table.lines] == [
        ["SVC", "50.0%"],
        ["other", "–"],
        ["information", "inf%"],
    ]
    assert table.numeric == [False, True]
    assert table.rows[1]["ignored"] == 1


def test_progress_prints_rows_as_they_are_added(capsys):
    Table("speed", "", headings("a", "b"), progress=True).add("x", "y")
    assert capsys.readouterr().out == "speed: x  y\n"


def test_targets_show_the_worst_value():
    table = target_table()
    add_target(table, "speedup", {"ONE": 3.0, "TWO": 1.5}, "≥", 2, ".1f")
    add_target(table, "seconds", {"": 1.0}, "≤", 2, ".1f")
    add_target(table, "not measured", {}, "≤", 2, ".1f")
    assert [[cell.ours for cell in line] for line in table.lines] == [
        ["speedup", "≥ 2.0", "1.5", "TWO", "**no**"],
        ["seconds", "≤ 2.0", "1.0", "–", "yes"],
    ]
