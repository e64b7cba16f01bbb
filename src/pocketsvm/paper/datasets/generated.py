"""Generated rows, as many as the paper's largest data set has."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

BLOCK_ROWS = 10_000  # generated at once, so that only X and y take much memory
PAPER_SHARPNESS = 0.61  # as many steps merge as in the paper's runs on SUSY
SUSY_SHARPNESS = 1.62  # the best possible accuracy is about that on SUSY


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
