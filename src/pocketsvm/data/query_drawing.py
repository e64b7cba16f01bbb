"""A sample of whole queries, of rows that are read in batches.

A query is drawn by its name and a seed alone, so that its rows may be in several batches and files,
in any order: a hash of both is its priority, and the queries with the smallest ones are drawn as
long as their rows fit into the sample. All rows of a drawn query are kept, and with them all of its
pairs. Only a query that would take more than its share of the sample is represented by some of its
rows, drawn at random, which have the weight of all of them.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import RowBatch
from .drawing import GROWTH, Plan, join_batches
from .errors import DataError
from .queries import LEAST_OF_QUERY
from .sampling import random_numbers
from .summary import Summary

Array = NDArray[Any]

# A query may take this share of the sample, or an equal share if there are fewer queries, and
# always `LEAST_OF_QUERY` rows.
LEAST_QUERIES = 64


@dataclass(eq=False)
class _Kept:
    """Rows of queries that may be drawn.

    Attributes
    ----------
    rows : RowBatch
        The rows, in their order.

    numbers : ndarray of shape (n_rows,)
        Their positions among all rows with a weight.

    priorities : ndarray of shape (n_rows,)
        The smallest priorities of a large query are drawn.

    codes : ndarray of shape (n_rows,)
        The numbers of their queries.
    """

    rows: RowBatch
    numbers: NDArray[np.int64]
    priorities: NDArray[np.float64]
    codes: NDArray[np.int64]

    def take(self, chosen: Array) -> "_Kept":
        """Copy the chosen rows."""
        arrays = (self.numbers[chosen], self.priorities[chosen], self.codes[chosen])
        return _Kept(self.rows.take(chosen), *arrays)


def _joined(parts: list[_Kept]) -> _Kept:
    """Join rows."""
    return _Kept(
        join_batches([part.rows for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.priorities for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )


@dataclass(eq=False)
class QueryReservoir:
    """Draws a sample of queries from batches, which are added in their order.

    Attributes
    ----------
    plan : Plan
        How large the sample is.

    n_rows : int
        The number of rows so far.
    """

    plan: Plan
    n_rows: int = 0
    _codes: dict[str, int] = field(default_factory=dict)  # numbers of queries, by their names
    _priorities: list[int] = field(default_factory=list)  # of the numbered queries
    _sizes: list[int] = field(default_factory=list)  # their rows so far, kept or not
    _limit: int = 1 << 64  # queries with priorities from here on have been dropped
    _kept: list[_Kept] = field(default_factory=list)
    _n_kept: int = 0

    def add(self, batch: RowBatch) -> None:
        """Add the rows of a batch, all of which have a weight."""
        if not batch.n_rows:
            return
        if batch.qid is None:
            raise DataError(f"{batch.place}: the rows have no queries (qid), which a ranker needs.")
        self._check_kind(batch)
        numbers = np.arange(self.n_rows, self.n_rows + batch.n_rows)
        priorities = random_numbers(self.plan.seed, self.n_rows, batch.n_rows)
        self.n_rows += batch.n_rows
        names, positions = np.unique(batch.qid, return_inverse=True)
        codes = np.array([self._code(_name(query)) for query in names.tolist()])
        codes = codes[positions.ravel()]
        chosen = codes >= 0
        for code, count in zip(*np.unique(codes[chosen], return_counts=True), strict=True):
            self._sizes[code] += int(count)
        found = _Kept(batch, numbers, priorities, codes)
        self._kept.append(found if chosen.all() else found.take(chosen))
        self._n_kept += int(chosen.sum())
        if self._n_kept > GROWTH * self.plan.n_rows:
            self._compact()

    def _check_kind(self, batch: RowBatch) -> None:
        assert batch.qid is not None
        first = self._kept[0].rows.qid if self._kept else batch.qid
        assert first is not None
        if (first.dtype.kind in "US") != (batch.qid.dtype.kind in "US"):
            raise DataError(f"{batch.place}: some queries (qid) are texts and others numbers.")

    def _code(self, name: str) -> int:
        """Return the number of a query; -1 if it is not drawn."""
        code = self._codes.get(name)
        if code is None:
            key = self.plan.seed.to_bytes(8, "little")
            priority = int.from_bytes(blake2b(name.encode(), digest_size=8, key=key).digest())
            if priority >= self._limit:
                return -1
            code = self._codes[name] = len(self._sizes)
            self._priorities.append(priority)
            self._sizes.append(0)
        return code

    def _compact(self) -> None:
        """Keep what would be drawn if there were no more rows.

        Later rows only make queries larger and more, so that nothing that is drawn in the end is
        dropped here.
        """
        every, most = _joined(self._kept), self._most_of_query()
        priorities = np.array(self._priorities, dtype=np.uint64)
        order = np.argsort(priorities, kind="stable")
        ends = np.cumsum(np.minimum(self._sizes, most)[order])
        n_drawn = int(np.searchsorted(ends, self.plan.n_rows, side="right"))
        if n_drawn < len(order):
            self._limit = int(priorities[order[n_drawn]])
        drawn = order[:n_drawn]
        codes = np.full(len(order), -1)
        codes[drawn] = np.arange(n_drawn)
        self._codes = {name: int(codes[k]) for name, k in self._codes.items() if codes[k] >= 0}
        self._priorities = priorities[drawn].tolist()
        self._sizes = np.array(self._sizes)[drawn].tolist()
        every.codes = codes[every.codes]
        every = every.take(every.codes >= 0)
        every = every.take(_smallest(every, most))
        self._kept, self._n_kept = [every], every.rows.n_rows

    def _most_of_query(self) -> int:
        """Return how many rows of a query are drawn at most."""
        is_cut = self._limit < 1 << 64
        n_queries = LEAST_QUERIES if is_cut else min(len(self._sizes), LEAST_QUERIES)
        return max(self.plan.n_rows // n_queries, LEAST_OF_QUERY)

    def sample(self, summary: Summary) -> tuple[RowBatch, Array, Array]:
        """Return the drawn rows, the factors of their weights and their numbers.

        The mean of the factors is one.
        """
        if self.n_rows > self.plan.n_rows:
            self._compact()
        drawn = _joined(self._kept)
        factors = (self._sizes / np.bincount(drawn.codes))[drawn.codes]
        return drawn.rows, factors / factors.mean(), drawn.numbers


def _smallest(every: _Kept, most: int) -> NDArray[np.bool_]:
    """Return which rows have the smallest priorities of their query."""
    counts = np.bincount(every.codes)
    if counts.max() <= most:
        return np.ones(len(every.codes), dtype=bool)
    order = np.lexsort((every.priorities, every.codes))
    begins = np.cumsum(counts) - counts
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(begins, counts)
    found: NDArray[np.bool_] = ranks < most
    return found


def _name(query: Any) -> str:
    """Return the text of a query: 7 and 7.0 are the same."""
    return str(int(query)) if isinstance(query, float) and query.is_integer() else str(query)
