"""Tables: values under named columns, measured figures beside published ones, and targets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Literal

Columns = Mapping[str, tuple[str, str]]  # by key: the heading and the format of the values

LONG_TABLE = 40  # tables with at least as many rows are collapsed on pages
MISSING = "–"
NUMBER = re.compile(rf"([≤≥] )?[-+]?(\d|inf\b)|{MISSING}$")
TARGET_NOTE = "The targets are goals that this project set itself."


@dataclass(frozen=True)
class Cell:
    """A measured figure with the published one and their difference, if there is one.

    `beyond` is True if the difference exceeds the sum of both standard deviations.
    """

    ours: str
    published: str = ""
    difference: str = ""
    beyond: bool = False

    def __str__(self) -> str:
        if not self.published:
            return self.ours
        return f"{self.ours}\n{self.published} {self.difference}{' !' if self.beyond else ''}"


def compare(
    ours: Sequence[float], published: float | tuple[float, float] | None = None, form: str = ".2f"
) -> Cell:
    """Return the mean (and standard deviation, if several) of our figures beside the published."""
    if not ours:
        return Cell(MISSING)
    mean, deviation = fmean(ours), stdev(ours) if len(ours) > 1 else None
    text = _with_deviation(mean, deviation, form)
    if published is None:
        return Cell(text)
    value, spread = published if isinstance(published, tuple) else (published, None)
    difference = mean - value
    beyond = None not in (deviation, spread) and abs(difference) > (deviation or 0) + (spread or 0)
    return Cell(text, _with_deviation(value, spread, form), f"{difference:+{form}}", beyond)


def _with_deviation(value: float, deviation: float | None, form: str) -> str:
    return f"{value:{form}}" + (f" ± {deviation:{form}}" if deviation is not None else "")


@dataclass
class Table:
    """Rows of values under named columns, with a title and a note that explains them.

    Values are texts, numbers, cells, or None if missing. With `progress` every new row is printed.
    """

    name: str
    title: str
    columns: Columns
    note: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    progress: bool = False

    def add(self, *values: Any, **named: Any) -> None:
        """Add a row: values in the order of the columns, or by their keys."""
        row = dict(zip(self.columns, values, strict=False)) | named
        if self.progress:
            print(f"{self.name}: " + "  ".join(map(str, self._cells(row))), flush=True)
        self.rows.append(row)

    def merge(self, key: str, row: Mapping[str, Any]) -> None:
        """Add values to the row with the same key, or a new row."""
        for known in self.rows:
            if known[key] == row[key]:
                known.update(row)
                return
        self.add(**row)

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def headings(self) -> list[str]:
        """The headings of the columns."""
        return [heading for heading, _ in self.columns.values()]

    @property
    def lines(self) -> list[list[Cell]]:
        """The formatted cells of all rows."""
        return [self._cells(row) for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """Whether every cell of a column starts with a number, for each column."""
        columns = zip(*self.lines, strict=True)
        return [all(NUMBER.match(cell.ours) for cell in column) for column in columns]

    @property
    def is_long(self) -> bool:
        """Whether pages collapse the table."""
        return len(self.rows) >= LONG_TABLE

    def _cells(self, row: Mapping[str, Any]) -> list[Cell]:
        return [_cell(row.get(key), form) for key, (_, form) in self.columns.items()]


def _cell(value: Any, form: str) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell(MISSING if value is None else format(value, form))


def headings(*names: str) -> Columns:
    """Return columns whose keys are their headings."""
    return {name: (name, "") for name in names}


# --- targets --------------------------------------------------------------------------------------


def target_table() -> Table:
    """Return an empty table for `add_target`."""
    columns = ("what", "project's target", "measured, worst case", "where", "met")
    return Table("targets", "", headings(*columns), TARGET_NOTE)


def add_target(
    table: Table,
    what: str,
    found: Mapping[str, float],
    relation: Literal["≤", "≥"],
    bound: float,
    form: str,
) -> None:
    """Add a row with the worst of the values, which are given by where they were measured."""
    if not found:
        return
    where = (min if relation == "≥" else max)(found, key=lambda place: found[place])
    target, measured = f"{relation} {bound:{form}}", f"{found[where]:{form}}"
    table.add(what, target, measured, where or MISSING, met(found[where], relation, bound))


def met(value: float, relation: Literal["≤", "≥"], bound: float) -> str:
    """Say whether a value meets its target."""
    return "yes" if (value >= bound if relation == "≥" else value <= bound) else "**no**"
