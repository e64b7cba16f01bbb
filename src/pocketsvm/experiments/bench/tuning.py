"""The search of C and gamma: its time, its accuracy, and first guesses for gamma."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ...estimators import BudgetedSVC, BudgetedSVCCV
from ...estimators.searching.race import Grid
from ..datasets.problems import available
from ..datasets.tasks import Task
from ..datasets.tuned import tuned
from ..toolkit.measure import one_thread, timed
from ..toolkit.tables import Table

BUDGET, SMALL_BUDGET, FOLDS = 500, 200, 5
NAMES = ("ADULT", "IJCNN", "PHISHING", "letter")
# scikit-learn's search is slow: it tries so many random candidates of the grid for the time.
TIMED_CANDIDATES = 6
REPEATS = 2  # of the outer folds of small data sets
Rows = tuple[Any, Any]


def measure(quick: bool) -> list[Table]:
    """Return the tables of all comparisons."""
    with one_thread():
        return [_searches(quick), _small_sets(quick), _guesses(quick)]


# --- the search and one fit -----------------------------------------------------------------------


def _searches(quick: bool) -> Table:
    table = Table(
        "searches",
        f"The search of BudgetedSVCCV, B = {BUDGET}, {FOLDS} folds, all cores",
        {
            "data": ("data", ""),
            "seeds": ("seeds", "d"),
            "tried": ("candidates", "d"),
            "fit": ("one fit, s", ".2f"),
            "search": ("search, s", ".1f"),
            "ratio": ("search / fit", ".1f"),
            "grid": ("GridSearchCV, s", ".0f"),
            "speedup": ("GridSearchCV / search", ".1f"),
            "accuracy": ("test accuracy, %", ".2f"),
            "grid_accuracy": ("with GridSearchCV, %", ".2f"),
        },
        "One fit is that of BudgetedSVC with the values found; the search includes it. "
        "GridSearchCV searches the default grid of 30 candidates with the same folds; its time is "
        f"that of {TIMED_CANDIDATES} of them, drawn at random, times five, and one fit. Its test "
        "accuracy is that of the best of all 30, with the first seed; it is not measured in a "
        "quick run.",
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
            yield task.some(3000, 3000) if quick else task


def _add_search(table: Table, task: Task, quick: bool) -> None:
    X, y, cores = task.rows.X, task.rows.y, os.cpu_count()
    n_seeds = 1 if quick else 5
    runs, fits, scores = [], [], []
    for seed in range(n_seeds):
        search = BudgetedSVCCV(BUDGET, random_state=seed, n_jobs=cores)
        runs.append(timed(partial(search.fit, X, y)).seconds)
        plain = search.best_estimator_
        fits.append(min(timed(partial(plain.fit, X, y)).seconds for _ in range(2)))
        scores.append(task.score(search))
    grid = _default_grid(X)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    random = np.random.default_rng(0)
    chosen = random.choice(len(grid), 2 if quick else TIMED_CANDIDATES, replace=False)
    some = [grid[k] for k in chosen]
    begin = perf_counter()
    _grid_search(some, folds, cores).fit(X, y)
    seconds = (perf_counter() - begin) * len(grid) / len(some) + float(np.mean(fits))
    accuracy = None
    if not quick:
        best = _grid_search(grid, folds, cores).fit(X, y).best_params_
        accuracy = task.score(BudgetedSVC(BUDGET, random_state=0, **best).fit(X, y))
    table.add(
        data=task.label,
        seeds=n_seeds,
        tried=len(search.cv_results_["params"]),
        fit=float(np.mean(fits)),
        search=float(np.mean(runs)),
        ratio=float(np.mean(runs) / np.mean(fits)),
        grid=seconds,
        speedup=float(seconds / np.mean(runs)),
        accuracy=float(np.mean(scores)),
        grid_accuracy=accuracy,
    )


def _default_grid(X: Any) -> list[dict[str, list[float]]]:
    """Return the candidates that a search begins with, one grid for each."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    grid = Grid.of(None, None, 1.0 / (X.shape[1] * float(dense.var())), 1.0)
    return [{"C": [each.C], "gamma": [each.gamma]} for each in grid.candidates()]


def _grid_search(grid: Any, folds: Any, cores: int | None) -> GridSearchCV:
    return GridSearchCV(
        BudgetedSVC(BUDGET, random_state=0), grid, cv=folds, n_jobs=cores, refit=False
    )


# --- small data sets ------------------------------------------------------------------------------


def _sets() -> dict[str, Callable[[], Rows]]:
    """Return small data sets by name: real ones of scikit-learn, and generated ones."""

    def real(load: Any) -> Callable[[], Rows]:
        return lambda: load(return_X_y=True)

    def made(function: Any, **parameters: Any) -> Callable[[], Rows]:
        return lambda: function(random_state=0, **parameters)

    classes = {"n_samples": 600, "n_features": 10, "n_informative": 5}
    return {
        "iris": real(datasets.load_iris),
        "wine": real(datasets.load_wine),
        "breast cancer": real(datasets.load_breast_cancer),
        "digits": real(datasets.load_digits),
        "moons": made(datasets.make_moons, n_samples=600, noise=0.25),
        "circles": made(datasets.make_circles, n_samples=600, noise=0.15, factor=0.6),
        "shells": made(datasets.make_gaussian_quantiles, n_samples=600, n_features=4, n_classes=3),
        "ten normal variables": made(datasets.make_hastie_10_2, n_samples=1000),
        "two classes": made(datasets.make_classification, **classes),
        "four classes": made(
            datasets.make_classification, **classes, n_classes=4, class_sep=0.8, flip_y=0.05
        ),
    }


