"""First guesses for gamma, beside the value that cross-validation finds."""

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from ...estimators import BudgetedSVCCV, BudgetedSVRCV
from ..datasets.small import classifications, regressions
from ..toolkit.tables import Table

BUDGET, FOLDS = 200, 5
ROWS_FOR_MEDIAN = 500


def measure_guesses(quick: bool) -> Table:
    """Return how much the best score is lower with a guess of gamma than with the tuned value."""
    table = Table(
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
        "s = sqrt(2) / pi · l / ((n - 1)^(1/d) - 1), with the mean range l of the columns.",
        progress=True,
    )
    for name, load in list((classifications() | regressions()).items())[: 1 if quick else None]:
        X, y = load()
        X = StandardScaler().fit_transform(X)
        search: Any = BudgetedSVCCV
        if name in regressions():
            search, y = BudgetedSVRCV, (y - y.mean()) / y.std()

        def score(
            gammas: list[float] | None, X: Any = X, y: Any = y, search: Any = search
        ) -> float:
            return 100 * float(search(BUDGET, gammas=gammas, random_state=0).fit(X, y).best_score_)

        found = {key: score([guess(X)]) for key, (_, guess) in GUESSES.items()}
        # A guess may score best by chance.
        best = max(score(None), *found.values())
        table.add(data=name, tuned=best, **{key: best - value for key, value in found.items()})
    keys, rows = list(GUESSES), table.rows.copy()
    for what, function in (("mean", np.mean), ("worst", np.max)):
        table.add(data=what, **{key: float(function([row[key] for row in rows])) for key in keys})
    return table


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
    side = float(np.ptp(X, axis=0).mean())
    width = np.sqrt(2) / np.pi * side / ((n_rows - 1) ** (1 / n_features) - 1)
    return float(1.0 / (2 * width**2))


GUESSES = {
    "scale": ('"scale"', scale),
    "quarter": ('"scale" / 4', lambda X: scale(X) / 4),
    "median": ("median of distances", median),
    "jacobian": ("Jacobian", jacobian),
}
