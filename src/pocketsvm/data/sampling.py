"""A random sample of the rows that represents all of them.

A row is drawn by its number, its weight and a seed alone: u_i is the i-th number of a generator
with this seed, and the rows with the smallest u_i / weight_i are drawn (priority sampling). Heavy
rows are drawn more often, and count for less, so that the drawn rows have nearly equal weights.
`drawing.py` draws the same rows where they are not in memory.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .novelty import NoveltyTargets
from .queries import RankTargets
from .rows import Rows
from .targets import ClassTargets, ValueTargets

Array = NDArray[Any]
AnyTargets = ClassTargets | ValueTargets | NoveltyTargets | RankTargets

# Philox makes so many numbers at once, and `advance` counts in these units.
NUMBERS_AT_ONCE = 4
# So many standard deviations, and so many rows, are more than chance ever exceeds.
DEVIATIONS, MORE = 8.0, 64


def sampled(
    rows: Rows, targets: AnyTargets, n_rows: int, least: int, seed: int
) -> tuple[Rows, AnyTargets]:
    """Draw a sample; return the rows themselves if there are no more.

    Parameters
    ----------
    rows : Rows
        The rows.

    targets : Targets
        Their classes, values or weights.

    n_rows : int
        The size of the sample. It may be larger because of `least`.

    least : int
        The least number of rows of each class, if it has as many.

    seed : int
        The seed.

    Returns
    -------
    rows : Rows
        The drawn rows, in their order.

    targets : Targets
        Their targets. The mean weighted loss of the sample estimates that of all rows.
    """
    if rows.n_rows <= n_rows:
        return rows, targets
    if isinstance(targets, RankTargets):
        chosen, factors = targets.draw(n_rows, seed)
        return rows.take(chosen), targets.take(chosen, factors)
    chosen, factors = draw(targets.groups(), targets.row_weight(), n_rows, least, seed)
    return rows.take(chosen), targets.take(chosen, factors)


def draw(
    groups: Array, weights: Array, n_rows: int, least: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw rows of every group in proportion to its size, but at least some.

    Returns the positions of the drawn rows, sorted, and what their weights are multiplied by.
    """
    n_all = len(weights)
    priorities = random_numbers(seed, 0, n_all) / weights
    counts = np.bincount(groups)
    by_group = np.split(grouped(groups, len(counts)), np.cumsum(counts)[:-1])
    parts = [
        _draw_from(members, quota, priorities, weights)
        for members, quota in zip(by_group, quotas(counts, n_rows, least).tolist(), strict=True)
    ]
    chosen = np.concatenate([rows for rows, _ in parts])
    factors = np.concatenate([factors for _, factors in parts]) * (len(chosen) / n_all)
    order = np.argsort(chosen)
    return chosen[order], factors[order]


def quotas(counts: Array, n_rows: int, least: int) -> NDArray[np.int64]:
    """Return how many rows of each group are drawn."""
    shares = np.maximum(n_rows * counts // max(counts.sum(), 1), least)
    drawn: NDArray[np.int64] = np.minimum(counts, shares)
    return drawn


def random_numbers(seed: int, first: int, n: int) -> NDArray[np.float64]:
    """Return the numbers of n rows, of which the first one has this position among all rows."""
    bits = np.random.Philox(seed)
    bits.advance(first // NUMBERS_AT_ONCE)
    skipped = first % NUMBERS_AT_ONCE
    return np.random.Generator(bits).random(skipped + n)[skipped:]


def grouped(codes: Array, n_groups: int) -> NDArray[np.intp]:
    """Return the positions of the rows group by group, in their order."""
    # NumPy sorts integers of 16 bits by radix, which is much faster.
    found: NDArray[np.intp] = np.argsort(
        codes.astype(np.uint16) if n_groups <= 2**16 else codes, kind="stable"
    )
    return found


def smallest(numbers: Array, n: int) -> NDArray[np.intp]:
    """Return the positions of the n smallest numbers and of the next one, which is the last.

    The numbers are mostly uniform in [0, 1): then few of them are compared. There are more than n.
    """
    likely = (n + DEVIATIONS * math.sqrt(n + 1) + MORE) / len(numbers)
    few = np.flatnonzero(numbers < likely)
    if len(few) <= n:
        few = np.arange(len(numbers))
    return few[np.argpartition(numbers[few], n)[: n + 1]]


def drawn_factors(weights: Array, threshold: float, total: float) -> Array:
    """Return what the weights of the drawn rows of a group are multiplied by.

    `threshold` is the smallest priority that was not drawn, and `total` the weight of the group.
    The factors keep it. They are rounded, so that they do not depend on the order in which `total`
    was summed up.
    """
    if not len(weights):
        return weights
    factors = np.maximum(1.0, 1.0 / (weights * threshold))
    factors *= total / (weights @ factors)
    return factors.astype(np.float32).astype(np.float64)


def _draw_from(
    members: Array, quota: int, priorities: Array, weights: Array
) -> tuple[Array, Array]:
    """Draw from one group; the factors keep its total weight."""
    if quota == len(members):
        return members, np.ones(quota)
    order = smallest(priorities[members], quota)
    drawn, threshold = members[order[:quota]], priorities[members[order[quota]]]
    return drawn, drawn_factors(weights[drawn], threshold, weights[members].sum())
