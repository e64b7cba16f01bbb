"""Small data sets of queries, and pairs by brute force."""

import numpy as np


def graded(n_queries=30, n_rows=12, seed=0, n_features=4):
    """Return rows, relevance from 0 to 3 that is not linear in the features, and queries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_queries * n_rows, n_features))
    qid = np.repeat(np.arange(n_queries), n_rows)
    score = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * random.normal(size=len(X))
    return X, np.digitize(score, [0.3, 1.0, 2.0]), qid


def all_pairs(y, qid):
    """Return the pairs of rows of each query, the more relevant row first."""
    return {
        q: [(i, j) for i in rows for j in rows if y[i] > y[j]]
        for q in np.unique(qid)
        for rows in [np.flatnonzero(qid == q)]
    }
