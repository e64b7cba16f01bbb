"""The search beside the default settings, and learnt feature scales beside one gamma."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm.estimators import BudgetedSVC, BudgetedSVR
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.search import BudgetedSVCCV, BudgetedSVRCV

from .data_sets import FEW_ROWS_SETS, SMALL_REGRESSIONS
from .small_sets import standard_error

BUDGET, SPLITS, HELD_OUT, QUICK_ROWS = 200, 10, 0.25, 400
SETS = {**FEW_ROWS_SETS, "Swiss roll": SMALL_REGRESSIONS["Swiss roll"]}


def names(quick: bool) -> list[str]:
    """Return the names of the data sets."""
    return list(SETS)[: 1 if quick else None]


def table() -> Table:
    """Return an empty table."""
    return Table(
        "defaults",
        f"Searches and default settings, B = {BUDGET}",
        {
            "data": ("data", ""),
            "rows": ("training rows", ",.0f"),
            "default": ("default settings, %", ".2f"),
            "alike": ("search, one gamma, %", ".2f"),
            "gain": ("gain", "+.2f"),
            "gain_error": ("standard error", ".2f"),
            "auto": ('search, "auto", %', ".2f"),
            "more": ("above one gamma", "+.2f"),
            "more_error": ("standard error", ".2f"),
        },
        f"All behind StandardScaler; means of {SPLITS} random splits with a quarter of the rows "
        "for testing, and standard errors of the paired differences. The default settings are "
        'those of BudgetedSVC and BudgetedSVR. "auto" may learn feature scales. For regressions, '
        "R² takes the place of the accuracy.",
        progress=True,
    )


def rows(name: str, quick: bool) -> dict[str, Row]:
    """Return the row of a data set; none if its files are missing."""
    found = SETS[name]()
    if found is None:
        print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
        return {}
    X, y = (each[: QUICK_ROWS if quick else None] for each in found)
    scores = np.array([_scores(X, y, seed) for seed in range(2 if quick else SPLITS)])
    default, alike, auto = 100 * scores.T
    row = {
        "data": name,
        "rows": float(len(y) - round(HELD_OUT * len(y))),
        "default": float(default.mean()),
        "alike": float(alike.mean()),
        "gain": float((alike - default).mean()),
        "gain_error": standard_error(alike - default),
        "auto": float(auto.mean()),
        "more": float((auto - alike).mean()),
        "more_error": standard_error(auto - alike),
    }
    return {"defaults": row}


def _scores(X: Any, y: Any, seed: int) -> list[float]:
    """Return the test scores of the default settings and of both searches on one split."""
    is_class = np.issubdtype(y.dtype, np.integer)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=HELD_OUT, random_state=seed, stratify=y if is_class else None
    )
    plain, search = (BudgetedSVC, BudgetedSVCCV) if is_class else (BudgetedSVR, BudgetedSVRCV)
    if not is_class:
        mean, spread = y.mean(), y.std()
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in (
            plain(BUDGET, random_state=seed),
            search(BUDGET, feature_scales=None, random_state=seed),
            search(BUDGET, feature_scales="auto", random_state=seed),
        ):
            fitted = make_pipeline(StandardScaler(), model).fit(X, y)
            found.append(float(fitted.score(X_test, y_test)))
    return found
