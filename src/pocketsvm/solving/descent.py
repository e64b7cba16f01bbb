"""Conjugate gradients: the coefficients of fixed support vectors.

The problem (`problem.py`) is convex and nearly quadratic. A factor of the second derivative of some
rows, the same for all outputs, makes the directions of nonlinear conjugate gradients nearly those
of Newton's method. The first factor is of a bound on the second derivative, which holds at every
point; later ones are of the rows that bend at the current point.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .factor import Factor
from .problem import ROWS_PER_VECTOR, Place, Problem, Slopes, row_products

Array = NDArray[Any]

# Steps with the first factor, which is of a bound and soon gains little, and with every later one.
FIRST_STEPS = 5
STEPS_PER_FACTOR = 15
# Steps after which a problem of one output gets a new factor if its solution was close. With
# several outputs, which share a factor, a new one is not better.
STEPS_UNTIL_NEW = 3
# The largest number of factors.
MOST_FACTORS = 12
# The largest number of steps on a small problem, each with a factor of its own. The last steps gain
# most digits, so that a smaller tolerance takes little time.
MOST_STEPS = 60
SMALL_TOLERANCE = 1e-6
# Converged if a step predicts a decrease below this share of the objective.
TOLERANCE = 1e-4
# A line search ends if the slope is this share of the initial slope, or after this many trials.
# Where few rows bend, a step may be thousands of times too long.
FLAT = 0.1
MOST_TRIALS = 30


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a problem, and how it was reached."""

    place: Place
    slopes: Slopes
    steps: int
    remaining: float  # the share of the objective that one more step would gain, twice

    @property
    def objective(self) -> float:
        """The sum of the objectives of all outputs."""
        return float(self.slopes.objective.sum())


def minimise(
    problem: Problem,
    random: np.random.Generator,
    factor_tolerance: float,
    rows_per_vector: int = ROWS_PER_VECTOR,
    most_factors: int | None = None,
) -> Solution:
    """Solve a problem from zero, until `Choices.factor_tolerance` is reached.

    There are at most `most_factors` (`MOST_FACTORS`) factors, made of at most `rows_per_vector`
    rows for each vector.
    """
    if (losses := problem.small) is not None:
        return newton(problem, losses, None, MOST_STEPS)
    curvatures = problem.sample.c * problem.sample.loss.largest_curvature
    factor = problem.factor(curvatures, random, rows_per_vector)
    # With a tiny gamma, the zero model is nearly optimal, but it predicts nothing.
    solution = descend(problem, factor, problem.start(), FIRST_STEPS, least_steps=1)
    return improve(
        problem, solution, random, factor_tolerance, rows_per_vector, most_factors, least_steps=1
    )


def improve(
    problem: Problem,
    solution: Solution,
    random: np.random.Generator,
    factor_tolerance: float,
    rows_per_vector: int = ROWS_PER_VECTOR,
    most_factors: int | None = None,
    least_steps: int = 0,
) -> Solution:
    """Make steps with new factors, until `Choices.factor_tolerance` is reached."""
    for _ in range((most_factors or MOST_FACTORS) - 1):
        decisions = solution.place.decisions
        curvatures = problem.curvatures(decisions)
        factor = problem.factor(curvatures, random, rows_per_vector, decisions)
        found = descend(problem, factor, solution.place, STEPS_PER_FACTOR, least_steps=least_steps)
        solution = replace(found, steps=solution.steps + found.steps)
        if solution.remaining <= factor_tolerance:
            break
        least_steps = 0
    return solution


def resume(
    problem: Problem,
    decisions: Array,
    random: np.random.Generator,
    n_steps: int = STEPS_PER_FACTOR,
    tolerance: float = TOLERANCE,
    rows_per_vector: int = ROWS_PER_VECTOR,
) -> Solution:
    """Solve a problem whose solution is close to these decision values.

    The first step is Newton's step from these values. After the vectors have moved, they are much
    closer to the new solution than the old coefficients are: large coefficients of opposite sign
    cancel only where they were solved for.
    """
    if (losses := problem.small) is not None:
        return newton(problem, losses, decisions, n_steps)
    curvatures = problem.curvatures(decisions)
    factor = problem.factor(curvatures, random, rows_per_vector, decisions)
    pulls = problem.bent_products(decisions, curvatures) - problem.row_slopes(decisions)
    place = problem.place(factor.solve(problem.pull(pulls)))
    n_each = STEPS_UNTIL_NEW if problem.shape[0] == 1 else n_steps
    solution = descend(problem, factor, place, min(n_steps, n_each), tolerance)
    while solution.remaining > tolerance and solution.steps < n_steps:
        decisions = solution.place.decisions
        curvatures = problem.curvatures(decisions)
        factor = problem.factor(curvatures, random, rows_per_vector, decisions)
        n_more = min(n_steps - solution.steps, n_each)
        found = descend(problem, factor, solution.place, n_more, tolerance)
        solution = replace(found, steps=solution.steps + max(found.steps, 1))
    return solution


