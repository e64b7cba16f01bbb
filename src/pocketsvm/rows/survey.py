"""The survey: the first scan of rows that are not at hand.

It counts the rows, learns what gamma, the precision and the preparation need, and draws the sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.errors import DataError
from .checked import CheckedRows, checked_rows
from .chunk import Chunk, Needs
from .drawing import (
    Draw,
    Plan,
    Reservoir,
    drawn_sample,
    likely_limits,
)
from .labels import find_classes
from .memory import InMemory
from .preparation import Preparing, Steps, transformed
from .query_drawing import QueryReservoir
from .runs import ByRelevance, Runs
from .source import CHANGED, ChunkSource, Scanner, Source
from .summary import Summary, merged, summarise

Array = NDArray[Any]

# Scans that draw rows: one is usually enough, and two if some rows have nearly all weight.
MOST_DRAWS = 20


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known about rows of which only a sample is at hand.

    Attributes
    ----------
    summary : Summary
        What is known about all rows.

    factors : ndarray of shape (n_drawn,)
        What the weights of the drawn rows are multiplied by.

    weights : ndarray of shape (n_drawn,)
        The weights with which the drawn rows stand for all.

    n_rows : int
        The number of rows that the sample stands for: a ranker learns from queries with a pair.

    scanner : Scanner or None
        Scans all rows; None if the sample has to represent them.
    """

    summary: Summary
    factors: NDArray[np.float64]
    weights: NDArray[np.float64]
    n_rows: int
    scanner: Scanner | None


@dataclass(frozen=True, eq=False)
class AtHand:
    """The rows that a fit has in memory: all, or a sample.

    Attributes
    ----------
    rows : CheckedRows
        The rows, prepared.

    y : ndarray
        Labels or numbers.

    weight : ndarray or None
        Their weights.

    qid : ndarray or None
        Their queries.

    survey : Survey or None
        What is known about all rows; None if these are all.

    steps : tuple of transformers
        The fitted preparation.

    names : list of str or None
        The names of the features.

    note : str or None
        What a user may want to know about the sample.
    """

    rows: CheckedRows
    y: Array
    weight: Any
    qid: Any = None
    survey: Survey | None = None
    steps: Steps = ()
    names: Sequence[str] | None = None
    note: str | None = None


@dataclass(frozen=True)
class Summarise:
    """Summarise chunks, and note the number of rows of each."""

    needs: Needs

    def __call__(self, chunk: Chunk, first: int) -> tuple[Summary, dict[int, int]]:
        """Return the summary, and the number of rows by the number of the first one."""
        try:
            return summarise(chunk, regression=self.needs.numbers), {first: chunk.n_rows}
        except DataError as error:
            raise DataError(f"{chunk.place}: {error}") from error

    def merge(self, parts: Sequence[Any]) -> tuple[Summary, dict[int, int]]:
        """Merge summaries, and join the numbers of rows."""
        total, counts = parts[0]
        for summary, more in parts[1:]:
            total, counts = merged(total, summary), counts | more
        return total, counts


@dataclass(frozen=True, eq=False)
class SummariseAndDraw:
    """Summarise chunks in their order, and draw a sample from them."""

    needs: Needs
    reservoir: Reservoir | QueryReservoir

    def __call__(self, chunk: Chunk, first: int) -> Summary:
        """Return the summary."""
        summary = Summarise(self.needs)(chunk, first)[0]
        self.reservoir.add(chunk)
        return summary

    def merge(self, parts: Sequence[Summary]) -> Summary:
        """Merge summaries."""
        total: Summary = reduce(merged, parts)  # type: ignore[arg-type]
        return total


