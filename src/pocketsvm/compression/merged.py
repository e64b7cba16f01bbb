"""Without rows: the given vectors are merged, then solved for in the space of the kernel.

With the given function f = sum_i a_i k(x_i, .) and vectors z_j, the best coefficients minimise the
norm of f - sum_j c_j k(z_j, .): they solve K_zz c = K_zx a. What remains is the squared norm of f
minus (K_zx a)' c, a function of the positions z alone, which L-BFGS minimises.
"""

from dataclasses import replace
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
        vectors = space.moved(vectors).astype(model.vectors.dtype)
        return replace(model, vectors=vectors, dual_coef=space.coefficients(vectors), training=None)


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
    """Distances from a function in the space of the kernel."""

    def __init__(self, model: Model, n_threads: int) -> None:
        self.model, self.n_threads = model, n_threads
        self.centre = model.vectors.mean(axis=0, dtype=float)
        # In float64 and without a common offset, differences of vectors keep their digits.
        self.x = np.ascontiguousarray(model.vectors - self.centre)
        self.a = model.dual_coef.T
        rows = _core.Rows.dense(self.x)
        zero = np.zeros(len(model.dual_coef))
        values = _core.decide(self.x, model.dual_coef, zero, model.gamma, rows, n_threads)
        self.square = float((self.a * values).sum()) or 1.0  # the squared norm

    def coefficients(self, vectors: Array) -> Array:
        """Return the best coefficients (n_outputs, n_vectors)."""
        z = np.ascontiguousarray(vectors - self.centre)
        c, _ = self._solved(z, self._pull(z)[0])
        return np.ascontiguousarray(c.T)

    def moved(self, vectors: Array) -> Array:
        """Return vectors that are closer to the function."""
        z = vectors - self.centre
        c, _ = self._solved(z, self._pull(z)[0])
        weight = np.square(c).sum(axis=1)
        # As in the solver's positions: steps are in kernel widths, shorter for large coefficients.
        unit = np.sqrt(2 * self.model.gamma * (weight / (weight.mean() or 1.0) + 0.1))[:, None]
        objectives: list[float] = []

        def look(position: Array) -> tuple[float, Array]:
            value, gradient = self._distance(position.reshape(z.shape) / unit)
            return value, (gradient / unit).ravel()

        def stop_if_flat(intermediate_result: OptimizeResult) -> None:
            objectives.append(float(intermediate_result.fun))
            n, tolerance = CHOICES.window, CHOICES.tolerance
            if len(objectives) > n and objectives[-1 - n] - objectives[-1] < n * tolerance:
                raise StopIteration

        found = minimize(
            look,
            (z * unit).ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop_if_flat,
            options={"maxiter": CHOICES.moves, "ftol": 0.0, "gtol": 0.0},
        )
        moved: Array = found.x.reshape(z.shape) / unit + self.centre
        return moved

    def _distance(self, z: Array) -> tuple[float, Array]:
        """Return the squared distance, as a share of the squared norm, and its gradient."""
        z = np.ascontiguousarray(z)
        right, kernels = self._pull(z)
        c, among = self._solved(z, right)
        total, pull = np.zeros(len(z)), np.zeros(z.shape)
        for at, kernel in kernels:
            weights = (c @ self.a[at].T) * kernel
            total += weights.sum(axis=1)
            pull += weights @ self.x[at]
        np.fill_diagonal(among, 0.0)
        weights = (c @ c.T) * among
        total -= weights.sum(axis=1)
        pull -= weights @ z
        gradient = 4 * self.model.gamma * (total[:, None] * z - pull)
        return 1.0 - float((right * c).sum()) / self.square, gradient / self.square

    def _pull(self, z: Array) -> tuple[Array, list[tuple[slice, Array]]]:
        """Return K_zx a, and the kernel values in blocks of the given vectors."""
        rows, n_each = _core.Rows.dense(z), max(1, VALUES_AT_ONCE // len(z))
        right, kernels = np.zeros((len(z), self.a.shape[1])), []
        for begin in range(0, len(self.x), n_each):
            at = slice(begin, begin + n_each)
            kernel = _core.kernel_block(
                self.x[at], self.model.gamma, rows, 0, len(z), self.n_threads
            )
            right += kernel @ self.a[at]
            kernels.append((at, kernel))
        return right, kernels

    def _solved(self, z: Array, right: Array) -> tuple[Array, Array]:
        """Return the best coefficients (n_vectors, n_outputs) and the kernel among the vectors."""
        among = _core.kernel_block(
            z, self.model.gamma, _core.Rows.dense(z), 0, len(z), self.n_threads
        )
        ridge = JITTER * np.eye(len(z))
        c: Array = cho_solve(cho_factor(among + ridge), right)
        return c, among
