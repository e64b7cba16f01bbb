"""How good a ranking is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import mean_ndcg, pairwise_accuracy
from .kept import Scores

TOP = 10  # rows of a query that NDCG@10 looks at


class RankScores(Scores):
    """Relevance and predicted scores, by query."""

    has_queries = True

    def add(
        self, true: NDArray[Any], answers: NDArray[Any], weights: Any = None, queries: Any = None
    ) -> None:
        """Add rows by their relevance; without queries, all rows are of one."""
        self.has_queries &= queries is not None
        self.kept.append((true, answers, np.zeros(len(true)) if queries is None else queries))

    def as_json(self) -> dict[str, Any]:
        """Return all scores; NDCG is None if relevance is negative somewhere."""
        relevance, predicted, queries = self.columns()
        accuracy = pairwise_accuracy(relevance, predicted, queries)
        if np.isnan(accuracy):
            raise ValueError("No query has two rows of different relevance: nothing is to rank.")
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
