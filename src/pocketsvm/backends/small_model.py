"""The small model whose feature scales are learnt: its coefficients, its objective and gradient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from .gradient import gradients, kernel_values

Array = NDArray[Any]

# The matrix of the linear system has a Cholesky factor in float64 with this on its diagonal.
JITTER = 1e-6


class SmallModel:
    """A model with squared loss; a point holds log s and the vectors, in standardised features."""

    def __init__(self, X: Array, values: Array, c: Array, penalty: float) -> None:
        self._X, self._values, self._c = X, values, c
        self._squares = np.square(X)
        self._penalty = penalty * self._c.sum()
        self.point = np.empty(0)
        self._coefficients, self._intercepts = np.empty((0, 0)), np.empty(0)

    def decisions(self, X: Array, point: Array) -> Array:
        """Return the decision values of rows; `solve` was called with this point."""
        scales, u = self._unpacked(point)
        decisions: Array = kernel_values(X * scales.astype(np.float32), u) @ self._coefficients
        return decisions + self._intercepts

    def solve(self, point: Array) -> tuple[Array, Array, Array, Array]:
        """Solve for the coefficients.

        Returns the scaled rows, the kernel values in single and double precision, and those among
        the vectors.
        """
        scales, u = self._unpacked(point)
        Z = self._X * scales.astype(np.float32)
        kernel, among = kernel_values(Z, u), kernel_values(u, u)
        double = kernel.astype(np.float64)
        n_vectors, c = len(u), self._c
        weighted = double * np.sqrt(c)[:, None]
        matrix = np.zeros((n_vectors + 1, n_vectors + 1))  # the upper triangle is not used
        matrix[:-1, :-1] = dsyrk(1.0, weighted.T, trans=0, lower=1)
        matrix[:-1, :-1] += among
        matrix[np.diag_indices(n_vectors)] += JITTER
        matrix[-1, :-1], matrix[-1, -1] = c @ double, c.sum()
        values = c[:, None] * self._values
        right = np.vstack([double.T @ values, values.sum(axis=0)])
        solution = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right)
        self.point = point.copy()
        self._coefficients, self._intercepts = solution[:-1], solution[-1]
        return Z, kernel, double, among

    def objective(self, point: Array) -> tuple[float, Array]:
        """Return the objective and its gradient, with the coefficients solved for.

        The objective is minimal in the coefficients, so its gradient is that for fixed ones.
        """
        Z, kernel, double, among = self.solve(point)
        scales, u = self._unpacked(point)
        beta = self._coefficients
        residuals = double @ beta + self._intercepts - self._values
        slopes = self._c[:, None] * residuals
        value = 0.5 * float((slopes * residuals).sum() + (beta * (among @ beta)).sum())
        weights = slopes.astype(np.float32) @ beta.T.astype(np.float32)
        weights *= kernel
        pull = (weights.T @ Z).astype(np.float64)
        total = weights.sum(axis=0, dtype=np.float64)
        squares = np.square(scales) * (weights.sum(axis=1, dtype=np.float64) @ self._squares)
        in_u, in_log = gradients(pull, total, squares, among * (beta @ beta.T), u)
        deviation = point[: len(scales)] - point[: len(scales)].mean()
        value += self._penalty * float(np.square(deviation).mean())
        in_log += 2 * self._penalty / len(scales) * deviation
        unit = float(self._c.sum())
        return value / unit, np.append(in_log, (in_u * scales).ravel()) / unit

    def _unpacked(self, point: Array) -> tuple[Array, Array]:
        """Return the scales and the scaled vectors of a point."""
        n_features = self._X.shape[1]
        scales = np.exp(point[:n_features])
        return scales, point[n_features:].reshape(-1, n_features) * scales
