"""Scores of rankings, and bad input to scores of probabilities."""

import numpy as np
import pytest
from ranking import all_pairs, graded
from sklearn.metrics import ndcg_score

from pocketsvm.metrics import expected_calibration_error, mean_ndcg, pairwise_accuracy


def test_ndcg_is_the_mean_of_queries_in_any_order():
    _, y, qid = graded()
    scores = np.random.default_rng(0).normal(size=len(y))
    each = [ndcg_score([y[qid == q]], [scores[qid == q]], k=5) for q in np.unique(qid)]
    assert mean_ndcg(y, scores, qid, k=5) == pytest.approx(np.mean(each))
    order = np.random.default_rng(1).permutation(len(y))
    assert mean_ndcg(y[order], scores[order], qid[order], k=5) == pytest.approx(np.mean(each))
    assert mean_ndcg(y, y, qid) == pytest.approx(1.0)


def test_pairwise_accuracy_is_the_share_of_pairs():
    _, y, qid = graded()
    scores = np.random.default_rng(0).integers(0, 5, len(y))
    each = [
        np.mean([(np.sign(scores[i] - scores[j]) + 1) / 2 for i, j in pairs])
        for pairs in all_pairs(y, qid).values()
    ]
    assert pairwise_accuracy(y, scores, qid) == pytest.approx(np.mean(each))


def test_queries_without_a_pair_do_not_count():
    assert mean_ndcg([1, 0, 3], [2, 1, 0], [1, 1, 2]) == 1.0
    assert np.isnan(mean_ndcg([1, 1], [2, 1]))
    assert np.isnan(pairwise_accuracy([1, 2], [2, 1], [1, 2]))


def test_negative_relevance_has_no_ndcg():
    with pytest.raises(ValueError, match="not negative, got -1"):
        mean_ndcg([-1, 0], [1, 2])


def test_bad_input():
    with pytest.raises(ValueError, match="1d"):
        mean_ndcg(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="n_bins must be at least 1, got 0"):
        expected_calibration_error([0, 1], [[0.5, 0.5], [0.5, 0.5]], n_bins=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_calibration_error([0, 1], [[3.0, -2.0], [0.5, 0.5]])
