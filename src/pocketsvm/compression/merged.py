"""Vectors and coefficients that are solved for in the space of the kernel.

With the given function f = sum_i a_i k(x_i, .) and vectors z_j, the best coefficients minimise the
norm of f - sum_j c_j k(z_j, .): they solve K_zz c = K_zx a. What remains is the squared norm of f
minus (K_zx a)' c, a function of the positions z alone, which L-BFGS minimises. Without rows, the
given vectors are merged first.

A regression has rows, too: those that are given, or else its vectors. There, the objective is the
sum of squared changes of its values plus a share of the squared distance. Rows alone say nothing
about values between them, and the distance alone says little about values that are far from zero.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import OptimizeResult, minimize

from .. import _core
from ..model.model import Model
from ..rows.checked import Dtype
from ..solving.blas import ONE_BLAS_THREAD
from ..training.settings import COMPRESSION_CHOICES as CHOICES
from ..training.settings import Choices

Array = NDArray[Any]

# Added to the diagonal of K_zz, which is nearly singular if vectors nearly coincide.
JITTER = 1e-6
# The seed of the trainer that merges; merging draws no random numbers.
GENERATOR = np.array([1, 0, 0, 0], dtype=np.uint64)
# Kernel values that are computed at once.
VALUES_AT_ONCE = 2**24


def merged(model: Model, budget: int, n_threads: int) -> Model:
    """Return a model of at most so many vectors that is close to another one everywhere."""
    vectors = _merged_vectors(model, budget)
    with ONE_BLAS_THREAD:
        space = _Space(model, n_threads)
        vectors = space.moved(vectors, CHOICES.moves, CHOICES.tolerance)
        vectors = vectors.astype(model.vectors.dtype)
        return replace(model, vectors=vectors, dual_coef=space.coefficients(vectors), training=None)


def refined(model: Model, small: Model, rows: Array, values: Array, n_threads: int) -> Model:
    """Return a small model whose values are closer to those of a model, on rows and elsewhere.

    Parameters
    ----------
    model : Model
        The model to imitate.

    small : Model
        Where to start.

    rows : ndarray of shape (n_rows, n_features)
        Rows as the kernel sees them.

    values : ndarray of shape (n_rows, n_outputs)
        What the model computes for them.

    n_threads : int
        Threads.
    """
    spread = values.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    with ONE_BLAS_THREAD:
        space = _Space(
            replace(model, dual_coef=model.dual_coef / unit[:, None]),
            n_threads,
            rows,
            (values - model.intercept) / unit,
        )
        vectors = space.moved(
            small.vectors.astype(float), CHOICES.refinements, CHOICES.refined_tolerance
        ).astype(small.vectors.dtype)
        coefficients = space.coefficients(vectors) * unit[:, None]
    return replace(small, vectors=vectors, dual_coef=coefficients, intercept=model.intercept)


def _merged_vectors(model: Model, budget: int) -> Array:
    """Merge the vectors of each output, and each sign, by the paper's method."""
    functions = [each for each in model.dual_coef if each.any()]  # the other outputs are constant
    found, n_left = [], budget
    for k, coefficients in enumerate(functions):
        used = np.flatnonzero(coefficients)
        share = n_left // (len(functions) - k)
        found.append(_reduced(model, used, coefficients[used], share))
        n_left -= len(found[-1])
    return np.unique(np.concatenate(found), axis=0).astype(float)


def _reduced(model: Model, used: Array, coefficients: Array, budget: int) -> Array:
    dtype: Dtype = "float32" if model.vectors.dtype == np.float32 else "float64"
    trainer = _core.Trainer(
        n_features=model.vectors.shape[1],
        budget=budget,
        gamma=model.gamma,
        alpha=1.0,
        maintenance="merge",
        fit_intercept=False,
        seed=0,
        dtype=dtype,
        random_steps=Choices.random_steps,
    )
    trainer.restore(
        vectors=model.vectors[used],
        coefficients=coefficients / np.abs(coefficients).max(),
        births=np.zeros(len(used), dtype=np.int64),
        bias=0.0,
        steps=1,
        weight=1.0,
        generator=GENERATOR,
    )
    vectors: Array = trainer.state()["vectors"]
    return vectors


