"""Small problems for the solver, and their objective in plain NumPy."""

from dataclasses import replace

import numpy as np
from models import ready_rows
from pocketsvm.solving.factor import JITTER
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.metrics.pairwise import rbf_kernel

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


def rounded_ramp(u, width):
    """Return max(0, u) with its kink rounded off, and its slope."""
    inside = np.abs(u) <= width
    value = np.where(inside, (u + width) ** 2 / (4 * width), np.maximum(u, 0))
    return value, np.where(inside, (u + width) / (2 * width), u > 0)


def plain_loss(loss):
    """Return the formula of a loss: decision values to values and slopes."""
    if isinstance(loss, Softmax):
        own = np.eye(loss.n_outputs)[loss.codes]

        def cross_entropy(decisions):
            values = logsumexp(decisions, axis=1) - (own * decisions).sum(axis=1)
            return values[:, None], softmax(decisions, axis=1) - own

        return cross_entropy
    if isinstance(loss, Hinge):
        signs = np.where(loss.codes[:, None] == np.array(loss.positives), 1.0, -1.0)

        def hinge(decisions):
            value, slope = rounded_ramp(1 - signs * decisions, loss.width)
            return value, -signs * slope

        return hinge

    def tube(decisions):
        residuals = loss.targets - decisions
        above, rise = rounded_ramp(residuals - loss.epsilon, loss.widths)
        below, fall = rounded_ramp(-residuals - loss.epsilon, loss.widths)
        return above + below, fall - rise

    return tube


class Objective:
    """The objective of the docstring of `problem.py`, in float64, with scikit-learn's kernel."""

    def __init__(self, vectors, sample, fit_intercept=True, loss=None):
        S, X, gamma = vectors.astype(float), sample.rows.dense().astype(float), sample.rows.gamma
        centre = S.mean(axis=0)
        self.K = rbf_kernel(S - centre, gamma=gamma) + JITTER * np.eye(len(S))
        self.k = rbf_kernel(X - centre, S - centre, gamma=gamma)
        self.c, self.fit_intercept = sample.c[:, None], fit_intercept
        self.loss = plain_loss(sample.loss) if loss is None else loss
        self.shape = sample.loss.n_outputs, len(S) + 1

    def __call__(self, point):
        """Return the objective and its gradient at a point, which may be flat."""
        point = point.reshape(self.shape)
        beta = point[:, :-1]
        value, slope = self.loss(self.k @ beta.T + point[:, -1])
        gradient = np.zeros(self.shape)
        gradient[:, :-1] = beta @ self.K + (self.c * slope).T @ self.k
        if self.fit_intercept:
            gradient[:, -1] = (self.c * slope).sum(axis=0)
        penalty = 0.5 * np.sum(beta * (beta @ self.K))
        return penalty + (self.c * value).sum(), gradient

    def best_from(self, point, n_steps=600):
        """Return the objective that SciPy's general solver reaches from a point."""

        def flat(x):
            value, gradient = self(x)
            return value, gradient.ravel()

        options = {"maxiter": n_steps, "maxfun": 2 * n_steps, "ftol": 1e-13}
        return minimize(flat, point.ravel(), jac=True, method="L-BFGS-B", options=options).fun


def coupled_problem(n=300, n_classes=3, **changes):
    """Return some vectors and rows with a loss that couples the outputs."""
    vectors, sample = class_problem(n, n_classes, **changes)
    return vectors, replace(sample, loss=Softmax(sample.loss.codes, tuple(range(n_classes)), 1.5))


class InNumpy(Loss):
    """A loss that the core does not know: the sums of another one in plain NumPy."""

    name = "in numpy"

    def __init__(self, loss):
        self.loss, self.coupled = loss, loss.coupled

    n_outputs = property(lambda self: self.loss.n_outputs)
    largest_curvature = property(lambda self: self.loss.largest_curvature)

    def take(self, chosen):
        return InNumpy(self.loss.take(chosen))

    def values(self, decisions):
        return self.loss.values(decisions)

    def derivatives(self, decisions):
        return self.loss.derivatives(decisions)

    def near(self, decisions, reach):
        return self.loss.near(decisions, reach)

    def slopes(self, decisions, c, n_threads):
        return c @ self.values(decisions), c[:, None] * self.derivatives(decisions)[0]

    def curvatures(self, decisions, c, n_threads):
        return c * self.derivatives(decisions)[1].mean(axis=1)

    def along(self, decisions, change, length, c, n_threads):
        slopes, bends = self.derivatives(decisions + length * change)
        return c @ (slopes * change), c @ (bends * change**2)


def in_numpy(sample):
    """Return the sample with a loss that the core does not know."""
    return replace(sample, loss=InNumpy(sample.loss))
