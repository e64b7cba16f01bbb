"""The search without settings on small data sets: its accuracy, and whether its score is honest."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.search import BudgetedSVCCV

from .data_sets import SMALL_CLASSIFICATIONS

BUDGET, FOLDS, REPEATS = 200, 5, 4
GRID = {
    "svc__C": [2.0**k for k in range(-5, 16, 4)],
    "svc__gamma": [2.0**k for k in range(-13, 4, 2)],
}


def names(quick: bool) -> list[str]:
    """Return the names of the data sets."""
    return list(SMALL_CLASSIFICATIONS)[: 1 if quick else None]


def tables() -> list[Table]:
    """Return empty tables of the accuracies, and of the scores that the search reports."""
    accuracies = Table(
        "small_sets",
        f"BudgetedSVCCV(budget={BUDGET}) without settings, and SVC with a full grid",
        {
            "data": ("data", ""),
            "ours": ("BudgetedSVCCV, %", ".2f"),
            "exact": ("SVC, %", ".2f"),
            "lead": ("difference", "+.2f"),
            "error": ("standard error", ".2f"),
            "allowed": ("at least", "+.2f"),
        },
        f"Both behind StandardScaler, scored by {REPEATS} repetitions of {FOLDS} outer folds; the "
        "standard error is that of the paired differences. SVC has the best of 54 candidates of "
        "GridSearchCV: C from 2^-5 to 2^15 in factors of 16, gamma from 2^-13 to 2^3 in factors of "
        "four. The target is a difference of no less than -0.5, or minus two standard errors.",
        progress=True,
    )
    scores = Table(
        "honest",
        "best_score_ and the accuracy on outer folds",
        {
            "data": ("data", ""),
            "found": ("best_score_, %", ".2f"),
            "outer": ("outer folds, %", ".2f"),
            "off": ("difference", "+.2f"),
            "error": ("standard error", ".2f"),
            "explained": ("selection explains", ".2f"),
            "allowed": ("at most", ".2f"),
        },
        "Nested cross-validation, the same runs. Selection explains what the best candidate of "
        "each inner fold scores more there than the one with the best mean of all folds, on "
        "average (Tibshirani and Tibshirani, 2009). The difference may be that much, and two "
        "standard errors.",
        progress=True,
    )
    return [accuracies, scores]


def rows(name: str, quick: bool) -> dict[str, Row]:
    """Return the rows of a data set in both tables; none if its files are missing."""
    found_rows = SMALL_CLASSIFICATIONS[name]()
    if found_rows is None:
        print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
        return {}
    X, y = found_rows
    folds = RepeatedStratifiedKFold(
        n_splits=2 if quick else FOLDS, n_repeats=1 if quick else REPEATS, random_state=0
    )
    search = make_pipeline(StandardScaler(), BudgetedSVCCV(BUDGET, random_state=0))
    exact = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = cross_validate(search, X, y, cv=folds, return_estimator=True)
        other = 100 * cross_validate(exact, X, y, cv=folds)["test_score"]
    outside, fitted = 100 * ours["test_score"], [each[-1] for each in ours["estimator"]]
    error = standard_error(outside - other)
    found = 100 * np.array([each.best_score_ for each in fitted])
    explained = 100 * float(np.mean([selection_bias(_scores(each)) for each in fitted]))
    off = standard_error(found - outside)
    return {
        "small_sets": {
            "data": name,
            "ours": float(outside.mean()),
            "exact": float(other.mean()),
            "lead": float((outside - other).mean()),
            "error": error,
            "allowed": -max(0.5, 2 * error),
        },
        "honest": {
            "data": name,
            "found": float(found.mean()),
            "outer": float(outside.mean()),
            "off": float((found - outside).mean()),
            "error": off,
            "explained": explained,
            "allowed": explained + 2 * off,
        },
    }


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _scores(search: BudgetedSVCCV) -> NDArray[np.float64]:
    """Return the scores of all candidates on all folds."""
    found = [search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]
    return np.column_stack(found)


def selection_bias(scores: NDArray[np.float64]) -> float:
    """Estimate how much the best mean score is too high because it is the highest of many.

    `scores` are (candidates, folds), NaN where a candidate was dropped.
    """
    lines = scores[np.isfinite(scores).all(axis=1)]
    chosen = lines[lines.mean(axis=1).argmax()]
    return float((lines.max(axis=0) - chosen).mean())
