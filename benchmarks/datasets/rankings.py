"""Queries of the benchmark of ranking: graded rows, and a relevance that is not linear."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRADES = (-0.5, 0.5, 1.5, 2.5)  # the limits between the grades 0 to 4
N_FEATURES = 6  # that the relevance depends on
NOISE = 0.5


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows, their relevance from 0 to 4, and their queries."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    qid: NDArray[Any]


def graded_queries(n_queries: int, n_rows: int, seed: int, *, n_useless: int = 0) -> Queries:
    """Return queries of so many rows; a query shifts the relevance of all its rows.

    The relevance is a sum of a wave, a kink and two products, with noise. Useless features are
    noise, too.
    """
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_rows)
    X = random.normal(size=(len(qid), N_FEATURES + n_useless))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * X[:, 4] * X[:, 5]
    score += random.normal(size=n_queries)[qid] + NOISE * random.normal(size=len(qid))
    return Queries(X, np.digitize(score, GRADES), qid)
