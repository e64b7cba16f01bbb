"""Newton's method: the coefficients of fixed support vectors.

The problem (`problem.py`) is convex, and nearly piecewise quadratic. The Hessian is that of the
working set: the rows whose loss is curved at the current point. A step with an exact line search
follows, and the next working set. This is the primal Newton method for support vector machines
(Chapelle, 2007; Keerthi, Chapelle and DeCoste, 2006). A sample of the rows may stand for all in the
Hessian (sub-sampled Newton).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..training.settings import Choices
from .conjugate import row_products
from .problem import Derivatives, Iterate, Problem

Array = NDArray[Any]

# Converged if a step predicts a decrease below half this share of the objective.
TOLERANCE = Choices.tolerance
# The largest number of steps, which problems that converge do not reach.
MOST_STEPS = 200
# A line search ends if the slope is this share of the initial slope. This only saves time: steps
# end by the tolerance.
FLAT = 0.1
# It also ends after this many trials: where the working set is small, a step may be thousands of
# times too long.
MOST_TRIALS = 30


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a problem, and how it was reached.

    Attributes
    ----------
    iterate : Iterate
        Where the method ended.

    derivatives : Derivatives
        The objective and its derivatives there.

    steps : int
        The number of steps.

    remaining : float
        The largest share of an output's objective that one more step is predicted to gain, twice.

    first : float
        What the first step was predicted to gain, in the same way.

    gained : ndarray
        How much lower the objectives are than at the start.
    """

    iterate: Iterate
    derivatives: Derivatives
    steps: int
    remaining: float
    first: float
    gained: Array

    @property
    def objective(self) -> float:
        """The sum of the objectives of all outputs."""
        return float(self.derivatives.objective.sum())


def best_start(problem: Problem, iterate: Iterate, least_gain: float) -> Iterate:
    """Return the best multiple of an iterate; zero if that gains less than a share."""
    zero = problem.zero()
    found = zero.plus(line_search(problem, zero, iterate), iterate)
    most = (1 - least_gain) * problem.objective(zero).sum()
    return found if problem.objective(found).sum() < most else zero


def minimise(
    problem: Problem,
    iterate: Iterate,
    random: np.random.Generator,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    objective: Array | None = None,
    forcing: float = 0.0,
    least_steps: int = 0,
    derivatives: Derivatives | None = None,
) -> Solution:
    """Minimise the objective from an iterate on.

    The tolerance is a share of each output's objective, or of the one given: that of the problem
    itself means nothing if there is a linear term. An objective below the mean of all outputs
    counts as this mean. Steps also end where one gains less than this share (`forcing`) of the
    first. The derivatives at the iterate may be known.
    """
    least, first, active = 0.0, None, np.ones(problem.shape[0], dtype=bool)
    predicted = np.zeros(problem.shape[0])
    derivatives, steps, conjugate = derivatives or problem.derivatives(iterate), 0, Conjugate()
    start = derivatives.objective
    while True:
        total = problem.comparable(derivatives.objective if objective is None else objective)
        if iterate.point.any():
            negligible = max(tolerance, least) * float(total[0]) if steps >= least_steps else 0.0
            direction = problem.newton_direction(iterate, derivatives, random, active, negligible)
        else:  # the working set is small at zero
            direction = problem.bounded_direction(derivatives, random)
        predicted = np.where(active, -row_products(derivatives.gradient, direction), predicted)
        gains = problem.per_loss(predicted) / total  # shares of the objectives
        remaining = float(gains.max())
        first = remaining if first is None else first
        least = least or forcing * remaining
        is_solved = remaining <= max(tolerance, least) and steps >= least_steps
        if (is_solved and iterate.point.any()) or steps == most_steps:
            return Solution(
                iterate, derivatives, steps, remaining, first, start - derivatives.objective
            )
        if steps >= least_steps and iterate.point.any() and not problem.sample.loss.coupled:
            # Outputs have problems of their own, some of which are solved sooner.
            active = gains > max(tolerance, least)
            direction[~active] = 0.0
        if problem.has_bound:
            direction = conjugate.direction(direction, derivatives.gradient, predicted)
        along = problem.iterate(direction)
        slope = problem.per_loss(row_products(derivatives.gradient, direction))
        iterate = iterate.plus(line_search(problem, iterate, along, slope), along)
        moved = None if problem.sample.loss.coupled else direction.any(axis=1)
        derivatives, steps = problem.derivatives(iterate, derivatives, moved), steps + 1


class Conjugate:
    """Directions of the method of Polak and Ribiere, one per output.

    They make up for Hessians of which only a bound is known.
    """

    def __init__(self) -> None:
        self._last: tuple[Array, Array, Array] | None = None

    def direction(self, newton: Array, gradient: Array, predicted: Array) -> Array:
        """Return the direction that follows from Newton's direction and the last one."""
        direction = newton.copy()
        if self._last is not None:
            last, last_gradient, last_predicted = self._last
            change = -row_products(gradient - last_gradient, newton)
            falling = last_predicted > 0
            turn = np.divide(change, last_predicted, out=np.zeros_like(change), where=falling)
            direction += np.maximum(turn, 0.0)[:, None] * last
            uphill = row_products(gradient, direction) >= 0
            direction[uphill] = newton[uphill]
        self._last = direction, gradient, predicted
        return direction


def line_search(
    problem: Problem, iterate: Iterate, step: Iterate, start: Array | None = None
) -> Array:
    """Return the length of the step for each output, one for all if a loss couples them.

    The slope of the objective at the start of the step may be known.

    The objective is convex along the step. Newton's method on its slope, kept within a bracket of
    the minimum, finds a length at which the objective is nearly flat. A length beyond the minimum
    counts only if half of it is not beyond: else it may be worse than no step.
    """
    if start is None:
        start, _ = problem.slope_along(iterate, step, np.zeros(problem.n_losses))
    length = np.where(start < 0, 1.0, 0.0)
    low, high = np.zeros_like(length), np.full_like(length, np.inf)
    is_done = is_high_flat = start >= 0
    takes_high = np.zeros_like(is_done)
    for _ in range(MOST_TRIALS):
        if is_done.all():
            break
        slope, curvature = problem.slope_along(iterate, step, np.where(is_done, np.nan, length))
        if not problem.knows_bends:
            curvature = np.divide(slope - start, length, out=curvature, where=length > 0)
        is_before, is_flat = slope <= 0, np.abs(slope) <= -FLAT * start
        is_beyond = ~is_before & ~is_done
        low, high = np.where(is_before, length, low), np.where(is_beyond, length, high)
        is_high_flat = np.where(is_beyond, is_flat, is_high_flat)
        takes_high = is_high_flat & (2 * low >= high)
        is_done = is_done | takes_high | (is_before & is_flat)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            newton = length - slope / curvature
            middle = np.where(np.isinf(high), 2 * length, (low + high) / 2)
        is_inside = (newton > low) & (newton < high) & ~is_high_flat
        length = np.where(is_done, length, np.where(is_inside, newton, middle))
    return np.where(takes_high, high, low)  # up to `low` the objective falls
