"""Generated rows: as many as needed, or difficult in one respect each."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

BLOCK_ROWS = 10_000  # generated at once, so that only X and y take much memory
PAPER_SHARPNESS = 0.61  # as many steps merge as in the paper's runs on SUSY
SUSY_SHARPNESS = 1.62  # the best possible accuracy is about that on SUSY
TEST_ROWS = 20_000

Rows = tuple[Any, NDArray[Any]]


def susy_like(
    n_rows: int = 4_500_000,
    n_features: int = 18,
    sharpness: float = PAPER_SHARPNESS,
    seed: int | Sequence[int] = 0,
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Generate rows for experiments of the size of SUSY.

    The rows are standardised, dense and of two classes. By default these overlap so much that, with
    the paper's settings for SUSY, as many steps end in a merge as in the paper: 43 %.

    Parameters
    ----------
    n_rows, n_features : int
        The shape.

    sharpness : float
        The higher, the less the classes overlap.

    seed : int or sequence of ints
        Determines every value.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), int8
        0 and 1.
    """
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), np.float32)
    y = np.empty(n_rows, np.int8)
    for begin in range(0, n_rows, BLOCK_ROWS):
        part = slice(begin, min(begin + BLOCK_ROWS, n_rows))
        random.standard_normal(dtype=np.float32, out=X[part])
        a, b, c, d, e = X[part, :5].T
        score = a + 0.5 * e + 0.7 * b * c + 0.5 * (d**2 - 1)
        y[part] = random.random(len(score)) < expit(sharpness * score)
    return X, y


def many_classes(
    n_rows: int, n_features: int, n_classes: int, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Generate standardised dense rows; the class of a row is the nearest of random centres."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((n_classes, n_features), dtype=np.float32)
    half_norms = 0.5 * (centres**2).sum(axis=1)
    X = np.empty((n_rows, n_features), np.float32)
    y = np.empty(n_rows, np.int8)
    for begin in range(0, n_rows, BLOCK_ROWS):
        part = slice(begin, min(begin + BLOCK_ROWS, n_rows))
        random.standard_normal(dtype=np.float32, out=X[part])
        y[part] = (X[part] @ centres.T - half_norms).argmax(axis=1)
    return X, y


def chequerboard(
    n_rows: int, n_cells: int = 8, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Generate rows on a board of `n_cells` by `n_cells` cells of side one, of classes 0 and 1."""
    X = np.random.default_rng(seed).uniform(0, n_cells, (n_rows, 2)).astype(np.float32)
    return X, (np.floor(X).sum(axis=1) % 2).astype(np.int8)


def sparse_rows(n_rows: int, n_features: int, nonzeros: int, seed: int = 0) -> Rows:
    """Generate CSR rows of float32 with equally many non-zeros each; 2 % of the classes overlap."""
    random = np.random.default_rng(seed)
    step = n_features // nonzeros
    indices = np.arange(nonzeros) * step + random.integers(step, size=(n_rows, nonzeros))
    direction = random.choice(np.array([-1, 1], np.float32), n_features)
    y = random.choice(np.array([-1, 1], np.int8), n_rows)
    values = random.standard_normal(indices.shape, dtype=np.float32)
    values += y[:, None] * direction[indices] * (2 / nonzeros**0.5)
    values /= nonzeros**0.5
    starts = np.arange(n_rows + 1, dtype=np.int32) * nonzeros
    parts = (values.ravel(), indices.astype(np.int32).ravel(), starts)
    return sparse.csr_array(parts, shape=(n_rows, n_features)), y


# --- rows that are difficult in one respect each --------------------------------------------------


def _easy(rows: int = 10_000, **changes: Any) -> tuple[Rows, Rows]:
    """Return training and test rows of two overlapping classes, with some parameters changed."""
    shape = {"n_features": 20, "n_informative": 6, "n_clusters_per_class": 3}
    X, y = make_classification(rows + TEST_ROWS, random_state=0, **{**shape, **changes})
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
