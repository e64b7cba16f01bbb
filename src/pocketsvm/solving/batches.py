"""Vectors, coefficients and learnt feature scales, by mini-batches over all rows at hand.

Adam takes steps for a few thousand rows at a time, all of which lower the solver's own objective.
Its step size grows for a while and then falls to zero along a cosine. Rows that are held out choose
among the iterates. The solver starts from their vectors, and solves for the coefficients on all
rows. Scales that were learnt from a sample are a start; others stay as they are.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.batches import Start, Unknowns
from ..training.settings import Settings
from .blas import ONE_BLAS_THREAD
from .newton import minimise
from .problem import Problem
from .sample import Sample

Array = NDArray[Any]


def refined(
    sample: Sample, settings: Settings, random: np.random.Generator, *, scales: bool
) -> tuple[Array, Array] | None:
    """Return factors of the feature scales, and vectors, that lower the objective.

    Parameters
    ----------
    sample : Sample
        The rows at hand, multiplied by their scales.

    settings : Settings
        How to train.

    random : Generator
        Draws the first vectors and the batches.

    scales : bool
        Whether the scales may change; otherwise, all factors are one.

    Returns
    -------
    factors, vectors : ndarray
        The factors of the features, and vectors that are multiplied by them already. None if there
        are too few rows or too many features, for pairs, of which batches would hold few, and for
        quantiles, whose vectors must not have seen the rows that tell which share they cover.
    """
    choices, loss = settings.choices, sample.loss
    order = random.permutation(sample.n_rows)
    n_held = round(choices.held_share * sample.n_rows)
    held, train = order[:n_held], order[n_held:]
    n_batch = min(choices.batch_rows, len(train) // 4)
    is_possible = not loss.has_pairs and loss.levels is None
    is_possible &= sample.n_features <= choices.most_scale_features
    if not is_possible or len(train) < 2 * settings.budget or not n_batch:
        return None
    with ONE_BLAS_THREAD:
        batches = settings.backend.batches(
            sample, start_of(sample, settings, train, random, scales=scales)
        )
        best, least, at = batches.unknowns, np.inf, 0
        for step in range(1, choices.batches + 1):
            if at + n_batch > len(train):
                train, at = random.permutation(train), 0
            batches.step(
                train[at : at + n_batch],
                height(step / choices.batches, choices.batch_growing),
                step,
            )
            at += n_batch
            if step % max(1, choices.batches // choices.batch_looks) == 0:
                held_loss = batches.loss(held)
                if held_loss < least:
                    best, least = batches.unknowns, held_loss
    factors = np.exp(best.logs.astype(np.float64))
    return factors, (best.vectors / batches.unit + batches.centre) * factors


def start_of(
    sample: Sample,
    settings: Settings,
    train: Array,
    random: np.random.Generator,
    *,
    scales: bool,
) -> Start:
    """Return random rows as vectors, their coefficients, and how far all may move.

    Scales that may change start larger: where one is too small, its gradient is close to zero.
    """
    choices, unit = settings.choices, float(np.sqrt(sample.rows.gamma))
    factor = choices.batch_start if scales else 1.0
    chosen = np.sort(train[: settings.few_rows])
    part = sample.take(chosen).weighted(np.full(len(chosen), sample.n_rows / len(chosen)))
    rows = part.rows.dense()
    centre = np.zeros(rows.shape[1])
    if not sample.is_sparse:
        centre = rows.mean(axis=0, dtype=np.float64)
    vectors = rows[np.sort(random.permutation(len(rows))[: settings.budget])]
    vectors = vectors.astype(part.rows.core.dtype)
    part = replace(part, rows=replace(part.rows, gamma=factor**2 * part.rows.gamma))
    problem = Problem(vectors, part, settings.fit_intercept, settings.backend)
    point = minimise(problem, problem.zero(), random).iterate.point
    logs = np.full(rows.shape[1], np.log(factor))
    unknowns = Unknowns(logs, (vectors - centre) * unit, point[:, :-1].T, point[:, -1])
    rate = choices.batch_coefficients * float(np.abs(point[:, :-1]).mean())
    rates = (
        choices.batch_scales * scales,
        choices.batch_vectors,
        rate,
        rate * settings.fit_intercept,
    )
    single = unknowns.map(lambda array: array.astype(np.float32))
    return Start(single, Unknowns(*map(np.array, rates)), unit, centre)


def height(share: float, growing: float) -> float:
    """Return the step size after this share of the steps, in units of the largest one."""
    if share <= growing:
        return share / growing
    return float(0.5 + 0.5 * np.cos(np.pi * (share - growing) / (1 - growing)))
