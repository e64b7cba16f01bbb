"""Learnt feature scales: accuracy, time and size beside one gamma and LightGBM, and their cost."""

import os
import warnings
from collections.abc import Iterable
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.rows.checked import checked_rows
from pocketsvm.search import BudgetedSVCCV, BudgetedSVRCV
from pocketsvm.solving.feature_scales import learned_scales
from pocketsvm.tasks.classification import class_targets
from pocketsvm.training.settings import Choices, Parameters

from .data_sets import NOISY_MOONS, TASKS
from .datasets.flights import FLIGHTS
from .datasets.tasks import AUC, Task
from .measure import cpu_time, fastest, kilobytes
from .pieces import each
from .small_sets import standard_error

BUDGET, SEEDS, QUICK_ROWS = 500, 5, 1500
QUICK_BUDGET = 20
# IJCNN is here because scales lose there: its test rows differ from its training rows.
NAMES = (NOISY_MOONS, "magic04", "eeg", "letter", "cpusmall", "cadata", "IJCNN", FLIGHTS)
ONE_GAMMA, SCALES, THOROUGH, TREES = "one gamma", '"auto"', '"auto", thorough', "LightGBM"
MODELS = (ONE_GAMMA, SCALES, THOROUGH, TREES)
ROUNDS = 3
# Rows and features of the measurements of learning.
SHAPES = ((5_000, 30), (10_000, 10), (10_000, 30), (20_000, 30), (80_000, 30))
QUICK_SHAPES = ((1000, 10),)

# What is measured of a model, by the keys of the columns.
Line = dict[str, Any]


def measure(quick: bool, jobs: int = 1) -> list[Table]:
    """Return the tables; some data sets and seeds are measured at a time, in processes."""
    units = [(name, seed, quick) for name in names(quick) for seed in _seeds(quick)]
    compared = assembled(names(quick), len(_seeds(quick)), each(_measured, units, jobs))
    tables = [compared, _learning(QUICK_SHAPES if quick else SHAPES)]
    for table in tables:
        table.note += _business(jobs)
    return tables


def names(quick: bool) -> tuple[str, ...]:
    """Return the names of the data sets."""
    return NAMES[: 1 if quick else None]


def _seeds(quick: bool) -> range:
    return range(1 if quick else SEEDS)


def _business(jobs: int) -> str:
    """Say what else the machine had to do: times are longer then."""
    note = f" {jobs} data sets and seeds were measured at a time." if jobs > 1 else ""
    load, cores = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0, os.cpu_count() or 1
    if load > max(jobs, cores) + 0.5:
        note += f" The machine was busy (load {load:.0f} on {cores} cores): times are too long."
    return note


# --- the comparison -------------------------------------------------------------------------------


def assembled(names: Iterable[str], n_seeds: int, results: Iterable[dict[str, Line]]) -> Table:
    """Return the table of the results, in the order of data sets and seeds."""
    table, remaining = _table(), iter(results)
    for name in names:
        found = list(islice(remaining, n_seeds))
        if all(found):
            for model in MODELS:
                table.add(**_line(name, model, found))
        else:
            print(f"Skipped, because its files or its package are missing: {name}.", flush=True)
    return table


def _table() -> Table:
    return Table(
        "scales",
        f"Learnt feature scales, B = {BUDGET}, beside one gamma and LightGBM",
        {
            "data": ("data", ""),
            "model": ("model", ""),
            "measure": ("measure", ""),
            "score": ("test score, %", ".2f"),
            "gain": ("above one gamma", "+.2f"),
            "error": ("standard error", ".2f"),
            "lead": ("above LightGBM", "+.2f"),
            "learnt": ("searches that learn", ".0%"),
            "search": ("search, s", ".1f"),
            "fit": ("one fit, s", ".2f"),
            "kilobytes": ("model, kB", ",.0f"),
            "microseconds": ("prediction of a row, µs", ".2f"),
        },
        f"Means of {SEEDS} seeds; a quick run has one, few rows and a small budget. BudgetedSVCCV "
        "or BudgetedSVRCV finds C and gamma with feature_scales=None (one gamma) and "
        '"auto"; the last line of pocketsvm is a fit with polish="thorough" and what the search '
        'with "auto" found. The search includes a fit. LightGBM has its defaults and is not tuned; '
        "its figures are missing if it is not installed. The standard error is that of the paired "
        "differences. Times are CPU times on one thread, those of predictions the fastest of "
        f"{ROUNDS}. A model is a file, as its package saves it.",
        progress=True,
    )


