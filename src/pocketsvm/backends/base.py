"""The contract of a backend."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from ..rows.checked import CheckedRows, Rows
from .batches import Start

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ClassFormula:
    """The loss of rows of classes; one output per positive class.

    With y = +1 in rows of this class and y = -1 in others, "hinge" is ramp(1 - y f), where ramp(u)
    is max(0, u) with its kink rounded off, `width` to either side; "squared_hinge" is
    max(0, 1 - y f)^2, and "log_loss" log(1 + exp(-y f)). "softmax" is one loss of all outputs,
    log sum_o exp(f_o) - f_code.
    """

    name: str
    codes: Array
    positives: tuple[int, ...]
    width: float


@dataclass(frozen=True, eq=False)
class ValueFormula:
    """The loss of rows with targets (n_rows, n_outputs), or (n_rows, 1) for all outputs.

    "tube" is down ramp(y - epsilon - f) + up ramp(f - y - epsilon), with a factor and a width for
    each output; "huber" is (y - f)^2 / 2, and a line where |y - f| > epsilon.
    """

    name: str
    targets: Array
    epsilon: float
    down: Array
    up: Array
    widths: Array


Formula = ClassFormula | ValueFormula


class HessianFactor(Protocol):
    """The factor of the Hessian in the coefficients and the intercept of an output."""

    def solve(self, gradient: Array, /) -> Array:
        """Return the solution of a linear system for each row (n_outputs, n_vectors + 1)."""


class RowHessian(Protocol):
    """The Hessian of the losses of rows in one output: the sum of h_i k_i k_i'."""

    def add(self, kernel: Any, differences: Array, /) -> None:
        """Add rows of kernel values; some of these differences of curvatures are zero."""


class Penalty(Protocol):
    """The matrix A = K + jitter I of the penalty 1/2 beta' A beta.

    Attributes
    ----------
    preconditioner : HessianFactor or None
        The last factor, if its Hessian is close to those that follow.
    """

    preconditioner: Any

    @property
    def dtype(self) -> Any:
        """The precision that kernel values of rows need with these vectors."""

    def product(self, coefficients: Array, /) -> Array:
        """Return A beta for the coefficients (n_outputs, n_vectors)."""

    def forces(self, coefficients: Array, vectors: Array, /) -> tuple[Any, Any]:
        """Return sum_l w_lj and sum_l w_lj v_l for w_lj = k_lj sum_o beta_ol beta_oj, l != j.

        They are arrays of the backend's own library.
        """

    def factor(self, rows: Any, least: float, fit_intercept: bool) -> HessianFactor:
        """Factorise A plus the Hessian of the losses of rows.

        The intercept has at least the curvature `least`. The factor replaces an earlier one.
        """

    def solve_each(
        self, rows: Sequence[Any], least: Sequence[float], fit_intercept: bool, right: Array
    ) -> Array:
        """Return the solutions of linear systems (n_outputs, n_vectors + 1), one per Hessian.

        It is A plus the Hessian of the losses of rows in an output.
        """


class WhitenedRows(Protocol):
    """Rows in coordinates where the penalty is the identity."""

    def directions(
        self,
        outputs: Array,
        curvatures: Array,
        gradients: Array,
        least: Sequence[float],
        fit_intercept: bool,
    ) -> Array:
        """Return Newton's directions (n_chosen, n_vectors + 1) of some outputs.

        Curvatures (n_rows, n_chosen) that are not zero are those of a small working set.
        """


@dataclass(frozen=True)
class Backend(ABC):
    """Computes kernel values, and sums over them.

    A backend is small, equal to others with the same attributes, and can be pickled.

    Attributes
    ----------
    n_threads : int
        Threads of the CPU; the result does not depend on them.
    """

    n_threads: int = 1

    @abstractmethod
    def kernel_rows(self, vectors: Array, rows: Rows, n_outputs: int, dtype: Any) -> Any:
        """Return the kernel values of rows with vectors, in blocks: a `KernelRows`."""

    @abstractmethod
    def kernel(self, vectors: Array, rows: Rows) -> Any:
        """Return the kernel values of few rows, as one block."""

    @abstractmethod
    def penalty(self, vectors: Array, gamma: float) -> Penalty:
        """Return the penalty of coefficients of vectors."""

    @abstractmethod
    def row_hessian(self, n_vectors: int, n_rows: int) -> RowHessian:
        """Return the Hessian of no rows, to which up to so many can be added."""

    @abstractmethod
    def prefers_products(self, n_products: int, n_vectors: int, n_values: float) -> bool:
        """Whether so many products with a Hessian of rows are faster than the Hessian.

        The rows have this number of values that are not zero.
        """

    @abstractmethod
    def whitens(self, rows: Any) -> bool:
        """Whether Hessians of few of these rows are better solved in the space of the rows."""

    @abstractmethod
    def whitened(self, penalty: Any, rows: Any, n_outputs: int) -> WhitenedRows:
        """Return the rows in coordinates where the penalty is the identity."""

    @abstractmethod
    def centred(self, rows: Rows, is_sparse: bool) -> tuple[Any, Array]:
        """Return rows in float32 and a centre that was subtracted, for the slope in positions."""

    @abstractmethod
    def small_model(self, X: Array, values: Array, c: Array, penalty: float) -> Any:
        """Return the model of rows whose feature scales are learnt: a `SmallModel`."""

    @abstractmethod
    def batches(self, sample: Any, start: Start) -> Any:
        """Return mini-batches of rows with their weights and losses: `Batches`."""

    def descend(
        self,
        look: Callable[[Array], tuple[float, Array]],
        start: Array,
        n_steps: int,
        is_flat: Callable[[float], bool],
    ) -> tuple[Array, int]:
        """Minimise by L-BFGS; return where this ends, and the number of steps.

        `look` returns the value and the slope at a point, and `is_flat` tells of the value after
        each step whether to stop.
        """

        def stop_if_flat(intermediate_result: OptimizeResult) -> None:
            if is_flat(intermediate_result.fun):
                raise StopIteration

        found = minimize(
            look,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=stop_if_flat,
            options={"maxiter": n_steps, "ftol": 0.0, "gtol": 0.0},
        )
        return found.x, int(found.nit)

    @abstractmethod
    def read(
        self,
        vectors: Array,
        points: Array,
        rows: Rows,
        loss: Any,
        c: Array,
        lengths: Array,
        reach: float,
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return losses, the pull, and which rows are near the margin.

        The losses are (n_lengths or 1, n_losses), the pull is (n_outputs, n_vectors + 1). They are
        sums over all rows, whose weights are c. Without lengths, they are those at a point. With
        lengths, `points` holds a point and then a direction, the losses are those at these lengths
        along the direction, and the others are empty. A row is near if it would have a slope after
        a change of its decision value by `reach` widths.
        """

    @abstractmethod
    def decide(
        self,
        vectors: Array,
        coefficients: Array,
        intercepts: Array,
        gamma: float,
        rows: CheckedRows,
    ) -> NDArray[np.float64]:
        """Return decision values (n_rows, n_outputs), in the precision of the vectors."""
