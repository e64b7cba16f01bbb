"""Small tasks for the tests of the benchmarks."""

import numpy as np
from sklearn.datasets import make_moons

from benchmarks.datasets.tasks import R2, Task
from pocketsvm.paper.datasets.files import TrainTest


def a_task(values=False):
    """A small classification, or a small regression."""
    random = np.random.default_rng(0)
    if not values:
        X, y = make_moons(200, noise=0.2, random_state=0)
        return Task("moons", TrainTest(X[:120], y[:120], X[120:], y[120:]), 10.0, 2.0)
    X = random.uniform(-2, 2, (200, 2))
    y = np.sin(X[:, 0]) + 0.1 * random.standard_normal(200)
    return Task("waves", TrainTest(X[:120], y[:120], X[120:], y[120:]), 10.0, 2.0, 0.1, R2)
