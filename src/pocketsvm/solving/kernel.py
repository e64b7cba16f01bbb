"""Kernel values of the sampled rows, and sums over them that keep their bits."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.rows import Rows

Array = NDArray[Any]

# Added to the diagonal of K, which is nearly singular if merged vectors nearly coincide: it keeps
# the coefficients of such vectors from growing against each other beyond float32.
JITTER = 1e-6
# Rows per chunk: a fixed number, so that the order of sums does not depend on the threads.
ROWS_AT_ONCE = 4096


class Kernel:
    """Kernel values of all rows and among the vectors, and sums over the rows.

    Threads take rows in chunks of a fixed size, and the sums of the chunks are added in their
    order: the bits do not depend on the number of threads.
    """

    def __init__(self, vectors: Array, rows: Rows, n_threads: int) -> None:
        self.n_threads = n_threads
        self.rows = np.empty((rows.n_rows, len(vectors)), dtype=np.float32)
        for chunk in _chunks(rows.n_rows):
            self.rows[chunk] = _core.kernel_block(
                vectors, rows.gamma, rows.core, chunk.start, chunk.stop, n_threads
            )
        # In float64, and without a common offset: with larger rounding errors, K would have
        # eigenvalues below -JITTER.
        precise = vectors.astype(np.float64)
        precise -= precise.mean(axis=0)
        among = _core.kernel_block(
            precise, rows.gamma, _core.Rows.dense(precise), 0, len(vectors), n_threads
        )
        self.penalty = (among + among.T) / 2
        self.penalty[np.diag_indices_from(self.penalty)] += JITTER

    def each(self, function: Callable[[slice], Any], n: int) -> Iterable[Any]:
        """Yield the function's results for every chunk of n rows, in the order of the chunks."""
        if self.n_threads == 1 or n <= ROWS_AT_ONCE:
            yield from map(function, _chunks(n))
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            yield from pool.map(function, _chunks(n))

    def decide(self, coefficients: Array, intercept: float) -> Array:
        """Return the decision values of all rows."""
        with np.errstate(under="ignore"):
            beta = coefficients.astype(np.float32)
        parts = list(self.each(lambda chunk: self.rows[chunk] @ beta, len(self.rows)))
        return np.concatenate(parts).astype(np.float64) + intercept


def _chunks(n: int) -> list[slice]:
    return [slice(begin, min(begin + ROWS_AT_ONCE, n)) for begin in range(0, n, ROWS_AT_ONCE)]
