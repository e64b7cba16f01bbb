"""Relevance and queries of training rows, checked, and sorted by query.

A pair is two rows of one query with different relevance. The pairs of a query weigh as much as the
query has rows, and all of them the same.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .._cached import cached_property
from .rows import CheckedRows
from .targets import Targets, Weights, weighted_rows

Array = NDArray[Any]

# Sampling takes whole queries, up to this many rows of each, or more if there are few queries.
LEAST_OF_QUERY = 64


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows sorted by query, and by relevance in each query.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows,), int64
        The number of each row's query.

    levels : ndarray of shape (n_rows,), int32
        The rank of each row's relevance in its query, from 0.
    """

    numbers: NDArray[np.int64]
    levels: NDArray[np.int32]

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """The first row of each query, and the number of rows."""
        first = np.flatnonzero(np.diff(self.numbers, prepend=-1))
        return np.append(first, len(self.numbers)).astype(np.int64)

    @cached_property
    def places(self) -> NDArray[np.uint32]:
        """The begin of each row's query and level, and their ends, (n_rows, 4)."""
        sizes = np.diff(self.begins)
        is_first = np.diff(self.levels, prepend=-1) != 0
        is_first[self.begins[:-1]] = True
        first = np.flatnonzero(is_first)
        lengths = np.diff(np.append(first, len(self.levels)))
        columns = [
            np.repeat(self.begins[:-1], sizes),
            np.repeat(first, lengths),
            np.repeat(first + lengths, lengths),
            np.repeat(self.begins[1:], sizes),
        ]
        return np.column_stack(columns).astype(np.uint32)

    @cached_property
    def n_partners(self) -> NDArray[np.int64]:
        """The number of rows of the same query with another relevance, for each row."""
        query_begin, level_begin, level_end, query_end = self.places.astype(np.int64).T
        found: NDArray[np.int64] = (query_end - query_begin) - (level_end - level_begin)
        return found

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """The number of rows over the number of pairs of each query; 0 if it has no pair."""
        n_pairs = np.add.reduceat(self.n_partners, self.begins[:-1]) / 2
        sizes = np.diff(self.begins)
        return np.divide(sizes, n_pairs, out=np.zeros(len(sizes)), where=n_pairs > 0)

    def take(self, chosen: Array | slice) -> "Queries":
        """Return the chosen rows, in their order."""
        return Queries(self.numbers[chosen], self.levels[chosen])

    def whole(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return all rows of the queries of which some rows are chosen."""
        found: NDArray[np.bool_] = np.logical_or.reduceat(chosen, self.begins[:-1])
        return np.repeat(found, np.diff(self.begins))

    def slices(self, n_rows: int) -> list[slice]:
        """Cut the rows into slices of whole queries, of about this many rows."""
        ends = self.begins[1:]
        last = np.flatnonzero(np.diff(ends // n_rows, append=-1))
        return [
            slice(begin, end)
            for begin, end in zip([0, *ends[last[:-1]].tolist()], ends[last].tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False, kw_only=True)
class RankTargets(Targets):
    """Relevance, in queries that have at least one pair each."""

    task: ClassVar[str] = "ranking"
    queries: Queries

    n_problems = 1

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.queries.levels)

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(self.n_rows, dtype=np.int8)

    def pair_weight(self) -> Weights:
        """Return the weight of each row times the rows over the pairs of its query."""
        weight = np.repeat(self.queries.scales, np.diff(self.queries.begins))
        return weight if self.sample_weight is None else weight * self.sample_weight

    def take(self, chosen: Array, factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, queries=self.queries.take(chosen), sample_weight=weights)

    def draw(self, n_rows: int, seed: int) -> tuple[NDArray[np.intp], Weights]:
        """Draw whole queries, of large ones some rows; return rows and factors of their weights.

        The rows of a query that were not drawn give their weight to those that were.
        """
        random = np.random.Generator(np.random.Philox(seed))
        sizes = np.diff(self.queries.begins)
        most = max(LEAST_OF_QUERY, n_rows // len(sizes))
        drawn = []
        for q in random.permutation(len(sizes)):
            begin, size = int(self.queries.begins[q]), int(sizes[q])
            rows = begin + np.sort(random.choice(size, min(size, most), replace=False))
            if self.queries.levels[rows[0]] == self.queries.levels[rows[-1]]:
                rows[0], rows[-1] = begin, begin + size - 1  # of the least and the most relevance
            drawn.append(rows)
            n_rows -= len(rows)
            if n_rows <= 0:
                break
        chosen = np.sort(np.concatenate(drawn))
        found = self.queries.take(chosen)
        numbers, counts = found.numbers[found.begins[:-1]], np.diff(found.begins)
        whole = sizes[np.searchsorted(self.queries.numbers[self.queries.begins[:-1]], numbers)]
        factors = np.repeat(whole / counts, counts)
        return chosen, factors * (len(chosen) / factors.sum())


def rank_targets(
    rows: CheckedRows, y: Array, qid: Any, sample_weight: Any
) -> tuple[CheckedRows, RankTargets]:
    """Sort checked rows by query and relevance.

    Rows of zero weight, and queries without a pair, are dropped.
    """
    n_given, y = rows.n_rows, y.astype(np.float64, copy=False)
    numbers = query_numbers(qid, y)
    rows, kept, weights, unit = weighted_rows(rows, np.arange(n_given), sample_weight)
    y, numbers = y[kept], numbers[kept]
    order = np.lexsort((y, numbers))
    y, numbers = y[order], numbers[order]
    queries = Queries(numbers, _ranks(y, numbers))
    # A query of one relevance has no pair.
    has_pair = queries.whole(queries.n_partners > 0)
    if not has_pair.any():
        raise ValueError(
            f"There is nothing to rank in n_samples={n_given} rows: no query has two rows of "
            "different relevance y."
        )
    order, queries = order[has_pair], queries.take(has_pair)
    if not np.array_equal(order, np.arange(rows.n_rows)):
        rows = rows.take(order)
    weights = None if weights is None else weights[order]
    _check_constant(weights, queries)
    return rows, RankTargets(
        loss="pairwise_hinge",
        sample_weight=weights,
        weight_unit=unit,
        queries=queries,
    )


def query_numbers(qid: Any, y: Array) -> NDArray[np.int64]:
    """Return the number of each row's query; None means that all rows are of one query."""
    if qid is None:
        return np.zeros(len(y), dtype=np.int64)
    qid = check_array(qid, ensure_2d=False, dtype=None, input_name="qid")
    if qid.ndim == 2 and qid.shape[1] == 1:
        qid = qid.ravel()
    if qid.ndim != 1:
        raise ValueError(f"qid must have one entry per row; got an array of shape {qid.shape}.")
    if len(qid) != len(y):
        raise ValueError(f"qid must have one entry per row, {len(y)}, got {len(qid)}.")
    try:
        queries, numbers = np.unique(qid, return_inverse=True)
    except TypeError:
        raise ValueError("qid must be numbers or strings, not both, and not missing.") from None
    if queries.dtype.kind in "OU" and all(map(_is_whole_number, queries.tolist())):
        # Texts of numbers, as files have them, have the order of the numbers.
        numbers = np.argsort(np.argsort([int(query) for query in queries]))[numbers]
    return numbers.astype(np.int64)


def _is_whole_number(query: Any) -> bool:
    """Whether a query is a text that spells a whole number in the usual way."""
    return isinstance(query, str) and re.fullmatch(r"0|-?[1-9][0-9]{0,17}", query) is not None


def _ranks(y: Array, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the rank of each row's relevance in its query; rows are sorted."""
    is_new_query = np.diff(numbers, prepend=-1) != 0
    is_new = is_new_query | (np.diff(y, prepend=y[:1]) != 0)
    counts = np.cumsum(is_new)
    begins = np.flatnonzero(is_new_query)
    sizes = np.diff(np.append(begins, len(y)))
    ranks = counts - np.repeat(counts[begins], sizes)
    return np.asarray(ranks, dtype=np.int32)


def _check_constant(weights: Weights | None, queries: Queries) -> None:
    if weights is None:
        return
    least = np.minimum.reduceat(weights, queries.begins[:-1])
    most = np.maximum.reduceat(weights, queries.begins[:-1])
    if (least != most).any():
        raise ValueError(
            "sample_weight must be the same for all rows of a query, because pairs of rows have "
            "weights, not rows. Give every row the weight of its query, or zero."
        )
