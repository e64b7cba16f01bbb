"""Rows on a cluster: Dask with one and two workers, what travels, and all kinds of partitions."""

import os
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.solving.scans import LENGTHS
from pocketsvm.training.settings import Choices

from . import child
from .datasets.paper import available
from .pieces import table_piece
from .storage import (
    BUDGET,
    DASK,
    N_FEATURES,
    ROW_BYTES,
    Form,
    has_dask_frames,
    has_space,
    write_rows,
)

N_ROWS, QUICK_ROWS = 8_000_000, 100_000
PARTITION_ROWS = 125_000
NETWORK_ROWS = 2_000_000  # what travels does not depend on the rows of a partition
PARTITIONS = (2, 4, 16)
ORDERS = ("random", "by label", "by feature")
SEEDS, QUICK_SEEDS = 5, 1


def measure(quick: bool, rows: int | None = None) -> list[Table]:
    """Return the times by workers, what travels, and the accuracies by partitions."""
    n_rows = rows or (QUICK_ROWS if quick else N_ROWS)
    return [
        table_piece("workers", lambda: by_workers(n_rows)),
        table_piece("network", lambda: by_reduction(min(n_rows, NETWORK_ROWS))),
        table_piece("partitions", lambda: by_partitions(quick)),
    ]


def by_workers(n_rows: int) -> Table:
    """Return the time of a fit with one and two workers, beside that in memory."""
    table = Table(
        "workers",
        f"{n_rows:,} rows of {N_FEATURES} features in files, by Dask workers",
        {
            "budget": ("B", "d"),
            "form": ("files", ""),
            "where": ("where", ""),
            "seconds": ("fit, s", ".2f"),
            "speedup": ("speedup over one worker", ".2f"),
            "ratio": ("relative to memory", ".2f"),
            "batch": ("one batch, MB", ".0f"),
            "peak": ("peak memory a worker, MB", ",.0f"),
            "accuracy": ("accuracy, %", ".2f"),
            "same": ("same model", ""),
        },
        "Workers are processes of one thread, and read the files again in each scan: NumPy "
        "files as dask arrays, Parquet files as dask dataframes. In memory, the fit has two "
        "threads, as many as there are workers in the last line. Single runs; peak memory is that "
        "of the whole process.",
        progress=True,
    )
    for form in forms():
        with tempfile.TemporaryDirectory() as name:
            if not has_space(name, ROW_BYTES * n_rows):
                return table
            files = write_rows(Path(name), [n_rows], form, PARTITION_ROWS)[n_rows]
            for budget in (100, BUDGET):
                _add_workers(table, form, files, budget)
    return table


def forms() -> list[Form]:
    """Return the forms of files that can be read: Parquet needs pyarrow and Dask's dataframes."""
    return ["npy", "parquet"] if has_dask_frames() else ["npy"]


def _add_workers(table: Table, form: Form, files: list[str], budget: int) -> None:
    common: dict[str, Any] = {"paths": files, "budget": budget}
    named = {"budget": budget, "form": {"npy": "NumPy", "parquet": "Parquet"}[form]}
    memory = child.call("fit_in_memory", n_jobs=2, **common)
    table.add(
        **named,
        where="memory",
        seconds=memory["seconds"],
        peak=memory["peak_bytes"] / 1e6,
        accuracy=100 * memory["accuracy"],
    )
    one: Any = None
    for n_workers in (1, 2):
        run = child.call_in(DASK, "fit_on_dask", n_jobs=n_workers, **common)
        one = one or run
        table.add(
            **named,
            where=f"{n_workers} worker{'s' if n_workers > 1 else ''}",
            seconds=run["seconds"],
            speedup=one["seconds"] / run["seconds"],
            ratio=run["seconds"] / memory["seconds"],
            batch=_batch_megabytes(files),
            peak=run["peak_bytes"] / 1e6,
            accuracy=100 * run["accuracy"],
            same="yes" if run["digest"] == one["digest"] else "**no**",
        )


def _batch_megabytes(files: list[str]) -> float:
    """Return the size of a partition, which is one file."""
    return max(map(os.path.getsize, files)) / 1e6


