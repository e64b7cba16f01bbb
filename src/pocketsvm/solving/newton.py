"""Polishing: the support vectors stay, their coefficients are solved for.

The last iterate of stochastic gradient descent is noisy, but the support vectors that it has found
are good. With them fixed, the SVM's own problem has one unknown a vector, and the intercept:

    minimise over beta, b    1/2 beta' (K + JITTER I) beta  +  sum_i c_i loss_i(k_i beta + b),

where K holds the kernel values among the vectors, k_i those of row i, c_i is C times the weight of
the row. A loss is made of ramps max(0, u), with u linear in the decision value; here their kinks
are rounded off, `width` to either side:

    ramp(u) = 0 for u < -width,   (u + width)^2 / (4 width) in between,   u for u > width.

K is all but singular where merged vectors nearly coincide; JITTER keeps the coefficients of such
vectors from growing against each other beyond what float32 can add up again.

The problem is convex and piecewise quadratic. Newton's method with a line search solves it in a few
steps: each needs the kernel values once, and brings the second derivative up to date by the rows
that have come in between or gone from there.
"""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import ThreadpoolController

from .. import _core
from ..data.rows import as_rows

JITTER = 1e-6
MAX_STEPS = 50
# Solved when a Newton step promises less than this share of the objective.
TOLERANCE = 1e-5
# A line search ends where the slope is this share of what it was, or after so many turns.
FLAT = 0.05
MAX_TURNS = 10
# Below this share, a step that does not keep its promise has met the rounding of float32.
ROUNDING = 1e-3
# The widths that lead in from far away, in units of the loss's own.
WAY_IN = (256.0, 64.0, 16.0, 4.0)
# Kernel values are kept in memory as float32, up to this many bytes: of more rows than that, a
# random sample is polished on. (At a budget of 500 these are 134,217 rows, 268 for each unknown.)
LARGEST_BLOCK = 2**28
ROWS_AT_ONCE = 4096
# Where the bends of all rows add up to more than this, what subtracting them again leaves behind
# would drown JITTER: then the second derivative is made anew in each step.
MOST_BENT = 0.001 * JITTER / np.finfo(np.float64).eps
# A step costs the cube of the number of vectors: more than these are left as the passes left them.
MOST_VECTORS = 5000

