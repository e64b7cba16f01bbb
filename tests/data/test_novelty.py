"""Novelty detection: the mean kernel value, and the quantile of scores."""

import numpy as np
import pytest
from models import ready_rows
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from pocketsvm.data.novelty import lower_quantile, mean_kernel


@pytest.mark.parametrize("n_rows", [200, 3000])
def test_mean_kernel_is_that_of_all_pairs(n_rows):
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(n_rows, 3)), random.uniform(1, 2, n_rows)
    found = mean_kernel(ready_rows(X, 0.3), weights, np.random.RandomState(0))
    shares = weights / weights.sum()
    expected = shares @ rbf_kernel(X, gamma=0.3) @ shares
    assert_allclose(found, expected, rtol=1e-9 if n_rows == 200 else 0.05)


def test_mean_kernel_of_rows_far_apart_is_that_of_each_with_itself():
    X = 1e3 * np.arange(3000.0)[:, None]
    found = mean_kernel(ready_rows(X, 1.0), np.ones(3000), np.random.RandomState(0))
    assert found == pytest.approx(1 / 3000)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_share_of_the_weight_is_below_the_quantile(share):
    random = np.random.default_rng(1)
    values, weights = random.normal(size=500), random.uniform(0.5, 2, 500)
    below = weights[values < lower_quantile(values, weights, share)].sum() / weights.sum()
    assert share - 2 * 2 / 500 < below <= share + 1e-9
    ones = np.ones(500)
    assert np.sum(values < lower_quantile(values, ones, share)) == pytest.approx(500 * share)


def test_quantile_of_few_rows():
    values, ones = np.array([3.0, 1.0, 2.0]), np.ones(3)
    assert lower_quantile(values, ones, 0.1) == 1.0
    assert lower_quantile(values, ones, 1 / 3) == 1.5
    assert lower_quantile(values, ones, 1.0) == 3.0
