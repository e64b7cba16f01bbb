"""Newton's directions in the space of the rows of small working sets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from scipy.linalg.lapack import dpotrf, dtrtrs

from .hessian import FIRST_RIDGE, MOST_RIDGE, NEXT_RIDGE, Penalty
from .kernel import MOST_KEPT, KernelRows
from .slices import in_order, slices

Array = NDArray[Any]

# Rows that a thread whitens at once.
ROWS_AT_ONCE = 512


class WhitenedRows:
    """Rows of kernel values in coordinates where the penalty A = L L' is the identity.

    They are the rows of W = K L^-T, of which only those of working sets are computed. A Hessian of
    few rows T with curvatures D is solved in the space of these rows: by the formula of Woodbury,
    its factor is that of I + D^1/2 W_T W_T' D^1/2. The inner products of rows are kept from one
    step to the next.
    """

    def __init__(self, penalty: Penalty, rows: KernelRows, n_outputs: int) -> None:
        self._lower, info = dpotrf(penalty.matrix().T, lower=1, clean=1, overwrite_a=1)
        assert info == 0  # the jitter keeps it positive definite
        ((_, self._kernel),) = rows.blocks()
        self._n_threads, dtype = rows.n_threads, self._kernel.dtype
        self._rounded = np.asfortranarray(self._lower, dtype=dtype)
        self._rows = np.empty_like(self._kernel)
        self._is_known = np.zeros(len(self._rows), dtype=bool)
        self._products = [RowProducts(self._rows) for _ in range(n_outputs)]
        self._solve_lower = get_blas_funcs("trsm", dtype=dtype)

    def directions(
        self,
        outputs: Array,
        curvatures: Array,
        gradients: Array,
        least: Sequence[float],
        fit_intercept: bool,
    ) -> Array:
        """Return Newton's directions (n_chosen, n_vectors + 1) of some outputs.

        Parameters
        ----------
        outputs : ndarray of shape (n_chosen,)
            The outputs.

        curvatures : ndarray of shape (n_rows, n_chosen)
            The weighted curvatures of the losses of rows.

        gradients : ndarray of shape (n_chosen, n_vectors + 1)
            The gradients of the objective.

        least : sequence of float
            The least curvatures of the intercepts.

        fit_intercept : bool
            Whether the intercepts change.
        """
        self._whiten(np.any(curvatures != 0, axis=1))
        kept = sum(each.square.nbytes for each in self._products)
        white, _ = dtrtrs(self._lower, gradients[:, :-1].T, lower=1)

        def direction(k: int) -> tuple[Array, float]:
            chosen = np.flatnonzero(curvatures[:, k])
            products = self._products[outputs[k]]
            ordered, square = products.among(chosen, keep=kept <= MOST_KEPT)
            factor = RowFactor(self._rows[ordered], square, curvatures[ordered, k], least[k])
            return factor.direction(white[:, k], float(gradients[k, -1]), fit_intercept)

        found = list(in_order(direction, list(range(len(outputs))), self._n_threads))
        changes = np.array([change for change, _ in found])
        coefficients, _ = dtrtrs(self._lower, changes.T, lower=1, trans=1)
        return np.column_stack([coefficients.T, [intercept for _, intercept in found]])

    def _whiten(self, needed: NDArray[np.bool_]) -> None:
        """Compute the rows that are needed."""
        missing = np.flatnonzero(needed & ~self._is_known)
        some = [missing[at] for at in slices(len(missing), ROWS_AT_ONCE)]

        def whitened(chosen: Array) -> tuple[Array, Array]:
            right = self._kernel[chosen].T
            return chosen, self._solve_lower(1.0, self._rounded, right, lower=1, overwrite_b=1).T

        for chosen, rows in in_order(whitened, some, self._n_threads):
            self._rows[chosen] = rows
        self._is_known[missing] = True


class RowProducts:
    """Inner products of the rows that have been in the working set of an output.

    Rows are in the order in which they came. Products are in the lower triangle of `square`.
    """

    def __init__(self, rows: Array) -> None:
        self._rows = rows
        self._reset()

    def _reset(self) -> None:
        self._members = np.empty(0, dtype=np.intp)
        self._positions = np.full(len(self._rows), -1, dtype=np.intp)
        self.square = np.empty((0, 0), dtype=self._rows.dtype)

    def among(self, chosen: Array, *, keep: bool) -> tuple[Array, Array]:
        """Return the rows in an order, and a copy of their products, a lower triangle."""
        if not keep:
            self._reset()
            rows = self._rows[chosen]
            return chosen, rows @ rows.T
        self._add(chosen[self._positions[chosen] < 0])
        at = np.sort(self._positions[chosen])
        return self._members[at], self.square[at][:, at]

    def _add(self, new: Array) -> None:
        if not len(new):
            return
        begin, end = len(self._members), len(self._members) + len(new)
        self._positions[new] = np.arange(begin, end)
        if end > len(self.square):
            size = max(end, 3 * len(self.square) // 2)
            square = np.zeros((size, size), dtype=self.square.dtype)
            square[:begin, :begin] = self.square[:begin, :begin]
            self.square = square
        rows = self._rows[new]
        self.square[begin:end, :begin] = rows @ self._rows[self._members].T
        self.square[begin:end, begin:end] = rows @ rows.T
        self._members = np.concatenate([self._members, new])


class RowFactor:
    """The factor of a Hessian in the space of its rows."""

    def __init__(self, rows: Array, square: Array, curvatures: Array, least: float) -> None:
        self._rows, self._roots = rows, np.sqrt(curvatures).astype(rows.dtype)
        self._missing = max(0.0, least - float(curvatures.sum()))
        square *= self._roots
        square *= self._roots[:, None]
        square.flat[:: len(square) + 1] += 1
        self._factor = _factored(square) if len(square) else square
        self._solve: Any = get_lapack_funcs("potrs", dtype=square.dtype)

    def direction(self, white: Array, last: float, fit_intercept: bool) -> tuple[Array, float]:
        """Return the direction of a gradient, whose last entry is that of the intercept.

        The change of the decision values is u = D^-1/2 (b v_1 - v_g), where b is the change of the
        intercept, and v_1 and v_g solve the system for D^1/2 and D^1/2 W g.
        """
        if not len(self._rows):
            return -white, -last / self._missing if fit_intercept and self._missing else 0.0
        right = np.column_stack([self._rows @ white.astype(self._rows.dtype), self._ones()])
        right *= self._roots[:, None]
        of_gradient, of_ones = self._solve(self._factor, right, lower=0)[0].astype(float).T
        roots, change = self._roots.astype(float), 0.0
        if fit_intercept:
            change = (float(roots @ of_gradient) - last) / (float(roots @ of_ones) + self._missing)
        weights = (roots * (change * of_ones - of_gradient)).astype(self._rows.dtype)
        return -white - weights @ self._rows, change

    def _ones(self) -> Array:
        return np.ones(len(self._rows), dtype=self._rows.dtype)


def _factored(square: Array) -> Array:
    """Return the upper factor of a matrix, of which the lower triangle is given."""
    factor: Any = get_lapack_funcs("potrf", dtype=square.dtype)
    ridge, largest = 0.0, float(square.diagonal().max())
    while ridge < MOST_RIDGE * largest:
        upper, info = factor(square.T, lower=0, clean=0)
        if info == 0 and np.isfinite(largest):
            return np.asarray(upper)
        before, ridge = ridge, max(NEXT_RIDGE * ridge, FIRST_RIDGE * largest)
        square.flat[:: len(square) + 1] += ridge - before
    # With a smaller ridge, every finite matrix has a factor.
    raise FloatingPointError("kernel values and weights must be finite to solve for a model.")
