"""A random sample of the rows that represents all of them.

A row is drawn by its number, its weight and a seed alone: u_i is the random number of the core for
position i and this seed, and the rows with the smallest u_i / weight_i are drawn (priority
sampling). Heavy rows are drawn more often, and count for less, so that the drawn rows have nearly
equal weights. `drawing.py` draws the same rows where they are not in memory.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

Array = NDArray[Any]
# What is drawn of each group: the number of rows, its weight, and whether these are all rows.
DrawPlan = tuple[Array, Array, Array]

# So many standard deviations, and so many rows, are more than chance ever exceeds.
DEVIATIONS, MORE = 8.0, 64


def draw(
    groups: Array,
    weights: Array | None,
    n_rows: int,
    least: int,
    seed: int,
    n_threads: int = 1,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw rows of every group in proportion to its size, but at least some.

    Weights of None are one. Returns the positions of the drawn rows, sorted, and what their weights
    are multiplied by.
    """
    counts = _core.group_counts(groups, int(groups.max()) + 1, n_threads)
    quota = quotas(counts, n_rows, least)
    totals = counts if weights is None else np.bincount(groups, weights)
    chosen, thresholds = _smallest_priorities(
        groups, weights, (quota, totals, quota == counts), seed, n_threads
    )
    some, share = groups[chosen], len(chosen) / len(groups)
    if weights is None:
        scales = np.divide(counts, quota, out=np.ones(len(counts)), where=quota > 0)
        return chosen, (rounded(scales) * share)[some]
    drawn = weights[chosen]
    factors = raised(drawn, thresholds[some])
    sums = np.bincount(some, drawn * factors, len(counts))
    scales = np.divide(totals, sums, out=np.ones(len(counts)), where=sums > 0)
    return chosen, rounded(factors * scales[some]) * share


def draw_members(
    members: NDArray[np.bool_], n: int, seed: int, n_threads: int, first: int = 0
) -> NDArray[np.intp]:
    """Return the positions, sorted, of the n members with the smallest random numbers.

    So many rows come before the first one.
    """
    if first:
        positions = np.flatnonzero(members)
        numbers = _core.random_numbers(seed, first, len(members))[positions]
        return np.sort(positions[smallest(numbers, n)[:n]])
    groups = members.view(np.int8)
    counts = _core.group_counts(groups, 2, n_threads)
    plan = np.array([0, n]), counts, counts == [0, n]
    return _smallest_priorities(groups, None, plan, seed, n_threads)[0]


def _smallest_priorities(
    groups: Array, weights: Array | None, plan: DrawPlan, seed: int, n_threads: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the rows with the smallest priorities, and the thresholds of the groups."""
    quotas, totals, is_whole = plan
    # The number of rows with priorities below t is, on average, t times their weight, and less
    # only if some of them are heavier than 1 / t.
    deviation = DEVIATIONS * np.sqrt(quotas + 1) + MORE
    limits, drawn = np.where(is_whole, np.inf, 0.0), ~is_whole & (quotas > 0)
    low, high = (
        np.divide(np.maximum(n_rows, 0.0), totals, out=limits.copy(), where=drawn)
        for n_rows in (quotas - deviation, quotas + deviation)
    )
    least, most = np.zeros(len(quotas)), np.full(len(quotas), np.inf)
    for lower, upper in ((low, high), (least, 2 * high), (least, most)):
        found = _core.smallest_priorities(groups, quotas, lower, upper, weights, seed, n_threads)
        if found is not None:
            break
    assert found is not None  # the last limits hold all priorities
    return found


def _more_than(n: Any) -> Any:
    """Return n plus several standard deviations."""
    return n + DEVIATIONS * np.sqrt(n + 1) + MORE


def quotas(counts: Array, n_rows: int, least: int) -> NDArray[np.int64]:
    """Return how many rows of each group are drawn."""
    shares = np.maximum(n_rows * counts // max(counts.sum(), 1), least)
    drawn: NDArray[np.int64] = np.minimum(counts, shares)
    return drawn


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
    likely = _more_than(n) / len(numbers)
    few = np.flatnonzero(numbers < likely)
    if len(few) <= n:
        few = np.arange(len(numbers))
    return few[np.argpartition(numbers[few], n)[: n + 1]]


def drawn_factors(weights: Array, threshold: float, total: float) -> Array:
    """Return what the weights of the drawn rows of a group are multiplied by.

    `threshold` is the smallest priority that was not drawn, and `total` the weight of the group,
    which the factors keep.
    """
    if not len(weights):
        return weights
    factors = raised(weights, threshold)
    return rounded(factors * (total / (weights @ factors)))


def raised(weights: Array, thresholds: Array | float) -> Array:
    """Return factors that make weights below the inverse of a threshold equal to it."""
    return np.maximum(1.0, 1.0 / (weights * thresholds))


def rounded(factors: Array) -> Array:
    """Round factors, so that they do not depend on the order in which weights were summed up."""
    return factors.astype(np.float32).astype(np.float64)
