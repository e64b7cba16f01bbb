"""The problem that the solver minimises, for fixed support vectors.

The last iterate of stochastic gradient descent is noisy, but the support vectors that it has found
are good. With them fixed, the SVM's own problem has one unknown per vector and output, and the
intercepts:

    minimise over beta, b    1/2 beta' (K + JITTER I) beta  +  sum_i c_i loss_i(k_i beta + b),

where K holds the kernel values among the vectors, k_i those of row i, and c_i is C times the weight
of the row. `losses.py` rounds off the kinks of the losses. All outputs share the kernel values. A
point is an array (n_outputs, n_vectors + 1) of the coefficients and intercepts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .factor import INTERCEPT_CURVATURE, Factor, Penalty
from .kernel import KernelRows, Part
from .sample import Sample

Array = NDArray[Any]

# Rows that a factor is made of, for each vector.
ROWS_PER_VECTOR = 16


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
        self.rows = KernelRows(vectors, sample, n_threads)
        self.penalty = Penalty(vectors, sample.rows.gamma, n_threads)
        self.sample, self.fit_intercept = sample, fit_intercept
        self.shape = sample.loss.n_outputs, len(vectors) + 1

    def place(self, point: Array) -> Place:
        """Return the place of a point."""
        decisions = np.empty((self.rows.n_rows, len(point)))

        def decide(part: Part) -> None:
            decisions[part.at] = part.decisions(point)

        for _ in self.rows.each(decide):
            pass
        return Place(point, self.penalty.product(point[:, :-1]), decisions)

    def slopes(self, place: Place) -> Slopes:
        """Return the objective at a place, and its gradient."""

        def of_part(part: Part) -> tuple[Array, Array]:
            decisions = place.decisions[part.at]
            values = (part.loss.values(decisions) * part.c).sum(axis=0)
            return values, part.pull(part.loss.derivatives(decisions)[0] * part.c)

        losses, gradient = self.rows.sum(of_part)
        gradient[:, :-1] += place.penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        penalty = 0.5 * self.per_loss(row_products(place.point[:, :-1], place.penalised))
        return Slopes(penalty + losses, gradient)

    def slope_along(self, place: Place, step: Place, length: Array) -> tuple[Array, Array]:
        """Return the objective's first and second derivative along a step, at some lengths."""

        def of_part(part: Part) -> tuple[Array, Array]:
            change = step.decisions[part.at]
            weighted = change * part.c
            decisions = place.decisions[part.at] + length * change
            slopes, curvatures = part.loss.derivatives(decisions)
            return (
                np.einsum("ij,ij->j", slopes, weighted),
                np.einsum("ij,ij,ij->j", curvatures, change, weighted),
            )

        slope, bend = self.rows.sum(of_part)
        coefficients = step.point[:, :-1]
        quadratic = row_products(coefficients, step.penalised)
        slope = slope + row_products(coefficients, place.penalised) + length * quadratic
        return self.per_loss(slope), self.per_loss(bend + quadratic)

    def per_loss(self, sums: Array) -> Array:
        """Add up the sums of all outputs if one loss couples them."""
        return sums.sum(keepdims=True) if self.sample.loss.coupled else sums

    def curvatures(self, decisions: Array) -> Array:
        """Return the weighted curvature of every row, the mean over the outputs."""
        sample = self.sample
        parts = [
            sample.loss.take(at).derivatives(decisions[at])[1].mean(axis=1) * sample.c[at]
            for at in self.rows.slices()
        ]
        return np.concatenate(parts)

    def factor(
        self,
        curvatures: Array,
        random: np.random.Generator,
        rows_per_vector: int = ROWS_PER_VECTOR,
    ) -> Factor:
        """Factor the second derivative of rows with these weighted curvatures.

        If there are many, a random sample of them represents them.
        """
        curvatures = thinned(curvatures, rows_per_vector * self.shape[1], random)

        def blocks() -> Iterator[tuple[Array, Array]]:
            for at in self.rows.slices():
                chosen = np.flatnonzero(curvatures[at])
                if len(chosen):
                    yield self.rows.part(at).kernel[chosen], curvatures[at][chosen]

        least = INTERCEPT_CURVATURE * self.sample.c.sum() * self.sample.loss.largest_curvature
        return self.penalty.factor(blocks, least, self.fit_intercept)


def thinned(curvatures: Array, n_rows: int, random: np.random.Generator) -> Array:
    """Draw rows among those that bend; the others get no curvature, the drawn ones more."""
    bent = np.flatnonzero(curvatures)
    if len(bent) <= n_rows:
        return curvatures
    drawn = random.choice(bent, n_rows, replace=False)
    thin = np.zeros_like(curvatures)
    thin[drawn] = curvatures[drawn] * (curvatures.sum() / curvatures[drawn].sum())
    return thin


def row_products(left: Array, right: Array) -> Array:
    """Return the sum of products in each row."""
    products: Array = np.einsum("ij,ij->i", left, right)
    return products