def _more_sets() -> dict[str, Callable[[], Rows]]:
    """Return ten more generated data sets, of other noise, sizes and numbers of features."""
    found: dict[str, Callable[[], Rows]] = {}
    for n_features in (5, 20, 50):
        for flip in (0.0, 0.2):
            found[f"classification, d = {n_features}, {flip:.0%} wrong"] = (
                lambda d=n_features, flip=flip: datasets.make_classification(  # type: ignore[misc]
                    500, d, n_informative=4, n_redundant=0, flip_y=flip, random_state=1
                )
            )
    for n_features in (2, 8):
        found[f"shells, d = {n_features}"] = lambda d=n_features: datasets.make_gaussian_quantiles(  # type: ignore[misc]
            n_samples=500, n_features=d, n_classes=2, random_state=1
        )
    for noise in (0.1, 0.4):
        found[f"moons, noise {noise}"] = lambda noise=noise: datasets.make_moons(  # type: ignore[misc]
            500, noise=noise, random_state=1
        )
    return found


def _small_sets(quick: bool) -> Table:
    table = Table(
        "small_sets",
        f"BudgetedSVCCV(budget={SMALL_BUDGET}) without settings, and SVC with a full grid",
        {
            "data": ("data", ""),
            "ours": ("BudgetedSVCCV, %", ".2f"),
            "exact": ("SVC, %", ".2f"),
            "lead": ("difference", "+.2f"),
            "error": ("standard error", ".2f"),
            "found": ("mean best_score_, %", ".2f"),
        },
        f"Both behind StandardScaler, scored by {REPEATS} repetitions of {FOLDS} outer folds; the "
        "standard error is that of the paired differences. SVC has the best of 99 candidates of "
        "GridSearchCV: C from 2^-5 to 2^15, gamma from 2^-13 to 2^3, in factors of four. The last "
        "column is what the search itself reports: nested cross-validation shows whether it is "
        "honest.",
        progress=True,
    )
    grid = {
        "svc__C": [2.0**k for k in range(-5, 16, 2)],
        "svc__gamma": [2.0**k for k in range(-13, 4, 2)],
    }
    for name, load in list(_sets().items())[: 3 if quick else None]:
        X, y = load()
        outer = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
        reported: list[float] = []

        def ours(model: Any, rows: Any, labels: Any, reported: list[float] = reported) -> float:
            reported.append(model[-1].best_score_)
            return float(model.score(rows, labels))

        search = make_pipeline(StandardScaler(), BudgetedSVCCV(SMALL_BUDGET, random_state=0))
        one = cross_val_score(search, X, y, cv=outer, scoring=ours)
        exact = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, n_jobs=os.cpu_count())
        other = cross_val_score(exact, X, y, cv=outer)
        lead = 100 * (one - other)
        table.add(
            data=name,
            ours=100 * float(one.mean()),
            exact=100 * float(other.mean()),
            lead=float(lead.mean()),
            error=float(lead.std(ddof=1) / np.sqrt(len(lead))),
            found=100 * float(np.mean(reported)),
        )
    return table


# --- first guesses for gamma ----------------------------------------------------------------------


def _guesses(quick: bool) -> Table:
    table = Table(
        "guesses",
        "First guesses for gamma: how much the best score is lower than with the tuned value",
        {
            "data": ("data", ""),
            "tuned": ("tuned gamma, score %", ".2f"),
            "scale": ('"scale"', ".2f"),
            "median": ("1 / median distance²", ".2f"),
            "quarter": ('"scale" / 4', ".2f"),
        },
        f"Points of accuracy by {FOLDS}-fold cross-validation, B = {SMALL_BUDGET}, standardised "
        "columns; C is tuned for every gamma.",
        progress=True,
    )
    for name, load in list({**_sets(), **_more_sets()}.items())[: 3 if quick else None]:
        X, y = load()
        X = StandardScaler().fit_transform(X)
        scale = 1.0 / (X.shape[1] * X.var())
        some = X[np.random.default_rng(0).permutation(len(X))[:500]]
        squares = pairwise_distances(some, metric="sqeuclidean")
        median = float(np.median(squares[np.triu_indices_from(squares, 1)]))
        guesses = {"scale": scale, "median": 1.0 / median, "quarter": scale / 4}

        def score(gammas: list[float] | None, X: Any = X, y: Any = y) -> float:
            search = BudgetedSVCCV(SMALL_BUDGET, gammas=gammas, random_state=0)
            return 100 * float(search.fit(X, y).best_score_)

        tuned_score = score(None)
        lost = {key: tuned_score - score([gamma]) for key, gamma in guesses.items()}
        table.add(data=name, tuned=tuned_score, **lost)
    means = {key: float(np.mean([row[key] for row in table.rows])) for key in ("scale", "median")}
    quarter = float(np.mean([row["quarter"] for row in table.rows]))
    table.add(data="mean", tuned=None, **means, quarter=quarter)
    return table
