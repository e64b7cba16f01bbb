"""Noisy rows and trainers of the core, for tests of training."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import MERGING

from pocketsvm import _core
from pocketsvm.training.settings import Choices

STRATEGIES = pytest.mark.parametrize("maintenance", _core.strategies())


MERGING_STRATEGIES = pytest.mark.parametrize(
    "maintenance", [name for name in _core.strategies() if name in MERGING]
)


DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


LAYOUTS = pytest.mark.parametrize("layout", ["dense", "csr"])


def noisy_data(n=500, d=5, dtype="float64", seed=0):
    """Return continuous features, a third of them zero, random labels and distinct weights."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 1 / 3, 0, rng.normal(size=(n, d))).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=n) > 0, 1, -1)
    return X, y, rng.uniform(0.5, 2, n)


def noisy_targets(**options):
    """Return the same rows and weights with real-valued targets."""
    X, _, weight = noisy_data(**options)
    noise = np.random.default_rng(1).normal(size=len(X))
    return X, np.sin(2 * X[:, 0].astype(float)) + X[:, 1] + 0.3 * noise, weight


def tied_data(n=700, dtype="float64", seed=0):
    """Return binary features with only 60 distinct rows, so rows and coefficients often tie."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 12))[rng.integers(0, 60, n)].astype(dtype)
    y = np.where(X[:, :4].sum(axis=1) + rng.normal(size=n) > 2, 1, -1)
    return X, y


def settings(X, **changes):
    defaults = {
        "n_features": X.shape[1],
        "budget": 20,
        "gamma": 0.2,
        "alpha": 1 / (10 * len(X)),
        "maintenance": "merge",
        "fit_intercept": True,
    }
    return defaults | changes


def make_trainer(X, seed=0, **changes):
    random_steps = Choices.random_steps  # as the reference
    return _core.Trainer(
        **settings(X, **changes), seed=seed, dtype=str(X.dtype), random_steps=random_steps
    )


def run_pass(trainers, rows, y, sample_weight=None, class_weight=(1.0, 1.0), n_threads=1):
    """Make one pass of one or more trainers with labels -1 and 1."""
    trainers = trainers if isinstance(trainers, list) else [trainers]
    codes = (np.asarray(y) > 0).astype(np.int32)
    positives = [1] * len(trainers)
    class_weight = np.asarray(class_weight, dtype=float)
    labels = (codes, positives, class_weight)
    _core.train_pass(trainers, rows, "hinge", *labels, sample_weight, n_threads)


def run_pass_on_targets(trainer, rows, y, epsilon, sample_weight=None):
    """One pass over target values."""
    loss = ("epsilon_insensitive", epsilon)
    _core.train_pass_on_targets(trainer, rows, *loss, y, sample_weight)


def trained(X, y, core_rows, *, layout="dense", passes=1, sample_weight=None, seed=0, **changes):
    trainer = make_trainer(X, seed, **changes)
    trainer.observe()
    for _ in range(passes):
        run_pass(trainer, core_rows(X, layout), y, sample_weight)
    return trainer


def assert_same_bits(one, other):
    one, other = one.state(), other.state()
    assert one.keys() == other.keys()
    for key in one:
        assert_array_equal(one[key], other[key], err_msg=key, strict=True)
