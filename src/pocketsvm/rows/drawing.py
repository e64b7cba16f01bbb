"""A sample of rows that are read in batches: the same rows that `sampling.py` draws in memory.

How many rows of a class are drawn depends on the numbers of rows of all classes, which are known
only at the end. Until then, a `Reservoir` keeps somewhat more rows than the share of each class so
far. It knows the smallest priority that it has dropped, and so whether the draw is exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .chunk import Chunk, label_codes
from .chunk import joined as join_chunks
from .sampling import DEVIATIONS, MORE, drawn_factors, grouped, quotas, smallest
from .summary import Summary, check_kinds

Array = NDArray[Any]

# Rows are dropped whenever their number has grown by this factor.
GROWTH = 1.5


@dataclass(frozen=True)
class Plan:
    """How large a sample is.

    Attributes
    ----------
    n_rows : int
        The size of the sample. It may be larger because of `least`.

    class_rows : int
        The least number of rows of a class, times the number of binary problems.

    seed : int
        The seed.
    """

    n_rows: int
    class_rows: int
    seed: int

    def quotas_of(self, summary: Summary) -> dict[Any, int]:
        """Return how many rows of each label are drawn."""
        quotas = self.quotas(summary.counts).tolist()
        return dict(zip(summary.labels.tolist(), quotas, strict=True))

    def quotas(self, counts: Array) -> NDArray[np.int64]:
        """Return how many rows of each class are drawn."""
        if counts.sum() <= self.n_rows:
            return counts.astype(np.int64)
        n_problems = 1 if len(counts) <= 2 else len(counts)
        return quotas(counts, self.n_rows, self.class_rows // n_problems)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows, in their order.

    Attributes
    ----------
    rows : Chunk
        The rows.

    numbers : ndarray of shape (n_rows,)
        Their positions among all rows with a weight.

    priorities : ndarray of shape (n_rows,)
        The smallest priorities of a class, or of a large query, are drawn.

    codes : ndarray of shape (n_rows,)
        The numbers of their queries; empty if they have none.
    """

    rows: Chunk
    numbers: NDArray[np.int64]
    priorities: NDArray[np.float64]
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def take(self, chosen: Array) -> "Drawn":
        """Copy the chosen rows."""
        codes = self.codes[chosen] if len(self.codes) else self.codes
        return Drawn(self.rows.take(chosen), self.numbers[chosen], self.priorities[chosen], codes)


def candidates(batch: Chunk, first: int, seed: int) -> Drawn:
    """Return the rows of a batch, of which the first one has this position among all rows."""
    numbers = np.arange(first, first + batch.n_rows)
    priorities = _core.random_numbers(seed, first, batch.n_rows)
    return Drawn(batch, numbers, priorities if batch.weight is None else priorities / batch.weight)


def joined(parts: Sequence[Drawn]) -> Drawn:
    """Join drawn rows."""
    rows = join_chunks([part.rows for part in parts])
    arrays = [(part.numbers, part.priorities, part.codes) for part in parts]
    return Drawn(rows, *map(np.concatenate, zip(*arrays, strict=True)))


@dataclass(eq=False)
class Reservoir:
    """Draws a sample from batches, which are added in their order.

    Attributes
    ----------
    plan : Plan
        How large the sample is.

    regression : bool
        Whether targets are numbers; else each class has its share of the sample.
    """

    plan: Plan
    regression: bool
    n_rows: int = 0
    _seen: dict[Any, int] = field(default_factory=dict)
    _dropped: dict[Any, float] = field(default_factory=dict)  # the smallest dropped priority
    _kept: list[Drawn] = field(default_factory=list)
    _n_kept: int = 0
    _n_compact: int = 0  # rows after the last compaction

    def add(self, batch: Chunk) -> None:
        """Add the rows of a batch, all of which have a weight."""
        if not batch.n_rows:
            return
        found = candidates(batch, self.n_rows, self.plan.seed)
        self.n_rows += batch.n_rows
        labels, codes = _codes(batch, self.regression)
        check_kinds([*self._seen, *labels], f"{batch.place}: ")
        for label, count in zip(labels, np.bincount(codes).tolist(), strict=True):
            self._seen[label] = self._seen.get(label, 0) + count
        dropped = np.array([self._dropped.get(label, math.inf) for label in labels])
        chosen = found.priorities < dropped[codes]
        if not chosen.all():
            found = found.take(chosen)
        self._kept.append(found)
        self._n_kept += found.rows.n_rows
        if self._n_kept > GROWTH * max(self._n_compact, self.plan.n_rows):
            self._compact()

    def _quotas(self) -> dict[Any, int]:
        found = self.plan.quotas(np.array(list(self._seen.values())))
        return dict(zip(self._seen, found.tolist(), strict=True))

    def _compact(self) -> None:
        """Drop the rows that are probably not drawn."""
        every, kept = joined(self._kept), []
        wanted = self._quotas()
        for label, members in members_by_label(every.rows, self.regression):
            quota = wanted[label]
            quota += int(DEVIATIONS * math.sqrt(quota)) + MORE
            if len(members) > quota:
                order = smallest(every.priorities[members], quota)
                dropped = float(every.priorities[members[order[quota]]])
                self._dropped[label] = min(self._dropped.get(label, math.inf), dropped)
                members = members[order[:quota]]
            kept.append(members)
        self._kept = [every.take(np.sort(np.concatenate(kept)))]
        self._n_kept = self._n_compact = self._kept[0].rows.n_rows

    def sample(self, summary: Summary) -> tuple[Chunk, Array] | None:
        """Return what `drawn_sample` does; None if the rows must be read again."""
        kept, wanted = joined(self._kept), self._quotas()
        return drawn_sample(kept, wanted, summary, self._dropped, regression=self.regression)


