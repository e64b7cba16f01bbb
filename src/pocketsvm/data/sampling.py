"""A random sample of the rows that represents all of them.

A row is drawn by its number, its weight and a seed alone: u_i is the i-th number of a generator
with this seed, and the rows with the smallest u_i / weight_i are drawn (priority sampling). Heavy
rows are drawn more often, and count for less, so that the drawn rows have nearly equal weights.
`drawing.py` draws the same rows where they are not in memory.
"""

from concurrent.futures import ThreadPoolExecutor
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
# Rows that a thread looks at together.
ROWS_AT_ONCE = 2**17


def sampled(
    rows: Rows, targets: AnyTargets, n_rows: int, least: int, seed: int, n_threads: int = 1
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

    n_threads : int, default=1
        Threads; the result does not depend on them.

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
    # The weight of a class does not matter among its rows.
    weights = targets.sample_weight
    chosen, factors = draw(targets.groups(), weights, n_rows, least, seed, n_threads)
    return rows.take(chosen), targets.take(chosen, factors)


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
    counts = np.bincount(groups)
    quota = quotas(counts, n_rows, least)
    totals = counts if weights is None else np.bincount(groups, weights)
    whole = quota == counts
    # If no row is very heavy, more rows than the quota have priorities below these limits.
    likely = np.full(len(counts), np.inf)
    np.divide(_more_than(quota) * (1 if weights is None else 2), totals, out=likely, where=~whole)
    few, priorities = _below(likely, groups, weights, seed, n_threads)
    if (np.bincount(groups[few], minlength=len(counts)) <= quota)[~whole].any():
        few, priorities = _below(np.full(len(counts), np.inf), groups, weights, seed, n_threads)
    sizes = np.bincount(groups[few], minlength=len(counts))
    order = np.split(grouped(groups[few], len(counts)), np.cumsum(sizes)[:-1])
    found = np.zeros(len(few))
    for members, wanted, total in zip(order, quota.tolist(), totals.tolist(), strict=True):
        drawn, factors = members, np.ones(len(members))
        if wanted < len(members):
            nearest = members[smallest(priorities[members], wanted)]
            drawn, threshold = nearest[:wanted], priorities[nearest[wanted]]
            heavy = np.ones(wanted) if weights is None else weights[few[drawn]]
            factors = drawn_factors(heavy, threshold, total)
        found[drawn] = factors
    chosen = np.flatnonzero(found)
    return few[chosen], found[chosen] * (len(chosen) / len(groups))


def _below(
    limits: Array, groups: Array, weights: Array | None, seed: int, n_threads: int
) -> tuple[NDArray[np.intp], Array]:
    """Return the rows whose priorities are below the limits of their groups, and these."""

    def find(first: int) -> tuple[NDArray[np.intp], Array]:
        at = slice(first, first + ROWS_AT_ONCE)
        some = groups[at]
        priorities = random_numbers(seed, first, len(some))
        if weights is not None:
            priorities /= weights[at]
        found = np.flatnonzero(priorities < limits[some])
        return found + first, priorities[found]

    with ThreadPoolExecutor(n_threads) as pool:
        parts = list(pool.map(find, range(0, len(groups), ROWS_AT_ONCE)))
    rows, priorities = (np.concatenate(each) for each in zip(*parts, strict=True))
    return rows, priorities


def _more_than(n: Array) -> Array:
    """Return a number that is larger than n, and than chance makes of it."""
    more: Array = n + DEVIATIONS * np.sqrt(n + 1) + MORE
    return more


def quotas(counts: Array, n_rows: int, least: int) -> NDArray[np.int64]:
    """Return how many rows of each group are drawn."""
    shares = np.maximum(n_rows * counts // max(counts.sum(), 1), least)
    drawn: NDArray[np.int64] = np.minimum(counts, shares)
    return drawn


def random_numbers(seed: int, first: int, n: int, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the numbers of n rows, of which the first one has this position among all rows."""
    if n_threads > 1 and n > ROWS_AT_ONCE:
        starts = range(first, first + n, ROWS_AT_ONCE)
        with ThreadPoolExecutor(n_threads) as pool:
            parts = pool.map(
                lambda start: random_numbers(seed, start, min(ROWS_AT_ONCE, first + n - start)),
                starts,
            )
            return np.concatenate(list(parts))
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
    likely = float(_more_than(np.asarray(n))) / len(numbers)
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