def newton(problem: Problem, losses: _core.RowLosses, near: Array | None, n_steps: int) -> Solution:
    """Solve a small problem by Newton's method; None starts from zero."""
    found = problem.newton(losses, near, n_steps, SMALL_TOLERANCE)
    point, gradient, penalised, decisions, objective, predicted, steps = found
    place, slopes = Place(point, penalised, decisions), Slopes(objective, gradient)
    return Solution(place, slopes, int(steps.max()), predicted_share(predicted, objective))


def descend(
    problem: Problem,
    factor: Factor,
    place: Place,
    n_steps: int,
    tolerance: float = TOLERANCE,
    least_steps: int = 0,
) -> Solution:
    """Make steps with one factor."""
    conjugate = Conjugate(factor)
    for step in range(n_steps + 1):
        slopes = problem.slopes(place)
        direction, predicted = conjugate.direction(slopes.gradient)
        remaining = predicted_share(predicted, slopes.objective)
        if remaining <= (tolerance if step >= least_steps else 0.0) or step == n_steps:
            break
        along = problem.place(direction)
        place = place.plus(line_search(problem, place, along, slopes.gradient), along)
    return Solution(place, slopes, step, remaining)


def predicted_share(predicted: Array, objective: Array) -> float:
    """Return the share of the objective that a step is predicted to gain, twice."""
    return float(predicted.sum() / max(objective.sum(), np.finfo(float).tiny))


class Conjugate:
    """The directions of the method of Polak and Ribiere, one per output."""

    def __init__(self, factor: Factor) -> None:
        self._factor = factor
        self._last: tuple[Array, Array, Array] | None = None

    def direction(self, gradient: Array) -> tuple[Array, Array]:
        """Return the next direction, and twice the decrease that a Newton step predicts."""
        newton = self._factor.solve(gradient)
        predicted = row_products(gradient, newton)
        direction = -newton
        if self._last is not None:
            last, last_gradient, last_predicted = self._last
            change = row_products(gradient - last_gradient, newton)
            falling = last_predicted > 0
            turn = np.divide(change, last_predicted, out=np.zeros_like(change), where=falling)
            direction += np.maximum(turn, 0.0)[:, None] * last
            uphill = row_products(gradient, direction) >= 0
            direction[uphill] = -newton[uphill]
        self._last = direction, gradient, predicted
        return direction, predicted


def line_search(problem: Problem, place: Place, step: Place, gradient: Array) -> Array:
    """Return the length of the step for each output, one for all if a loss couples them.

    The objective is convex along the step. Newton's method on its slope, kept within a bracket of
    the minimum, finds a length at which the objective is nearly flat.
    """
    start = problem.per_loss(row_products(gradient, step.point))
    length = np.where(start < 0, 1.0, 0.0)
    low, high = np.zeros_like(length), np.full_like(length, np.inf)
    for _ in range(MOST_TRIALS):
        slope, bend = problem.slope_along(place, step, length)
        if not problem.knows_bends:
            bend = np.divide(slope - start, length, out=bend, where=length > 0)
        flat = np.abs(slope) <= -FLAT * start
        if flat.all():
            break
        low = np.where(slope < 0, length, low)
        high = np.where(slope >= 0, length, high)
        length = np.where(flat, length, _next_length(length, slope, bend, low, high))
    return np.where(flat, length, low)  # up to `low` the objective falls


def _next_length(length: Array, slope: Array, bend: Array, low: Array, high: Array) -> Array:
    """Return Newton's length, or the middle of the bracket if that lies outside."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        newton = length - slope / bend
    middle = np.where(np.isinf(high), 2 * length, (low + high) / 2)
    return np.where((newton > low) & (newton < high), newton, middle)
