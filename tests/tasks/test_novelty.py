"""Novelty detection: the mean kernel value, and the targets of rows."""

import numpy as np
import pytest
from models import checked_rows, ready_rows
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from pocketsvm import BudgetedOneClassSVM
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.survey import AtHand
from pocketsvm.tasks.novelty import Novelty, mean_kernel


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


def targets_of(X, weight=None):
    """Return the targets of some rows, as a task makes them."""
    at_hand = AtHand(checked_rows(X), np.zeros(len(X)), weight)
    return Novelty(nu=0.3).targets(at_hand, BudgetedOneClassSVM()._parameters(), None)


def test_rows_of_zero_weight_are_dropped():
    X, weight = np.random.default_rng(0).normal(size=(6, 2)), np.array([1.0, 0, 2, 3, 0, 1])
    rows, targets = targets_of(X, weight)
    assert_allclose(rows.X, X[weight > 0])
    assert (targets.n_rows, targets.n_problems, targets.offset) == (4, 1, 0.0)
    assert_allclose(targets.row_weight(), weight[weight > 0])


def test_targets_of_a_chunk_are_those_of_its_rows():
    weight = np.random.default_rng(0).uniform(0.5, 9.0, 40)
    _, targets = targets_of(np.ones((40, 2)), weight)
    nothing = targets.take(np.arange(0), np.empty(0))
    some = slice(7, 20)
    found = nothing.of(Chunk(np.ones((13, 2)), np.zeros(13), weight[some], "rows"))
    assert_allclose(found.row_weight(), weight[some])
    # The tilt of all chunks together is that of all rows.
    assert_allclose(found.tilt(weight[some].sum()), 0.3 * weight[some].sum())
