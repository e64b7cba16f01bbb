"""Moving: the support vectors, too, are optimised.

With the coefficients solved for (`newton.py`), the objective is a function of the vectors alone. It
is minimal in the coefficients, so its slope in a vector is the slope for fixed coefficients,

    2 gamma beta_j (sum_i slope_i k_ij (x_i - v_j)  +  sum_l beta_l k_lj (v_l - v_j)),

where slope_i is the slope of the loss of row i, summed over all outputs. L-BFGS makes some steps;
each of them solves for the coefficients again, starting from those of the previous step. Only rows
that have a loss, or nearly have one, take part.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..data.targets import ClassTargets, ValueTargets
from ..training.settings import Settings
from .blas import ONE_BLAS_THREAD
from .kernel import Kernel
from .newton import Problem, Solution, polish
from .sample import Sample

Array = NDArray[Any]

# Rows further than this from where the loss begins, in units of its width, are left out.
REACH = 2.0
# A frugal move scales the step of each vector by the kernel's width over its coefficient, because
# vectors with small coefficients must move further. This share of the mean square coefficient is
# added, so that the scale stays bounded.
DAMPING = 0.1
# Newton steps for the coefficients in each step: they start close to the solution.
MOST_NEWTON_STEPS = 20
# The most kernel values, and products of them with features, in a step: about a second of work.
MOST_VALUES = 2**22
MOST_PRODUCTS = 2**29
# A frugal move does not start if a step would need more than this: about a quarter as many.
MOST_FRUGAL_VALUES = 2**20
MOST_FRUGAL_PRODUCTS = 2**27
# The cost of solving for the coefficients per output and vector, in units of a kernel value.
SOLVING = 0.03
# With fewer rows per vector than this, vectors would fit the noise: then they stay.
LEAST_ROWS = 4
# A product with few vectors costs as much as one with this many.
LEAST_BLOCK = 32
# A classifier may spend this many times the kernel values of its passes on moving.
TIMES_PASSES = 2


@dataclass(frozen=True)
class Effort:
    """What moving may cost.

    Attributes
    ----------
    tolerance : float
        Steps end if one gains less than this share of the objective.

    limits : tuple of int
        The least and the largest number of steps.

    values : int
        Kernel values of all steps together, within these limits.

    frugal : bool
        Whether the vectors stay if `values` do not suffice for all near rows and the least number
        of steps.
    """

    tolerance: float
    limits: tuple[int, int]
    values: int
    frugal: bool

    @classmethod
    def of(cls, targets: ClassTargets | ValueTargets, settings: Settings, n_rows: int) -> "Effort":
        """Return the effort for a model: the passes of a classifier leave little to gain."""
        if isinstance(targets, ValueTargets):
            return FOR_VALUES
        return cls.for_classes(TIMES_PASSES * settings.n_passes * n_rows * settings.budget)

    @classmethod
    def for_classes(cls, values: int) -> "Effort":
        """Return the effort for a classifier that may spend this many kernel values."""
        return cls(tolerance=2e-3, limits=(10, 20), values=values, frugal=True)

    def steps(self, n_rows: int, n_vectors: int, n_outputs: int) -> int:
        """Return the number of steps that are made on this many rows."""
        cost = n_rows * n_vectors * (1 + SOLVING * n_outputs * n_vectors)
        steps = int(self.values / cost)
        least, most = self.limits
        return 0 if self.frugal and steps < least else min(max(steps, least), most)


# The passes of a regression leave much to gain: small problems, where a step is cheap, may make
# many steps.
FOR_VALUES = Effort(tolerance=1e-5, limits=(20, 200), values=2**28, frugal=False)


def move(
    vectors: Array,
    solutions: list[Solution],
    sample: Sample,
    fit_intercept: bool,
    n_threads: int,
    random: np.random.Generator,
    effort: Effort = FOR_VALUES,
) -> tuple[Array, list[Solution]]:
    """Move the vectors and solve for their coefficients again.

    Parameters
    ----------
    vectors : array of shape (n_sv, n_features)
        The support vectors, of the dtype of the rows; all outputs share them.

    solutions : list of Solution
        The solutions of `polish` for them.

    sample : Sample
        The rows that were solved on.

    fit_intercept : bool
        Whether the intercept is solved for.

    n_threads : int
        Threads; the bits do not depend on them.

    random : Generator
        Draws a sample if there are too many rows.

    effort : Effort
        What it may cost.

    Returns
    -------
    vectors : array of shape (n_sv, n_features)
        The vectors, moved if that lowers the objective.

    solutions : list of Solution
        Their coefficients. The objective is not larger than before.
    """
    near = np.flatnonzero(_reached(sample, solutions))
    n_rows = _rows_of_a_step(*vectors.shape)
    n_steps = _affordable_steps(vectors, len(near), n_rows, sample, len(solutions), effort)
    if not n_steps:
        return vectors, solutions
    sampled = _sampled(sample, near, n_rows, random)
    start = [(solution.coefficients, solution.intercept) for solution in solutions]
    with ONE_BLAS_THREAD:
        path = Path(vectors, start, sampled, fit_intercept, n_threads, effort.frugal)
        found = minimize(
            path.look,
            path.position(vectors),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": n_steps, "ftol": effort.tolerance, "gtol": 0.0},
        )
    moved = path.vectors(found.x)
    better = polish(moved, path.start, sample, fit_intercept, n_threads)
    if not _objective(better) < _objective(solutions):
        return vectors, solutions
    return moved, [
        replace(
            new,
            objective_before=old.objective_before,
            steps=old.steps + path.steps[k] + new.steps,
            moves=found.nit,
        )
        for k, (old, new) in enumerate(zip(solutions, better, strict=True))
    ]


def _rows_of_a_step(n_vectors: int, n_features: int) -> int:
    """Return how many rows a step can hold."""
    return min(
        MOST_VALUES // n_vectors, MOST_PRODUCTS // (n_features * max(n_vectors, LEAST_BLOCK))
    )


def _affordable_steps(
    vectors: Array, n_near: int, n_rows: int, sample: Sample, n_outputs: int, effort: Effort
) -> int:
    """Return the number of steps, 0 if the vectors stay where they are."""
    n_vectors, n_features = vectors.shape
    if min(n_rows, len(sample.c)) < LEAST_ROWS * n_vectors or not n_near:
        return 0
    if n_rows < min(n_near, n_features):  # some vectors fit any such sample
        return 0
    n_steps = effort.steps(min(n_rows, n_near), n_vectors, n_outputs)
    n_values = n_near * n_vectors
    too_many = n_values > MOST_FRUGAL_VALUES or n_values * n_features > MOST_FRUGAL_PRODUCTS
    return 0 if effort.frugal and (too_many or n_near > n_rows) else n_steps


def _reached(sample: Sample, solutions: list[Solution]) -> NDArray[np.bool_]:
    """Tell which rows have a loss in some output, or nearly have one."""
    reached = np.zeros(len(sample.c), dtype=bool)
    for loss, solution in zip(sample.losses, solutions, strict=True):
        reached |= loss.near(solution.decisions, REACH)
    return reached


def _sampled(sample: Sample, near: Array, n_rows: int, random: np.random.Generator) -> Sample:
    """Draw from the near rows a sample that represents them; other rows are not copied."""
    drawn = near
    if len(near) > n_rows:
        drawn = near[np.sort(random.choice(len(near), n_rows, replace=False))]
    sampled = sample.take(drawn)
    return replace(sampled, c=sampled.c * (len(near) / len(drawn)))


def _objective(solutions: list[Solution]) -> float:
    return sum(solution.objective_after for solution in solutions)


class Path:
    """The objective as a function of the vectors: one point, in units of the kernel width."""

    def __init__(
        self,
        vectors: Array,
        start: list[tuple[Array, float]],
        sample: Sample,
        fit_intercept: bool,
        n_threads: int,
        weighted: bool = False,
    ) -> None:
        self.start, self.steps, self.objective = start, [0] * len(start), 0.0
        gamma = sample.rows.gamma
        self.gamma, self.sample = gamma, sample
        self.fit_intercept, self.n_threads = fit_intercept, n_threads
        self.shape, self.dtype = vectors.shape, vectors.dtype
        self.unit = np.full((len(vectors), 1), np.sqrt(2 * gamma))
        if weighted:
            widths = [2 * loss.width for loss in sample.losses]
            betas = [beta / width for (beta, _), width in zip(start, widths, strict=True)]
            weight = np.sum(np.square(betas), axis=0)
            self.unit[:, 0] *= np.sqrt(weight + DAMPING * (weight.mean() or 1.0))
        self.centre = vectors.mean(axis=0, dtype=np.float64)
        self.rows = np.array(sample.rows.dense() - self.centre, dtype=self.dtype, order="C")

    def position(self, vectors: Array) -> Array:
        """Return the point of the vectors."""
        position: Array = ((vectors - self.centre) * self.unit).ravel()
        return position

    def vectors(self, position: Array) -> Array:
        """Return the vectors of a point."""
        vectors: Array = position.reshape(self.shape) / self.unit + self.centre
        return vectors.astype(self.dtype)

    def look(self, position: Array) -> tuple[float, Array]:
        """Return the objective at a point, relative to the start, and its gradient."""
        vectors = self.vectors(position)
        kernel = Kernel(vectors, self.sample.rows, self.n_threads)
        objective, gradient = 0.0, np.zeros(self.shape)
        for k, loss in enumerate(self.sample.losses):
            problem = Problem(kernel, loss, self.sample.c, self.fit_intercept)
            solution = problem.descend(*self.start[k], MOST_NEWTON_STEPS)
            self.start[k] = solution.coefficients, solution.intercept
            self.steps[k] += solution.steps
            objective += solution.objective_after
            gradient += self._gradient(problem, vectors - self.centre, solution)
        self.objective = self.objective or objective or 1.0  # no loss at all: nothing to gain
        return objective / self.objective, (gradient / self.unit / self.objective).ravel()

    def _gradient(self, problem: Problem, vectors: Array, solution: Solution) -> Array:
        kernel, beta = problem.kernel, solution.coefficients
        slope = problem.slopes(solution.decisions)
        counted = np.flatnonzero(slope)

        def of_chunk(chunk: slice) -> tuple[Array, Array]:
            rows = counted[chunk]
            weights = kernel.rows[rows] * slope[rows, None].astype(np.float32)
            return weights.sum(axis=0), weights.T @ self.rows[rows]

        among = kernel.penalty * beta  # its diagonal, with JITTER, cancels below
        total, pull = among.sum(axis=1), among @ vectors
        for weight, product in kernel.each(of_chunk, len(counted)):
            total += weight
            pull += product
        gradient: Array = 2 * self.gamma * beta[:, None] * (pull - total[:, None] * vectors)
        return gradient
