"""All rows: coefficients that a sample gave are improved on any number of rows.

The first reading gives the gradient, and the rows that bend, of which a factor is made. Every
further reading tries several lengths of a step at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .descent import Conjugate, predicted_share
from .problem import Problem, row_products
from .readings import LENGTHS, Readings, Wanted
from .sample import Sample

Array = NDArray[Any]

# Steps end if one more is predicted to gain less than half this share of the objective. After a
# solution on a sample, one step is usually enough. Another one reads all rows again, which takes
# longer than everything else, and gains too little to change predictions.
TOLERANCE = 2e-3
# Rows that the factor is made of, for each vector.
ROWS_PER_VECTOR = 32


@dataclass(frozen=True, eq=False)
class Refined:
    """The result on all rows.

    `near` are the rows that had a loss, or nearly had one, at the first point; None if there are
    too many.
    """

    point: Array
    near: Sample | None
    objective: float
    gradient: Array
    remaining: float  # the share of the objective that one more step would gain
    steps: int


@dataclass(frozen=True, eq=False)
class AllRows:
    """The problem of all rows for fixed vectors."""

    vectors: Array
    readings: Readings
    fit_intercept: bool
    n_threads: int

    def refine(
        self, point: Array, n_steps: int, most_near: int, random: np.random.Generator
    ) -> Refined:
        """Make some steps from a point; the objective does not grow."""
        n_bent = ROWS_PER_VECTOR * len(self.vectors)
        wanted = Wanted(n_bent, most_near, int(random.integers(2**63)))
        first = self.readings.first(self.vectors, point, wanted)
        bent = Problem(self.vectors, first.bent, self.fit_intercept, self.n_threads)
        factor = bent.factor(
            first.curvatures, random, ROWS_PER_VECTOR, first.decisions, self.readings.total_c
        )
        conjugate = Conjugate(factor)
        penalised = bent.penalty.product(point[:, :-1])
        objective = first.losses + bent.per_loss(0.5 * row_products(point[:, :-1], penalised))
        gradient = self._gradient(first.pull, penalised)
        for step in range(n_steps + 1):
            direction, predicted = conjugate.direction(gradient)
            remaining = predicted_share(predicted, objective)
            if remaining <= TOLERANCE or step == n_steps:
                break
            losses, pull = self.readings.along(self.vectors, point, direction)
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
        objective_of_all = float(objective.sum())
        return Refined(point, first.near, objective_of_all, gradient, remaining, step)

    def _gradient(self, pull: Array, penalised: Array) -> Array:
        gradient = pull.copy()
        gradient[:, :-1] += penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        return gradient
