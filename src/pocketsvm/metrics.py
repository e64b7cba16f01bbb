"""Scores of rankings and of probabilities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import ndcg_score
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from .rows.queries import query_numbers

__all__ = ["expected_calibration_error", "mean_ndcg", "pairwise_accuracy"]


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
    y, scores = (
        check_array(column_or_1d(values), ensure_2d=False, dtype=np.float64)
        for values in (y, scores)
    )
    check_consistent_length(y, scores)
    numbers = query_numbers(qid, y)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))[:-1]
    parts = zip(np.split(y[order], ends), np.split(scores[order], ends), strict=True)
    return [(relevance, found) for relevance, found in parts if np.ptp(relevance) > 0]


def expected_calibration_error(
    y: Any,
    probabilities: Any,
    *,
    labels: Any = None,
    n_bins: int = 10,
    sample_weight: Any = None,
) -> float:
    """Return how far the probabilities of predicted classes are from how often they are right.

    Rows are put into bins by the probability of their predicted class. The error is the mean, over
    all rows, of the difference between the mean probability of a bin and its accuracy.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true labels.

    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities.

    labels : array-like of shape (n_classes,), default=None
        The labels of the columns. None means the sorted labels in y.

    n_bins : int, default=10
        Number of bins of the same width.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    error : float
        Between 0 and 1; 0 is best.

    Examples
    --------
    >>> from pocketsvm.metrics import expected_calibration_error
    >>> sure = [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]
    >>> round(expected_calibration_error([0, 0, 1, 1], sure), 3)
    0.1
    """
    found = check_array(probabilities, input_name="probabilities")
    if found.min() < 0 or found.max() > 1:
        raise ValueError("probabilities must be between 0 and 1.")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}.")
    y = np.asarray(y)
    check_consistent_length(y, found, sample_weight)
    names = np.unique(y) if labels is None else np.asarray(labels)
    if len(names) != found.shape[1]:
        raise ValueError(
            f"probabilities have {found.shape[1]} columns, but there are {len(names)} labels. Pass "
            "the labels of all columns as labels."
        )
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    confidence, right = found.max(axis=1), names[found.argmax(axis=1)] == y
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, weights * (confidence - right), minlength=n_bins)
    return float(np.abs(gaps).sum() / weights.sum())
