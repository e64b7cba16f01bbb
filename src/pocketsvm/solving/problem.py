"""The problem that the solver minimises, for fixed support vectors.

The last iterate of stochastic gradient descent is noisy, but the support vectors that it has found
are good. With them fixed, the SVM's own problem has one unknown per vector and output, and the
intercepts:

    minimise over beta, b    1/2 beta' (K + jitter I) beta + sum_i c_i loss_i(k_i beta + b) + t b,

where K holds the kernel values among the vectors, k_i those of row i, and c_i is C times the weight
of the row. The tilt t is zero, except in novelty detection. The losses round off their kinks. All
outputs share the kernel values. A point is an array (n_outputs, n_vectors + 1) of the coefficients
and intercepts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._cached import cached_property
from ..rows.sampling import draw_members
from .factor import INTERCEPT_CURVATURE, Factor, Penalty
from .kernel import KernelRows
from .pairs import pair_blocks
from .sample import Sample

Array = NDArray[Any]

# Rows that a factor is made of, for each vector. With few vectors, a factor takes little time, and
# one of more rows saves steps: it has as many as for this many vectors.
ROWS_PER_VECTOR = 16
LEAST_FACTOR_VECTORS = 2**9
# Problems of few rows, with at most this many kernel values, are small: the core solves them,
# because calls from here would take longer than the sums. It solves for each output on its own: the
# second number is for all of them.
SMALL_VALUES = 2**17
SMALL_VALUES_OF_ALL = 2**19


@dataclass(frozen=True, eq=False)
class Place:
    """A point, or a direction, and what is linear in it.

    Attributes
    ----------
    point : ndarray of shape (n_outputs, n_vectors + 1)
        The coefficients and intercepts.

    penalised : ndarray of shape (n_outputs, n_vectors)
        The penalty's matrix times the coefficients.

    decisions : ndarray of shape (n_rows, n_outputs)
        The decision values of the rows.
    """

    point: Array
    penalised: Array
    decisions: Array

    def plus(self, length: Array, direction: "Place") -> "Place":
        """Go some length along a direction: one for every output, or one for all."""
        return Place(
            self.point + length[:, None] * direction.point,
            self.penalised + length[:, None] * direction.penalised,
            self.decisions + length * direction.decisions,
        )


@dataclass(frozen=True, eq=False)
class Slopes:
    """The objective at a place, one for every loss of a row, and its gradient."""

    objective: Array
    gradient: Array


class Problem:
    """The restricted SVM problem of all outputs."""

    def __init__(self, vectors: Array, sample: Sample, fit_intercept: bool, n_threads: int) -> None:
        self.rows = KernelRows(vectors, sample.rows, sample.loss.n_outputs, n_threads)
        self.penalty = Penalty(vectors, sample.rows.gamma, n_threads)
        self.sample, self.fit_intercept, self.n_threads = sample, fit_intercept, n_threads
        self.shape = sample.loss.n_outputs, len(vectors) + 1

    @property
    def knows_bends(self) -> bool:
        """Whether curvatures are second derivatives, and not only a bound on them."""
        return not self.sample.loss.has_pairs

    @cached_property
    def small(self) -> _core.RowLosses | None:
        """The losses, if the core solves the problem at once; else None."""
        n_rows, loss = len(self.sample.c), self.sample.loss
        n_outputs, n_vectors = self.shape[0], self.shape[1] - 1
        n_values = n_rows * n_vectors
        fits = n_values <= SMALL_VALUES and n_values * n_outputs <= SMALL_VALUES_OF_ALL
        if not (self.sample.few and fits and n_vectors <= n_rows):
            return None
        return loss.core if loss.core is not None and loss.core.separable else None

    def newton(
        self, losses: _core.RowLosses, near: Array | None, n_steps: int, tolerance: float
    ) -> tuple[Array, ...]:
        """Let the core solve a small problem, from decision values close to the solution."""
        ((_, kernel),) = self.rows.blocks()
        return _core.solve_small(
            losses,
            kernel,
            self.penalty.matrix(),
            self.sample.c,
            self.sample.tilt,
            self.fit_intercept,
            self.sample.loss.largest_curvature,
            self._least_curvature(),
            near,
            n_steps,
            tolerance,
        )

    def _least_curvature(self, total_c: float = 0.0) -> float:
        """Return the least curvature of an intercept; `total_c` is for a sample without rows."""
        c = self.sample.total_c or total_c
        return INTERCEPT_CURVATURE * c * self.sample.loss.largest_curvature

    def place(self, point: Array) -> Place:
        """Return the place of a point."""
        (decisions,) = self.rows.decisions_of([point])
        return Place(point, self.penalty.product(point[:, :-1]), decisions)

    def start(self) -> Place:
        """Return the place of zero, at which no kernel value matters."""
        n_outputs, n_rows = self.shape[0], len(self.sample.c)
        point = np.zeros(self.shape)
        return Place(point, point[:, :-1].copy(), np.zeros((n_rows, n_outputs)))

    def objective(self, place: Place) -> Array:
        """Return the objective at a place, one for every loss of a row."""
        return self._objective(place, self.sample.slopes(place.decisions, self.n_threads)[0])

    def slopes(self, place: Place) -> Slopes:
        """Return the objective at a place, and its gradient."""
        losses, slopes = self.sample.slopes(place.decisions, self.n_threads)
        gradient = self.pull(slopes)
        gradient[:, :-1] += place.penalised
        gradient[:, -1] += self.sample.tilt
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        return Slopes(self._objective(place, losses), gradient)

    def _objective(self, place: Place, losses: Array) -> Array:
        penalty = 0.5 * self.per_loss(row_products(place.point[:, :-1], place.penalised))
        tilted = self.per_loss(self.sample.tilt * place.point[:, -1])
        objective: Array = penalty + losses + tilted
        return objective

    def row_slopes(self, decisions: Array) -> Array:
        """Return the weighted slope of each row and output."""
        if self.small is not None:
            return self.small.slopes(decisions, self.sample.c, self.n_threads)[1]
        return self.sample.slopes(decisions, self.n_threads)[1]

    def bent_products(self, decisions: Array, curvatures: Array) -> Array:
        """Return the second derivative of the losses times the decision values."""
        return self.sample.loss.bent_products(decisions, curvatures, self.sample.c)

    def pull(self, slopes: Array) -> Array:
        """Return the derivative of losses with these slopes."""
        return self.rows.pull_of(slopes)

    def slope_along(self, place: Place, step: Place, length: Array) -> tuple[Array, Array]:
        """Return the objective's first and second derivative along a step, at some lengths."""
        slope, bend = self.sample.along(place.decisions, step.decisions, length, self.n_threads)
        coefficients = step.point[:, :-1]
        quadratic = row_products(coefficients, step.penalised)
        slope = slope + row_products(coefficients, place.penalised) + length * quadratic
        slope = slope + self.sample.tilt * step.point[:, -1]
        return self.per_loss(slope), self.per_loss(bend + quadratic)

    def per_loss(self, sums: Array) -> Array:
        """Add up the sums of all outputs if one loss couples them."""
        return sums.sum(keepdims=True) if self.sample.loss.coupled else sums

    def curvatures(self, decisions: Array) -> Array:
        """Return the weighted curvature of every row, the mean over the outputs."""
        return self.sample.curvatures(decisions, self.n_threads)

    def factor(
        self,
        curvatures: Array,
        random: np.random.Generator,
        rows_per_vector: int = ROWS_PER_VECTOR,
        decisions: Array | None = None,
        total_c: float = 0.0,
    ) -> Factor:
        """Factor the second derivative of rows with these weighted curvatures.

        If there are many, a random sample of them represents them. Losses of pairs need the
        decision values too; None gives a bound for any decision values. `total_c` is the sum of the
        row weights, in case that there are no rows.
        """
        n_rows = rows_per_vector * max(self.shape[1], LEAST_FACTOR_VECTORS)
        curvatures = thinned(curvatures, n_rows, random, self.n_threads)
        loss = self.sample.loss
        if loss.has_pairs:
            partners = loss.partners(np.flatnonzero(curvatures), decisions, random)
            pairs = self.rows.vectors, self.sample, curvatures, partners, self.n_threads
            return self.penalty.factor(partial(pair_blocks, *pairs), 1.0, fit_intercept=False)
        blocks = partial(self.bent_rows, curvatures)
        return self.penalty.factor(blocks, self._least_curvature(total_c), self.fit_intercept)

    def bent_rows(self, curvatures: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield blocks of kernel values, the numbers of the rows that bend, and curvatures."""
        for at, kernel in self.rows.blocks():
            bent = np.flatnonzero(curvatures[at])
            yield kernel, bent, curvatures[at][bent]


def thinned(
    curvatures: Array, n_rows: int, random: np.random.Generator, n_threads: int = 1
) -> Array:
    """Draw rows among those that bend; the others get no curvature, the drawn ones more."""
    bends = curvatures != 0
    if np.count_nonzero(bends) <= n_rows:
        return curvatures
    drawn = draw_members(bends, n_rows, int(random.integers(2**63)), n_threads)
    found = curvatures[drawn]
    thin = np.zeros_like(curvatures)
    thin[drawn] = found * (_core.total(curvatures, n_threads) / found.sum(dtype=float))
    return thin


def row_products(left: Array, right: Array) -> Array:
    """Return the sum of products in each row."""
    products: Array = np.einsum("ij,ij->i", left, right)
    return products
