"""The penalty of the coefficients, and factors of Hessians."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs

from .. import _core
from .slices import in_order, slices

Array = NDArray[Any]
# Added to the diagonal of K, which is nearly singular if merged vectors nearly coincide: it keeps
# the coefficients of such vectors from growing against each other beyond float32.
JITTER = 1e-6
# With a tiny gamma, vectors are float64 and all kernel values are nearly one. If their mean
# difference from one is smaller than this, the jitter is smaller in proportion, down to a limit.
NEARLY_ONE = 0.01
LEAST_JITTER = 1e-14
# Columns of kernel values that are computed together.
PANEL = 64
# Larger matrices are factored in panels of so many columns, and so many rows of a panel at a time.
AT_ONCE, FACTOR_PANEL, FACTOR_ROWS = 1024, 128, 256
# Columns of a Hessian that are put together at once: they fit into the second-level cache.
ASSEMBLED = 64
# The first ridge for a matrix that rounding has made indefinite, relative to its diagonal, the
# factor from one ridge to the next, and a bound that only a matrix with NaN or infinity exceeds.
FIRST_RIDGE, NEXT_RIDGE, MOST_RIDGE = 1e-14, 100.0, 1e6
# The least curvature of the intercept, as a share of the largest possible: it has none if no row
# is curved, and then a step would go so far that a line search of few trials does not come back.
INTERCEPT_CURVATURE = 1e-6
# The least share of its curvature that is left to the intercept once the coefficients follow it.
LEAST_REST = 1e-14


def jitter_of(mean: float) -> tuple[float, type[np.floating[Any]]]:
    """Return the jitter and the precision that kernel values need if they have this mean."""
    difference = 1.0 - mean
    if 0.0 < difference < NEARLY_ONE:
        return max(JITTER * difference / NEARLY_ONE, LEAST_JITTER), np.float64
    return JITTER, np.float32


class Penalty:
    """The matrix A = K + jitter I of the penalty 1/2 beta' A beta.

    One square array holds two matrices, so that memory grows with one square of the budget: its
    upper triangle is K, its lower triangle and diagonal the factor of a second derivative. If it is
    small, there is a copy of K, so that Hessians take less time.
    """

    def __init__(self, vectors: Array, gamma: float, n_threads: int) -> None:
        # In float64, and without a common offset: with larger rounding errors, K would have
        # eigenvalues below -jitter.
        precise = vectors.astype(np.float64)
        precise -= precise.mean(axis=0)
        rows, n = _core.Rows.dense(precise), len(precise)
        self.n_threads = n_threads
        if n <= PANEL:
            self._square = _core.kernel_block(precise, gamma, rows, 0, n, n_threads).T
        else:
            self._square = np.empty((n, n), order="F")
            for p in range(0, n, PANEL):
                q = min(p + PANEL, n)
                block = _core.kernel_block(precise[:q], gamma, rows, p, q, n_threads)
                self._square[:q, p:q] = block.T
                self._square[p:q, :p] = self._square[:p, p:q].T
        self._factored = False
        self._copy = self._square.copy(order="F") if n <= AT_ONCE else None
        self.preconditioner: HessianFactor | None = None
        is_double = vectors.dtype == np.float64
        self.jitter, self.dtype = jitter_of(float(self._square.mean()) if is_double else 0.0)

    def product(self, coefficients: Array) -> Array:
        """Return A beta for the coefficients (n_outputs, n_vectors)."""
        product: Array = dsymm(1.0, self._square, coefficients.T).T
        product += (1.0 + self.jitter - self._square.diagonal()) * coefficients
        return product

    def matrix(self) -> Array:
        """Return A."""
        matrix = self.kernel()
        matrix.flat[:: len(matrix) + 1] = 1.0 + self.jitter
        return matrix

    def kernel(self) -> Array:
        """Return the kernel values among different vectors; zeros on the diagonal."""
        if not self._factored:
            kernel: Array = self._square.T.copy()
            kernel.flat[:: len(kernel) + 1] = 0.0
            return kernel
        upper = np.triu(self._square, 1)
        kernel = upper + upper.T
        return kernel

    def forces(self, coefficients: Array, vectors: Array) -> tuple[Array, Array]:
        """Return sum_l w_lj and sum_l w_lj v_l for w_lj = k_lj sum_o beta_ol beta_oj, l != j."""
        among = self.kernel() * (coefficients.T @ coefficients)
        return among.sum(axis=1), among @ vectors

    def factor(self, rows: "RowHessian", least: float, fit_intercept: bool) -> "HessianFactor":
        """Factorise A plus the Hessian of the losses of rows.

        The intercept has at least the curvature `least`. The factor replaces an earlier one.
        """
        square, ridge, largest, self._factored = self._square, 0.0, 1.0, True
        while ridge < MOST_RIDGE * largest:
            if self._copy is not None:  # the Hessian of the rows has no lower triangle
                np.add(self._copy, rows.square.T, out=square)
            for panel in slices(len(square) if self._copy is None else 0, ASSEMBLED):
                upper = np.triu(square[panel, panel], 1)
                square[panel, panel] = upper + upper.T + rows.square[panel, panel].T
                square[panel.stop :, panel] = square[panel, panel.stop :].T
                square[panel.stop :, panel] += rows.square[panel, panel.stop :].T
            np.fill_diagonal(square, 1.0 + self.jitter + ridge + rows.square.diagonal())
            largest = square.diagonal().max()
            if factored(square, self.n_threads) and np.isfinite(largest):
                return HessianFactor(square, rows.column, max(rows.corner, least), fit_intercept)
            ridge = max(NEXT_RIDGE * ridge, FIRST_RIDGE * largest)
        # With a smaller ridge, every finite matrix has a factor.
        raise FloatingPointError("kernel values and weights must be finite to solve for a model.")

    def solve_each(
        self,
        rows: Sequence["RowHessian"],
        least: Sequence[float],
        fit_intercept: bool,
        right: Array,
    ) -> Array:
        """Return the solutions of linear systems (n_outputs, n_vectors + 1), one per Hessian."""
        found = np.empty_like(right)
        for k, (each, bound) in enumerate(zip(rows, least, strict=True)):
            found[k] = self.factor(each, bound, fit_intercept).solve(right[k : k + 1])[0]
        return found


class RowHessian:
    """The Hessian of the losses of rows in one output: the sum of h_i k_i k_i'.

    It is changed where the curvatures h_i of rows change, which are few from one step of Newton's
    method to the next.

    Attributes
    ----------
    square : ndarray of shape (n_vectors, n_vectors)
        The second derivative in the coefficients, in the upper triangle.

    column : ndarray of shape (n_vectors,)
        That in the coefficients and the intercept.

    corner : float
        That in the intercept.
    """

    def __init__(self, n_vectors: int, n_rows: int, n_threads: int) -> None:
        self.n_threads, self.curvatures = n_threads, np.zeros(n_rows)
        self._reset(n_vectors)

    def _reset(self, n_vectors: int) -> None:
        self.curvatures[:] = 0.0
        self.square, self.column = self._zeros(n_vectors), np.zeros(n_vectors)
        self.corner = 0.0

    def _zeros(self, n_vectors: int) -> Any:
        return np.zeros((n_vectors, n_vectors))

    def differences(self, curvatures: Array, least: Array) -> Array:
        """Return how curvatures have changed; changes up to the least one are left out."""
        found = curvatures - self.curvatures
        found *= np.abs(found) > least
        if np.count_nonzero(found != 0) > np.count_nonzero(curvatures != 0):  # begin anew
            self._reset(len(self.column))
            found = curvatures.copy()
        self.curvatures += found
        return found

    def add(self, kernel: Array, differences: Array) -> None:
        """Add rows of kernel values; some of these differences are zero."""
        for subtract, chosen in (
            (False, np.flatnonzero(differences > 0)),
            (True, np.flatnonzero(differences < 0)),
        ):
            roots = np.sqrt(np.abs(differences[chosen]))
            _core.add_outer_products(self.square, kernel, chosen, roots, self.n_threads, subtract)
        changed = np.flatnonzero(differences)
        if 2 * len(changed) < len(differences):
            kernel, differences = kernel[changed], differences[changed]
        self.column += _core.kernel_pull(kernel, differences[:, None], self.n_threads)[0]
        self.corner += float(differences.sum())


def factored(square: Array, n_threads: int) -> bool:
    """Replace the lower triangle of a matrix by its factor; False if it is not positive definite.

    A large matrix is factored in panels of columns: a single call would not react to an interrupt.
    """
    n = len(square)
    if n <= AT_ONCE:
        _, info = dpotrf(square, lower=1, clean=0, overwrite_a=1)
        return bool(info == 0)
    for p in range(0, n, FACTOR_PANEL):
        q = min(p + FACTOR_PANEL, n)
        left, corner = square[p:q, :p], square[p:q, p:q]
        factor, info = dpotrf(corner - left @ left.T, lower=1, clean=1)
        if info != 0:
            return False
        square[p:q, p:q] = factor + np.triu(corner, 1)
        rows = [(k, min(k + FACTOR_ROWS, n)) for k in range(q, n, FACTOR_ROWS)]
        for _ in in_order(partial(_solve_panel, square, factor, (p, q)), rows, n_threads):
            pass
    return True


def _solve_panel(
    square: Array, factor: Array, panel: tuple[int, int], rows: tuple[int, int]
) -> None:
    """Factorise some rows of a panel, whose first rows have the factor given."""
    (p, q), (a, b) = panel, rows
    rest = square[a:b, p:q] - square[a:b, :p] @ square[p:q, :p].T
    square[a:b, p:q] = dtrsm(1.0, factor, rest, side=1, lower=1, trans_a=1)


class HessianFactor:
    """The factor of the Hessian in the coefficients and the intercept of an output."""

    def __init__(self, square: Array, column: Array, corner: float, fit_intercept: bool) -> None:
        self._square, self._column = square, column.copy()
        self._fit_intercept = fit_intercept
        self._solved = self._without_intercept(column[None])[0]
        rest = corner - self._column @ self._solved  # Schur's complement
        self._rest = max(rest, LEAST_REST * corner)

    def solve(self, gradient: Array) -> Array:
        """Return the solution of a linear system for each row (n_outputs, n_vectors + 1)."""
        solution = np.zeros_like(gradient)
        solution[:, :-1] = self._without_intercept(gradient[:, :-1])
        if self._fit_intercept:
            solution[:, -1] = (gradient[:, -1] - solution[:, :-1] @ self._column) / self._rest
            solution[:, :-1] -= solution[:, -1:] * self._solved
        return solution

    def _without_intercept(self, right: Array) -> Array:
        solution, _ = dpotrs(self._square, right.T, lower=1)
        rows: Array = solution.T
        return rows
