"""Probabilities of a log loss, beside those of a calibrated SVM."""

from dataclasses import replace
from statistics import fmean

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from pocketsvm.estimators import BudgetedSVC
from pocketsvm.metrics import expected_calibration_error
from pocketsvm.paper.datasets import registry
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from .data_sets import TASKS
from .datasets.tasks import Task
from .measure import cpu_time

NAME = "probabilities"
BUDGET, SEEDS = 500, 3
# The exact SVM takes minutes with more training rows, and it is fitted four times.
MOST_ROWS, MOST_TEST_ROWS = 50_000, 50_000
QUICK_ROWS, QUICK_BUDGET = 1_000, 50
HELD_OUT = 0.25
# What the log loss is tried with, times the C and gamma of the hinge.
C_FACTORS, GAMMA_FACTORS = (1.0, 4.0, 16.0, 64.0), (0.5, 1.0, 2.0)
CLASSES, CLASS_ROWS, CLASS_TEST_ROWS = (3, 5, 10), 10_000, 20_000


def names() -> list[str]:
    """Return the names of all tasks: data sets of the paper, and numbers of classes."""
    return [*(data_set.name for data_set in registry.DATA_SETS), *map(str, CLASSES)]


def table(quick: bool) -> Table:
    """Return the empty table."""
    budget = QUICK_BUDGET if quick else BUDGET
    return Table(
        NAME,
        f'Probabilities: BudgetedSVC(loss="log_loss") with B = {budget} beside '
        "CalibratedClassifierCV(SVC)",
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "C_factor": ("C, times that of the hinge", "g"),
            "gamma_factor": ("gamma, times that of the hinge", "g"),
            "log_loss": ("log loss", ".4f"),
            "svc_log_loss": ("log loss, SVC", ".4f"),
            "accuracy": ("accuracy, %", ".2f"),
            "hinge_accuracy": ("accuracy, hinge, %", ".2f"),
            "error": ("calibration error", ".4f"),
            "svc_error": ("calibration error, SVC", ".4f"),
            "ratio": ("CPU time of fit / hinge", ".2f"),
        },
        f"Means of {SEEDS} seeds, on at most {MOST_ROWS:,} training rows. The exact SVM is "
        "calibrated on the same rows by 3-fold cross-validation (sigmoid, one SVM on all rows), "
        "once. The hinge and the SVM have the paper's C and gamma. The log loss has the best of "
        f"{', '.join(f'{f:g}' for f in C_FACTORS)} times that C and of "
        f"{', '.join(f'{f:g}' for f in GAMMA_FACTORS)} times that gamma on a quarter of the "
        "training rows, held out. The last column compares the CPU time of one fit each, summed "
        "over the seeds.",
        progress=True,
    )


def row(quick: bool, name: str) -> Row | None:
    """Return the row of a task; None if its files are missing."""
    task = _task(name)
    if task is None:
        return None
    budget, n_rows = (QUICK_BUDGET, QUICK_ROWS) if quick else (BUDGET, MOST_ROWS)
    task = task.some(n_rows, MOST_TEST_ROWS)
    factors = _best_factors(task, budget)
    runs = [_run(task, budget, factors, seed) for seed in range(SEEDS)]
    means = {key: fmean(run[key] for run in runs) for key in runs[0]}
    ratio = means.pop("seconds") / means.pop("hinge_seconds")
    exact = CalibratedClassifierCV(task.exact(), cv=3, ensemble=False)
    expected = exact.fit(task.rows.X, task.rows.y).predict_proba(task.rows.X_test)
    loss, error = _losses(task, expected, exact.classes_)
    return {
        "data": task.label,
        "rows": len(task.rows.y),
        "C_factor": factors[0],
        "gamma_factor": factors[1],
        "svc_log_loss": loss,
        "svc_error": error,
        "ratio": ratio,
        **means,
    }


def _task(name: str) -> Task | None:
    if not name.isdigit():
        return TASKS[name]()
    X, y = make_classification(
        CLASS_ROWS + CLASS_TEST_ROWS,
        15,
        n_informative=8,
        n_classes=int(name),
        n_clusters_per_class=3,
        class_sep=1.2,
        flip_y=0.03,
        random_state=0,
    )
    X = X.astype(np.float32)
    rows = TrainTest(X[:CLASS_ROWS], y[:CLASS_ROWS], X[CLASS_ROWS:], y[CLASS_ROWS:])
    return Task(f"{name} classes (generated)", rows, C=10.0, gamma=1 / (15 * X.var()))


def _best_factors(task: Task, budget: int) -> tuple[float, float]:
    """Return the factors of C and gamma with the smallest log loss on held-out rows."""
    X, X_test, y, y_test = train_test_split(
        task.rows.X, task.rows.y, test_size=HELD_OUT, random_state=0, stratify=task.rows.y
    )
    held_out = replace(task, rows=TrainTest(X, y, X_test, y_test))

    def loss(factors: tuple[float, float]) -> float:
        model = held_out.fit(_log_model(held_out, budget, factors, 0))
        return _losses(held_out, model.predict_proba(X_test), model.classes_)[0]

    return min(((C, gamma) for C in C_FACTORS for gamma in GAMMA_FACTORS), key=loss)


def _log_model(task: Task, budget: int, factors: tuple[float, float], seed: int) -> BudgetedSVC:
    C, gamma = factors[0] * task.C, factors[1] * task.gamma
    return BudgetedSVC(budget, C, gamma=gamma, loss="log_loss", random_state=seed)


def _run(task: Task, budget: int, factors: tuple[float, float], seed: int) -> dict[str, float]:
    """Fit both models with a seed, and judge their predictions."""
    hinge, hinge_seconds = cpu_time(lambda: task.fit(task.budgeted(budget, seed)))
    model, seconds = cpu_time(lambda: task.fit(_log_model(task, budget, factors, seed)))
    loss, error = _losses(task, model.predict_proba(task.rows.X_test), model.classes_)
    return {
        "log_loss": loss,
        "error": error,
        "accuracy": task.score(model),
        "hinge_accuracy": task.score(hinge),
        "seconds": seconds,
        "hinge_seconds": hinge_seconds,
    }


def _losses(task: Task, found: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the log loss and the calibration error of probabilities of the test rows."""
    y = task.rows.y_test
    error = expected_calibration_error(y, found, labels=labels)
    return float(log_loss(y, found, labels=labels)), error
