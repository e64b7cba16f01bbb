"""A sample of whole queries, of rows that are read in batches.

A query is drawn by its name and a seed alone, so that its rows may be in several batches and files,
in any order: a hash of both is its priority. Among the queries that have a pair, those with the
smallest priorities are drawn as long as their rows fit into the sample. All rows of a drawn query
are kept, and with them all of its pairs. Only a query that would take more than its share of the
sample is represented by some of its rows, drawn at random, which have the weight of all of them.
Some rows of each relevance are among them, also of a rare one.

Whether a query has a pair is known at the end. Until then, the reservoir counts the rows of more
queries than it keeps rows of. If many queries have no pair, rows of a drawn query may be missing,
and all rows are read again.
"""

import math
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..files.errors import DataError
from .chunk import Chunk
from .drawing import GROWTH, Drawn, Plan, joined
from .queries import LEAST_OF_QUERY

Array = NDArray[Any]

# A query may take this share of the sample, or an equal share if there are fewer queries, and
# always `LEAST_OF_QUERY` rows.
LEAST_QUERIES = 64
# The least share of a query has at least this part of rows of each relevance, if there are as many.
LEVEL_PART = 8
# Rows are kept for this many times the sample, because some queries may turn out to have no pair.
ROOM = 1.25
EVERY = 1 << 64  # more than any priority
MOST_EXACT = 2**53  # larger whole numbers are not exact in float64


@dataclass(eq=False, slots=True)
class _Query:
    """What is known about a query: its rows so far, kept or not, and the range of relevance."""

    priority: int
    size: int = 0
    least: float = math.inf
    most: float = -math.inf

    @property
    def has_pair(self) -> bool:
        """Whether two rows differ in relevance."""
        return self.least < self.most


