"""The smoothed losses in plain NumPy: values, slopes, second derivatives, and which rows are near.

The product has these formulas only in C++ (`native/losses/`). Decision values have the shape
(n_rows, n_outputs).
"""

import numpy as np
import scipy.sparse as sp
from ranking import all_pairs
from scipy.special import expit, log_expit, logsumexp, softmax

from pocketsvm.solving.class_losses import Hinge, LogLoss, Softmax, SquaredHinge
from pocketsvm.solving.pairs import PairwiseHinge
from pocketsvm.solving.value_losses import Huber, Tube


def ramp(u, width):
    """Return max(0, u), with its kink rounded off over `width` to either side."""
    return np.where(np.abs(u) <= width, (u + width) ** 2 / (4 * width), np.maximum(u, 0))


def ramp_derivatives(u, width):
    """Return the slope and the curvature of the rounded ramp."""
    slope = np.clip((u + width) / (2 * width), 0, 1)
    return slope, ((slope > 0) & (slope < 1)) / (2 * width)


class Margins:
    """A loss of the margins y f, where y is +1 in the rows of an output's class, and -1 in others.

    `of_margin` returns its value, slope and curvature in the margin.
    """

    def __init__(self, loss, of_margin, near_to):
        self.signs = np.where(loss.codes[:, None] == np.array(loss.positives), 1.0, -1.0)
        self.of_margin, self.near_to = of_margin, near_to

    def values(self, decisions):
        return self.of_margin(self.signs * decisions)[0]

    def derivatives(self, decisions):
        _, slopes, curvatures = self.of_margin(self.signs * decisions)
        return self.signs * slopes, curvatures

    def near(self, decisions, reach):
        return (self.signs * decisions < self.near_to(reach)).any(axis=1)


def _hinge(loss):
    def of_margin(margin):
        slope, curvature = ramp_derivatives(1 - margin, loss.width)
        return ramp(1 - margin, loss.width), -slope, curvature

    return Margins(loss, of_margin, lambda reach: 1 + reach * loss.width)


def _squared_hinge(loss):
    def of_margin(margin):
        excess = np.maximum(1 - margin, 0)
        return excess**2, -2 * excess, 2.0 * (excess > 0)

    return Margins(loss, of_margin, lambda reach: 1 + reach * loss.width)


def _log_loss(loss):
    def of_margin(margin):
        share = expit(-margin)
        return -log_expit(margin), -share, share * (1 - share)

    return Margins(loss, of_margin, lambda reach: reach * loss.width)


class CrossEntropy:
    """log sum_o exp(f_o) - f_y, one loss of all outputs."""

    def __init__(self, loss):
        self.own, self.width = np.eye(loss.n_outputs)[loss.codes], loss.width

    def values(self, decisions):
        return (logsumexp(decisions, axis=1) - (self.own * decisions).sum(axis=1))[:, None]

    def derivatives(self, decisions):
        """Return the slopes, and a diagonal bound on the second derivative."""
        shares = softmax(decisions, axis=1)
        return shares - self.own, 2 * shares * (1 - shares)

    def second(self, decisions):
        """Return the second derivative of each row, (n_rows, n_outputs, n_outputs)."""
        shares = softmax(decisions, axis=1)
        return shares[:, :, None] * (np.eye(shares.shape[1]) - shares[:, None, :])

    def near(self, decisions, reach):
        return self.values(decisions)[:, 0] > -log_expit(reach * self.width)


class InTube:
    """A ramp above a tube around the target and one below, with factors."""

    def __init__(self, loss):
        self.loss = loss

    def _excess(self, decisions):
        residuals = self.loss.targets - decisions
        return residuals - self.loss.epsilon, -residuals - self.loss.epsilon

    def values(self, decisions):
        above, below = (ramp(u, self.loss.widths) for u in self._excess(decisions))
        return self.loss.down * above + self.loss.up * below

    def derivatives(self, decisions):
        above, below = (ramp_derivatives(u, self.loss.widths) for u in self._excess(decisions))
        down, up = self.loss.down, self.loss.up
        return up * below[0] - down * above[0], up * below[1] + down * above[1]

    def near(self, decisions, reach):
        above, below = (u > -reach * self.loss.widths for u in self._excess(decisions))
        return ((above & (self.loss.down > 0)) | (below & (self.loss.up > 0))).any(axis=1)


class UpToALine:
    """Huber's loss (y - f)^2 / 2, and a line where |y - f| > epsilon."""

    def __init__(self, loss):
        self.targets, self.epsilon = loss.targets, loss.epsilon

    def values(self, decisions):
        size = np.abs(self.targets - decisions)
        inner = np.minimum(size, self.epsilon)
        return inner * (size - inner / 2)

    def derivatives(self, decisions):
        residuals = decisions - self.targets
        return np.clip(residuals, -self.epsilon, self.epsilon), 1.0 * (
            np.abs(residuals) <= self.epsilon
        )

    def near(self, decisions, reach):
        return np.ones(len(decisions), dtype=bool)


class Pairs:
    """A hinge over all pairs of rows of each query, listed one by one."""

    def __init__(self, loss):
        queries, self.width = loss.queries, loss.width
        self.first, self.second_rows, scales = [], [], []
        sizes = np.bincount(queries.numbers)
        for query, pairs in all_pairs(queries.levels, queries.numbers).items():
            for i, j in pairs:
                self.first.append(i)
                self.second_rows.append(j)
                scales.append(sizes[query] / len(pairs))
        self.scales, n_pairs = np.array(scales), len(scales)
        ones, rows = np.ones(n_pairs), np.arange(n_pairs)
        shape = n_pairs, len(queries.levels)
        # The difference of the decision values of the rows of each pair.
        self.differences = sp.csr_array((ones, (rows, self.first)), shape) - sp.csr_array(
            (ones, (rows, self.second_rows)), shape
        )

    def of_pairs(self, decisions, c):
        """Return the weighted values, slopes and curvatures of pairs; weights are of queries."""
        excess, weights = 1 - self.differences @ decisions[:, 0], self.scales * c[self.first]
        slope, curvature = ramp_derivatives(excess, self.width)
        return weights * ramp(excess, self.width), -weights * slope, weights * curvature

    def weighted(self, decisions, c):
        """Return the loss, the slopes of the rows, and the second derivative in them."""
        values, slopes, curvatures = self.of_pairs(decisions, c)
        matrix = self.differences
        return values.sum(), matrix.T @ slopes, matrix.T @ (curvatures[:, None] * matrix)


FORMULAS = {
    Hinge: _hinge,
    SquaredHinge: _squared_hinge,
    LogLoss: _log_loss,
    Softmax: CrossEntropy,
    Tube: InTube,
    Huber: UpToALine,
    PairwiseHinge: Pairs,
}


def formula(loss):
    """Return the formula of a loss of the solver."""
    return next(make(loss) for kind, make in FORMULAS.items() if isinstance(loss, kind))
