"""Streams: a random sample, of bounded size, of all rows that were seen so far.

Row i, counted from the start of the stream, has the weight w_i = 2^(i / half_life), or one, and the
priority e_i / w_i, where e_i is exponentially distributed and depends on i and a seed alone. The
rows with the smallest priorities are kept. If t is the smallest priority of a row that was dropped,
a row was kept with the probability 1 - exp(-w_i t), by which its weight is divided. Priorities are
kept as logarithms, because w_i grows without bound.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .chunk import Chunk, joined
from .sampling import smallest


@dataclass(frozen=True, eq=False)
class StreamReservoir:
    """Some rows of a stream.

    Attributes
    ----------
    seed : int
        Draws the rows, together with their positions.

    n_seen : int
        The number of rows so far.

    rows : Chunk or None
        The kept rows, in their order.

    positions, priorities : ndarray of shape (n_rows,)
        Their positions in the stream, and the logarithms of their priorities.

    dropped : float
        The smallest logarithm of a dropped priority.
    """

    seed: int
    n_seen: int = 0
    rows: Chunk | None = None
    positions: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    priorities: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    dropped: float = math.inf

    def added(self, batch: Chunk, size: int, half_life: float) -> "StreamReservoir":
        """Return the reservoir after another batch."""
        batch = batch.counted()
        if not batch.n_rows:
            return self
        numbers = 1.0 - _core.random_numbers(self.seed, self.n_seen, batch.n_rows)  # in (0, 1]
        positions = np.arange(self.n_seen, self.n_seen + batch.n_rows)
        with np.errstate(divide="ignore"):
            new = np.log(-np.log(numbers)) - positions * (math.log(2) / half_life)
        rows = batch if self.rows is None else joined([self.rows, batch])
        positions = np.concatenate([self.positions, positions])
        priorities = np.concatenate([self.priorities, new])
        n_seen, dropped = self.n_seen + batch.n_rows, self.dropped
        if len(priorities) > size:
            order = smallest(priorities, size)
            dropped = min(dropped, float(priorities[order[size]]))
            kept = np.sort(order[:size])
            rows, positions, priorities = rows.take(kept), positions[kept], priorities[kept]
        return replace(
            self,
            n_seen=n_seen,
            rows=rows,
            positions=positions,
            priorities=priorities,
            dropped=dropped,
        )

    def factors(self, half_life: float) -> NDArray[np.float64]:
        """Return what the weights of the kept rows are multiplied by, with a mean of one."""
        rate = math.log(2) / half_life
        weights = np.exp((self.positions - self.n_seen) * rate)
        if self.dropped < math.inf:
            # The exponent is bounded: a row whose weight is much larger is kept for sure.
            chance = -np.expm1(-np.exp(np.minimum(self.positions * rate + self.dropped, 50.0)))
            weights = weights / np.maximum(chance, np.finfo(float).tiny)
        factors: NDArray[np.float64] = weights / weights.mean()
        return factors
