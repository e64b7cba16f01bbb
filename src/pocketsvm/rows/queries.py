"""Queries of rows: which rows belong together, and how relevant they are to each other.

A pair is two rows of one query with different relevance. The pairs of a query weigh as much as the
query has rows, and all of them the same.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .._cached import cached_property

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


def levels_of(y: Array, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the rank of each row's relevance in its query; rows are sorted."""
    is_new_query = np.diff(numbers, prepend=-1) != 0
    is_new = is_new_query | (np.diff(y, prepend=y[:1]) != 0)
    counts = np.cumsum(is_new)
    begins = np.flatnonzero(is_new_query)
    sizes = np.diff(np.append(begins, len(y)))
    ranks = counts - np.repeat(counts[begins], sizes)
    return np.asarray(ranks, dtype=np.int32)
