"""Rows on a cluster: Dask with one and two workers, and with partitions of every kind."""

import os
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets.problems import Problem, available
from ..toolkit.tables import Table
from . import child
from .storage import BUDGET, DASK, N_FEATURES, ROW_BYTES, has_space, write_rows

N_ROWS, QUICK_ROWS = 8_000_000, 100_000
PARTITIONS = (2, 4, 16)
ORDERS = ("random", "by label", "by feature")
SEEDS, QUICK_SEEDS = 5, 1


def measure(quick: bool) -> list[Table]:
    """Return the times by workers, and the accuracies by partitions."""
    return [by_workers(QUICK_ROWS if quick else N_ROWS), by_partitions(quick)]


def by_workers(n_rows: int) -> Table:
    """Return the time of a fit with one and two workers, beside that in memory."""
    table = Table(
        "workers",
        f"{n_rows:,} rows of {N_FEATURES} features in Parquet files, by Dask workers",
        {
            "budget": ("B", "d"),
            "where": ("where", ""),
            "seconds": ("fit, s", ".2f"),
            "speedup": ("speedup over one worker", ".2f"),
            "ratio": ("relative to memory", ".2f"),
            "peak": ("peak memory a worker, MB", ",.0f"),
            "accuracy": ("accuracy, %", ".2f"),
            "same": ("same model", ""),
        },
        "Workers are processes of one thread, and read the files again in each reading. In memory, "
        "the fit has as many threads as there are workers in the last line. Single runs; peak "
        "memory is that of the whole process.",
        progress=True,
    )
    with tempfile.TemporaryDirectory() as name:
        if not has_space(name, ROW_BYTES * n_rows):
            return table
        files = write_rows(Path(name), [n_rows])[n_rows]
        for budget in (100, BUDGET):
            common: dict[str, Any] = {"paths": files, "budget": budget}
            memory = child.call("fit_in_memory", n_jobs=2, **common)
            table.add(
                budget=budget,
                where="memory",
                seconds=memory["seconds"],
                peak=memory["peak_bytes"] / 1e6,
                accuracy=100 * memory["accuracy"],
            )
            one = child.call_in(DASK, "fit_on_dask", n_jobs=1, **common)
            for n_workers in (1, 2):
                run = (
                    one
                    if n_workers == 1
                    else child.call_in(DASK, "fit_on_dask", n_jobs=2, **common)
                )
                table.add(
                    budget=budget,
                    where=f"{n_workers} worker{'s' if n_workers > 1 else ''}",
                    seconds=run["seconds"],
                    speedup=one["seconds"] / run["seconds"],
                    ratio=run["seconds"] / memory["seconds"],
                    peak=run["peak_bytes"] / 1e6,
                    accuracy=100 * run["accuracy"],
                    same="yes" if run["digest"] == one["digest"] else "**no**",
                )
    return table


def by_partitions(quick: bool) -> Table:
    """Return the test accuracy of Dask's fits beside that of one process."""
    table = Table(
        "partitions",
        "Test accuracy of fits on Dask, by partitions and by the order of the rows, in per cent",
        {
            "data": ("data", ""),
            "budget": ("B", "d"),
            "alone": ("one process", ".2f"),
            **{
                f"{order} {n}": (f"{n} partitions, {order}", ".2f")
                for order in ORDERS
                for n in PARTITIONS
            },
            "worst": ("largest fall", ".2f"),
        },
        f"Means of {QUICK_SEEDS if quick else SEEDS} seeds, two worker processes. Rows are "
        "partitioned in random order, sorted by label, or sorted by the feature with the largest "
        "variance. Up to 512 rows per support vector, the sample holds all rows.",
        progress=True,
    )
    for problem in available(quick):
        _add_partitions(table, problem, QUICK_SEEDS if quick else SEEDS)
    return table


def _add_partitions(table: Table, problem: Problem, n_seeds: int) -> None:
    """Measure one data set; the rows travel to the child in a file."""
    rows, budget = problem.rows, problem.data_set.budgets[0]
    with tempfile.TemporaryDirectory() as name:
        path = os.path.join(name, "rows.npz")
        _save(path, rows)
        found: dict[str, list[float]] = child.call_in(
            DASK,
            "accuracies_on_dask",
            path=path,
            setting=problem.setting,
            budget=budget,
            n_seeds=n_seeds,
            partitions=PARTITIONS,
            orders=ORDERS,
        )
    alone = fmean(found.pop("alone"))
    means = {key: fmean(values) for key, values in found.items()}
    table.add(
        data=problem.label,
        budget=budget,
        alone=alone,
        worst=alone - min(means.values()),
        **means,
    )


def _save(path: str, rows: Any) -> None:
    def dense(X: Any) -> NDArray[Any]:
        found = X if isinstance(X, np.ndarray) else X.toarray()
        return found.astype(np.float32)

    np.savez(path, X=dense(rows.X), y=rows.y, X_test=dense(rows.X_test), y_test=rows.y_test)
