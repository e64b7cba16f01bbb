"""The search of C and gamma: its time and accuracy, beside GridSearchCV and LightGBM."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold

from pocketsvm.estimators import BudgetedSVC
from pocketsvm.paper.toolkit.measure import one_thread, timed
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.precision import training_rows
from pocketsvm.search import BudgetedSVCCV
from pocketsvm.search.candidates import Grid

from . import defaults, guesses, small_sets
from .data_sets import TASKS
from .datasets.paper import available
from .datasets.tasks import Task
from .pieces import each

# Returns the row of a data set for some tables, by their names.
Measure = Callable[[str, bool], dict[str, Row]]

BUDGET, FOLDS, SEEDS, CORES, QUICK_ROWS = 500, 5, 5, 2, 600
NAMES = ("IJCNN", "ADULT", "PHISHING", "letter")  # the longest first
# LightGBM is tuned by so many random candidates and folds.
TREE_CANDIDATES, TREE_FOLDS = 10, 3
TREES = {
    "n_estimators": randint(50, 500),
    "learning_rate": loguniform(0.02, 0.3),
    "num_leaves": randint(8, 128),
    "min_child_samples": randint(5, 100),
}


def measure(quick: bool, jobs: int = 1) -> list[Table]:
    """Return the tables of all comparisons; some units are measured at a time, in processes."""
    return assembled(each(_rows, units(quick), jobs), jobs)


def kinds(quick: bool) -> Mapping[str, tuple[Measure, Sequence[str]]]:
    """Return what is measured, by name: a function, and the names of its data sets.

    The longest come first, and LightGBM last: until then, only the searches use several cores.
    """
    return {
        "searches": (_search_rows, NAMES),
        "small sets": (small_sets.rows, small_sets.names(quick)),
        "defaults": (defaults.rows, defaults.names(quick)),
        "guesses": (guesses.rows, guesses.names(quick)),
        "trees": (_tree_rows, NAMES[::-1]),
    }


def units(quick: bool) -> list[tuple[str, str, bool]]:
    """Return a kind, the name of a data set, and whether the run is quick, for each unit."""
    return [(kind, name, quick) for kind, (_, names) in kinds(quick).items() for name in names]


def assembled(results: Iterable[dict[str, Row]], jobs: int) -> list[Table]:
    """Return the tables of the rows of all units."""
    empty = [_search_table(), *small_sets.tables(), defaults.table(), guesses.table()]
    tables = {table.name: table for table in empty}
    for rows in results:
        for name, row in rows.items():
            tables[name].merge("data", row)
    if tables["guesses"]:
        guesses.add_totals(tables["guesses"])
    if jobs > 1:
        for table in tables.values():
            table.note += f" {jobs} data sets were measured at a time."
    return list(tables.values())


def _rows(kind: str, name: str, quick: bool) -> dict[str, Row]:
    with one_thread():
        return kinds(quick)[kind][0](name, quick)


def _search_table() -> Table:
    return Table(
        "searches",
        f"The search of BudgetedSVCCV, B = {BUDGET}, {FOLDS} folds, {CORES} threads",
        {
            "data": ("data", ""),
            "tried": ("candidates", ".0f"),
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
        "is that of BudgetedSVC with the values found, on as many threads; the search includes it. "
        "GridSearchCV searches the default grid of 18 candidates over BudgetedSVC with such folds "
        "once, in as many processes, and its best values are fitted with every seed. LightGBM has "
        f"its defaults, or the best of {TREE_CANDIDATES} random candidates by {TREE_FOLDS} folds.",
        progress=True,
    )


def _task(name: str, quick: bool) -> Task | None:
    found = [Task.of(problem) for problem in available(quick)] if name != "letter" else []
    letter = TASKS[name]() if name == "letter" else None
    for task in [*found, *([letter] if letter is not None else [])]:
        if task.label == name:
            return task.some(QUICK_ROWS, QUICK_ROWS) if quick else task
    print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
    return None


def _search_rows(name: str, quick: bool) -> dict[str, Row]:
    task = _task(name, quick)
    if task is None:
        return {}
    X, y = task.rows.X, task.rows.y
    cores, n_seeds = (1, 1) if quick else (CORES, SEEDS)
    runs, fits, scores, tried = [], [], [], []
    for seed in range(n_seeds):
        search = BudgetedSVCCV(BUDGET, random_state=seed, n_jobs=cores)
        runs.append(timed(partial(search.fit, X, y)).seconds)
        fits.append(min(timed(partial(search.best_estimator_.fit, X, y)).seconds for _ in range(2)))
        scores.append(task.score(search))
        tried.append(len(search.cv_results_["params"]))
    grid = GridSearchCV(
        BudgetedSVC(BUDGET, random_state=0),
        _default_grid(X, quick),
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0),
        n_jobs=cores,
    )
    seconds = timed(partial(grid.fit, X, y)).seconds
    plain = partial(BudgetedSVC, BUDGET, n_jobs=cores, **grid.best_params_)
    others = [task.score(plain(random_state=seed).fit(X, y)) for seed in range(n_seeds)]
    row = {
        "data": name,
        "tried": float(np.mean(tried)),
        "fit": float(np.mean(fits)),
        "search": float(np.mean(runs)),
        "ratio": float(np.mean(runs) / np.mean(fits)),
        "grid": seconds,
        "speedup": float(seconds / np.mean(runs)),
        "accuracy": float(np.mean(scores)),
        "grid_accuracy": float(np.mean(others)),
        "fall": float(np.mean(others) - np.mean(scores)),
    }
    return {"searches": row}


def _default_grid(X: Any, quick: bool) -> dict[str, list[float]]:
    """Return the values that a search begins with; some of them in a quick run."""
    grid = Grid.of(None, None, training_rows(checked_rows(X), "scale").gamma, 1.0)
    step = 3 if quick else 1
    return {"C": list(grid.Cs[::step]), "gamma": list(grid.gammas[::step])}


def _tree_rows(name: str, quick: bool) -> dict[str, Row]:
    """Return the accuracy of LightGBM, if it is installed."""
    if find_spec("lightgbm") is None:
        print("LightGBM is not installed: its accuracies are left out", flush=True)
        return {}
    import lightgbm

    task = _task(name, quick)
    if task is None:
        return {}
    model = lightgbm.LGBMClassifier(random_state=0, n_jobs=1 if quick else CORES, verbose=-1)
    search = RandomizedSearchCV(model, TREES, n_iter=TREE_CANDIDATES, cv=TREE_FOLDS, random_state=0)
    X, y = task.rows.X, task.rows.y
    row = {
        "data": name,
        "trees": task.score(model.fit(X, y)),
        "tuned_trees": task.score(search.fit(X, y)),
    }
    return {"searches": row}
