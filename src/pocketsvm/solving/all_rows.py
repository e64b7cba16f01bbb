"""All rows: coefficients that a sample gave are improved on any number of rows.

Each reading computes the kernel values of all rows, one part at a time. The first reading gives the
gradient, and the rows that bend, of which a factor is made. Every further reading tries several
lengths of a step at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .descent import Conjugate, predicted_share
from .kernel import KernelRows
from .losses import REACH
from .problem import Problem, row_products, thinned
from .sample import Part, Sample

Array = NDArray[Any]

# Steps end if one more is predicted to gain less than this share of the objective. After a solution
# on a sample, one step is usually enough.
TOLERANCE = 1e-3
# Rows that the factor is made of, for each vector.
ROWS_PER_VECTOR = 32
# The lengths that a reading tries; it computes the gradient at the first one.
LENGTHS = np.array([1.0, 0.25, 0.5, 1.5])


@dataclass(frozen=True, eq=False)
class Refined:
    """The result on all rows.

    `near` tells which rows had a loss, or nearly had one, at the first point.
    """

    point: Array
    near: NDArray[np.bool_]
    objective: float
    gradient: Array
    remaining: float  # the share of the objective that one more step would gain
    steps: int


class AllRows:
    """The problem of all rows for fixed vectors."""

    def __init__(self, vectors: Array, sample: Sample, fit_intercept: bool, n_threads: int) -> None:
        self.rows = KernelRows(vectors, sample.rows, sample.loss.n_outputs, n_threads)
        self.vectors, self.sample = vectors, sample
        self.fit_intercept, self.n_threads = fit_intercept, n_threads

    def refine(self, point: Array, n_steps: int, random: np.random.Generator) -> Refined:
        """Make some steps from a point; the objective does not grow."""
        near, curvatures, losses, pull = self._read(point)
        thin = thinned(curvatures, ROWS_PER_VECTOR * len(self.vectors), random)
        drawn = np.flatnonzero(thin)
        bent = Problem(self.vectors, self.sample.take(drawn), self.fit_intercept, self.n_threads)
        factor = bent.factor(thin[drawn], random, ROWS_PER_VECTOR)
        conjugate = Conjugate(factor)
        penalised = bent.penalty.product(point[:, :-1])
        objective = losses + bent.per_loss(0.5 * row_products(point[:, :-1], penalised))
        gradient = self._gradient(pull, penalised)
        for step in range(n_steps + 1):
            direction, predicted = conjugate.direction(gradient)
            remaining = predicted_share(predicted, objective)
            if remaining <= TOLERANCE or step == n_steps:
                break
            losses, pull = self._read_along(point, direction)
            bend = bent.penalty.product(direction[:, :-1])
            penalties = [
                bent.per_loss(0.5 * row_products(moved, penalised + length * bend))
                for length in LENGTHS
                for moved in [point[:, :-1] + length * direction[:, :-1]]
            ]
            tried = np.vstack([objective, losses + penalties])
            best = tried.argmin(axis=0)
            length = np.append(0.0, LENGTHS)[best][:, None]
            objective = np.take_along_axis(tried, best[None], axis=0)[0]
            # Exact at the ends; the gradient is nearly linear in between.
            whole = self._gradient(pull, penalised + bend)
            gradient = gradient + length * (whole - gradient)
            point, penalised = point + length * direction, penalised + length * bend
        return Refined(point, near, float(objective.sum()), gradient, remaining, step)

    def _gradient(self, pull: Array, penalised: Array) -> Array:
        gradient = pull.copy()
        gradient[:, :-1] += penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        return gradient

    def _read(self, point: Array) -> tuple[Array, Array, Array, Array]:
        """Return which rows are near, their curvatures, the losses, and their derivative."""
        found = [self._read_block(point, *block) for block in self.rows.blocks()]
        near, curvatures, losses, pulls = zip(*found, strict=True)
        return np.concatenate(near), np.concatenate(curvatures), sum(losses), sum(pulls)

    def _read_block(
        self, point: Array, at: slice, kernel: Array
    ) -> tuple[Array, Array, Array, Array]:
        decisions = self.rows.decisions(kernel, point)
        slopes = np.empty_like(decisions)
        near = np.empty(len(decisions), dtype=bool)
        curvatures = np.empty(len(decisions), dtype=np.float32)

        def read(part: Part) -> tuple[Array]:
            found = decisions[part.at]
            first, second = part.loss.derivatives(found)
            slopes[part.at] = first * part.c
            curvatures[part.at] = second.mean(axis=1) * part.c[:, 0]
            near[part.at] = part.loss.near(found, REACH)
            return ((part.loss.values(found) * part.c).sum(axis=0),)

        (losses,) = self.sample.part(at).sum(read, self.n_threads)
        return near, curvatures, losses, self.rows.pull(kernel, slopes)

    def _read_along(self, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths (n_lengths, n_outputs), and a derivative."""
        both = np.concatenate([point, direction])
        found = [self._read_block_along(both, *block) for block in self.rows.blocks()]
        losses, pulls = zip(*found, strict=True)
        return sum(losses), sum(pulls)

    def _read_block_along(self, both: Array, at: slice, kernel: Array) -> tuple[Array, Array]:
        decisions, change = np.hsplit(self.rows.decisions(kernel, both), 2)
        slopes = np.empty_like(decisions)

        def read(part: Part) -> tuple[Array]:
            start, step = decisions[part.at], change[part.at]
            slopes[part.at] = part.loss.derivatives(start + LENGTHS[0] * step)[0] * part.c
            tried = [part.loss.values(start + length * step) for length in LENGTHS]
            return (np.stack([(values * part.c).sum(axis=0) for values in tried]),)

        (losses,) = self.sample.part(at).sum(read, self.n_threads)
        return losses, self.rows.pull(kernel, slopes)