@dataclass(eq=False)
class QueryReservoir:
    """Draws a sample of queries from batches, which are added in their order.

    Attributes
    ----------
    plan : Plan
        How large the sample is.

    n_rows : int
        The number of rows so far.

    share : float
        The share of all rows that are in queries with a pair, estimated from those that are known.
    """

    plan: Plan
    n_rows: int = 0
    share: float = 1.0
    _only: frozenset[str] | None = None  # the names of the drawn queries, in a second scan
    _most: int | None = None  # how many rows of a query are drawn, in a second scan
    _codes: dict[str, int] = field(default_factory=dict)  # numbers of queries, by their names
    _queries: list[_Query] = field(default_factory=list)  # the numbered queries
    _limit: int = EVERY  # queries with priorities from here on are not drawn, nor counted
    _row_limit: int = EVERY  # their rows are not kept
    _kept: list[Drawn] = field(default_factory=list)
    _n_kept: int = 0
    _dtype: np.dtype[Any] | None = None  # of the queries
    _largest: int = 0  # whole number of a query

    def add(self, batch: Chunk) -> None:
        """Add the rows of a batch, all of which have a weight."""
        if not batch.n_rows:
            return
        if batch.qid is None:
            raise DataError(f"{batch.place}: the rows have no queries (qid), which a ranker needs.")
        self._check_kind(batch.qid, batch.place)
        numbers = np.arange(self.n_rows, self.n_rows + batch.n_rows)
        priorities = _core.random_numbers(self.plan.seed, self.n_rows, batch.n_rows)
        self.n_rows += batch.n_rows
        names, positions, sizes = np.unique(batch.qid, return_inverse=True, return_counts=True)
        positions = positions.ravel()
        relevance = batch.y[np.lexsort((batch.y, positions))]
        ends = np.cumsum(sizes)
        facts = (sizes, relevance[ends - sizes], relevance[ends - 1])
        found = zip(names.tolist(), *(each.tolist() for each in facts), strict=True)
        codes = np.array([self._counted(_name(query), *fact) for query, *fact in found])[positions]
        chosen = codes >= 0
        rows = Drawn(batch, numbers, priorities, codes)
        self._kept.append(rows if chosen.all() else rows.take(chosen))
        self._n_kept += int(chosen.sum())
        if self._n_kept > GROWTH * self.plan.n_rows:
            self._compact()

    def _check_kind(self, qid: Array, place: str) -> None:
        """Refuse queries that cannot be compared with those of other batches."""
        kind = qid.dtype.kind
        if self._dtype is not None and (self._dtype.kind == "U") != (kind == "U"):
            raise DataError(f"{place}: some queries (qid) are texts and others numbers.")
        self._dtype = qid.dtype if self._dtype is None else np.result_type(self._dtype, qid)
        if kind in "iu":
            self._largest = max(self._largest, int(qid.max()), -int(qid.min()))
        if self._dtype.kind == "f" and self._largest > MOST_EXACT:
            raise DataError(
                f"{place}: queries (qid) have the type {qid.dtype} here and another one in other "
                f"batches, and the number {self._largest} would be rounded. Use one type, such as "
                "int64 or texts, in all batches."
            )

    def _counted(self, name: str, size: int, least: float, most: float) -> int:
        """Count rows of a query; return its number, or -1 if its rows are not kept."""
        code = self._codes.get(name)
        if code is None:
            if self._only is not None and name not in self._only:
                return -1
            key = self.plan.seed.to_bytes(8, "little")
            priority = int.from_bytes(blake2b(name.encode(), digest_size=8, key=key).digest())
            if priority >= self._limit:
                return -1
            code = self._codes[name] = len(self._queries)
            self._queries.append(_Query(priority))
        query = self._queries[code]
        query.size += size
        query.least, query.most = min(query.least, least), max(query.most, most)
        return code if query.priority < self._row_limit else -1

    def _compact(self) -> None:
        """Keep what would be drawn if there were no more rows, and some more.

        Later rows only add queries or pairs, or make queries larger. What is left out here is not
        drawn in the end.
        """
        most = self._most_of_query()
        ordered = sorted(self._queries, key=lambda query: query.priority)
        sizes = np.minimum([query.size for query in ordered], most)
        has_pair = np.array([query.has_pair for query in ordered])
        self._limit = min(self._limit, _cut(ordered, sizes * has_pair, self.plan.n_rows))
        room = _cut(ordered, sizes, int(ROOM * self.plan.n_rows))
        self._row_limit = min(self._row_limit, self._limit, room)
        codes = np.full(len(self._queries), -1)
        counted = [k for k, query in enumerate(self._queries) if query.priority < self._limit]
        codes[counted] = np.arange(len(counted))
        self._codes = {name: int(codes[k]) for name, k in self._codes.items() if codes[k] >= 0}
        codes[[query.priority >= self._row_limit for query in self._queries]] = -1
        self._queries = [self._queries[k] for k in counted]
        every = joined(self._kept)
        every = replace(every, codes=codes[every.codes])
        every = every.take(every.codes >= 0)
        every = every.take(_first(every, most, self._least_of_level()))
        self._kept, self._n_kept = [every], every.rows.n_rows

    def _most_of_query(self) -> int:
        """Return how many rows of a query are drawn at most."""
        if self._most is not None:
            return self._most
        n_queries = LEAST_QUERIES
        if self._limit == EVERY:
            n_queries = min(sum(query.has_pair for query in self._queries), LEAST_QUERIES)
        return max(self.plan.n_rows // max(n_queries, 1), LEAST_OF_QUERY)

    def _least_of_level(self) -> int:
        """Return how many rows of each relevance are drawn from a large query, if it has them."""
        return max(self.plan.n_rows // LEAST_QUERIES, LEAST_OF_QUERY) // LEVEL_PART

    def sample(self) -> tuple[Chunk, Array] | None:
        """Return the drawn rows, and the factors of their weights.

        The mean of the factors is one. Returns None if the rows must be read again.
        """
        if self.n_rows <= self.plan.n_rows:
            every = joined(self._kept)
            return every.rows, np.ones(self.n_rows)
        self._compact()
        has_pair = np.array([query.has_pair for query in self._queries])
        if not has_pair.any():
            raise DataError(
                f"There is nothing to rank in {self.n_rows:,} rows: no query has two rows of "
                "different relevance y."
            )
        sizes = np.array([query.size for query in self._queries])
        self.share = float(sizes[has_pair].sum() / sizes.sum())
        if any(query.has_pair and query.priority >= self._row_limit for query in self._queries):
            return None
        every = joined(self._kept)
        every = every.take(has_pair[every.codes])
        factors = sizes[every.codes] / np.bincount(every.codes)[every.codes]
        return every.rows, factors / factors.mean()

    def again(self) -> "QueryReservoir":
        """Return the reservoir of a second scan, which keeps the drawn queries alone."""
        names = frozenset(name for name, k in self._codes.items() if self._queries[k].has_pair)
        most = self._most_of_query()
        return QueryReservoir(self.plan, _only=names, _most=most)


def _cut(ordered: list[_Query], sizes: Array, n_rows: int) -> int:
    """Return the priority of the first query whose rows do not fit into so many rows."""
    n_drawn = int(np.searchsorted(np.cumsum(sizes), n_rows, side="right"))
    return ordered[n_drawn].priority if n_drawn < len(ordered) else EVERY


def _first(every: Drawn, most: int, least_of_level: int) -> NDArray[np.bool_]:
    """Return which rows of each query are drawn.

    These are the rows with the smallest priorities, but the first ones of each relevance come
    before all others.
    """
    counts = np.bincount(every.codes)
    if not len(counts) or counts.max() <= most:
        return np.ones(len(every.codes), dtype=bool)
    order = np.lexsort((every.priorities, every.rows.y, every.codes))
    is_new = np.diff(every.rows.y[order], prepend=np.nan) != 0
    is_new |= np.diff(every.codes[order], prepend=-1) != 0
    is_late = np.empty(len(order), dtype=bool)
    is_late[order] = _ranks(np.flatnonzero(is_new), len(order)) >= least_of_level
    order = np.lexsort((every.priorities, is_late, every.codes))
    found = np.empty(len(order), dtype=bool)
    found[order] = _ranks((np.cumsum(counts) - counts)[counts > 0], len(order)) < most
    return found


def _ranks(begins: Array, n: int) -> NDArray[np.int64]:
    """Return the position of each of n sorted rows in its group, of which these are the begins."""
    ranks: NDArray[np.int64] = np.arange(n) - np.repeat(begins, np.diff(np.append(begins, n)))
    return ranks


def _name(query: Any) -> str:
    """Return the text of a query: 7 and 7.0 are the same."""
    return str(int(query)) if isinstance(query, float) and query.is_integer() else str(query)
