"""The objective of `problem.py` in float64 NumPy, and its minimum: the judge of convergence.

It shares nothing with the solver but the names and parameters of the losses: kernel values are
those of scikit-learn, losses those of `loss_formulas.py`, and Hessians are exact.
"""

import numpy as np
from loss_formulas import formula
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq, minimize
from sklearn.metrics.pairwise import rbf_kernel

from pocketsvm.backends.hessian import Penalty

# Rows whose kernel values are weighted at once.
ROWS_AT_ONCE = 8192
# The ridges of nearly singular Hessians, relative to the diagonal.
LEAST_RIDGE, NEXT_RIDGE, MOST_RIDGE = 1e-13, 100.0, 1.0
# The best intercept is at most this far away.
INTERCEPT_REACH = 10.0


class Objective:
    """The objective of fixed vectors, of points (n_outputs, n_vectors + 1).

    Parameters
    ----------
    vectors : ndarray
        The vectors.

    sample : Sample
        All rows.

    fit_intercept : bool, default=True
        Whether there is an intercept.

    jitter : float, default=None
        What the penalty adds to the diagonal; by default what the product adds for these vectors.
    """

    def __init__(self, vectors, sample, fit_intercept=True, jitter=None):
        S, X, gamma = vectors.astype(float), sample.rows.dense().astype(float), sample.rows.gamma
        centre = S.mean(axis=0)
        jitter = Penalty(vectors, gamma, 1).jitter if jitter is None else jitter
        self.K = rbf_kernel(S - centre, gamma=gamma) + jitter * np.eye(len(S))
        self.k = rbf_kernel(X - centre, S - centre, gamma=gamma)
        self.c, self.tilt, self.fit_intercept = sample.c, sample.tilt, fit_intercept
        self.loss, self.kind = formula(sample.loss), sample.loss
        self.shape = sample.loss.n_outputs, len(S) + 1

    def decisions(self, point):
        """Return the decision values of all rows."""
        return self.k @ point[:, :-1].T + point[:, -1]

    def _sums(self, decisions):
        """Return the sum of the losses of all rows, and the slopes."""
        if self.kind.has_pairs:
            value, slopes, _ = self.loss.weighted(decisions, self.c)
            return value, slopes[:, None]
        values = float((self.c @ self.loss.values(decisions)).sum())
        return values, self.c[:, None] * self.loss.derivatives(decisions)[0]

    def __call__(self, point):
        """Return the objective and its gradient at a point, which may be flat."""
        point = point.reshape(self.shape)
        beta, (value, slopes) = point[:, :-1], self._sums(self.decisions(point))
        gradient = np.zeros(self.shape)
        gradient[:, :-1] = beta @ self.K + slopes.T @ self.k
        if self.fit_intercept:
            gradient[:, -1] = slopes.sum(axis=0) + self.tilt
        penalty = 0.5 * np.sum(beta * (beta @ self.K)) + self.tilt * point[:, -1].sum()
        return penalty + value, gradient

    def _rows_product(self, left, right, weights):
        """Return the sum of products of kernel rows, bordered by ones, over rows with a weight."""
        n = self.k.shape[1] + 1
        total = np.zeros((n, n))
        used = np.flatnonzero(weights)
        for begin in range(0, len(used), ROWS_AT_ONCE):
            rows = used[begin : begin + ROWS_AT_ONCE]
            one = np.ones((len(rows), 1))
            total += np.hstack([left[rows], one]).T @ (
                weights[rows, None] * np.hstack([right[rows], one])
            )
        return total

    def hessians(self, point):
        """Return groups of outputs that the loss couples, and the second derivative of each."""
        decisions, n_outputs, n = self.decisions(point), *self.shape
        if self.kind.has_pairs:
            second = self.loss.weighted(decisions, self.c)[2]
            bordered = np.zeros((n, n))
            bordered[:-1, :-1] = self.k.T @ (second @ self.k)
            return [([0], bordered + self._penalty())]
        if self.kind.coupled:
            second = self.c[:, None, None] * self.loss.second(decisions)
            matrix = np.zeros((n_outputs, n, n_outputs, n))
            for o in range(n_outputs):
                for p in range(n_outputs):
                    matrix[o, :, p, :] = self._rows_product(self.k, self.k, second[:, o, p])
                matrix[o, :, o, :] += self._penalty()
            return [(list(range(n_outputs)), matrix.reshape(n_outputs * n, n_outputs * n))]
        curvatures = self.c[:, None] * self.loss.derivatives(decisions)[1]
        return [
            ([o], self._rows_product(self.k, self.k, curvatures[:, o]) + self._penalty())
            for o in range(n_outputs)
        ]

    def _penalty(self):
        n = len(self.K)
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = self.K
        return matrix

    def newton_step(self, point, gradient, ridge=LEAST_RIDGE):
        """Return Newton's direction, with a ridge relative to the diagonal.

        The intercept may have no curvature, and those of softmax have a direction without one.
        """
        step = np.zeros(self.shape)
        for outputs, matrix in self.hessians(point):
            free = np.ones((len(outputs), self.shape[1]), dtype=bool)
            free[:, -1] = self.fit_intercept
            free = free.ravel()
            matrix, right = matrix[np.ix_(free, free)], -gradient[outputs].ravel()[free]
            matrix[np.diag_indices_from(matrix)] += ridge * np.trace(matrix) / len(matrix)
            solution = cho_solve(cho_factor(matrix), right)
            step[outputs] = np.reshape(_spread(solution, free), (len(outputs), -1))
        return step

    def minimum(self, point, n_steps=300, tolerance=1e-6):
        """Return the point that Newton's method reaches, and a bound on what is left to gain.

        The penalty is strongly convex in the coefficients: were the gradient in the intercepts
        zero, the minimum would be at most 1/2 g' (K + jitter I)^-1 g lower.
        """
        (value, gradient), ridge = self(point), LEAST_RIDGE
        for _ in range(n_steps):
            if self.bound(gradient) <= tolerance * value or ridge > MOST_RIDGE:
                break
            try:
                step = self.newton_step(point, gradient, ridge)
            except LinAlgError:
                ridge *= NEXT_RIDGE
                continue
            length = self._length(point, step)
            new_value, new_gradient = self(point + length * step)
            if new_value < value * (1 - 1e-12):
                point, value, gradient = point + length * step, new_value, new_gradient
                ridge = max(ridge / NEXT_RIDGE, LEAST_RIDGE)
            else:  # a Hessian that is nearly singular
                ridge *= NEXT_RIDGE
        return point, self.bound(gradient)

    def bound(self, gradient):
        """Return how much lower the minimum may be, from the gradient at a point."""
        beta = gradient[:, :-1]
        of_intercepts = INTERCEPT_REACH * float(np.abs(gradient[:, -1]).sum())
        return 0.5 * float(np.sum(beta * np.linalg.solve(self.K, beta.T).T)) + of_intercepts

    def _length(self, point, step):
        """Return the length at which the objective is smallest along a step."""
        start, change = self.decisions(point), self.decisions(step)
        penalty = point[:, :-1] @ self.K
        fixed = np.sum(penalty * step[:, :-1]) + self.tilt * step[:, -1].sum()
        quadratic = np.sum((step[:, :-1] @ self.K) * step[:, :-1])

        def slope(length):
            _, slopes = self._sums(start + length * change)
            return float(np.sum(slopes * change) + fixed + length * quadratic)

        longest = 1.0
        while slope(longest) < 0 and longest < 1e9:
            longest *= 2
        return brentq(slope, 0.0, longest, xtol=1e-14, rtol=1e-12) if slope(longest) > 0 else 1.0

    def best_from(self, point, n_steps=600):
        """Return the objective that SciPy's general solver reaches from a point."""

        def flat(x):
            value, gradient = self(x)
            return value, gradient.ravel()

        options = {"maxiter": n_steps, "maxfun": 2 * n_steps, "ftol": 1e-13}
        return minimize(flat, point.ravel(), jac=True, method="L-BFGS-B", options=options).fun


def _spread(values, where):
    """Return values at the places that are true, and zeros elsewhere."""
    full = np.zeros(len(where))
    full[where] = values
    return full
