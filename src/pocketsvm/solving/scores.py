"""Quantiles of the scores of all rows, wherever these are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..model.prediction import decision_values
from .sample import Sample
from .scans import Scans

Array = NDArray[Any]

# The scores of so many rows are compared with each other; of more rows, only those in the bin of a
# histogram that has the quantile.
MOST_COMPARED = 1 << 22
BINS = 1 << 16
# Scans that narrow the bin down.
MOST_NARROWED = 3
# A bound on the rounding of scores, as a share of their range.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class ReadScores:
    """The scores between two bounds, and their weights; and the weight below and of all rows."""

    encode: Callable[[Any], Sample]
    vectors: Array
    dual_coef: Array
    low: float
    high: float
    backend: Backend

    def _scores(self, rows: Any) -> tuple[Array, Array]:
        sample = self.encode(rows)
        gamma, nothing = sample.rows.gamma, np.zeros(1)
        scores = decision_values(
            self.vectors, self.dual_coef, nothing, gamma, sample.rows.checked, self.backend
        )
        return scores.ravel(), sample.c

    def __call__(self, rows: Any, first: int) -> tuple[Array, Array, float, float]:
        """Read a chunk."""
        scores, weights = self._scores(rows)
        inside = (scores >= self.low) & (scores < self.high)
        below = float(weights[scores < self.low].sum())
        return scores[inside], weights[inside], below, float(weights.sum())

    def merge(self, parts: Sequence[Any]) -> tuple[Array, Array, float, float]:
        """Join scores and weights, and add up the others."""
        scores, weights, below, total = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(weights), sum(below), sum(total)


class CountScores(ReadScores):
    """The number of rows and their weight in each bin; and the weight below and of all rows."""

    @property
    def edges(self) -> Array:
        """The edges of the bins."""
        return np.linspace(self.low, self.high, BINS + 1)

    def __call__(self, rows: Any, first: int) -> tuple[Array, Array, float, float]:
        """Read a chunk."""
        scores, weights, below, total = super().__call__(rows, first)
        bins = np.searchsorted(self.edges, scores, side="right") - 1
        return np.bincount(bins, minlength=BINS), np.bincount(bins, weights, BINS), below, total

    def merge(self, parts: Sequence[Any]) -> tuple[Array, Array, float, float]:
        """Add up what was found in several chunks."""
        counts, weights, below, total = zip(*parts, strict=True)
        return sum(counts), sum(weights), sum(below), sum(total)


def score_quantile(scans: Scans, vectors: Array, dual_coef: Array, share: float) -> float:
    """Return a number with this share of the weight of all rows below it, in the middle of a gap.

    If very many rows have nearly equal scores there, it is not larger than these.
    """
    low, high, given = -np.inf, np.inf, (scans.encode, vectors, dual_coef)
    n_rows = 0 if scans.is_one_chunk else scans.n_rows  # scores of a chunk are in memory
    for _ in range(MOST_NARROWED):
        if n_rows <= MOST_COMPARED:
            break
        if low == -np.inf:
            low, high = _bounds(dual_coef)
        count = CountScores(*given, low, high, scans.backend)
        counts, weights, below, total = scans.rows.scan(count)
        k = _first_above(below + np.cumsum(weights), share, total)
        k = min(k, int(np.flatnonzero(counts)[-1]))
        low, high = count.edges[k : k + 2].tolist()
        n_rows = int(counts[k])
    if n_rows > MOST_COMPARED:
        return low
    read = ReadScores(*given, low, high, scans.backend)
    scores, weights, below, total = scans.rows.scan(read)
    return lower_quantile(scores, weights, share, below, total)


def lower_quantile(
    values: Array, weights: Array, share: float, below: float = 0.0, total: float | None = None
) -> float:
    """Return a number with this share of the weight below it, in the middle of a gap.

    The values may be some of all, which have this `total` weight, of which a part is `below`.
    """
    order = np.argsort(values, kind="stable")
    values, summed = values[order], below + np.cumsum(weights[order])
    total = summed[-1] if total is None else total
    n_below = _first_above(summed, share, total)
    low, high = values[max(n_below - 1, 0)], values[min(n_below, len(values) - 1)]
    return float(low + (high - low) / 2) if n_below else float(high)


def _bounds(dual_coef: Array) -> tuple[float, float]:
    """Return bounds of the scores: kernel values are between zero and one, up to rounding."""
    low, high = float(np.minimum(dual_coef, 0).sum()), float(np.maximum(dual_coef, 0).sum())
    room = ROUNDING * (high - low) + float(np.finfo(np.float32).tiny)
    return low - room, high + room


def _first_above(summed: Array, share: float, total: float) -> int:
    """Return the first position where the summed weights are more than this share of the total."""
    return int(np.searchsorted(summed, share * total + 1e-9 * total, side="right"))
