"""Quantiles and squared errors, beside gradient boosting and the exact kernel ridge."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.model_selection import train_test_split

from pocketsvm.estimators import BudgetedSVR
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from .data_sets import SMOOTH, TASKS
from .datasets.tasks import Task

BUDGET, SEEDS = 500, 3
QUICK_ROWS, QUICK_BUDGET = 1_000, 50
HELD_OUT = 0.25
N_ROWS, N_TEST_ROWS = 4_000, 8_000
QUANTILES = (0.1, 0.5, 0.9)
QUANTILE_C = (10.0, 100.0, 1000.0)
QUANTILE_GAMMA = (0.0625, 0.125, 0.25, 0.5)  # times one over the number of features
RIDGE_C = (1.0, 10.0, 100.0)
RIDGE_SHARE = 10  # rows for each vector of the ridge on a budget

REAL = ("cpusmall", "cadata")


def names() -> list[str]:
    """Return the names of all tasks."""
    return [*SMOOTH, *REAL]


def _task(name: str, n_rows: int) -> Task | None:
    """Return a task with standardised columns and targets; None if its file is missing."""
    if name in REAL:
        return TASKS[name]()
    X, y = SMOOTH[name]()
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    train, test = slice(0, 2 * n_rows), slice(2 * n_rows, None)
    rows = TrainTest(X[train], y[train], X[test], y[test])
    return Task(name, rows, C=1.0, gamma=0.25 / X.shape[1], epsilon=0.1)


# --- quantiles ------------------------------------------------------------------------------------


def quantile_table(quick: bool) -> Table:
    """Return the empty table of quantiles."""
    budget = QUICK_BUDGET if quick else BUDGET
    return Table(
        "quantiles",
        f'Quantiles: BudgetedSVR(loss="quantile", quantile=[0.1, 0.5, 0.9]) with B = {budget} '
        "beside HistGradientBoostingRegressor",
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "C": ("C", "g"),
            "gamma": ("gamma d", "g"),
            "low": ("below the 0.1 quantile, %", ".1f"),
            "high": ("below the 0.9 quantile, %", ".1f"),
            "pinball": ("pinball loss", ".4f"),
            "peer_low": ("below 0.1, boosting, %", ".1f"),
            "peer_high": ("below 0.9, boosting, %", ".1f"),
            "peer_pinball": ("pinball loss, boosting", ".4f"),
            "crossed": ("rows with quantiles that cross", "d"),
            "peer_crossed": ("boosting", "d"),
        },
        f"Means of {SEEDS} seeds, which draw the training rows, on up to {N_TEST_ROWS:,} test "
        "rows; the pinball loss is the mean over the three quantiles. Targets are standardised. C "
        f"and gamma are the best of {', '.join(f'{C:g}' for C in QUANTILE_C)} and of "
        f"{', '.join(f'{g:g}' for g in QUANTILE_GAMMA)} over the number of features d on a quarter "
        "of the training rows, held out. Boosting fits one model with default parameters for each "
        "quantile. The targets of cpusmall and cadata are not smooth.",
        progress=True,
    )


def quantile_row(quick: bool, name: str) -> Row | None:
    """Return the row of a task; None if its file is missing."""
    budget, n_rows = (QUICK_BUDGET, QUICK_ROWS) if quick else (BUDGET, N_ROWS)
    task = _task(name, n_rows)
    if task is None:
        return None
    n_features = task.rows.X.shape[1]
    settings = [(C, gamma) for gamma in QUANTILE_GAMMA for C in QUANTILE_C]
    models = [_quantile_model(budget, C, gamma / n_features, 0) for C, gamma in settings]
    C, gamma = settings[_best(models, task, n_rows, _pinball)]
    runs = [
        _quantile_run(task, _quantile_model(budget, C, gamma / n_features, seed), n_rows, seed)
        for seed in range(SEEDS)
    ]
    means: dict[str, Any] = {key: fmean(run[key] for run in runs) for key in runs[0]}
    means |= {key: int(sum(run[key] for run in runs)) for key in ("crossed", "peer_crossed")}
    rows = min(n_rows, len(task.rows.y))
    return {"data": task.label, "rows": rows, "C": C, "gamma": gamma, **means}


def _quantile_model(budget: int, C: float, gamma: float, seed: int) -> BudgetedSVR:
    parameters: dict[str, Any] = {"loss": "quantile", "quantile": list(QUANTILES)}
    return BudgetedSVR(budget, C, gamma=gamma, random_state=seed, **parameters)


def _quantile_run(task: Task, model: Any, n_rows: int, seed: int) -> dict[str, float]:
    X, y, X_test, y_test = _some(task, n_rows, seed)
    found = model.fit(X, y).predict(X_test)
    peers = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed).fit(X, y)
        for q in QUANTILES
    ]
    expected = np.column_stack([peer.predict(X_test) for peer in peers])
    scores = {}
    for prefix, columns in (("", found), ("peer_", expected)):
        scores[f"{prefix}low"] = 100 * float(np.mean(y_test <= columns[:, 0]))
        scores[f"{prefix}high"] = 100 * float(np.mean(y_test <= columns[:, -1]))
        scores[f"{prefix}pinball"] = _pinball(y_test, columns)
        scores[f"{prefix}crossed"] = float((np.diff(columns, axis=1) < 0).any(axis=1).sum())
    return scores


def _pinball(y: Any, columns: Any) -> float:
    losses = [
        mean_pinball_loss(y, column, alpha=q)
        for q, column in zip(QUANTILES, columns.T, strict=True)
    ]
    return float(np.mean(losses))


# --- squared errors -------------------------------------------------------------------------------


def ridge_table(quick: bool) -> Table:
    """Return the empty table of squared errors."""
    return Table(
        "squared_errors",
        'Squared errors: BudgetedSVR(loss="squared_error") beside the exact KernelRidge',
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "vectors": ("vectors", ",d"),
            "C": ("C", "g"),
            "r2": ("R²", ".4f"),
            "exact": ("R², KernelRidge", ".4f"),
        },
        f"Means of {SEEDS} seeds, which draw the training rows, on up to {N_TEST_ROWS:,} test "
        "rows. KernelRidge has alpha = 1 / C and the same gamma, and keeps all rows as vectors; C "
        f"is its best of {', '.join(f'{C:g}' for C in RIDGE_C)} on a quarter of the training rows, "
        "held out. Targets are standardised.",
        progress=True,
    )


def ridge_row(quick: bool, name: str) -> Row | None:
    """Return the row of a task; None if its file is missing."""
    n_rows = QUICK_ROWS if quick else N_ROWS
    task = _task(name, n_rows)
    if task is None:
        return None
    models = [_ridge(task, C) for C in RIDGE_C]
    C = RIDGE_C[_best(models, task, n_rows, lambda y, found: float(np.mean((found - y) ** 2)))]
    rows = min(n_rows, len(task.rows.y))
    budget = rows // RIDGE_SHARE
    runs = [_ridge_run(task, budget, C, n_rows, seed) for seed in range(SEEDS)]
    means = {key: fmean(run[key] for run in runs) for key in runs[0]}
    return {"data": task.label, "rows": rows, "vectors": budget, "C": C, **means}


def _ridge(task: Task, C: float) -> KernelRidge:
    return KernelRidge(alpha=1 / C, kernel="rbf", gamma=task.gamma)


def _ridge_run(task: Task, budget: int, C: float, n_rows: int, seed: int) -> dict[str, float]:
    X, y, X_test, y_test = _some(task, n_rows, seed)
    model = BudgetedSVR(budget, C, gamma=task.gamma, loss="squared_error", random_state=seed)
    found = model.fit(X, y).predict(X_test)
    exact = _ridge(task, C).fit(X, y).predict(X_test)
    return {"r2": float(r2_score(y_test, found)), "exact": float(r2_score(y_test, exact))}


# --- what both share ------------------------------------------------------------------------------


def _best(models: Sequence[Any], task: Task, n_rows: int, loss: Callable[[Any, Any], float]) -> int:
    """Return which model has the smallest loss on a quarter of the training rows, held out."""
    X, y, *_ = _some(task, n_rows, 0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=HELD_OUT, random_state=0)
    losses = [loss(y_test, model.fit(X, y).predict(X_test)) for model in models]
    return int(np.argmin(losses))


def _some(task: Task, n_rows: int, seed: int) -> TrainTest:
    """Return training rows that the seed draws, and test rows."""
    order = np.random.default_rng(seed).permutation(len(task.rows.y))
    some = replace(task, rows=task.rows._replace(X=task.rows.X[order], y=task.rows.y[order]))
    return some.some(n_rows, N_TEST_ROWS).rows
