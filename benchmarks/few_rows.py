"""The time to fit few rows, beside the exact SVM: there, every millisecond outside counts."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pocketsvm.estimators import BudgetedSVC, BudgetedSVR
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.tables import Table

from .data_sets import FEW_ROWS, FEW_ROWS_SETS, FEW_TEST_ROWS
from .measure import cpu_time

BUDGETS = (20, 100, 500)
ROUNDS, QUICK_ROUNDS = 25, 2
LETTERS = 26
VECTORS_PER_CLASS = 2  # at least

Rows = tuple[Any, Any]


def measure(quick: bool) -> list[Table]:
    """Return the table of CPU times."""
    table = Table(
        "few_rows",
        f"CPU time of a fit on {FEW_ROWS} rows",
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
        for name, load in _loads().items():
            rows = load()
            if rows is None:
                print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
                continue
            _compare(table, name, *rows, n_rounds)
    return [table]


def _loads() -> dict[str, Callable[[], Rows | None]]:
    """Return what loads the rows, by name."""
    return {**FEW_ROWS_SETS, "letter, two halves": _letter_in_halves}


def _letter_in_halves() -> Rows | None:
    """Return the letters, with the half of the alphabet as the class."""
    rows = FEW_ROWS_SETS["letter"]()
    return None if rows is None else (rows[0], rows[1] > LETTERS // 2)


def _compare(table: Table, name: str, X: Any, y: Any, n_rounds: int) -> None:
    X, y = X[: FEW_ROWS + FEW_TEST_ROWS], y[: FEW_ROWS + FEW_TEST_ROWS]
    X = StandardScaler().fit(X[:FEW_ROWS]).transform(X).astype(np.float64)
    is_regression = y.dtype.kind == "f"
    if is_regression:
        y = (y - y[:FEW_ROWS].mean()) / y[:FEW_ROWS].std()
    n_classes = None if is_regression else len(np.unique(y[:FEW_ROWS]))
    exact, ours = (SVR, BudgetedSVR) if is_regression else (SVC, BudgetedSVC)
    models = {None: exact()} | {
        budget: ours(budget, random_state=0)
        for budget in BUDGETS
        if budget >= VECTORS_PER_CLASS * (n_classes or 1)
    }
    seconds: dict[int | None, list[float]] = {key: [] for key in models}
    for _ in range(n_rounds):
        for key, model in models.items():
            seconds[key].append(cpu_time(partial(model.fit, X[:FEW_ROWS], y[:FEW_ROWS]))[1])
    best = {key: 1e3 * min(each) for key, each in seconds.items()}
    scores = {key: 100 * model.score(X[FEW_ROWS:], y[FEW_ROWS:]) for key, model in models.items()}
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