def by_reduction(n_rows: int) -> Table:
    """Return how many bytes each scan of all partitions moves, beside the formula."""
    table = Table(
        "reductions",
        f"What travels on the cluster: {n_rows:,} rows of {N_FEATURES} features, B = {BUDGET}",
        {
            "reading": ("scan", ""),
            "partitions": ("partitions", "d"),
            "argument": ("to a worker, kB", ",.1f"),
            "result": ("from a partition, kB", ",.1f"),
            "formula": ("by the formula, kB", ",.1f"),
            "total": ("from all partitions, kB", ",.0f"),
            "merged": ("to the client, kB", ",.1f"),
        },
        "Sizes of the pickled argument of a scan, of its results for each partition, and of "
        "the result for all of them. Results that are merged on the worker that has them do not "
        "travel at all, so the totals are upper limits. With d features, B vectors, K classes and "
        "rows of 4 d + 1 bytes, the formulas are: Summarise 8 (4 d + 3 K + 6); Draw (the "
        "sample) its share of 512 B rows, with 16 more bytes; ReadFirst 8 (B + 5), and besides the "
        "rows near the margin, or a sample of them; ReadAlong 40, only after a step that "
        "was too long.",
    )
    with tempfile.TemporaryDirectory() as name:
        if not has_space(name, ROW_BYTES * n_rows):
            return table
        files = write_rows(Path(name), [n_rows], "npy")[n_rows]
        found = child.call_in(DASK, "sizes_on_dask", paths=files, budget=BUDGET)
    for reading, sizes in found.items():
        n = sizes["partitions"]
        table.add(
            reading=reading,
            partitions=n,
            argument=sizes["argument"] / 1e3,
            result=sizes["results"] / n / 1e3,
            formula=_formula(reading, n) / 1e3,
            total=sizes["results"] / 1e3,
            merged=sizes["merged"] / 1e3,
        )
    return table


def _formula(reading: str, n_partitions: int) -> float:
    """Return the bytes of a partition's result: float64 numbers, float32 rows, labels of a byte."""
    number, row = 8, 4 * N_FEATURES + 1
    sizes: dict[str, float] = {
        "Summarise": number * (4 * N_FEATURES + 3 * 2 + 6),
        "Draw": Choices().most_sampled(BUDGET) / n_partitions * (row + 2 * number),
        "ReadFirst": number * (BUDGET + 5),
        "ReadAlong": number * len(LENGTHS),
    }
    return sizes[reading]


def by_partitions(quick: bool) -> Table:
    """Return the test accuracy of Dask's fits beside that of one process."""
    table = Table(
        "partitions",
        "Test accuracy of fits on Dask, by partitions and by the order of the rows, in per cent",
        {
            "data": ("data", ""),
            "budget": ("B", "d"),
            "order": ("order of the rows", ""),
            "alone": ("one process", ".2f"),
            **{f"on {n}": (f"{n} partitions", ".2f") for n in PARTITIONS},
            "worst": ("largest fall", ".2f"),
        },
        f"Means of {QUICK_SEEDS if quick else SEEDS} seeds, two worker processes. One process has "
        "the same rows in the same order, because another order is like another seed. Rows are in "
        "random order, sorted by label, or sorted by the feature with the largest variance. Up to "
        "512 rows per support vector, the sample holds all rows, and the models are the same.",
        progress=True,
    )
    for problem in available(quick):
        _add_partitions(table, problem, QUICK_SEEDS if quick else SEEDS)
    return table


def _add_partitions(table: Table, problem: Problem, n_seeds: int) -> None:
    """Measure one data set; the rows travel to the child in a file."""
    budget = problem.data_set.budgets[0]
    with tempfile.TemporaryDirectory() as name:
        path = os.path.join(name, "rows.npz")
        _save(path, problem.rows)
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
    for order in ORDERS:
        alone = fmean(found[f"{order} alone"])
        means = {f"on {n}": fmean(found[f"{order} {n}"]) for n in PARTITIONS}
        table.add(
            data=problem.label,
            budget=budget,
            order=order,
            alone=alone,
            worst=alone - min(means.values()),
            **means,
        )


def _save(path: str, rows: Any) -> None:
    def dense(X: Any) -> NDArray[Any]:
        found = X if isinstance(X, np.ndarray) else X.toarray()
        return found.astype(np.float32)

    np.savez(path, X=dense(rows.X), y=rows.y, X_test=dense(rows.X_test), y_test=rows.y_test)
