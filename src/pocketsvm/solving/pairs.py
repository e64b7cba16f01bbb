"""The loss of ranking: a hinge over all pairs of rows of a query.

A pair of rows i, j of a query, of which i is more relevant, has the loss max(0, 1 - (f_i - f_j)),
with its kink rounded off. The pairs of a query count as much as it has rows. The core sums over
pairs in n log n, by sorting decision values (`native/solving/pair_sums.hpp`).

The rows of a query depend on each other: the second derivative is not diagonal. The curvatures are
a diagonal bound on it. Factors are made of pairs of rows, drawn at random.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..backends.base import Backend
from ..backends.slices import in_order
from ..rows.queries import Queries
from .row_loss import Loss

if TYPE_CHECKING:
    from .sample import Sample

Array = NDArray[Any]

# All pairs are on the quadratic part of a loss of this width.
ANY_WIDTH = 1e300
# Rows whose pairs are summed up at once.
ROWS_AT_ONCE = 2**15
# Pairs whose kernel values are computed at once.
PAIRS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class PairwiseHinge(Loss):
    """The loss of rows that are sorted by query."""

    name: ClassVar[str] = "pairwise_hinge"
    has_pairs: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 1
    queries: Queries
    width: float

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        queries = self.queries
        most = np.maximum.reduceat(queries.n_partners, queries.begins[:-1])
        return float((most * queries.scales).max() / self.width)

    @property
    def begins(self) -> Array:
        """The first row of each query, and the number of rows."""
        return self.queries.begins

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows, which should be those of whole queries."""
        return replace(self, queries=self.queries.take(chosen))

    def derivatives(self, decisions: Array, c: Array, n_threads: int) -> tuple[Array, Array, Array]:
        """Return the sums of the losses of rows with the weights c, and their derivatives."""
        slopes, curvatures = np.empty_like(decisions), np.empty_like(decisions)

        def read(at: slice, loss: Self) -> Array:
            values, slopes[at], curvatures[at], _ = loss._sums(decisions[at], self.width)
            total: Array = (values * c[at, None]).sum(axis=0)
            return total

        total = reduce(np.add, self._parts(read, n_threads))
        return total, slopes * c[:, None], curvatures * c[:, None]

    def along(
        self, decisions: Array, change: Array, length: Array, c: Array, n_threads: int
    ) -> tuple[Array, Array]:
        """Return the first and second derivative of the losses along a change, at some lengths."""

        def read(at: slice, loss: Self) -> Array:
            some = change[at]
            weighted = some * c[at, None]
            _, slopes, curvatures, _ = loss._sums(decisions[at] + length * some, self.width)
            return np.stack(
                [(slopes * weighted).sum(axis=0), (curvatures * some * weighted).sum(axis=0)]
            )

        first, second = reduce(np.add, self._parts(read, n_threads))
        return first, second

    def _parts(self, read: Callable[[slice, Self], Array], n_threads: int) -> Iterator[Array]:
        """Read the rows in slices of whole queries, whose number does not depend on threads."""
        parts = self.queries.slices(ROWS_AT_ONCE)
        return in_order(lambda at: read(at, self.take(at)), parts, n_threads)

    def curvature_products(self, decisions: Array, curvatures: Array, c: Array) -> Array:
        """Return the second derivative of the weighted losses times the decision values."""
        return self._sums(decisions, self.width)[3] * c[:, None]

    def near(self, decisions: Array, reach: float, n_threads: int) -> NDArray[np.bool_]:
        """Tell which queries have a pair with a slope, or would have one within `reach` widths."""
        _, slopes, curvatures, _ = self._sums(decisions, reach * self.width)
        return self.queries.whole(((slopes != 0) | (curvatures != 0))[:, 0])

    def partners(
        self, chosen: Array, decisions: Array | None, random: np.random.Generator
    ) -> Array:
        """Draw a row that is curved together with each of the chosen ones; None: at any values."""
        queries, draws = self.queries, random.random(len(chosen))
        flat = np.zeros(len(queries.levels)) if decisions is None else decisions[:, 0].copy()
        width = ANY_WIDTH if decisions is None else self.width
        rows = chosen.astype(np.int64)
        return _core.bent_partners(flat, queries.levels, queries.begins, width, rows, draws)

    def _sums(self, decisions: Array, width: float) -> tuple[Array, ...]:
        queries = self.queries
        flat = np.ascontiguousarray(decisions[:, 0], dtype=np.float64)
        sums = _core.pair_sums(flat, queries.levels, queries.begins, queries.scales, width)
        return tuple(column[:, None] for column in sums)


def pair_blocks(
    vectors: Array, sample: "Sample", curvatures: Array, partners: Array, backend: Backend
) -> Iterator[tuple[Any, Array]]:
    """Yield differences of the kernel values of pairs, and their weights.

    A pair stands for all pairs of its first row, which has twice the curvature of them; and both
    rows stand for it.
    """
    chosen = np.flatnonzero(curvatures)
    for begin in range(0, len(chosen), PAIRS_AT_ONCE):
        some = slice(begin, begin + PAIRS_AT_ONCE)
        first, second = (
            backend.kernel(vectors, sample.rows.take(rows[some])) for rows in (chosen, partners)
        )
        weights = curvatures[chosen[some]] / 4
        yield first - second, weights
