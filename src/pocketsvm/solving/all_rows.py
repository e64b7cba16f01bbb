"""All rows: coefficients that a sample gave are improved on any number of rows.

The first reading gives the gradient, and the rows that bend, of which a factor is made. Every
further reading tries several lengths of a step at once. Usually one or two whole steps are enough.
If the classes hardly overlap, few rows bend, and the solution on the sample may be far from that on
all rows. Then a whole step is too long, because it meets rows that the factor does not know. A
shorter one is made, and another round begins with a new first reading.
"""

from dataclasses import dataclass, replace
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
# Another round begins if one more step is predicted to gain more than half this share. After the
# last round, a reading tells what one more step would gain.
MUCH = 0.1
MOST_ROUNDS = 5
# Rows that the factor is made of, for each vector.
ROWS_PER_VECTOR = 32


@dataclass(frozen=True, eq=False)
class Refined:
    """The result on all rows.

    `near` are the rows that had a loss, or nearly had one, at the first point of the last round;
    None if there are too many.
    """

    point: Array
    near: Sample | None
    objective: float
    gradient: Array
    remaining: float  # the share of the objective that one more step would gain, twice
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
        """Make some steps in each round, from a point on; the objective does not grow."""
        found = self._round(point, n_steps, most_near, random)
        for n_more in [n_steps] * (MOST_ROUNDS - 1) + [0]:
            if found.remaining <= MUCH or np.array_equal(found.point, point):
                break
            point, steps = found.point, found.steps
            found = self._round(point, n_more, most_near, random)
            found = replace(found, steps=steps + found.steps)
        return found

    def _round(
        self, point: Array, n_steps: int, most_near: int, random: np.random.Generator
    ) -> Refined:
        """Make steps with the same factor."""
        n_bent = ROWS_PER_VECTOR * len(self.vectors)
        wanted = Wanted(n_bent, most_near, int(random.integers(2**63)))
        first = self.readings.first(self.vectors, point, wanted)
        bent = Problem(self.vectors, first.bent, self.fit_intercept, self.n_threads)
        decisions = bent.place(point).decisions if first.bent.loss.has_pairs else None
        factor = bent.factor(
            first.curvatures, random, ROWS_PER_VECTOR, decisions, self.readings.total_c
        )
        conjugate = Conjugate(factor)
        penalised = bent.penalty.product(point[:, :-1])
        objective = first.losses + bent.per_loss(0.5 * row_products(point[:, :-1], penalised))
        gradient, remaining, length = self._gradient(first.pull, penalised), np.inf, np.ones(1)
        for step in range(n_steps + 1):
            direction, predicted = conjugate.direction(gradient)
            # The smallest one: after a length that is not whole, the gradient may be too large.
            remaining = min(remaining, predicted_share(predicted, objective))
            far = remaining > MUCH and (length != 1.0).any()
            if remaining <= TOLERANCE or far or step == n_steps:
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
            # Exact at the ends; close to the solution, the gradient is nearly linear in between.
            whole = self._gradient(pull, penalised + bend)
            gradient = gradient + length * (whole - gradient)
            point, penalised = point + length * direction, penalised + length * bend
        return Refined(point, first.near, float(objective.sum()), gradient, remaining, step)

    def _gradient(self, pull: Array, penalised: Array) -> Array:
        gradient = pull.copy()
        gradient[:, :-1] += penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        return gradient
