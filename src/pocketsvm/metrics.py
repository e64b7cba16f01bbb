"""Scores of rankings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import ndcg_score
from sklearn.utils import check_array, check_consistent_length

from .data.queries import query_numbers

__all__ = ["mean_ndcg", "pairwise_accuracy"]


def mean_ndcg(y: Any, scores: Any, qid: Any = None, *, k: int | None = None) -> float:
    """Return the mean NDCG of queries.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The relevance of each row, not negative.

    scores : array-like of shape (n_samples,)
        The predicted score of each row.

    qid : array-like of shape (n_samples,), default=None
        The query of each row. None means that all rows are of one query.

    k : int, default=None
        Only the k rows with the largest scores count. None means all.

    Returns
    -------
    ndcg : float
        The mean of `sklearn.metrics.ndcg_score` over the queries that have two rows of different
        relevance; NaN if there is none. Relevance is the gain.

    Examples
    --------
    >>> from pocketsvm.metrics import mean_ndcg
    >>> mean_ndcg([0, 1, 2, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5], qid=[1, 1, 1, 2, 2], k=1)
    0.5
    """
    found = []
    for relevance, predicted in _queries(y, scores, qid):
        if relevance.min() < 0:
            raise ValueError(
                f"NDCG needs a relevance that is not negative, got {relevance.min():g}."
            )
        found.append(ndcg_score(relevance[None], predicted[None], k=k))
    return float(np.mean(found)) if found else float("nan")


def pairwise_accuracy(y: Any, scores: Any, qid: Any = None) -> float:
    """Return the share of pairs that scores put in the right order, the mean over queries.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The relevance of each row.

    scores : array-like of shape (n_samples,)
        The predicted score of each row.

    qid : array-like of shape (n_samples,), default=None
        The query of each row. None means that all rows are of one query.

    Returns
    -------
    accuracy : float
        The mean share over the queries that have a pair, two rows of different relevance; NaN if
        there is none. Equal scores count half.

    Examples
    --------
    >>> from pocketsvm.metrics import pairwise_accuracy
    >>> pairwise_accuracy([0, 1, 2, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5], qid=[1, 1, 1, 2, 2])
    0.5
    """
    found = []
    for relevance, predicted in _queries(y, scores, qid):
        right, n_pairs = 0.0, 0
        for level in np.unique(relevance)[1:]:
            below = np.sort(predicted[relevance < level])
            above = predicted[relevance == level]
            right += np.searchsorted(below, above).sum() / 2
            right += np.searchsorted(below, above, side="right").sum() / 2
            n_pairs += len(below) * len(above)
        found.append(right / n_pairs)
    return float(np.mean(found)) if found else float("nan")


def _queries(y: Any, scores: Any, qid: Any) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return relevance and scores of each query that has a pair."""
    y, scores = (check_array(values, ensure_2d=False, dtype=np.float64) for values in (y, scores))
    check_consistent_length(y, scores)
    numbers = query_numbers(qid, y)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))[:-1]
    parts = zip(np.split(y[order], ends), np.split(scores[order], ends), strict=True)
    return [(relevance, found) for relevance, found in parts if np.ptp(relevance) > 0]
