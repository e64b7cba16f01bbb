"""Fits, predictions and callbacks in several threads at once give what they give alone."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from models import assert_same_model
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVR, _core

N_THREADS, N_ROUNDS = 4, 3
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


class Predicts:
    """A callback that uses the model of each pass."""

    def __init__(self):
        self.values = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.values.append(fitted_estimator.predict(X[:50]))

    def teardown(self, estimator, context):
        pass


def fitted(seed):
    """Return a model, what it predicts, and what its callback saw."""
    make = (BudgetedSVC, BudgetedSVR, BudgetedOneClassSVM)[seed % 3]
    callback = Predicts()
    model = make(15, gamma=0.5, max_iter=3, n_jobs=1 + seed % 2, random_state=seed)
    model.set_callbacks(callback).fit(X, Y)
    return model, model.predict(X), callback.values


def test_threads_do_not_disturb_each_other():
    seeds = [*range(6)] * N_ROUNDS
    alone = {seed: fitted(seed) for seed in set(seeds)}
    with ThreadPoolExecutor(N_THREADS) as pool:
        together = list(pool.map(fitted, seeds))
    for seed, (model, predicted, seen) in zip(seeds, together, strict=True):
        assert_same_model(model, alone[seed][0])
        assert_array_equal(predicted, alone[seed][1])
        assert_array_equal(seen, alone[seed][2])


def test_one_model_predicts_in_several_threads():
    model = BudgetedSVC(15, gamma=0.5, n_jobs=2, random_state=0).fit(X, Y)
    expected = model.decision_function(X)
    with ThreadPoolExecutor(N_THREADS) as pool:
        for values in pool.map(model.decision_function, [X] * 40):
            assert_array_equal(values, expected)


@pytest.mark.skipif(
    not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled(),
    reason="this Python has its global lock; CONTRIBUTING says how to run the tests without",
)
def test_the_module_leaves_the_global_lock_off():
    assert _core.instruction_set() in _core.instruction_sets()
    assert not sys._is_gil_enabled()