class _Space:
    """Distances from a function in the space of the kernel, and on rows if there are any."""

    def __init__(
        self, model: Model, n_threads: int, rows: Array | None = None, values: Array | None = None
    ) -> None:
        self.model, self.n_threads = model, n_threads
        self.centre = model.vectors.mean(axis=0, dtype=float)
        self.share = 1.0 if rows is None else CHOICES.distance  # of the distance in the objective
        # In float64 and without a common offset, differences of vectors keep their digits.
        self.x = np.ascontiguousarray(model.vectors - self.centre)
        self.a = self.share * model.dual_coef.T
        zero = np.zeros(len(model.dual_coef))
        given = _core.decide(
            self.x,
            np.ascontiguousarray(model.dual_coef, dtype=float),
            zero,
            model.gamma,
            _core.Rows.dense(self.x),
            n_threads,
        )
        self.square = float((self.a * given).sum())  # the squared norm
        self.rows, self.values = np.empty((0, self.x.shape[1])), np.empty((0, self.a.shape[1]))
        if rows is not None and values is not None:
            self.rows, self.values = np.ascontiguousarray(rows - self.centre), values
            self.square += float(np.square(values).sum())
        self.square = self.square or 1.0

    def coefficients(self, vectors: Array) -> Array:
        """Return the best coefficients (n_outputs, n_vectors)."""
        c = self._solved(np.ascontiguousarray(vectors - self.centre)).c
        return np.ascontiguousarray(c.T)

    def moved(self, vectors: Array, most_steps: int, tolerance: float) -> Array:
        """Return vectors that are closer to the function."""
        z = np.ascontiguousarray(vectors - self.centre)
        weight = np.square(self._solved(z).c).sum(axis=1)
        # As in the solver's positions: steps are in kernel widths, shorter for large coefficients.
        unit = np.sqrt(2 * self.model.gamma * (weight / (weight.mean() or 1.0) + 0.1))[:, None]
        objectives: list[float] = []

        def look(position: Array) -> tuple[float, Array]:
            value, gradient = self._distance(position.reshape(z.shape) / unit)
            return value, (gradient / unit).ravel()

        def stop_if_flat(intermediate_result: OptimizeResult) -> None:
            objectives.append(float(intermediate_result.fun))
            n = CHOICES.window
            if len(objectives) > n and objectives[-1 - n] - objectives[-1] < n * tolerance:
                raise StopIteration

        found = minimize(
            look,
            (z * unit).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop_if_flat,
            options={"maxiter": most_steps, "ftol": 0.0, "gtol": 0.0},
        )
        moved: Array = found.x.reshape(z.shape) / unit + self.centre
        return moved

    def _distance(self, z: Array) -> tuple[float, Array]:
        """Return the objective, as a share of that of zero, and its gradient."""
        z = np.ascontiguousarray(z)
        found = self._solved(z)
        c, among = found.c, found.among
        total, pull = np.zeros(len(z)), np.zeros(z.shape)
        for points, values, kernel in found.given:
            weights = (c @ values.T) * kernel
            total += weights.sum(axis=1)
            pull += weights @ points
        for points, values, kernel in found.rows:  # a residual acts as a coefficient does
            weights = (c @ (values - kernel.T @ c).T) * kernel
            total += weights.sum(axis=1)
            pull += weights @ points
        np.fill_diagonal(among, 0.0)
        weights = self.share * (c @ c.T) * among
        total -= weights.sum(axis=1)
        pull -= weights @ z
        gradient = 4 * self.model.gamma * (total[:, None] * z - pull)
        return 1.0 - float((found.right * c).sum()) / self.square, gradient / self.square

    def _solved(self, z: Array) -> "_Solution":
        """Solve for the coefficients of some vectors."""
        among = self._kernel(z, z)
        given, rows = self._blocks(z, self.x, self.a), self._blocks(z, self.rows, self.values)
        matrix = self.share * (among + JITTER * np.eye(len(z)))
        right = np.zeros((len(z), self.a.shape[1]))
        for _, values, kernel in [*given, *rows]:
            right += kernel @ values
        for *_, kernel in rows:
            matrix += kernel @ kernel.T
        c: Array = cho_solve(cho_factor(matrix), right)
        return _Solution(c, right, among, given, rows)

    def _blocks(self, z: Array, points: Array, values: Array) -> list["_Block"]:
        """Return points, their values and kernel values (n_vectors, n_points), in blocks."""
        n_each, found = max(1, VALUES_AT_ONCE // len(z)), []
        for begin in range(0, len(points), n_each):
            at = slice(begin, begin + n_each)
            found.append((points[at], values[at], self._kernel(points[at], z)))
        return found

    def _kernel(self, points: Array, z: Array) -> Array:
        gamma, rows = self.model.gamma, _core.Rows.dense(z)
        return _core.kernel_block(points, gamma, rows, 0, len(z), self.n_threads)


_Block = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class _Solution:
    """The best coefficients of some vectors, and what their gradient needs."""

    c: Array  # (n_vectors, n_outputs)
    right: Array
    among: Array  # the kernel among the vectors
    given: list[_Block]
    rows: list[_Block]
