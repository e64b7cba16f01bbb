"""The time to fit few rows, beside the exact SVM: there, every millisecond outside counts."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ...estimators import BudgetedSVC, BudgetedSVR
from ..datasets.tuned import tuned
from ..toolkit.measure import cpu_time, one_thread
from ..toolkit.tables import Table

ROWS, TEST_ROWS = 400, 4000
BUDGETS = (20, 100, 500)
ROUNDS, QUICK_ROUNDS = 25, 2
LETTERS = 26
VECTORS_PER_CLASS = 2  # at least

Rows = tuple[Any, Any]


def measure(quick: bool) -> list[Table]:
    """Return the table of CPU times."""
    table = Table(
        "few_rows",
        f"CPU time of a fit on {ROWS} rows",
        {
            "data": ("data", ""),
            "classes": ("classes", ""),
            "budget": ("B", ""),
            "exact": ("SVC or SVR, ms", ".2f"),
            "ours": ("pocketsvm, ms", ".2f"),
            "ratio": ("ratio", ".2f"),
            "score": ("score, %", ".2f"),
            "exact_score": ("SVC or SVR, %", ".2f"),
        },
        f"C = 1 and gamma='scale', standardised columns; the fastest of {ROUNDS} interleaved fits "
        "on one thread. The score is the accuracy, or R² of a regression, on other rows.",
        progress=True,
    )
    n_rounds = QUICK_ROUNDS if quick else ROUNDS
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, rows in data_sets().items():
            if rows is None:
                print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
                continue
            _compare(table, name, *rows, n_rounds)
    return [table]


def data_sets() -> dict[str, Rows | None]:
    """Return rows by name: integer labels, or targets of a regression; None if a file is missing.

    The first rows are those to train on.
    """
    made: dict[str, Any] = {"n_samples": ROWS + TEST_ROWS, "random_state": 0}
    return {
        "20 columns": datasets.make_classification(n_features=20, **made),
        "moons": datasets.make_moons(noise=0.2, **made),
        "circles": datasets.make_circles(noise=0.1, factor=0.5, **made),
        "breast cancer": datasets.load_breast_cancer(return_X_y=True),
        "blobs": datasets.make_blobs(centers=4, cluster_std=2.0, **made),
        "digits": datasets.load_digits(return_X_y=True),
        "letter, two halves": _letter(halves=True),
        "letter": _letter(halves=False),
        "Friedman 1": datasets.make_friedman1(**made),
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "waves": _waves(),
    }


def _letter(*, halves: bool) -> Rows | None:
    task = tuned("letter")
    if task is None:
        return None
    codes = task.rows.y.astype(int)
    return task.rows.X, codes > LETTERS // 2 if halves else codes


def _waves() -> Rows:
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(ROWS + TEST_ROWS, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + random.normal(0, 0.1, len(X))


def _compare(table: Table, name: str, X: Any, y: Any, n_rounds: int) -> None:
    X = StandardScaler().fit(X[:ROWS]).transform(X[: ROWS + TEST_ROWS]).astype(np.float64)
    y = y[: len(X)]
    is_regression = y.dtype.kind == "f"
    if is_regression:
        y = (y - y[:ROWS].mean()) / y[:ROWS].std()
    n_classes = None if is_regression else len(np.unique(y[:ROWS]))
    exact, ours = (SVR, BudgetedSVR) if is_regression else (SVC, BudgetedSVC)
    models = {None: exact()} | {
        budget: ours(budget, random_state=0)
        for budget in BUDGETS
        if budget >= VECTORS_PER_CLASS * (n_classes or 1)
    }
    seconds: dict[int | None, list[float]] = {key: [] for key in models}
    for _ in range(n_rounds):
        for key, model in models.items():
            seconds[key].append(cpu_time(partial(model.fit, X[:ROWS], y[:ROWS]))[1])
    best = {key: 1e3 * min(each) for key, each in seconds.items()}
    scores = {key: 100 * model.score(X[ROWS:], y[ROWS:]) for key, model in models.items()}
    for budget in models:
        if budget is not None:
            table.add(
                data=name,
                classes=n_classes,
                budget=budget,
                exact=best[None],
                ours=best[budget],
                ratio=best[budget] / best[None],
                score=scores[budget],
                exact_score=scores[None],
            )
