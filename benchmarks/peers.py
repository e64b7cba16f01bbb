"""Accuracy and time beside other models, on the paper's data sets: a part of its reproduction."""

from functools import cache
from pathlib import Path
from typing import Any

from pocketsvm.paper.comparison import comparison_table
from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.protocol import OURS, RUNS, Setting, Task, execute, open_results, plan
from pocketsvm.paper.tables import curves
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from .datasets.paper import available, labelled
from .pieces import each

PARTS = ("defaults", "peers", "exact")


def measure(quick: bool, jobs: int = 1, runs: Path | None = None) -> list[Table]:
    """Fit every model to every available data set, some at a time in processes of their own.

    With `runs`, the same fits are taken from this file of a reproduction.
    """
    if runs is not None:
        return from_runs(runs)
    problems, tasks = _planned(quick)
    # The exact SVM takes longest: its runs, the last ones, begin first.
    units = [(quick, number) for number in reversed(range(len(tasks)))]
    rows: list[Row] = [row for found in each(_run, units, jobs) for row in found]
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


def _run(quick: bool, number: int) -> list[dict[str, Any]]:
    task = _planned(quick)[1][number]
    rows = [dict(row) for row in execute(task)]
    print(
        f"{task.problem.label}, {task.strategy}, B = {task.budget}: "
        f"{rows[-1]['accuracy']:.2f} %, {rows[-1]['seconds_fit']:.3f} s",
        flush=True,
    )
    return rows


def from_runs(path: Path) -> list[Table]:
    """Take the same runs from ``runs.csv`` of a reproduction; the last one of several counts."""
    runs = {
        tuple(row.get(key) for key in ("part", "data", "strategy", "budget", "seed")): row
        for row in open_results(path.parent).rows
    }
    setting = Setting((OURS,), parts=PARTS)
    return [comparison_table(curves(list(runs.values()), list(labelled()), setting))]
