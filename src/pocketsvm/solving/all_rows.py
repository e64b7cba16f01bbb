"""All rows: Newton's method where the rows do not fit into memory as kernel values.

Each round scans all rows once. The scan gives the objective, its gradient, and the rows near the
margin, to which the solution is sensitive. The problem of these rows, with the gradient of all, is
solved in memory (shrinking). If too many rows are near, a random sample represents them, and the
correction of the gradient makes up for it. Rounds end when the next one has nothing to gain.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..backends.base import Backend, Penalty
from .conjugate import row_products
from .newton import TOLERANCE, Solution, minimise
from .problem import Array, Problem
from .sample import Sample
from .scans import LENGTHS, First, Limits, Scans

# The largest number of rounds, which rounds that converge do not reach.
MOST_ROUNDS = 20
# A round ends where a step gains less than this share of its first step. It only saves time: the
# rounds themselves end by the tolerance.
FORCING = 0.1


@dataclass(frozen=True, eq=False)
class Refined:
    """The result on all rows.

    Attributes
    ----------
    point : ndarray of shape (n_outputs, n_vectors + 1)
        The coefficients and intercepts.

    near : Sample
        The rows that had a loss, or nearly had one, at the last scan, or a sample of them.

    is_complete : bool
        Whether all of these rows are there.

    n_near : int
        The number of near rows.

    objective : float
        The objective of all rows.

    gradient : ndarray
        Its gradient.

    remaining : float
        The largest share of an output's objective that one more step is predicted to gain, twice.

    steps : int
        The number of steps.
    """

    point: Array
    near: Sample
    is_complete: bool
    n_near: int
    objective: float
    gradient: Array
    remaining: float
    steps: int


@dataclass(frozen=True, eq=False)
class _Scanned:
    """A point, and what a scan of all rows found there."""

    point: Array
    first: First
    objective: Array
    gradient: Array


class AllRows:
    """The problem of all rows for fixed vectors."""

    def __init__(
        self,
        vectors: Array,
        gamma: float,
        scans: Scans,
        fit_intercept: bool,
        backend: Backend,
        penalty: Penalty | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        self.vectors, self.scans, self.tolerance = vectors, scans, tolerance
        self.fit_intercept, self.backend = fit_intercept, backend
        self.penalty = penalty or backend.penalty(vectors, gamma)

    def minimise(self, point: Array, limits: Limits, random: np.random.Generator) -> Refined:
        """Minimise the objective from a point on.

        If more near rows than the first limit would have to be in memory, some of them represent
        all: about the second limit, and twice as many in each further round. Then no scan follows a
        round if the next one is expected to gain less than the tolerance: the gains of rounds fall
        by the largest factor seen so far.
        """
        (most, drawn), steps, last, ratio = limits, 0, np.inf, 0.0
        here = self._scan(point, limits, random)
        for k in range(MOST_ROUNDS):
            drawn = min(2 * drawn, most)
            limits = most, drawn
            problem = self._problem(here)
            iterate = problem.iterate(here.point)
            derivatives = problem.corrected(iterate, here.gradient)
            solution = minimise(
                problem,
                iterate,
                random,
                self.tolerance,
                objective=here.objective,
                forcing=FORCING,
                derivatives=derivatives,
            )
            del problem  # its kernel values take memory
            if not solution.steps:
                break
            steps += solution.steps
            ratio, last = max(ratio, solution.first / (last or 1.0)), solution.first
            expected = ratio * last
            if k and expected <= self.tolerance and not here.first.is_complete:
                return self._expected(here, solution, expected, steps)
            before, here = here, self._scan(solution.iterate.point, limits, random)
            if (here.objective > before.objective).any():
                here = self._between(before, here, limits, random)
                if np.array_equal(here.point, before.point):
                    solution = replace(solution, remaining=solution.first)
                    break
        return Refined(
            here.point,
            here.first.near,
            here.first.is_complete,
            here.first.n_near,
            float(here.objective.sum()),
            here.gradient,
            solution.remaining,
            steps,
        )

    def _expected(
        self, here: _Scanned, solution: Solution, remaining: float, steps: int
    ) -> Refined:
        """Return the result of a round whose gain need not be confirmed by a scan."""
        objective = float((here.objective - solution.gained).sum())
        first, point = here.first, solution.iterate.point
        found = objective, solution.derivatives.gradient, remaining, steps
        return Refined(point, first.near, first.is_complete, first.n_near, *found)

    def _problem(self, here: _Scanned) -> Problem:
        given = self.vectors, here.first.near, self.fit_intercept, self.backend, self.penalty
        return Problem(*given, is_part=True)

    def _scan(self, point: Array, limits: Limits, random: np.random.Generator) -> _Scanned:
        first = self.scans.first(self.vectors, point, limits, int(random.integers(2**63)))
        penalised = self.penalty.product(point[:, :-1])
        gradient = first.pull.copy()
        gradient[:, :-1] += penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        quadratic = 0.5 * row_products(point[:, :-1], penalised)
        return _Scanned(point, first, first.losses + self._per_loss(first, quadratic), gradient)

    def _per_loss(self, first: First, sums: Array) -> Array:
        return sums.sum(keepdims=True) if first.near.loss.coupled else sums

    def _between(
        self, before: _Scanned, after: _Scanned, limits: Limits, random: np.random.Generator
    ) -> _Scanned:
        """Go only a part of the way if the objective of all rows has grown."""
        direction = after.point - before.point
        losses = self.scans.along(self.vectors, before.point, direction)
        tried = [before.objective]
        for length, loss in zip(LENGTHS, losses, strict=True):
            moved = before.point[:, :-1] + length * direction[:, :-1]
            quadratic = 0.5 * row_products(moved, self.penalty.product(moved))
            tried.append(loss + self._per_loss(before.first, quadratic))
        length = np.append(0.0, LENGTHS)[np.argmin(tried, axis=0)][:, None]
        return self._scan(before.point + length * direction, limits, random)
