"""Accuracy and time beside other models, on the paper's data sets: a part of its reproduction."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

from pocketsvm.paper.comparison import comparison_table
from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.models import EXACT, NYSTROEM, POCKETSVM
from pocketsvm.paper.protocol import OURS, RUNS, Setting, Task, execute, open_results, plan
from pocketsvm.paper.tables import curves
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table, headings

from .datasets.paper import available, labelled

PARTS = ("defaults", "peers", "exact")


def measure(quick: bool, jobs: int = 1, runs: Path | None = None) -> list[Table]:
    """Fit every model to every available data set, some at a time in processes of their own.

    With `runs`, the same fits are taken from this file of a reproduction.
    """
    if runs is not None:
        return from_runs(runs)
    problems, tasks = _planned(quick)
    rows: list[Row] = []
    with ProcessPoolExecutor(jobs, get_context("spawn")) if jobs > 1 else nullcontext() as pool:
        # The exact SVM takes longest: its runs, the last ones, begin first.
        numbers = list(reversed(range(len(tasks)))) if pool else range(len(tasks))
        for number, found in zip(
            numbers, (pool.map if pool else map)(partial(_run, quick), numbers), strict=True
        ):
            task = tasks[number]
            rows += found
            print(
                f"{task.problem.label}, {task.strategy}, B = {task.budget}: "
                f"{rows[-1]['accuracy']:.2f} %, {rows[-1]['seconds_fit']:.3f} s",
                flush=True,
            )
    labels = [problem.label for problem in problems]
    table = comparison_table(curves(rows, labels, _setting(quick)))
    if jobs > 1:
        table.note += f" {jobs} models were trained at a time."
    return [table]


def _setting(quick: bool) -> Setting:
    return Setting((OURS,), runs=1 if quick else RUNS, parts=PARTS)


@cache
def _planned(quick: bool) -> tuple[list[Problem], list[Task]]:
    problems = available(quick)
    return problems, list(plan(problems, _setting(quick)))


def _run(quick: bool, number: int) -> list[Row]:
    return execute(_planned(quick)[1][number])


def from_runs(path: Path) -> list[Table]:
    """Take the same runs from ``runs.csv`` of a reproduction; the last one of several counts."""
    runs = {
        tuple(row.get(key) for key in ("part", "data", "strategy", "budget", "seed")): row
        for row in open_results(path.parent).rows
    }
    setting = Setting((OURS,), parts=PARTS)
    return [comparison_table(curves(list(runs.values()), list(labelled()), setting))]


def readme_table(points: Sequence[Row]) -> Table:
    """Return the README's table: the larger budget of each data set beside other models."""
    columns = ("data", "vectors", POCKETSVM, NYSTROEM, EXACT, "vectors of SVC")
    table = Table("readme", "", headings(*columns))
    found = {(point["data"], point["model"], point["budget"]): point for point in points}
    for label, data_set in labelled().items():
        budget = data_set.budgets[1]
        keys = ((POCKETSVM, budget), (NYSTROEM, budget), (EXACT, None))
        ours, nystroem, exact = (found.get((label, *key)) for key in keys)
        if ours is not None:
            texts = [_accuracy_and_time(point) for point in (ours, nystroem, exact)]
            table.add(label, str(budget), *texts, f"{exact['size']:,}" if exact else None)
    return table


def _accuracy_and_time(point: Row | None) -> str | None:
    if point is None:
        return None
    seconds = point["fit"]
    digits = 2 if seconds < 1 else 1 if seconds < 100 else 0
    return f"{point['accuracy']:.2f} %, {seconds:,.{digits}f} s"
