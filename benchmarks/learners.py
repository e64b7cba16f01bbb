"""Probabilities, quantiles and squared errors, beside models of scikit-learn."""

from collections.abc import Callable
from typing import NamedTuple

from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from . import probabilities, value_learners
from .pieces import each


class Kind(NamedTuple):
    """A table: its tasks, the table without rows, and the row of a task."""

    names: Callable[[], list[str]]
    table: Callable[[bool], Table]
    row: Callable[[bool, str], Row | None]


KINDS = (
    Kind(probabilities.names, probabilities.table, probabilities.row),
    Kind(value_learners.names, value_learners.quantile_table, value_learners.quantile_row),
    Kind(value_learners.names, value_learners.ridge_table, value_learners.ridge_row),
)


def measure(quick: bool, jobs: int = 1) -> list[Table]:
    """Return the tables of all three; some tasks are measured at a time, in processes."""
    tables = [kind.table(quick) for kind in KINDS]
    units = [(number, name, quick) for number, kind in enumerate(KINDS) for name in kind.names()]
    for (number, name, _), row in zip(units, each(_row, units, jobs), strict=True):
        if row is None:
            print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
        else:
            tables[number].add(**row)
    if jobs > 1:
        for table in tables:
            table.note += f" {jobs} tasks were measured at a time."
    return tables


def _row(number: int, name: str, quick: bool) -> Row | None:
    with one_thread():
        return KINDS[number].row(quick, name)
