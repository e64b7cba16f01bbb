"""The whole fit of millions of rows: its cost beside a prediction, threads, and memory."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from . import child
from .measure import can_measure_memory
from .pieces import piece

N_FEATURES = 18
QUICK_DIVISOR = 30
ROUNDS = 3
MEGABYTE = 1e6


class Case(NamedTuple):
    """Generated rows, the number of classes, and a budget."""

    data: str
    n_rows: int
    n_classes: int
    budget: int


# Rows of many classes are only measured on one thread.
CASES = (
    Case("overlapping", 4_500_000, 2, 500),
    Case("overlapping", 4_500_000, 2, 2000),
    Case("shell", 4_500_000, 2, 500),
    Case("shell", 4_500_000, 2, 2000),
    Case("many classes", 1_000_000, 26, 500),
)


def measure(quick: bool) -> list[Table]:
    """Return the table; each case is a piece."""
    table = Table(
        "threads",
        f"The whole fit of generated rows of {N_FEATURES} features",
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "classes": ("classes", "d"),
            "budget": ("B", ",d"),
            "threads": ("threads", "d"),
            "fit": ("fit, s", ".2f"),
            "speedup": ("speedup", ".2f"),
            "solving": ("solving, s", ".2f"),
            "deciding": ("decision_function, s", ".2f"),
            "ratio": ("fit, relative", ".2f"),
            "megabytes": ("memory beside the data, MB", ",.0f"),
            "same": ("same model", ""),
            "accuracy": ("training accuracy, %", ".2f"),
        },
        "Each line in a process of its own, the fastest of "
        f"{ROUNDS} fits, with one pass. The fit is relative to decision_function on the same rows "
        "with the same number of threads. Solving is `profile_.seconds_polish`. Memory is the "
        "growth of the peak resident size in fit. The model is the same if every bit is that of "
        "one thread. Rows of a shell have the class 1 outside of a noisy sphere in six of the "
        "features, C = 32 and gamma = 1 / 32.",
        progress=True,
    )
    if not can_measure_memory():
        print("Skipped: the peak memory can only be measured on Linux.\n")
        return [table]
    for case in CASES:
        name = f"{case.data}, {case.budget}"
        for row in piece(name, lambda case=case: list(_rows(case, quick))):  # type: ignore[misc]
            table.add(**row)
    return [table]


def _rows(case: Case, quick: bool) -> Iterator[Row]:
    n_rows = case.n_rows // QUICK_DIVISOR if quick else case.n_rows
    first: dict[str, Any] = {}
    for n_jobs in sorted({1, os.cpu_count() or 1}) if case.n_classes == 2 else [1]:
        run = child.call(
            "solving",
            {"OMP_NUM_THREADS": str(n_jobs), "OPENBLAS_NUM_THREADS": str(n_jobs)},
            data=case.data,
            n_rows=n_rows,
            n_features=N_FEATURES,
            n_classes=case.n_classes,
            budget=case.budget,
            n_jobs=n_jobs,
            rounds=ROUNDS,
        )
        first = first or run
        yield {
            "data": case.data,
            "rows": n_rows,
            "classes": case.n_classes,
            "budget": case.budget,
            "threads": n_jobs,
            "ratio": run["fit"] / run["deciding"],
            "speedup": first["fit"] / run["fit"] if n_jobs > 1 else None,
            "megabytes": run["bytes"] / MEGABYTE,
            "same": ("yes" if run["digest"] == first["digest"] else "**no**")
            if n_jobs > 1
            else None,
            **{name: run[name] for name in ("fit", "solving", "deciding", "accuracy")},
        }
