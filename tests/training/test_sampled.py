"""Samples for the passes: rows, targets and weights that represent all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import checked_rows, ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded

from pocketsvm.rows.checked import Rows
from pocketsvm.rows.sampling import draw
from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.ranking import rank_targets
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training.passes import sampled
from pocketsvm.training.settings import Choices, Settings

N = 4000


def some_weights(decades, n=N):
    return 10 ** np.random.default_rng(0).uniform(0, decades, n)


def class_rows(y, X=None, weight=None, class_weight=None):
    X = np.random.default_rng(0).normal(size=(len(y), 3)) if X is None else X
    rows = ready_rows(X, 1.0)
    return rows, class_targets(rows.checked, y, weight, class_weight, "hinge")[1]


def value_rows(weight=None, n=N):
    X = np.random.default_rng(0).normal(size=(n, 3))
    rows = ready_rows(X, 1.0)
    return rows, value_targets(rows.checked, X[:, 0], weight, "epsilon_insensitive", (0.1,))[1]


def settings(**changes):
    defaults = {
        "budget": 20,
        "alpha": 1e-3,
        "n_passes": 1,
        "maintenance": "merge",
        "fit_intercept": True,
        "polish": True,
        "thorough": False,
        "n_threads": 1,
        "random_state": np.random.RandomState(0),
    }
    return Settings(**defaults | changes)


def sample(rows, targets, n_rows, *, least=0, **changes):
    """Return a sample with the seed 0."""
    return sampled(rows, targets, settings(**changes), n_rows, 0, least)


@pytest.mark.parametrize("n_rows", [N, N + 1])
def test_no_more_rows_than_wanted_are_returned_as_they_are(n_rows):
    rows, targets = value_rows()
    assert sample(rows, targets, n_rows) == (rows, targets)


def test_rows_targets_and_weights_belong_together():
    weight = some_weights(1)
    for rows, targets in (value_rows(weight), class_rows(np.arange(N) % 3, weight=weight)):
        few, some = sample(rows, targets, 500)
        assert few.n_rows == pytest.approx(500, abs=3)
        chosen, factors = draw(targets.groups(), targets.row_weight(), 500, 0, 0)
        assert_array_equal(few.dense(), rows.dense()[chosen])
        assert_allclose(some.row_weight(), targets.row_weight()[chosen] * factors)
        name = "codes" if hasattr(targets, "codes") else "values"
        assert_array_equal(getattr(some, name), getattr(targets, name)[chosen])
        assert some.offset == targets.offset


@pytest.mark.parametrize("n_rare", [4, 40])
def test_rare_classes_keep_their_least_rows(n_rare):
    y = (np.arange(N) < n_rare).astype(int)
    rows, targets = class_rows(y)
    _, some = sample(rows, targets, 400, least=20)
    assert np.count_nonzero(some.codes == 1) == min(n_rare, 20)
    weight = some.row_weight()
    share = weight[some.codes == 1].sum() / weight.sum()
    assert_allclose(share, n_rare / N)  # they count for what they are


def test_twenty_six_classes_of_very_unequal_size():
    sizes = np.geomspace(2, 20_000, 26).astype(int)
    y = np.repeat(np.arange(26), sizes)
    rows, targets = class_rows(y)
    _, some = sample(rows, targets, 2000, least=30)
    counts = np.bincount(some.codes, minlength=26)
    assert_array_equal(counts, np.minimum(sizes, np.maximum(2000 * sizes // sizes.sum(), 30)))
    weights = np.bincount(some.codes, some.row_weight())
    assert_allclose(weights / weights.sum(), sizes / sizes.sum())


def test_class_weights_count():
    y = np.arange(N) % 2
    rows, targets = class_rows(y, class_weight={0: 1.0, 1: 9.0})
    _, some = sample(rows, targets, 400)
    assert_array_equal(np.bincount(some.codes), [200, 200])
    weights = np.bincount(some.codes, some.row_weight())
    assert_allclose(weights[1] / weights[0], 9.0)


def test_sample_does_not_depend_on_dtype_or_layout():
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    y = np.random.default_rng(1).integers(0, 3, N)
    expected, some = sample(*class_rows(y, X), 300, least=5)
    for other in (X.astype(np.float64), sp.csr_array(X), np.asfortranarray(X)):
        rows, targets = sample(*class_rows(y, other), 300, least=5)
        assert_array_equal(rows.dense(), expected.dense())
        assert_array_equal(targets.codes, some.codes)
        assert_array_equal(targets.row_weight(), some.row_weight())


def test_sorted_labels_are_sampled_like_shuffled_ones():
    y = np.sort(np.random.default_rng(0).integers(0, 5, N))
    counts = []
    for labels in (y, np.random.default_rng(1).permutation(y)):
        rows, targets = class_rows(labels)
        few, some = sample(rows, targets, 500)
        counts.append(np.bincount(some.codes))
        # Rows come from everywhere.
        drawn = np.flatnonzero(np.isin(rows.dense()[:, 0], few.dense()[:, 0]))
        assert np.histogram(drawn, 8, (0, N))[0].min() > 30
    assert_array_equal(*counts)


def test_the_settings_tell_the_least_rows_of_a_class():
    y = (np.arange(N) < 400).astype(int)
    rows, targets = class_rows(y)
    choices = Choices(class_rows_per_vector=3)
    _, some = sample(rows, targets, 400, least=None, choices=choices)
    assert_array_equal(np.bincount(some.codes), [360, 60])
    rows, targets = class_rows(np.arange(N) // 10 % 5 // 4 + np.arange(N) % 2 * 2)
    _, some = sample(rows, targets, 40, least=None, choices=choices)
    assert np.bincount(some.codes).min() == 3 * 20 // targets.n_problems


def rank_rows(y, qid):
    """Return rows of queries, in the order of the targets."""
    checked, targets = rank_targets(checked_rows(np.arange(float(len(y)))[:, None]), y, qid, None)
    return Rows(checked, checked.core("float64"), 1.0), targets


def test_whole_queries_are_drawn():
    _, y, qid = graded(300, 20)
    rows, targets = rank_rows(y, qid)
    few, some = sample(rows, targets, 410)
    assert few.n_rows == 400
    drawn, sizes = np.unique(qid[few.dense()[:, 0].astype(int)], return_counts=True)
    assert_array_equal(sizes, 20)
    assert_array_equal(np.unique(some.queries.numbers), drawn)
    assert_array_equal(some.row_weight(), 1.0)
    other, _ = sampled(rows, targets, settings(), 410, 1)
    assert not np.array_equal(other.dense(), few.dense())
    assert sample(rows, targets, 6000) == (rows, targets)


def test_every_query_is_drawn_with_the_same_probability():
    rows, targets = rank_rows(np.arange(1000) % 5, np.arange(1000) // 5)
    counts = np.zeros(200)
    for seed in range(300):
        _, some = sampled(rows, targets, settings(), 100, seed)
        counts[np.unique(some.queries.numbers)] += 1
    assert counts.sum() == 300 * 20
    assert abs(counts - 30).max() < 5 * np.sqrt(30)


def test_a_query_that_is_too_large_is_drawn_alone():
    rows, targets = rank_rows(np.arange(90) % 7, np.arange(90) // 30)
    assert sample(rows, targets, 10)[0].n_rows == 30
