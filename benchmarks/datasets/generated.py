"""Generated rows of any number, to measure time and memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pocketsvm.paper.datasets.generated import BLOCK_ROWS


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


def noisy_shell(n_rows: int, n_features: int = 18) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Generate standard normal rows; their class says on which side of a noisy sphere they are.

    The sphere is in the first six features.
    """
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, n_features), dtype=np.float32)
    noise = random.standard_normal(n_rows, dtype=np.float32)
    return X, np.sign(np.square(X[:, :6]).sum(axis=1) - 6 + noise)


def sparse_rows(
    n_rows: int, n_features: int, nonzeros: int, seed: int = 0
) -> tuple[Any, NDArray[Any]]:
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
