"""The search of C and gamma: its time and accuracy, beside GridSearchCV and LightGBM."""

import os
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold

from ...data.precision import training_rows
from ...data.rows import checked_rows
from ...estimators import BudgetedSVC, BudgetedSVCCV
from ...estimators.searching.race import Grid
from ..datasets.problems import available
from ..datasets.tasks import Task
from ..datasets.tuned import tuned
from ..toolkit.measure import one_thread, timed
from ..toolkit.tables import Table
from .guesses import measure_guesses
from .small_sets import measure_small_sets

BUDGET, FOLDS, SEEDS, QUICK_ROWS = 500, 5, 5, 600
NAMES = ("ADULT", "IJCNN", "PHISHING", "letter")
# LightGBM is tuned by so many random candidates and folds.
TREE_CANDIDATES, TREE_FOLDS = 10, 3
TREES = {
    "n_estimators": randint(50, 500),
    "learning_rate": loguniform(0.02, 0.3),
    "num_leaves": randint(8, 128),
    "min_child_samples": randint(5, 100),
}


def measure(quick: bool) -> list[Table]:
    """Return the tables of all comparisons."""
    with one_thread():
        searches = _searches(quick)
        return [searches, *measure_small_sets(quick), measure_guesses(quick)]


def _searches(quick: bool) -> Table:
    table = Table(
        "searches",
        f"The search of BudgetedSVCCV, B = {BUDGET}, {FOLDS} folds, all cores",
        {
            "data": ("data", ""),
            "tried": ("candidates", "d"),
            "fit": ("one fit, s", ".2f"),
            "search": ("search, s", ".1f"),
            "ratio": ("search / fit", ".1f"),
            "grid": ("GridSearchCV, s", ".0f"),
            "speedup": ("GridSearchCV / search", ".1f"),
            "accuracy": ("test accuracy, %", ".2f"),
            "grid_accuracy": ("with GridSearchCV, %", ".2f"),
            "fall": ("below it", "+.2f"),
            "trees": ("LightGBM, %", ".2f"),
            "tuned_trees": ("LightGBM tuned, %", ".2f"),
        },
        f"Means of {SEEDS} seeds; a quick run has one, and few candidates of the others. One fit "
        "is that of BudgetedSVC with the values found; the search includes it. GridSearchCV "
        "searches the default grid of 30 candidates over BudgetedSVC with such folds once, and its "
        "best values are fitted with every seed. LightGBM has its defaults, or the best of "
        f"{TREE_CANDIDATES} random candidates by {TREE_FOLDS} folds.",
        progress=True,
    )
    for task in _tasks(quick):
        _add_search(table, task, quick)
    return table


def _tasks(quick: bool) -> Iterator[Task]:
    found = [Task.of(problem) for problem in available(quick)]
    letter = tuned("letter")
    for task in [*found, *([letter] if letter is not None else [])]:
        if task.label in NAMES:
            yield task.some(QUICK_ROWS, QUICK_ROWS) if quick else task


def _add_search(table: Table, task: Task, quick: bool) -> None:
    X, y = task.rows.X, task.rows.y
    cores, n_seeds = (1, 1) if quick else (os.cpu_count(), SEEDS)
    runs, fits, scores = [], [], []
    for seed in range(n_seeds):
        search = BudgetedSVCCV(BUDGET, random_state=seed, n_jobs=cores)
        runs.append(timed(partial(search.fit, X, y)).seconds)
        fits.append(min(timed(partial(search.best_estimator_.fit, X, y)).seconds for _ in range(2)))
        scores.append(task.score(search))
    grid = GridSearchCV(
        BudgetedSVC(BUDGET, random_state=0),
        _default_grid(X, quick),
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
        n_jobs=cores,
    )
    seconds = timed(partial(grid.fit, X, y)).seconds
    plain = partial(BudgetedSVC, BUDGET, n_jobs=cores, **grid.best_params_)
    others = [task.score(plain(random_state=seed).fit(X, y)) for seed in range(n_seeds)]
    table.add(
        data=task.label,
        tried=len(search.cv_results_["params"]),
        fit=float(np.mean(fits)),
        search=float(np.mean(runs)),
        ratio=float(np.mean(runs) / np.mean(fits)),
        grid=seconds,
        speedup=float(seconds / np.mean(runs)),
        accuracy=float(np.mean(scores)),
        grid_accuracy=float(np.mean(others)),
        fall=float(np.mean(others) - np.mean(scores)),
        **_trees(task, cores, quick),
    )


def _default_grid(X: Any, quick: bool) -> dict[str, list[float]]:
    """Return the values that a search begins with; some of them in a quick run."""
    grid = Grid.of(None, None, training_rows(checked_rows(X), "scale").gamma, 1.0)
    step = 3 if quick else 1
    return {"C": list(grid.Cs[::step]), "gamma": list(grid.gammas[::step])}


def _trees(task: Task, cores: int | None, quick: bool) -> dict[str, float]:
    """Return the accuracy of LightGBM, if it is installed."""
    if find_spec("lightgbm") is None:
        print("LightGBM is not installed: its accuracies are left out", flush=True)
        return {}
    import lightgbm

    model = lightgbm.LGBMClassifier(random_state=0, n_jobs=cores, verbose=-1)
    search = RandomizedSearchCV(model, TREES, n_iter=TREE_CANDIDATES, cv=TREE_FOLDS, random_state=0)
    X, y = task.rows.X, task.rows.y
    return {
        "trees": task.score(model.fit(X, y)),
        "tuned_trees": task.score(search.fit(X, y)),
    }
