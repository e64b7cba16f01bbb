"""Feature scales, vectors and coefficients together, by mini-batches over all rows at hand.

Scales that were learnt from a sample are a start. Adam then takes steps for a few thousand rows at
a time, all of which lower the solver's own objective. Its step size grows for a while and then
falls to zero along a cosine. Rows that are held out choose among the iterates. The solver starts
from their vectors, and solves for the coefficients on all rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.slices import in_order, slices
from ..training.settings import Settings
from .blas import ONE_BLAS_THREAD
from .newton import minimise
from .problem import Problem
from .sample import Sample

Array = NDArray[Any]

# Adam: how much of the mean gradient and of the mean square is kept, and what is added to its root.
KEPT, KEPT_SQUARES, LEAST = 0.9, 0.999, 1e-12
# The share of the steps in which the step size grows.
GROWING = 0.2
# How often rows that are held out are looked at.
LOOKS = 20
# Rows that a thread takes at once.
ROWS_AT_ONCE = 1024
# Rows for each vector on which the first coefficients are solved for.
ROWS_PER_VECTOR = 32


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


def refined(
    sample: Sample, settings: Settings, random: np.random.Generator
) -> tuple[Array, Array] | None:
    """Return factors of the feature scales, and vectors, that lower the objective.

    Parameters
    ----------
    sample : Sample
        The rows at hand, with the scales that were learnt before.

    settings : Settings
        How to train.

    random : Generator
        Draws the first vectors and the batches.

    Returns
    -------
    factors, vectors : ndarray
        The factors of the features, and vectors that are multiplied by them already. None if there
        are too few rows, or if losses are those of pairs, of which batches would hold few.
    """
    choices = settings.choices
    order = random.permutation(sample.n_rows)
    n_held = round(choices.held_share * sample.n_rows)
    held, train = order[:n_held], order[n_held:]
    n_batch = min(choices.batch_rows, len(train) // 4)
    if len(train) < 2 * settings.budget or not n_batch or sample.loss.has_pairs:
        return None
    with ONE_BLAS_THREAD:
        batches = _Batches(sample, settings, train, random)
        best, least, at = batches.unknowns, np.inf, 0
        for step in range(1, choices.batches + 1):
            if at + n_batch > len(train):
                train, at = random.permutation(train), 0
            batches.step(train[at : at + n_batch], step)
            at += n_batch
            if step % max(1, choices.batches // LOOKS) == 0:
                loss = batches.loss(held)
                if loss < least:
                    best, least = batches.unknowns, loss
    factors = np.exp(best.logs.astype(np.float64))
    return factors, (best.vectors / batches.unit + batches.centre) * factors


class _Batches:
    """Adam's iterates. Rows and vectors are in units of the kernel, less a centre."""

    def __init__(
        self, sample: Sample, settings: Settings, train: Array, random: np.random.Generator
    ) -> None:
        self._sample, self._choices = sample, settings.choices
        self._n_threads = settings.backend.n_threads
        self.unit = float(np.sqrt(sample.rows.gamma))
        chosen = np.sort(train[: ROWS_PER_VECTOR * settings.budget])
        part = sample.take(chosen).weighted(np.full(len(chosen), sample.n_rows / len(chosen)))
        rows = part.rows.dense()
        self.centre = np.zeros(rows.shape[1])
        if not sample.is_sparse:
            self.centre = rows.mean(axis=0, dtype=np.float64)
        vectors = rows[np.sort(random.permutation(len(rows))[: settings.budget])]
        vectors = vectors.astype(part.rows.core.dtype)
        problem = Problem(vectors, part, settings.fit_intercept, settings.backend)
        point = minimise(problem, problem.zero(), random).place.point
        self.unknowns = Unknowns(
            np.zeros(rows.shape[1]),
            (vectors - self.centre) * self.unit,
            point[:, :-1].T,
            point[:, -1],
        ).map(lambda array: array.astype(np.float32))
        self._mean = self._square = self.unknowns.map(np.zeros_like)
        rate = self._choices.batch_coefficients * float(np.abs(point[:, :-1]).mean())
        self._coefficient_rate = rate
        self._intercept_rate = rate if settings.fit_intercept else 0.0

    def step(self, chosen: Array, number: int) -> None:
        """Make a step for some rows; the first one has the number one."""
        share = number / self._choices.batches
        height = share / GROWING
        if share > GROWING:
            height = 0.5 + 0.5 * np.cos(np.pi * (share - GROWING) / (1 - GROWING))
        gradient = self._gradient(chosen)
        self._mean = self._mean.map(lambda m, g: KEPT * m + (1 - KEPT) * g, gradient)
        self._square = self._square.map(
            lambda v, g: KEPT_SQUARES * v + (1 - KEPT_SQUARES) * g * g, gradient
        )
        rates = Unknowns(
            np.array(self._choices.batch_scales),
            self._choices.batch_vectors / np.exp(self.unknowns.logs),
            np.array(self._coefficient_rate),
            np.array(self._intercept_rate),
        )
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
        losses, _, _ = part.bends(decisions, self._n_threads)
        return float(losses.sum())

    def _slices(self, part: Sample) -> list[slice]:
        return slices(part.n_rows, ROWS_AT_ONCE)

    def _rows(self, part: Sample, some: slice) -> Array:
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
        kernel = _kernel(Z, u)
        return Z, kernel, (kernel @ now.coefficients + now.intercepts).astype(np.float64)

    def _gradient(self, chosen: Array) -> Unknowns:
        """Return the gradient of the objective over the sum of C, from the losses of some rows."""
        now, part = self.unknowns, self._sample.take(chosen)
        factors = np.exp(now.logs)
        u, beta = now.vectors * factors, now.coefficients
        among = _kernel(u, u)
        weight = 1.0 / self._sample.total_c
        of_rows = 1.0 / float(part.c.sum())

        def sums(some: slice) -> list[Array]:
            Z, kernel, decisions = self._decided(self._rows(part, some))
            share = Sample(part.rows, part.c[some], part.loss.take(some))
            slopes = (of_rows * share.bends(decisions, 1)[1]).astype(np.float32)
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
        m = weight * among * (beta @ beta.T)
        in_u = 2 * (pull + m @ u - (total + m.sum(axis=1))[:, None] * u)
        in_logs = -2 * (squares - (u * pull).sum(axis=0)) + (u * in_u).sum(axis=0)
        in_b += weight * self._sample.tilt
        return Unknowns(in_logs, in_u * factors, in_beta, in_b)


def _kernel(Z: Array, u: Array) -> Array:
    """Return the kernel values of rows and vectors, in single precision."""
    exponents: Array = Z @ (2 * u).T
    exponents -= np.square(Z).sum(axis=1)[:, None]
    exponents -= np.square(u).sum(axis=1)
    np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)
