"""The plan of successive halving: how many candidates and rows each round has."""

from math import floor, log
from typing import NamedTuple

# Each round keeps one in three candidates and takes three times as many rows.
FACTOR = 3
# With more halvings the first round would see less than one row in a hundred.
MAX_HALVINGS = 4
# Scores on fewer rows are too noisy to compare candidates.
MIN_ROWS = 1000
# With fewer rows per support vector the budget hardly matters.
MIN_ROWS_PER_VECTOR = 4
# Each fold needs some rows of the rarest class.
MIN_ROWS_OF_RAREST = 5


class Round(NamedTuple):
    """One round of a search: so many candidates are compared.

    Attributes
    ----------
    n_candidates : int
        The number of candidates.

    n_rows : int
        The number of rows that they are fitted to and scored on.
    """

    n_candidates: int
    n_rows: int


def rounds(
    n_candidates: int,
    n_rows: int,
    *,
    largest_budget: int,
    n_rarest: int | None = None,
    cv: int = 5,
) -> list[Round]:
    """Plan the rounds of successive halving.

    The last round has all rows. The first has at least 1,000 rows, four rows per support vector of
    the budget (with fewer the budget would hardly matter), and five rows of the rarest class per
    fold.

    Parameters
    ----------
    n_candidates, n_rows : int
        The numbers of candidates and of rows.

    largest_budget : int
        The largest budget among the candidates.

    n_rarest : int, default=None
        The number of rows of the rarest class; None for regression.

    cv : int, default=5
        The number of folds of the cross-validation.

    Returns
    -------
    rounds : list of Round
        The rounds; only one if there are too few rows to begin with a part of them.

    Examples
    --------
    >>> from pocketsvm.tuning import rounds
    >>> for n_candidates, n_rows in rounds(30, 100_000, largest_budget=500):
    ...     print(n_candidates, n_rows)
    30 3703
    10 11109
    4 33327
    2 99981
    """
    least = max(MIN_ROWS, MIN_ROWS_PER_VECTOR * largest_budget)
    if n_rarest is not None:
        least = max(least, -(-MIN_ROWS_OF_RAREST * cv * n_rows // n_rarest))
    growth = max(n_rows / least, 1.0)
    halvings = min(floor(log(n_candidates, FACTOR)), floor(log(growth, FACTOR)), MAX_HALVINGS)
    first = n_rows // FACTOR**halvings
    return [Round(-(-n_candidates // FACTOR**k), first * FACTOR**k) for k in range(halvings + 1)]