Array = NDArray[Any]


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - y f) for labels y of -1 and +1."""

    labels: Array
    width: float = 0.5

    def take(self, chosen: Array) -> "Hinge":
        """Return the loss of the chosen rows."""
        return replace(self, labels=self.labels[chosen])

    def ramps(self, decisions: Array) -> list[tuple[Array, Any]]:
        """Return u of every ramp, and its slope in the decision value."""
        return [(1 - self.labels * decisions, -self.labels)]


@dataclass(frozen=True)
class EpsilonInsensitive:
    """max(0, |y - f| - epsilon) for targets y: a ramp above the tube and one below."""

    targets: Array
    epsilon: float
    width: float

    def take(self, chosen: Array) -> "EpsilonInsensitive":
        """Return the loss of the chosen rows."""
        return replace(self, targets=self.targets[chosen])

    def ramps(self, decisions: Array) -> list[tuple[Array, Any]]:
        """Return u of every ramp, and its slope in the decision value."""
        residuals = self.targets - decisions
        return [(residuals - self.epsilon, -1.0), (-residuals - self.epsilon, 1.0)]


Loss = Hinge | EpsilonInsensitive


@dataclass(frozen=True)
class Sample:
    """The rows to polish on, as they came and as the core sees them, their weights and losses."""

    X: Any
    rows: _core.Rows
    c: Array  # C times the weight of each row
    losses: list[Loss]  # one an output

    def take(self, chosen: Array) -> "Sample":
        """Return the chosen rows alone."""
        X = self.X[chosen]
        losses = [loss.take(chosen) for loss in self.losses]
        return Sample(X, as_rows(X, self.rows.dtype), self.c[chosen], losses)

    def thin(self, n_rows: int, random: np.random.Generator) -> "Sample":
        """Choose so many rows that stand for all; the sample itself where it has no more."""
        n_all = len(self.c)
        if n_rows >= n_all:
            return self
        thinned = self.take(np.sort(random.choice(n_all, n_rows, replace=False)))
        return replace(thinned, c=thinned.c * (n_all / n_rows))


@dataclass
class Solution:
    """The coefficients and intercept of one output, and how they were reached."""

    coefficients: Array
    intercept: float
    decisions: Array  # of the rows
    steps: int
    objective_before: float
    objective_after: float
    gradient_norm: float  # relative to the sum of the row weights c_i
    converged: bool
    moves: int = 0  # steps of the vectors, see moving.py


def polish(
    vectors: Array,
    start: list[tuple[Array, float]],
    gamma: float,
    sample: Sample,
    fit_intercept: bool,
    n_threads: int,
) -> list[Solution]:
    """Solve for the coefficients and the intercept of every output.

    Parameters
    ----------
    vectors : array of shape (n_sv, n_features)
        The support vectors, of the dtype of the rows; all outputs share them.

    start : list of (coefficients, intercept)
        What each output starts from.

    gamma : float
        The kernel's coefficient.

    sample : Sample
        The rows to polish on, at most `sample_size` of them.

    fit_intercept : bool
        Whether the intercept is solved for (without penalty) or stays zero.

    n_threads : int
        Threads; the bits of the solutions do not depend on them.
    """
    with ONE_BLAS_THREAD:
        kernel = Kernel(vectors, gamma, sample.rows, n_threads)
        return [
            Problem(kernel, loss, sample.c, fit_intercept).solve(coefficients, intercept)
            for loss, (coefficients, intercept) in zip(sample.losses, start, strict=True)
        ]


def distinct(vectors: Array, coefficients: Array) -> tuple[Array, Array]:
    """Join equal vectors, whose coefficients (n_outputs, n_sv) add up; the first ones stay."""
    # As bytes: by axis=0, each feature would be a field of its own. A negative zero is a zero.
    rows = np.ascontiguousarray(vectors + vectors.dtype.type(0))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, position = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(vectors):
        return vectors, coefficients
    order = np.argsort(first)
    joined = np.zeros((len(coefficients), len(first)))
    np.add.at(joined, (slice(None), position), coefficients)
    return vectors[first[order]], joined[:, order]


def sample_size(n_rows: int, n_vectors: int) -> int:
    """Return how many of the rows are polished on."""
    return min(n_rows, max(1, LARGEST_BLOCK // (4 * max(1, n_vectors))))


def rounded_ramp(u: Array, width: float) -> Array:
    """max(0, u), rounded off within `width` of its kink."""
    rounded = (u + width) ** 2 / (4 * width)
    return np.where(np.abs(u) <= width, rounded, np.maximum(u, 0))


class _OneBlasThread:
    """BLAS on one thread, whose sums have the same bits always, while anyone is inside.

    The number of BLAS threads belongs to the process: the first to enter sets it, the last to leave
    sets it back, so that fits in several threads at once do not undo each other's. (threadpoolctl
    itself would listen to the first thread only that has ever asked.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                controller = ThreadpoolController().select(user_api="blas")
                self._before = [(blas, blas.num_threads) for blas in controller.lib_controllers]
                for blas, _ in self._before:
                    _set_threads(blas, 1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for blas, n_threads in self._before:
                    _set_threads(blas, n_threads)


def _set_threads(blas: Any, n_threads: int) -> None:
    getattr(blas, "_real_set_num_threads", blas.set_num_threads)(n_threads)


ONE_BLAS_THREAD = _OneBlasThread()


class Kernel:
    """Kernel values of all rows and among the vectors, and sums over rows that keep their bits.

    Rows are taken in chunks of a fixed size, on as many threads as there are, and the chunks' sums
    are added in their order.
    """

    def __init__(self, vectors: Array, gamma: float, rows: _core.Rows, n_threads: int) -> None:
        self.n_threads = n_threads
        self.rows = np.empty((rows.n_rows, len(vectors)), dtype=np.float32)
        for chunk in _chunks(rows.n_rows):
            self.rows[chunk] = _core.kernel_block(
                vectors, gamma, rows, chunk.start, chunk.stop, n_threads
            )
        # In float64, and without a common offset: rounded any more, K would have eigenvalues
        # below -JITTER.
        precise = vectors.astype(np.float64)
        precise -= precise.mean(axis=0)
        among = _core.kernel_block(
            precise, gamma, _core.Rows.dense(precise), 0, len(vectors), n_threads
        )
        self.penalty = (among + among.T) / 2
        self.penalty[np.diag_indices_from(self.penalty)] += JITTER

    def each(self, function: Callable[[slice], Any], n: int) -> Iterable[Any]:
        """Results of the function for every chunk of n rows, in the order of the chunks."""
        if self.n_threads == 1 or n <= ROWS_AT_ONCE:
            yield from map(function, _chunks(n))
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            yield from pool.map(function, _chunks(n))

    def decide(self, coefficients: Array, intercept: float) -> Array:
        """Decision values of all rows."""
        with np.errstate(under="ignore"):
            beta = coefficients.astype(np.float32)
        parts = list(self.each(lambda chunk: self.rows[chunk] @ beta, len(self.rows)))
        return np.concatenate(parts).astype(np.float64) + intercept


class Problem:
    """The restricted SVM problem of one output: a loss and the weights c of the rows."""

    def __init__(self, kernel: Kernel, loss: Loss, c: Array, fit_intercept: bool) -> None:
        self.kernel, self.loss, self.c = kernel, loss, c
        self.fit_intercept, self.width = fit_intercept, loss.width

    def objective(self, beta: Array, decisions: Array) -> float:
        """Return the objective where the coefficients give these decision values."""
        loss = sum(rounded_ramp(u, self.width) for u, _ in self.loss.ramps(decisions))
        return float(0.5 * beta @ self.kernel.penalty @ beta + self.c @ loss)

    def slopes(self, decisions: Array) -> tuple[Array, Array]:
        """Slope of the weighted loss of every row, and the number of its ramps that bend."""
        slope, bends = np.zeros(len(self.c)), np.zeros(len(self.c))
        for u, sign in self.loss.ramps(decisions):
            slope += np.clip((u + self.width) / (2 * self.width), 0, 1) * self.c * sign
            bends += np.abs(u) <= self.width
        return slope, bends

    def gradient(self, beta: Array, slope: Array) -> Array:
        """Gradient in (beta, b) where the rows have these slopes."""
        gradient = np.append(self.kernel.penalty @ beta, slope.sum())
        counted = np.flatnonzero(slope)

        def of_chunk(chunk: slice) -> Array:
            rows = counted[chunk]
            return slope[rows] @ self.kernel.rows[rows].astype(np.float64)

        for pull in self.kernel.each(of_chunk, len(counted)):
            gradient[:-1] += pull
        return gradient

    def unbent(self) -> Array:
        """Second derivative in (beta, b) where no ramp bends."""
        return np.pad(self.kernel.penalty, (0, 1))

    def bend(self, hessian: Array, change: Array) -> None:
        """Bring the second derivative up to date where more ramps of a row bend, or fewer."""
        curvature = np.sqrt(np.abs(change) * self.c / (2 * self.width))
        hessian += self.outer(np.flatnonzero(change > 0), curvature)
        hessian -= self.outer(np.flatnonzero(change < 0), curvature)

    def outer(self, chosen: Array, factors: Array) -> Array:
        """Sum of the outer products of the chosen rows, a one appended, times their factors."""
        n = self.kernel.rows.shape[1]

        def of_chunk(chunk: slice) -> Array:
            rows = np.ones((len(chosen[chunk]), n + 1))
            rows[:, :n] = self.kernel.rows[chosen[chunk]]
            rows *= factors[chosen[chunk], None]
            return rows.T @ rows

        return sum(self.kernel.each(of_chunk, len(chosen)), np.zeros((n + 1, n + 1)))

    def newton_step(self, gradient: Array, hessian: Array) -> Array:
        """Return the change of (beta, b) that the quadratic model asks for."""
        n = len(gradient) - 1
        if not self.fit_intercept:
            return np.append(_solve(hessian[:n, :n], -gradient[:n]), 0.0)
        # Where no row is on the rounded part nothing holds the intercept: a little does.
        held = hessian.copy()
        held[n, n] += 1e-6 * self.c.sum() / (2 * self.width)
        return _solve(held, -gradient)

    def slope_along(
        self, beta: Array, decisions: Array, step: Array, change: Array, length: float
    ) -> float:
        """Return the slope of the objective along the step, after so much of it."""
        slopes, _ = self.slopes(decisions + length * change)
        penalty = step[:-1] @ self.kernel.penalty @ (beta + length * step[:-1])
        return float(penalty + slopes @ change)

    def line_search(
        self, beta: Array, decisions: Array, step: Array, change: Array, slope: float
    ) -> tuple[float, float]:
        """Find where the objective along the step has all but stopped to fall.

        Returns the length of the step, halved until it keeps a share of its promise, and the
        objective there. Along the step it is convex: a secant between a point where it falls and
        one where it rises comes close to its least in a few turns.
        """
        start, length = self.objective(beta, decisions), 1.0
        falling, rising = (0.0, slope), None
        for _ in range(MAX_TURNS):
            found = self.slope_along(beta, decisions, step, change, length)
            if abs(found) <= -FLAT * slope:
                break
            if found < 0:
                falling = length, found
            else:
                rising = length, found
            if rising is None:
                length *= 2
            else:
                share = falling[1] / (falling[1] - rising[1])
                length = falling[0] + min(max(share, 0.1), 0.9) * (rising[0] - falling[0])
        while True:
            value = self.objective(beta + length * step[:-1], decisions + length * change)
            if value <= start + 1e-4 * length * slope or not length >= 1e-6:
                return length, value
            length /= 2

    def solve(self, beta: Array, intercept: float) -> Solution:
        """Newton's method from the given coefficients; no step makes the objective larger."""
        solution = self.descend(beta, intercept)
        if solution.converged:
            return solution
        # From far away, and a large C makes everything far, wider smoothing shows the way.
        before, steps = solution.objective_before, solution.steps
        for start in dict.fromkeys((intercept, 0.0)):
            at = np.zeros_like(beta), start
            for times in (*WAY_IN, 1.0):
                wide = replace(self.loss, width=times * self.width)
                found = Problem(self.kernel, wide, self.c, self.fit_intercept).descend(*at)
                at, steps = (found.coefficients, found.intercept), steps + found.steps
            if found.objective_after < solution.objective_after:
                solution = found
        return replace(solution, objective_before=before, steps=steps)

    def descend(self, beta: Array, intercept: float, most_steps: int = MAX_STEPS) -> Solution:
        """Newton's method from here, once."""
        decisions = self.kernel.decide(beta, intercept)
        before = value = self.objective(beta, decisions)
        steps, converged, gradient = 0, False, np.zeros(1)
        hessian, bent = self.unbent(), np.zeros(len(self.c))
        while steps < min(most_steps, MAX_STEPS):
            slope, bends = self.slopes(decisions)
            gradient = self.gradient(beta, slope)
            many = np.count_nonzero(bends - bent) > np.count_nonzero(bends)
            if many or hessian[-1, -1] > MOST_BENT:  # the last entry is the sum over all rows
                hessian, bent = self.unbent(), np.zeros(len(self.c))
            self.bend(hessian, bends - bent)
            bent = bends
            step = self.newton_step(gradient, hessian)
            promise = float(gradient @ step)
            converged = -promise <= TOLERANCE * value
            if converged:
                break
            change = self.kernel.decide(step[:-1], step[-1])
            length, found = self.line_search(beta, decisions, step, change, promise)
            if not found < value:  # all that is left is rounding
                converged = -promise <= ROUNDING * value
                break
            value = found
            beta, intercept = beta + length * step[:-1], intercept + length * step[-1]
            decisions += length * change
            steps += 1
        size = float(np.linalg.norm(gradient) / self.c.sum())
        return Solution(beta, float(intercept), decisions, steps, before, value, size, converged)


def _chunks(n: int) -> list[slice]:
    return [slice(begin, min(begin + ROWS_AT_ONCE, n)) for begin in range(0, n, ROWS_AT_ONCE)]


def _solve(matrix: Array, right: Array) -> Array:
    """Solve a positive definite system, made a little more so where rounding has spoilt it."""
    diagonal = np.diag_indices_from(matrix)
    ridge = 0.0
    while True:
        try:
            return cho_solve(cho_factor(matrix, check_finite=False), right, check_finite=False)
        except LinAlgError:
            if not np.isfinite(matrix[diagonal]).all():
                return np.zeros_like(right)
            ridge = max(100 * ridge, 1e-14 * float(np.mean(matrix[diagonal])))
            matrix = matrix.copy()
            matrix[diagonal] += ridge
