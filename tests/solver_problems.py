"""Small problems for the solver; `exact_objective.py` has their objective in plain NumPy."""

from dataclasses import replace

import numpy as np
from loss_formulas import formula
from models import ready_rows

from pocketsvm.solving.class_losses import Hinge, Softmax
from pocketsvm.solving.row_loss import Loss
from pocketsvm.solving.sample import Sample
from pocketsvm.solving.value_losses import EpsilonInsensitive

GAMMA = 0.4
HINGE_WIDTH = 0.5
EPSILON, TUBE_WIDTH = 0.05, 0.1


def class_problem(n=300, n_classes=2, n_vectors=12, C=3.0, layout=None, dtype=np.float64, offset=0):
    """Return some vectors and rows of classes that overlap; rows have different weights."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).astype(dtype)
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.3 * random.normal(size=n)
    codes = (np.floor(angle / np.pi * n_classes) % n_classes).astype(np.int8)
    positives = (1,) if n_classes == 2 else tuple(range(n_classes))
    c = C * random.uniform(0.5, 2.0, n)
    return _problem(X + dtype(offset), n_vectors, c, Hinge(codes, positives, HINGE_WIDTH), layout)


def separable_problem(n=4000, n_vectors=40, C=100.0, layout=None, dtype=np.float64):
    """Return some vectors and rows of two classes with a gap between them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).astype(dtype)
    X[:, 1] += 0.05 * np.sign(X[:, 1])
    c = C * random.uniform(0.5, 2.0, n)
    codes = (X[:, 1] > 0).astype(np.int8)
    return _problem(X, n_vectors, c, Hinge(codes, (1,), HINGE_WIDTH), layout)


def value_problem(n=300, n_vectors=12, C=3.0, layout=None, dtype=np.float64, epsilon=EPSILON):
    """Return some vectors and rows of a smooth function with noise; rows have different weights."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).astype(dtype)
    targets = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * random.normal(size=n)
    c = C * random.uniform(0.5, 2.0, n)
    return _problem(
        X, n_vectors, c, EpsilonInsensitive.of(targets[:, None], [epsilon], [TUBE_WIDTH]), layout
    )


def _problem(X, n_vectors, c, loss, layout):
    rows = ready_rows(X if layout is None else layout(X), GAMMA)
    return X[:n_vectors].copy(), Sample(rows, c, loss)


PROBLEMS = {
    "two classes": class_problem,
    "four classes": lambda **changes: class_problem(n_classes=4, **changes),
    "values": value_problem,
    "values without a tube": lambda **changes: value_problem(epsilon=0.0, **changes),
}


def coupled_problem(n=300, n_classes=3, **changes):
    """Return some vectors and rows with a loss that couples the outputs."""
    vectors, sample = class_problem(n, n_classes, **changes)
    return vectors, replace(sample, loss=Softmax(sample.loss.codes, tuple(range(n_classes)), 1.5))


class InNumpy(Loss):
    """A loss that the core does not know: the formula of another one in plain NumPy."""

    name = "in numpy"

    def __init__(self, loss):
        self.loss, self.coupled, self.formula = loss, loss.coupled, formula(loss)

    n_outputs = property(lambda self: self.loss.n_outputs)
    largest_curvature = property(lambda self: self.loss.largest_curvature)

    def take(self, chosen):
        return InNumpy(self.loss.take(chosen))

    def derivatives(self, decisions, c, n_threads):
        slopes, curvatures = self.formula.derivatives(decisions)
        return c @ self.formula.values(decisions), c[:, None] * slopes, c[:, None] * curvatures

    def near(self, decisions, reach, n_threads):
        return self.formula.near(decisions, reach)

    def along(self, decisions, change, length, c, n_threads):
        slopes, curvatures = self.formula.derivatives(decisions + length * change)
        return c @ (slopes * change), c @ (curvatures * change**2)


def in_numpy(sample):
    """Return the sample with a loss that the core does not know."""
    return replace(sample, loss=InNumpy(sample.loss))
