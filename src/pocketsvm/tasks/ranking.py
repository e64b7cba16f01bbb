"""Ranking: relevance of rows, and the queries that they belong to."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..model.model import Model
from ..rows.checked import CheckedRows
from ..rows.chunk import Chunk, Needs
from ..rows.queries import Queries, levels_of, query_numbers
from ..rows.survey import AtHand
from ..rows.weights import Weights, weighted_rows
from ..solving.pairs import PairwiseHinge
from ..training.settings import Choices, Parameters
from ..training.targets import Pass, Targets, standardised
from .base import Task

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class RankTargets(Targets):
    """Relevance, in queries that have at least one pair each."""

    task: ClassVar[str] = "ranking"
    queries: Queries

    n_problems = 1

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.queries.levels)

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(self.n_rows, dtype=np.int8)

    def draw(
        self, n_rows: int, least: int, seed: int, n_threads: int
    ) -> tuple[NDArray[np.intp], Weights]:
        """Draw whole queries, of so many rows at most, or one that is larger."""
        sizes = np.diff(self.queries.begins)
        order = np.argsort(_core.random_numbers(seed, 0, len(sizes)))
        n_drawn = np.searchsorted(np.cumsum(sizes[order]), n_rows, side="right")
        is_drawn = np.zeros(len(sizes), dtype=bool)
        is_drawn[order[: max(n_drawn, 1)]] = True
        chosen = np.flatnonzero(np.repeat(is_drawn, sizes))
        return chosen, np.ones(len(chosen))

    def take(self, chosen: Array, factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, queries=self.queries.take(chosen), sample_weight=weights)

    def standardised(self) -> NDArray[np.float64]:
        """Return the ranks of relevance less their mean in each query, in units of their spread."""
        queries = self.queries
        sizes = np.diff(queries.begins)
        means = np.add.reduceat(queries.levels, queries.begins[:-1]) / sizes
        centred: Array = queries.levels - np.repeat(means, sizes)
        return standardised(centred[:, None], self.row_weight())

    def of(self, chunk: Chunk) -> Self:
        """Return the targets of a chunk of whole queries, sorted by relevance, with pairs."""
        assert chunk.qid is not None
        numbers = np.cumsum(np.append(False, chunk.qid[1:] != chunk.qid[:-1])).astype(np.int64)
        queries = Queries(numbers, levels_of(chunk.y, numbers))
        _check_constant(chunk.weight, queries)
        return replace(self, queries=queries, sample_weight=chunk.weight, weight_unit=1.0)

    def make_pass(self, one: Pass) -> None:
        """Make a pass over the rows, each with a random partner of its query."""
        (trainer,) = one.trainers
        weight = np.repeat(self.queries.scales, np.diff(self.queries.begins))
        weight = weight if self.sample_weight is None else weight * self.sample_weight
        _core.train_pass_on_pairs(trainer, one.rows, self.queries.places, weight, one.most_merges)

    def solver_loss(self, choices: Choices) -> PairwiseHinge:
        """Return the loss that the solver minimises."""
        return PairwiseHinge(self.queries, choices.hinge_width)


def rank_targets(
    rows: CheckedRows, y: Array, qid: Any, sample_weight: Any
) -> tuple[CheckedRows, RankTargets]:
    """Sort checked rows by query and relevance.

    Rows of zero weight, and queries without a pair, are dropped.
    """
    n_given, y = rows.n_rows, y.astype(np.float64, copy=False)
    numbers = query_numbers(qid, y)
    rows, kept, weights, unit = weighted_rows(rows, np.arange(n_given), sample_weight)
    y, numbers = y[kept], numbers[kept]
    order = np.lexsort((y, numbers))
    y, numbers = y[order], numbers[order]
    queries = Queries(numbers, levels_of(y, numbers))
    # A query of one relevance has no pair.
    has_pair = queries.whole(queries.n_partners > 0)
    if not has_pair.any():
        raise ValueError(
            f"There is nothing to rank in n_samples={n_given} rows: no query has two rows of "
            "different relevance y."
        )
    order, queries = order[has_pair], queries.take(has_pair)
    if not np.array_equal(order, np.arange(rows.n_rows)):
        rows = rows.take(order)
    weights = None if weights is None else weights[order]
    _check_constant(weights, queries)
    return rows, RankTargets(
        loss="pairwise_hinge",
        sample_weight=weights,
        weight_unit=unit,
        queries=queries,
    )


def _check_constant(weights: Weights | None, queries: Queries) -> None:
    if weights is None:
        return
    least = np.minimum.reduceat(weights, queries.begins[:-1])
    most = np.maximum.reduceat(weights, queries.begins[:-1])
    if (least != most).any():
        raise ValueError(
            "sample_weight must be the same for all rows of a query, because pairs of rows have "
            "weights, not rows. Give every row the weight of its query, or zero."
        )


@dataclass(frozen=True)
class Ranking(Task):
    """Rows have relevance, which counts within a query."""

    name: ClassVar[str] = "ranking"
    sees_queries: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(numbers=True, queries=True)

    def targets(
        self, found: AtHand, parameters: Parameters, start: Model | None
    ) -> tuple[CheckedRows, RankTargets]:
        """Return the rows at hand that have a weight and a pair, sorted by query and relevance."""
        weight = found.weight if found.survey is None else found.survey.weights
        return rank_targets(found.rows, found.y, found.qid, weight)
