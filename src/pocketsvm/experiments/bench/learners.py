"""Probabilities, quantiles and squared errors, beside models of scikit-learn."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss, mean_pinball_loss, r2_score
from sklearn.model_selection import train_test_split

from ...estimators import BudgetedSVC, BudgetedSVR
from ...metrics import expected_calibration_error
from ..datasets.files import TrainTest
from ..datasets.problems import available
from ..datasets.tasks import Task
from ..datasets.tuned import TUNED
from ..toolkit.measure import one_thread
from ..toolkit.tables import Table

BUDGET, SEEDS = 500, 3
# The exact SVM takes minutes with more training rows, and it is fitted four times.
MOST_ROWS, MOST_TEST_ROWS = 10_000, 20_000
QUICK_ROWS, QUICK_BUDGET = 1_000, 50
HELD_OUT = 0.25
C_FACTORS = (1.0, 4.0, 16.0, 64.0)  # of the C that a log loss is tried with
CLASSES = (3, 5, 10)
QUANTILES = (0.1, 0.5, 0.9)
VALUE_ROWS, VALUE_TEST_ROWS = 4_000, 8_000
VALUE_C = (1.0, 10.0, 100.0)
VALUE_GAMMA = (0.25, 1.0, 4.0)  # times one over the number of features
RIDGE_C = (1.0, 10.0, 100.0)
RIDGE_SHARE = 10  # rows for each vector of the ridge on a budget


def measure(quick: bool) -> list[Table]:
    """Return the tables of all three."""
    with one_thread():
        return [_probabilities(quick), _quantiles(quick), _squared_errors(quick)]


# --- probabilities --------------------------------------------------------------------------------


def _probabilities(quick: bool) -> Table:
    budget, n_rows = (QUICK_BUDGET, QUICK_ROWS) if quick else (BUDGET, MOST_ROWS)
    table = Table(
        "probabilities",
        f'Probabilities: BudgetedSVC(loss="log_loss") with B = {budget} beside '
        "CalibratedClassifierCV(SVC)",
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "factor": ("C, times that of the hinge", "g"),
            "log_loss": ("log loss", ".4f"),
            "svc_log_loss": ("log loss, SVC", ".4f"),
            "accuracy": ("accuracy, %", ".2f"),
            "hinge_accuracy": ("accuracy, hinge, %", ".2f"),
            "error": ("calibration error", ".4f"),
            "svc_error": ("calibration error, SVC", ".4f"),
            "ratio": ("CPU time of fit / hinge", ".2f"),
        },
        f"Means of {SEEDS} seeds, which draw at most {n_rows:,} training rows and decide their "
        "order; the exact SVM is calibrated on the same rows by 3-fold cross-validation (sigmoid, "
        "one SVM on all rows). The hinge and the SVM have the paper's C and gamma. The log loss "
        f"has the best of {', '.join(f'{f:g}' for f in C_FACTORS)} times that C on a quarter of "
        "the training rows, held out. The last column compares the CPU time of one fit each, "
        "summed over the seeds.",
        progress=True,
    )
    for task in _class_tasks(quick):
        factor = _best(
            [Candidate(f, _log_model(task, budget, f, 0)) for f in C_FACTORS], _halves(task, n_rows)
        )
        runs = [_class_run(task, budget, factor, n_rows, seed) for seed in range(SEEDS)]
        means = {name: fmean(run[name] for run in runs) for name in runs[0]}
        ratio = means.pop("seconds") / means.pop("hinge_seconds")
        rows = min(n_rows, len(task.rows.y))
        table.add(data=task.label, rows=rows, factor=factor, ratio=ratio, **means)
    return table


def _class_tasks(quick: bool) -> Iterator[Task]:
    for problem in available(quick):
        yield Task.of(problem)
    for n_classes in CLASSES:
        X, y = make_classification(
            MOST_ROWS + MOST_TEST_ROWS,
            15,
            n_informative=8,
            n_classes=n_classes,
            n_clusters_per_class=3,
            class_sep=1.2,
            flip_y=0.03,
            random_state=0,
        )
        X = X.astype(np.float32)
        train, test = slice(0, MOST_ROWS), slice(MOST_ROWS, None)
        rows = TrainTest(X[train], y[train], X[test], y[test])
        yield Task(f"{n_classes} classes (generated)", rows, C=10.0, gamma=1 / (15 * X.var()))


def _log_model(task: Task, budget: int, factor: float, seed: int) -> BudgetedSVC:
    return BudgetedSVC(
        budget, task.C * factor, gamma=task.gamma, loss="log_loss", random_state=seed
    )


def _class_run(task: Task, budget: int, factor: float, n_rows: int, seed: int) -> dict[str, float]:
    """Fit all models to the rows of a seed, and judge their predictions."""
    X, y = _some(task.rows.X, task.rows.y, n_rows, seed)
    X_test, y_test = _some(task.rows.X_test, task.rows.y_test, MOST_TEST_ROWS, seed)
    hinge, hinge_seconds = _fitted(task.budgeted(budget, seed), X, y)
    model, seconds = _fitted(_log_model(task, budget, factor, seed), X, y)
    exact = CalibratedClassifierCV(task.exact(), cv=3, ensemble=False).fit(X, y)
    found, expected = model.predict_proba(X_test), exact.predict_proba(X_test)
    labels = model.classes_
    return {
        "log_loss": float(log_loss(y_test, found, labels=labels)),
        "svc_log_loss": float(log_loss(y_test, expected, labels=labels)),
        "accuracy": 100 * float(model.score(X_test, y_test)),
        "hinge_accuracy": 100 * float(hinge.score(X_test, y_test)),
        "error": expected_calibration_error(y_test, found, labels=labels),
        "svc_error": expected_calibration_error(y_test, expected, labels=labels),
        "seconds": seconds,
        "hinge_seconds": hinge_seconds,
    }


# --- quantiles ------------------------------------------------------------------------------------


def _quantiles(quick: bool) -> Table:
    budget, n_rows = (QUICK_BUDGET, QUICK_ROWS) if quick else (BUDGET, VALUE_ROWS)
    table = Table(
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
        f"Means of {SEEDS} seeds, which draw the training rows, on up to {VALUE_TEST_ROWS:,} test "
        "rows; the pinball loss is the mean over the three quantiles. Targets are standardised. C "
        f"and gamma are the best of {', '.join(f'{C:g}' for C in VALUE_C)} and of "
        f"{', '.join(f'{g:g}' for g in VALUE_GAMMA)} over the number of features d on a quarter of "
        "the training rows, held out. Boosting fits one model with default parameters for each "
        "quantile.",
        progress=True,
    )
    for task in _value_tasks(n_rows):
        n_features = task.rows.X.shape[1]
        candidates = [
            Candidate((C, gamma), _quantile_model(tried, budget, C, 0))
            for gamma in VALUE_GAMMA
            for tried in [replace(task, gamma=gamma / n_features)]
            for C in VALUE_C
        ]
        C, gamma = _best(candidates, _halves(task, n_rows))
        task = replace(task, gamma=gamma / n_features)
        runs = [_quantile_run(task, budget, C, n_rows, seed) for seed in range(SEEDS)]
        means: dict[str, Any] = {name: fmean(run[name] for run in runs) for name in runs[0]}
        means |= {name: int(sum(run[name] for run in runs)) for name in ("crossed", "peer_crossed")}
        table.add(data=task.label, rows=min(n_rows, len(task.rows.y)), C=C, gamma=gamma, **means)
    return table


def _value_tasks(n_rows: int) -> Iterator[Task]:
    """Yield three smooth functions with noise, and cpusmall if there is its file."""
    noisy: dict[str, Callable[..., Any]] = {
        "friedman1": lambda **kw: make_friedman1(noise=1.0, **kw),
        "friedman2": lambda **kw: make_friedman2(noise=100.0, **kw),
        "friedman3": lambda **kw: make_friedman3(noise=0.1, **kw),
    }
    for name, make in noisy.items():
        X, y = make(n_samples=2 * n_rows + VALUE_TEST_ROWS, random_state=0)
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
        train, test = slice(0, 2 * n_rows), slice(2 * n_rows, None)
        rows = TrainTest(X[train], y[train], X[test], y[test])
        yield Task(name, rows, C=1.0, gamma=0.25 / X.shape[1], epsilon=0.1)
    for data_set in TUNED:
        task = data_set.load() if data_set.label == "cpusmall" else None
        if task is not None:
            yield task


def _quantile_model(task: Task, budget: int, C: float, seed: int) -> BudgetedSVR:
    return BudgetedSVR(
        budget,
        C,
        gamma=task.gamma,
        loss="quantile",
        quantile=list(QUANTILES),
        random_state=seed,
    )


def _quantile_run(task: Task, budget: int, C: float, n_rows: int, seed: int) -> dict[str, float]:
    X, y = _some(task.rows.X, task.rows.y, n_rows, seed)
    X_test, y_test = _some(task.rows.X_test, task.rows.y_test, VALUE_TEST_ROWS, seed)
    found = _quantile_model(task, budget, C, seed).fit(X, y).predict(X_test)
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


def _squared_errors(quick: bool) -> Table:
    n_rows = QUICK_ROWS if quick else VALUE_ROWS
    table = Table(
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
        f"Means of {SEEDS} seeds, which draw the training rows, on up to {VALUE_TEST_ROWS:,} test "
        "rows. KernelRidge has alpha = 1 / C and the same gamma, and keeps all rows as vectors; C "
        f"is its best of {', '.join(f'{C:g}' for C in RIDGE_C)} on a quarter of the training rows, "
        "held out. Targets are standardised.",
        progress=True,
    )
    for task in _value_tasks(n_rows):
        candidates = [
            Candidate(C, KernelRidge(alpha=1 / C, kernel="rbf", gamma=task.gamma)) for C in RIDGE_C
        ]
        C = _best(candidates, _halves(task, n_rows))
        budget = min(n_rows, len(task.rows.y)) // RIDGE_SHARE
        runs = [_ridge_run(task, budget, C, n_rows, seed) for seed in range(SEEDS)]
        means = {name: fmean(run[name] for run in runs) for name in runs[0]}
        rows = min(n_rows, len(task.rows.y))
        table.add(data=task.label, rows=rows, vectors=budget, C=C, **means)
    return table


def _ridge_run(task: Task, budget: int, C: float, n_rows: int, seed: int) -> dict[str, float]:
    X, y = _some(task.rows.X, task.rows.y, n_rows, seed)
    X_test, y_test = _some(task.rows.X_test, task.rows.y_test, VALUE_TEST_ROWS, seed)
    model = BudgetedSVR(budget, C, gamma=task.gamma, loss="squared_error", random_state=seed)
    found = model.fit(X, y).predict(X_test)
    exact = KernelRidge(alpha=1 / C, kernel="rbf", gamma=task.gamma).fit(X, y).predict(X_test)
    return {"r2": float(r2_score(y_test, found)), "exact": float(r2_score(y_test, exact))}


# --- what they share ------------------------------------------------------------------------------


class Candidate:
    """A setting, and the unfitted model that has it."""

    def __init__(self, setting: Any, model: Any) -> None:
        self.setting, self.model = setting, model

    def loss(self, X: Any, y: Any, X_test: Any, y_test: Any) -> float:
        """Return the loss on held-out rows: log loss, pinball loss, or squared error."""
        model = self.model.fit(X, y)
        if isinstance(model, BudgetedSVC):
            return float(log_loss(y_test, model.predict_proba(X_test), labels=model.classes_))
        found = model.predict(X_test)
        if found.ndim == 2:
            return _pinball(y_test, found)
        return float(np.mean((found - y_test) ** 2))


def _best(candidates: Sequence[Candidate], rows: tuple[Any, ...]) -> Any:
    """Return the setting with the smallest loss."""
    return min(candidates, key=lambda candidate: candidate.loss(*rows)).setting


def _halves(task: Task, n_rows: int) -> tuple[Any, ...]:
    """Return training rows without a quarter of them, and this quarter."""
    X, y = _some(task.rows.X, task.rows.y, n_rows, 0)
    stratify = y if task.epsilon is None else None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=HELD_OUT, random_state=0, stratify=stratify
    )
    return X, y, X_test, y_test


def _some(X: Any, y: Any, n_rows: int, seed: int) -> tuple[Any, Any]:
    if len(y) <= n_rows:
        return X, y
    chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[:n_rows])
    return X[chosen], y[chosen]


def _fitted(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """Fit a model; return it and the CPU time."""
    begin = time.process_time()
    return model.fit(X, y), time.process_time() - begin
