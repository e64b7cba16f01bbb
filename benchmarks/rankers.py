"""Other rankers, to compare with: a linear one, and the exact kernel machine of all pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from .datasets.rankings import Queries

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows; the first ones are more relevant


class LinearRanker:
    """A linear SVM on the differences of pairs, as RankSVM.

    Each row has as many random partners as `partners` says, because all pairs are too many.
    """

    def __init__(self, partners: int, seed: int) -> None:
        self.partners, self.seed = partners, seed

    def fit(self, queries: Queries) -> "LinearRanker":
        """Fit the weights of the features."""
        better, worse = self._pairs(queries)
        differences = queries.X[better] - queries.X[worse]
        signs = np.where(np.arange(len(better)) % 2, -1, 1)  # LinearSVC needs both classes
        svm = LinearSVC(fit_intercept=False, dual=False)
        self.weights_ = svm.fit(signs[:, None] * differences, signs).coef_[0]
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of rows."""
        return np.asarray(X @ self.weights_)

    def _pairs(self, queries: Queries) -> Pairs:
        random = np.random.default_rng(self.seed)
        order = np.argsort(queries.qid, kind="stable")
        _, begin, size = np.unique(queries.qid[order], return_index=True, return_counts=True)
        first = np.tile(order, self.partners)
        begins, sizes = (np.tile(np.repeat(of, size), self.partners) for of in (begin, size))
        second = order[begins + (random.random(len(first)) * sizes).astype(np.intp)]
        first, second = (np.concatenate(pair) for pair in ((first, second), (second, first)))
        is_better = queries.y[first] > queries.y[second]
        return first[is_better], second[is_better]


class ExactRanker:
    """The problem of `BudgetedRanker` without a budget, solved by SVC on all pairs.

    Memory grows with the square of the number of pairs: for some hundred rows only.
    """

    def __init__(self, C: float, gamma: float) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, queries: Queries) -> "ExactRanker":
        """Fit the coefficients of all rows."""
        better, worse, weights = _all_pairs(queries)
        kernel = rbf_kernel(queries.X, gamma=self.gamma)
        rows = kernel[better] - kernel[worse]
        differences = rows[:, better] - rows[:, worse]
        # SVC needs both classes and has an intercept. With each pair in both orders, the intercept
        # is zero.
        signed = np.block([[differences, -differences], [-differences, differences]])
        svm = SVC(C=self.C / 2, kernel="precomputed", tol=1e-6)
        svm.fit(signed, np.repeat([1, -1], len(better)), sample_weight=np.tile(weights, 2))
        coefficients = np.zeros(2 * len(better))
        coefficients[svm.support_] = svm.dual_coef_[0]
        of_pairs = coefficients[: len(better)] - coefficients[len(better) :]
        n_rows = len(queries.y)
        self.rows_ = queries.X
        self.coef_ = np.bincount(better, of_pairs, n_rows) - np.bincount(worse, of_pairs, n_rows)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of rows."""
        return np.asarray(rbf_kernel(X, self.rows_, gamma=self.gamma) @ self.coef_)


def _all_pairs(queries: Queries) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return all pairs, and their weights: those of a query sum up to its number of rows."""
    same = queries.qid[:, None] == queries.qid
    better, worse = np.nonzero(same & (queries.y[:, None] > queries.y))
    _, query, size = np.unique(queries.qid, return_inverse=True, return_counts=True)
    n_pairs = np.bincount(query[better], minlength=len(size))
    return better, worse, size[query[better]] / n_pairs[query[better]]