def members_by_label(rows: Chunk, regression: bool) -> list[tuple[Any, Array]]:
    """Return the positions of the rows of each label; a regression has one."""
    labels, codes = _codes(rows, regression)
    parts = np.split(grouped(codes, len(labels)), np.cumsum(np.bincount(codes))[:-1])
    return list(zip(labels, parts, strict=True))


def _codes(rows: Chunk, regression: bool) -> tuple[list[Any], Array]:
    """Return the labels that occur, and the position of each row's label among them."""
    if regression:
        return [0.0], np.zeros(rows.n_rows, dtype=np.intp)
    labels, codes = label_codes(rows.y)
    return labels.tolist(), codes


def likely_limits(
    summary: Summary,
    wanted: dict[Any, int],
    known: dict[Any, float],
    kept: Drawn | None,
    *,
    regression: bool,
) -> dict[Any, float]:
    """Return priorities that, for each label, slightly more rows have than are wanted.

    A row of weight w has a priority below t with the probability min(w t, 1). If that is one for
    some rows, there may be too few. Then the rows that were kept, whose priorities are at most the
    known limits, are left out of the next guess.
    """
    found = dict.fromkeys(wanted, (0, 0.0))
    if kept is not None:
        for label, members in members_by_label(kept.rows, regression):
            found[label] = len(members), float(kept.rows.weights[members].sum())
    limits = {}
    for label, count, weight in zip(
        summary.labels.tolist(), summary.counts.tolist(), summary.weights.tolist(), strict=True
    ):
        n_found, weight_found = found[label]
        missing = max(wanted[label] - n_found, 0)
        likely = missing + DEVIATIONS * math.sqrt(missing) + MORE
        limits[label] = math.inf
        if likely < count - n_found and weight_found < weight:
            limits[label] = known.get(label, 0.0) + likely / (weight - weight_found)
    return limits


def drawn_sample(
    every: Drawn,
    wanted: dict[Any, int],
    summary: Summary,
    complete: dict[Any, float],
    *,
    regression: bool,
) -> tuple[Chunk, Array] | None:
    """Draw the rows with the smallest priorities of each class.

    The candidates hold at least the rows whose priority is at most that of their label in
    `complete`, and all rows of a label that is not there. Returns the drawn rows in their order,
    and the factors of their weights; None if candidates are missing.
    """
    totals = dict(zip(summary.labels.tolist(), summary.weights.tolist(), strict=True))
    counts = dict(zip(summary.labels.tolist(), summary.counts.tolist(), strict=True))
    weights = every.rows.weights
    chosen, factors = [], []
    by_label = members_by_label(every.rows, regression)
    if len(by_label) < len(wanted):
        return None
    for label, members in by_label:
        quota = wanted[label]
        if quota == counts[label]:
            if len(members) < quota:
                return None
            chosen.append(members)
            factors.append(np.ones(quota))
            continue
        if len(members) <= quota:
            return None
        order = smallest(every.priorities[members], quota)
        threshold = float(every.priorities[members[order[quota]]])
        if threshold > complete.get(label, math.inf):
            return None
        drawn = members[order[:quota]]
        chosen.append(drawn)
        factors.append(drawn_factors(weights[drawn], threshold, totals[label]))
    positions, scale = np.concatenate(chosen), np.concatenate(factors)
    scale = scale * (len(positions) / summary.n_rows)
    order = np.argsort(every.numbers[positions])
    positions = positions[order]
    return every.rows.take(positions), scale[order]


@dataclass(frozen=True)
class Draw:
    """Return the rows whose priority is not above the limit of their class."""

    plan: Plan
    limits: dict[Any, float]
    regression: bool

    def __call__(self, chunk: Chunk, first: int) -> Drawn:
        """Return the drawn rows of a chunk."""
        found = candidates(chunk, first, self.plan.seed)
        chosen = np.zeros(chunk.n_rows, dtype=bool)
        for label, members in members_by_label(chunk, self.regression):
            chosen[members] = found.priorities[members] <= self.limits[label]
        return found.take(chosen)

    def merge(self, parts: Sequence[Drawn]) -> Drawn:
        """Join the drawn rows."""
        return joined(list(parts))