def survey(
    source: Source, needs: Needs, plan: Plan, preparing: Preparing, *, samples: bool = True
) -> AtHand:
    """Return all rows if the source has them in memory or the sample holds them, else a sample.

    Arrays of a user are never sampled if `samples` is false.
    """
    if isinstance(source, InMemory):
        is_sampled = samples and (needs.queries or source.is_map)
        if not is_sampled or source.rows.n_rows <= plan.n_rows:
            return _prepared(source, preparing.known or ())
        source = source.in_chunks(needs)
    whole = source.whole()
    if whole is not None:
        return _all_rows(whole, preparing, source.names)
    if needs.queries:
        return _survey_queries(source, needs, plan, preparing)
    if source.is_remote:
        (summary, counts), scanner = Scanner(source).first(Summarise(needs))
        scanner = replace(scanner, source=source.started(counts))
        found = None
    else:
        reservoir = Reservoir(plan, needs.numbers)
        summary, scanner = Scanner(source).first(SummariseAndDraw(needs, reservoir))
        found = reservoir.sample(summary)
    if not needs.numbers:
        find_classes(summary.labels)
    sample, factors = found or _drawn(scanner, summary, needs, plan)
    if sample.n_rows == summary.n_rows:
        return _all_rows(sample, preparing, source.names)
    summary, steps = preparing.learnt(summary, sample, factors, source.names)
    known = Survey(summary, factors, sample.weights * factors, summary.n_rows, scanner)
    return _at_hand(sample, known, steps, source.names)


def _prepared(source: InMemory, steps: Steps) -> AtHand:
    """Return rows in memory."""
    rows = source.rows
    if steps:
        rows = checked_rows(transformed(steps, rows.X))
    return AtHand(rows, source.y, source.weight, source.qid, None, steps, source.names)


def _drawn(
    scanner: Scanner, summary: Summary, needs: Needs, plan: Plan
) -> tuple[Chunk, NDArray[np.float64]]:
    """Draw the sample by another scan, now that the number of rows of each class is known."""
    wanted = plan.quotas_of(summary)
    limits: dict[Any, float] = {}
    kept = None
    for _ in range(MOST_DRAWS):
        limits = likely_limits(summary, wanted, limits, kept, regression=needs.numbers)
        kept = scanner.scan(Draw(plan, limits, needs.numbers))
        found = drawn_sample(kept, wanted, summary, limits, regression=needs.numbers)
        if found is not None:
            return found
    raise DataError(f"{CHANGED}another sample was drawn from them.")


def _all_rows(chunk: Chunk, preparing: Preparing, names: Sequence[str] | None) -> AtHand:
    """Return all rows, prepared as scikit-learn prepares rows in memory."""
    return _at_hand(chunk, None, preparing.fitted(chunk, names), names)


def _at_hand(
    chunk: Chunk, known: Survey | None, steps: Steps, names: Sequence[str] | None
) -> AtHand:
    rows = checked_rows(transformed(steps, chunk.X))
    return AtHand(rows, chunk.y, chunk.weight, chunk.qid, known, steps, names)


def _survey_queries(source: Source, needs: Needs, plan: Plan, preparing: Preparing) -> AtHand:
    """Survey rows of queries: the sample is one of whole queries."""
    assert isinstance(source, ChunkSource)
    runs = Runs(source)
    reservoir: QueryReservoir = QueryReservoir(plan)
    summary, scanner = Scanner(runs).first(SummariseAndDraw(needs, reservoir))
    found, share = reservoir.sample(), reservoir.share
    if found is None:  # rows of drawn queries are missing
        reservoir = reservoir.again()
        scanner.scan(SummariseAndDraw(needs, reservoir))
        found = reservoir.sample()
    if found is None:
        raise DataError(f"{CHANGED}another sample was drawn from them.")
    sample, factors = found
    if sample.n_rows == summary.n_rows:
        return _all_rows(sample, preparing, source.names)
    n_rows, note = runs.n_paired, None
    if not runs.are_whole:
        n_rows = round(share * summary.n_rows)
        note = (
            "the rows of a query are not contiguous everywhere: the model is fitted to a sample of "
            f"whole queries, {sample.n_rows:,} of {summary.n_rows:,} rows; sort the rows by query "
            "to fit it to all of them"
        )
    summary, steps = preparing.learnt(summary, sample, factors, source.names)
    ranks = replace(scanner, wrap=ByRelevance) if runs.are_whole else None
    known = Survey(summary, factors, sample.weights * factors, n_rows, ranks)
    return replace(_at_hand(sample, known, steps, source.names), note=note)
