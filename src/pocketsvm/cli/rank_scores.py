"""How good a ranking is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import mean_ndcg, pairwise_accuracy
from .console import show

TOP = 10  # rows of a query that NDCG@10 looks at


class RankScores:
    """Relevance and predicted scores, by query."""

    def __init__(self) -> None:
        self.relevance: list[NDArray[Any]] = []
        self.predicted: list[NDArray[Any]] = []
        self.queries: list[NDArray[Any]] = []
        self.has_queries = True

    def add(
        self, relevance: NDArray[Any], predicted: NDArray[Any], queries: Sequence[Any] | None
    ) -> None:
        """Add rows; None means that all rows are of one query."""
        self.relevance.append(relevance)
        self.predicted.append(predicted)
        self.has_queries &= queries is not None
        self.queries.append(np.zeros(len(relevance)) if queries is None else np.asarray(queries))

    def as_json(self) -> dict[str, Any]:
        """Return all scores; NDCG is None if relevance is negative somewhere."""
        parts = self.relevance, self.predicted, self.queries
        relevance, predicted, queries = (np.concatenate(part) for part in parts)
        accuracy = pairwise_accuracy(relevance, predicted, queries)
        if np.isnan(accuracy):
            raise ValueError("no query has two rows of different relevance: nothing is to rank.")
        has_gain = relevance.min() >= 0
        return {
            "rows": len(relevance),
            "queries": len(np.unique(queries)),
            "ndcg": mean_ndcg(relevance, predicted, queries) if has_gain else None,
            "ndcg_10": mean_ndcg(relevance, predicted, queries, k=TOP) if has_gain else None,
            "pairwise_accuracy": accuracy,
        }

    def summary(self) -> str:
        """Return the scores in one line."""
        found = self.as_json()
        gains = "NDCG unknown, because some relevance is negative"
        if found["ndcg"] is not None:
            gains = f"NDCG {found['ndcg']:.4f}, NDCG@{TOP} {found['ndcg_10']:.4f}"
        return (
            f"{gains}, pairs in the right order {found['pairwise_accuracy']:.2%} "
            f"({found['rows']:,} rows, {found['queries']:,} "
            f"{'query' if found['queries'] == 1 else 'queries'})"
        )

    def show(self) -> None:
        """Print the scores."""
        show(self.summary())
