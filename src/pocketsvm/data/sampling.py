"""A random sample of the rows that represents all of them.

A row is drawn by its number, its weight and a seed alone: u_i is the i-th number of a generator
with this seed, and the rows with the smallest u_i / weight_i are drawn (priority sampling). Heavy
rows are drawn more often, and count for less, so that the drawn rows have nearly equal weights.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import Rows
from .targets import ClassTargets, ValueTargets

Array = NDArray[Any]
AnyTargets = ClassTargets | ValueTargets


def sampled(
    rows: Rows, targets: AnyTargets, n_rows: int, least: int, seed: int
) -> tuple[Rows, AnyTargets]:
    """Draw a sample; return the rows themselves if there are no more.

    Parameters
    ----------
    rows : Rows
        The rows.

    targets : ClassTargets or ValueTargets
        Their classes or values.

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

    targets : ClassTargets or ValueTargets
        Their targets. The mean weighted loss of the sample estimates that of all rows.
    """
    if rows.n_rows <= n_rows:
        return rows, targets
    chosen, factors = draw(targets.groups(), targets.row_weight(), n_rows, least, seed)
    return rows.take(chosen), targets.take(chosen, factors)


def draw(
    groups: Array, weights: Array, n_rows: int, least: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw rows of every group in proportion to its size, but at least some.

    Returns the positions of the drawn rows, sorted, and what their weights are multiplied by.
    """
    n_all = len(weights)
    priorities = np.random.Generator(np.random.Philox(seed)).random(n_all) / weights
    counts = np.bincount(groups)
    quotas = np.minimum(counts, np.maximum(n_rows * counts // n_all, least))
    by_group = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    parts = [
        _draw_from(members, quota, priorities, weights)
        for members, quota in zip(by_group, quotas.tolist(), strict=True)
    ]
    chosen = np.concatenate([rows for rows, _ in parts])
    factors = np.concatenate([factors for _, factors in parts]) * (len(chosen) / n_all)
    order = np.argsort(chosen)
    return chosen[order], factors[order]


def _draw_from(
    members: Array, quota: int, priorities: Array, weights: Array
) -> tuple[Array, Array]:
    """Draw from one group; the factors keep its total weight."""
    if quota == len(members):
        return members, np.ones(quota)
    order = np.argpartition(priorities[members], quota)
    drawn, threshold = members[order[:quota]], priorities[members[order[quota]]]
    factors = np.maximum(1.0, 1.0 / (weights[drawn] * threshold))
    return drawn, factors * (weights[members].sum() / (weights[drawn] @ factors))
