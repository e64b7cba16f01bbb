"""Functions of a partition of the rows, for a survey on a cluster.

Each of them is called with a `RowBatch` and the number of rows before it, and merges its results in
the order of the partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import RowBatch
from .drawing import Drawn, Plan, candidates, joined, members_by_label
from .summary import Summary, merged, summarise

Array = NDArray[Any]


@dataclass(frozen=True)
class Summarise:
    """Summarise a partition, and count its rows."""

    regression: bool

    def __call__(self, batch: RowBatch, first: int) -> tuple[Summary | None, dict[int, int]]:
        """Return the summary, and the number of rows by the number of the partition."""
        return summarise(batch, regression=self.regression), {first: batch.n_rows}

    def merge(
        self, parts: Sequence[tuple[Summary | None, dict[int, int]]]
    ) -> tuple[Summary | None, dict[int, int]]:
        """Merge summaries, and join the numbers of rows."""
        total, counts = parts[0]
        for summary, more in parts[1:]:
            total, counts = merged(total, summary), counts | more
        return total, counts


@dataclass(frozen=True)
class SmallestPriorities:
    """Find the smallest priorities of each class: as many as are drawn, and one more."""

    plan: Plan
    wanted: dict[Any, int]
    regression: bool

    def __call__(self, batch: RowBatch, first: int) -> dict[Any, Array]:
        """Return the priorities by label."""
        found = candidates(batch, first, self.plan.seed).priorities
        return {
            label: self._smallest(found[members], label)
            for label, members in members_by_label(batch, self.regression)
        }

    def merge(self, parts: Sequence[dict[Any, Array]]) -> dict[Any, Array]:
        """Merge the priorities of several partitions."""
        labels = dict.fromkeys(label for part in parts for label in part)
        return {
            label: self._smallest(
                np.concatenate([part[label] for part in parts if label in part]), label
            )
            for label in labels
        }

    def _smallest(self, priorities: Array, label: Any) -> Array:
        n = self.wanted[label] + 1
        return priorities if len(priorities) <= n else np.partition(priorities, n - 1)[:n]


@dataclass(frozen=True)
class Draw:
    """Return the rows whose priority is not above the threshold of their class."""

    plan: Plan
    thresholds: dict[Any, float]
    regression: bool

    def __call__(self, batch: RowBatch, first: int) -> Drawn:
        """Return the drawn rows of a partition."""
        found = candidates(batch, first, self.plan.seed)
        chosen = np.zeros(batch.n_rows, dtype=bool)
        for label, members in members_by_label(batch, self.regression):
            chosen[members] = found.priorities[members] <= self.thresholds[label]
        return found.take(chosen)

    def merge(self, parts: Sequence[Drawn]) -> Drawn:
        """Join the drawn rows."""
        return joined(list(parts))
