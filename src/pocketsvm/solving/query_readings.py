"""Readings of rows whose loss depends on pairs of them.

The decision values of all rows of a query must be known before their slopes are. A reading computes
the decision values of all rows first, and then the kernel values again, for the pull.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .losses import REACH
from .pairs import PairwiseHinge
from .problem import Problem
from .readings import LENGTHS, First, InMemory, Wanted, near_rows
from .sample import Sample

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class QueriesInMemory(InMemory):
    """Readings of queries in memory."""

    def first(self, vectors: Array, point: Array, wanted: Wanted) -> First:
        """Sum over all rows at a point; all rows of the queries that bend are returned."""
        problem = self._problem(vectors)
        decisions = problem.place(point).decisions
        losses, slopes = self.sample.slopes(decisions, self.n_threads)
        pull = problem.pull(slopes)
        is_near = self.sample.loss.near(decisions, REACH)
        near = near_rows(self.sample, is_near, wanted.most_near)
        chosen, curvatures = self._drawn(problem.curvatures(decisions), wanted)
        bent, values = self.sample.take(chosen), decisions[chosen]
        return First(losses, pull, bent, curvatures, near, values)

    def losses(self, vectors: Array, point: Array) -> Array:
        """Return the losses of all rows at a point."""
        return self._losses(self._problem(vectors).place(point).decisions)

    def along(self, vectors: Array, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths of a step, and the pull at the first length."""
        problem = self._problem(vectors)
        start, step = problem.place(point).decisions, problem.place(direction).decisions
        losses = np.stack([self._losses(start + length * step) for length in LENGTHS])
        return losses, problem.pull(problem.row_slopes(start + LENGTHS[0] * step))

    def _drawn(self, curvatures: Array, wanted: Wanted) -> tuple[NDArray[np.intp], Array]:
        """Draw whole queries; return their rows, and their curvatures as `drawn_bent` does."""
        assert isinstance(self.sample.loss, PairwiseHinge)
        begins = self.sample.loss.queries.begins
        order = np.random.Generator(np.random.Philox(wanted.seed)).permutation(len(begins) - 1)
        n_rows = np.cumsum(np.diff(begins)[order])
        drawn = np.sort(order[: np.searchsorted(n_rows, wanted.n_bent) + 1])
        parts = [np.arange(begins[q], begins[q + 1], dtype=np.intp) for q in drawn.tolist()]
        chosen = np.concatenate(parts)
        scale = curvatures.sum() / (curvatures[chosen].sum() or 1.0)
        return chosen, curvatures[chosen] * scale

    def _problem(self, vectors: Array) -> Problem:
        return Problem(vectors, self.sample, fit_intercept=False, n_threads=self.n_threads)

    def _losses(self, decisions: Array) -> Array:
        return self.sample.slopes(decisions, self.n_threads)[0]


def in_memory(sample: Sample, n_threads: int) -> InMemory:
    """Return the readings of rows in memory."""
    kind = QueriesInMemory if isinstance(sample.loss, PairwiseHinge) else InMemory
    return kind(sample, n_threads)
