"""Mini-batches: Adam's steps of feature scales, vectors and coefficients together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gradient import gradients, kernel_values
from .slices import in_order, slices

Array = NDArray[Any]

# Adam's usual numbers: how much of the mean gradient and of the mean square is kept, and what is
# added to the root of the latter.
KEPT, KEPT_SQUARES, LEAST = 0.9, 0.999, 1e-12
# Rows that a thread takes at once.
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Unknowns:
    """What mini-batches change, or something else for each of these numbers.

    Attributes
    ----------
    logs : ndarray of shape (n_features,)
        The logarithms of what features are multiplied by.

    vectors : ndarray of shape (n_vectors, n_features)
        The vectors, before they are multiplied.

    coefficients : ndarray of shape (n_vectors, n_outputs)
        The coefficients.

    intercepts : ndarray of shape (n_outputs,)
        The intercepts.
    """

    logs: Array
    vectors: Array
    coefficients: Array
    intercepts: Array

    def map(self, function: Callable[..., Array], *others: "Unknowns") -> "Unknowns":
        """Apply a function to each array, with those of others."""
        names = "logs", "vectors", "coefficients", "intercepts"
        return Unknowns(*(function(*(getattr(x, n) for x in (self, *others))) for n in names))


@dataclass(frozen=True, eq=False)
class Start:
    """Where mini-batches begin, and how far they go.

    Attributes
    ----------
    unknowns : Unknowns
        The first iterate, in float32. Rows and vectors are in units of the kernel, less a centre.

    rates : Unknowns
        The largest steps: one number each; that of vectors is in kernel widths.

    unit, centre : float and ndarray of shape (n_features,)
        A row x is unit (x - centre).
    """

    unknowns: Unknowns
    rates: Unknowns
    unit: float
    centre: Array


class Batches:
    """Adam's iterates, by the core and NumPy."""

    def __init__(self, sample: Any, start: Start, n_threads: int) -> None:
        self._sample, self._n_threads = sample, n_threads
        self.unknowns, self._rates = start.unknowns, start.rates
        self.unit, self.centre = start.unit, start.centre
        self._mean = self._square = self.unknowns.map(np.zeros_like)

    def step(self, chosen: Array, height: float, number: int) -> None:
        """Make a step for some rows, up to a share of the largest one; the first has number one."""
        gradient = self._gradient(chosen)
        self._mean = self._mean.map(lambda m, g: KEPT * m + (1 - KEPT) * g, gradient)
        self._square = self._square.map(
            lambda v, g: KEPT_SQUARES * v + (1 - KEPT_SQUARES) * g * g, gradient
        )
        rates = replace(self._rates, vectors=self._rates.vectors / np.exp(self.unknowns.logs))
        # Both means begin at zero.
        root = np.sqrt(1 - KEPT_SQUARES**number)
        height *= root / (1 - KEPT**number)

        def moved(before: Array, m: Array, v: Array, rate: Array) -> Array:
            change: Array = height * rate * m / (np.sqrt(v) + root * LEAST)
            return (before - change).astype(np.float32)

        self.unknowns = self.unknowns.map(moved, self._mean, self._square, rates)

    def loss(self, chosen: Array) -> float:
        """Return the weighted losses of some rows."""
        part = self._sample.take(chosen)
        decisions = np.concatenate(
            [self._decided(self._rows(part, some))[2] for some in self._slices(part)]
        )
        losses, _, _ = part.derivatives(decisions, self._n_threads)
        return float(losses.sum())

    def _slices(self, part: Any) -> list[slice]:
        return slices(part.n_rows, ROWS_AT_ONCE)

    def _rows(self, part: Any, some: slice) -> Array:
        """Return dense rows in units of the kernel, less the centre."""
        X = part.rows.checked.X[some]
        X = X if part.rows.checked.structure is None else X.toarray()
        rows: Array = ((X - self.centre) * self.unit).astype(np.float32)
        return rows

    def _decided(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return rows times their factors, kernel values, and decision values."""
        now = self.unknowns
        factors = np.exp(now.logs)
        Z, u = rows * factors, now.vectors * factors
        kernel = kernel_values(Z, u)
        return Z, kernel, (kernel @ now.coefficients + now.intercepts).astype(np.float64)

    def _gradient(self, chosen: Array) -> Unknowns:
        """Return the gradient of the objective over the sum of C, from the losses of some rows."""
        now, part = self.unknowns, self._sample.take(chosen)
        factors = np.exp(now.logs)
        u, beta = now.vectors * factors, now.coefficients
        among = kernel_values(u, u)
        weight = 1.0 / self._sample.total_c
        of_rows = 1.0 / float(part.c.sum())

        def sums(some: slice) -> list[Array]:
            Z, kernel, decisions = self._decided(self._rows(part, some))
            losses = part.loss.take(some)
            slopes = (of_rows * losses.derivatives(decisions, part.c[some], 1)[1]).astype(
                np.float32
            )
            weights = (slopes @ beta.T) * kernel
            squares = weights.sum(axis=1) @ np.square(Z)
            return [
                kernel.T @ slopes,
                slopes.sum(axis=0),
                weights.T @ Z,
                weights.sum(axis=0),
                squares,
            ]

        found = list(in_order(sums, self._slices(part), self._n_threads))
        in_beta, in_b, pull, total, squares = (
            np.sum(parts, axis=0) for parts in zip(*found, strict=True)
        )
        in_beta += weight * (among @ beta)
        in_u, in_logs = gradients(pull, total, squares, weight * among * (beta @ beta.T), u)
        in_b += weight * self._sample.tilt
        return Unknowns(in_logs, in_u * factors, in_beta, in_b)
