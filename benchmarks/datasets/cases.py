"""Rows that are difficult in one respect each, for the study."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

TEST_ROWS = 20_000

Rows = tuple[Any, NDArray[Any]]


def _easy(rows: int = 10_000, **changes: Any) -> tuple[Rows, Rows]:
    """Return training and test rows of two overlapping classes, with some parameters changed."""
    shape = {"n_features": 20, "n_informative": 6, "n_clusters_per_class": 3}
    X, y = make_classification(rows + TEST_ROWS, random_state=1, **{**shape, **changes})
    X = StandardScaler().fit_transform(X).astype(np.float32)
    return (X[:rows], y[:rows]), (X[rows:], y[rows:])


def _repeated(times: int) -> tuple[Rows, Rows]:
    (X, y), test = _easy(rows=1000)
    return (np.repeat(X, times, axis=0), np.repeat(y, times)), test


def _unscaled() -> tuple[Rows, Rows]:
    (X, y), (X_test, y_test) = _easy()
    scales = np.geomspace(1, 1e4, X.shape[1], dtype=np.float32)
    return (X * scales, y), (X_test * scales, y_test)


CASES: dict[str, Callable[[], tuple[Rows, Rows]]] = {
    "nothing special": _easy,
    "1 positive in 100": lambda: _easy(weights=[0.99], flip_y=0, n_clusters_per_class=1),
    "10 % of the labels wrong": lambda: _easy(flip_y=0.2),  # half of them are right by chance
    "2 features": lambda: _easy(
        n_features=2, n_informative=2, n_redundant=0, n_clusters_per_class=2
    ),
    "2,000 features": lambda: _easy(n_features=2000, n_informative=50, rows=2000),
    "100 rows": lambda: _easy(rows=100),
    "every row ten times": lambda: _repeated(10),
    "scales from 1 to 10,000": _unscaled,
    "3 classes": lambda: _easy(n_classes=3),
    "10 classes": lambda: _easy(n_classes=10, n_informative=10, n_clusters_per_class=1),
}
