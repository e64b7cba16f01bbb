"""First guesses for gamma, beside the value that cross-validation finds."""

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.search import BudgetedSVCCV, BudgetedSVRCV

from .data_sets import SMALL_CLASSIFICATIONS, SMALL_REGRESSIONS

BUDGET, FOLDS = 200, 5
ROWS_FOR_MEDIAN = 500


def names(quick: bool) -> list[str]:
    """Return the names of the data sets."""
    return [*SMALL_CLASSIFICATIONS, *SMALL_REGRESSIONS][: 1 if quick else None]


def table() -> Table:
    """Return an empty table of what each guess loses against the tuned value."""
    return Table(
        "guesses",
        "First guesses for gamma: how much the best score is lower than with the tuned value",
        {
            "data": ("data", ""),
            "tuned": ("tuned gamma, score", ".2f"),
            **{name: (heading, ".2f") for name, (heading, _) in GUESSES.items()},
        },
        f"Accuracy or R² in points, by {FOLDS}-fold cross-validation, B = {BUDGET}, standardised "
        "columns and targets; C is tuned for every gamma. The form by the Jacobian is that of "
        "Allerbo and Jörnsten (2023) for a ridge near zero: gamma = 1 / (2 s²), "
        "s = sqrt(2) / pi · l / ((n - 1)^(1/d) - 1), with the largest distance l of two rows. "
        'A guess is best where none loses less; several may be. "scale" stays the default unless '
        "another one gains more than three standard errors over it, and loses less at worst.",
        progress=True,
    )


def rows(name: str, quick: bool) -> dict[str, Row]:
    """Return the row of a data set; none if its files are missing."""
    values = name in SMALL_REGRESSIONS
    found_rows = (SMALL_REGRESSIONS if values else SMALL_CLASSIFICATIONS)[name]()
    if found_rows is None:
        print(f"Skipped, because it is not in $POCKETSVM_DATA: {name}.", flush=True)
        return {}
    X, y = found_rows
    X = StandardScaler().fit_transform(X)
    search: Any = BudgetedSVRCV if values else BudgetedSVCCV
    if values:
        y = (y - y.mean()) / y.std()

    def score(gammas: list[float] | None) -> float:
        results = search(BUDGET, gammas=gammas, random_state=0).fit(X, y).cv_results_
        return 100 * float(results["mean_test_score"][results["rank_test_score"].argmin()])

    found = {key: score([guess(X)]) for key, (_, guess) in GUESSES.items()}
    # A guess may score best by chance.
    best = max(score(None), *found.values())
    lost = {key: best - value for key, value in found.items()}
    return {"guesses": {"data": name, "tuned": best, **lost}}


def add_totals(table: Table) -> None:
    """Add the mean loss of each guess, the largest one, where it is best, and its lead."""
    keys, rows = list(GUESSES), table.rows.copy()
    lost = np.array([[row[key] for key in keys] for row in rows])
    gain = lost[:, [keys.index("scale")]] - lost
    totals = {
        "mean": lost.mean(axis=0),
        "worst": lost.max(axis=0),
        "best on": (lost <= lost.min(axis=1, keepdims=True)).sum(axis=0),
        'better than "scale" on': (gain > 0).sum(axis=0),
        'mean gain over "scale"': gain.mean(axis=0),
    }
    if len(rows) > 1:
        totals["its standard error"] = gain.std(axis=0, ddof=1) / np.sqrt(len(rows))
    for what, values in totals.items():
        table.add(data=what, **dict(zip(keys, map(float, values), strict=True)))


def scale(X: Any) -> float:
    """Return gamma="scale"."""
    return float(1.0 / (X.shape[1] * X.var()))


def median(X: Any) -> float:
    """Return one over the median squared distance of two rows."""
    some = X[np.random.default_rng(0).permutation(len(X))[:ROWS_FOR_MEDIAN]]
    squares = pairwise_distances(some, metric="sqeuclidean")
    return float(1.0 / np.median(squares[np.triu_indices_from(squares, 1)]))


def jacobian(X: Any) -> float:
    """Return gamma by the closed form that bounds the derivatives of the model."""
    n_rows, n_features = X.shape
    largest = float(pairwise_distances(X).max())
    width = np.sqrt(2) / np.pi * largest / ((n_rows - 1) ** (1 / n_features) - 1)
    return float(1.0 / (2 * width**2))


GUESSES = {
    "scale": ('"scale"', scale),
    "quarter": ('"scale" / 4', lambda X: scale(X) / 4),
    "median": ("median of distances", median),
    "jacobian": ("Jacobian", jacobian),
}