def _line(name: str, model: str, results: list[dict[str, Line]]) -> Line:
    """Return the line of a model; only its name if it is missing."""
    if any(model not in result for result in results):
        return {"data": name, "model": f"{model} (not installed)"}

    def scores(which: str) -> Any:
        return np.array([result[which]["score"] for result in results])

    own = [result[model] for result in results]
    means = {key: float(np.mean([each[key] for each in own])) for key in own[0] if key != "measure"}
    line: Line = {"data": name, "model": model, "measure": own[0]["measure"], **means}
    if model != ONE_GAMMA:
        gains = scores(model) - scores(ONE_GAMMA)
        line["gain"] = float(gains.mean())
        if len(gains) > 1:
            line["error"] = standard_error(gains)
    if model != TREES and all(TREES in result for result in results):
        line["lead"] = float((scores(model) - scores(TREES)).mean())
    return line


def _measured(name: str, seed: int, quick: bool) -> dict[str, Line]:
    """Measure all models with one seed; nothing if the data set is missing."""
    task = TASKS[name]()
    if task is None:
        return {}
    if quick:
        task = task.some(QUICK_ROWS, QUICK_ROWS)
    budget = QUICK_BUDGET if quick else BUDGET
    found: dict[str, Line] = {}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model, scales in ((ONE_GAMMA, None), (SCALES, "auto")):
            kind: Any = BudgetedSVCCV if task.epsilon is None else BudgetedSVRCV
            scoring = "roc_auc" if task.measure == AUC else None
            search = kind(budget, feature_scales=scales, scoring=scoring, random_state=seed)
            _, seconds = cpu_time(partial(task.fit, search))
            best = clone(search.best_estimator_)
            learns = best.feature_scales is not None
            found[model] = _fitted(task, best) | {"search": seconds, "learnt": float(learns)}
        found[THOROUGH] = _fitted(task, best.set_params(polish="thorough"))
        if find_spec("lightgbm") is not None:
            import lightgbm

            setting: Any = {"random_state": seed, "n_jobs": 1, "verbose": -1}
            trees = lightgbm.LGBMClassifier if task.epsilon is None else lightgbm.LGBMRegressor
            found[TREES] = _fitted(task, trees(**setting))
    return found


def _fitted(task: Task, model: Any) -> Line:
    """Fit a model; return its score, times and size."""
    _, seconds = cpu_time(partial(task.fit, model))
    X_test = task.rows.X_test
    runs = fastest({"": partial(model.predict, X_test)}, ROUNDS, clock=process_time)
    return {
        "measure": task.measure,
        "score": task.score(model),
        "fit": seconds,
        "kilobytes": kilobytes(model),
        "microseconds": 1e6 * runs[""].seconds / len(X_test),
    }


# --- the cost of learning -------------------------------------------------------------------------


def _learning(shapes: Iterable[tuple[int, int]]) -> Table:
    """Return the table of the time that learning takes."""
    table = Table(
        "scale_learning",
        "Learning feature scales",
        {
            "rows": ("rows", ",d"),
            "features": ("features", ",d"),
            "seconds": ("CPU time, s", ".2f"),
        },
        f"Two classes of make_classification, one thread; the fastest of {ROUNDS}. Scales are "
        f"learnt from at most {Choices().most_scale_rows:,} rows. The fit comes after that.",
        progress=True,
    )
    calls = {shape: partial(_learn, *shape) for shape in shapes}
    with one_thread():
        runs = fastest(calls, ROUNDS, np.inf, process_time)
    for (n_rows, n_features), run in runs.items():
        table.add(rows=n_rows, features=n_features, seconds=run.seconds)
    return table


@cache
def _rows(n_rows: int, n_features: int) -> tuple[Any, Any]:
    informative = n_features // 2
    X, y = make_classification(n_rows, n_features, n_informative=informative, random_state=0)
    return X, y


def _learn(n_rows: int, n_features: int) -> None:
    X, y = _rows(n_rows, n_features)
    rows = checked_rows(X)
    parameters = Parameters(
        budget=BUDGET,
        max_iter=1,
        maintenance="merge",
        polish=True,
        n_threads=1,
        random_state=np.random.RandomState(0),
    )
    learned_scales(rows, class_targets(rows, y, None, None, "hinge")[1], parameters, auto=False)
