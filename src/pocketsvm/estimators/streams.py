"""Streams: `partial_fit` keeps some rows, on which a model can be polished.

The reservoir is a random sample of bounded size. Row i, counted from the start of the stream, has
the weight w_i = 2^(i / half_life), or one, and the priority e_i / w_i, where e_i is exponentially
distributed and depends on i and a seed alone. The rows with the smallest priorities are kept. If t
is the smallest priority of a row that was dropped, a row was kept with the probability
1 - exp(-w_i t), by which its weight is divided. Priorities are kept as logarithms, because w_i
grows without bound.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.batch import RowBatch
from ..data.drawing import join_batches
from ..data.errors import DataError
from ..data.rows import CheckedRows, checked_rows
from ..data.sampling import AnyTargets, random_numbers, smallest
from ..solving.solve import solve


@dataclass(frozen=True, eq=False)
class StreamReservoir:
    """Some rows of a stream.

    Attributes
    ----------
    seed : int
        Draws the rows, together with their positions.

    n_seen : int
        The number of rows so far.

    rows : RowBatch or None
        The kept rows, in their order.

    positions, priorities : ndarray of shape (n_rows,)
        Their positions in the stream, and the logarithms of their priorities.

    dropped : float
        The smallest logarithm of a dropped priority.
    """

    seed: int
    n_seen: int = 0
    rows: RowBatch | None = None
    positions: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    priorities: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    dropped: float = math.inf

    def added(self, batch: RowBatch, size: int, half_life: float) -> "StreamReservoir":
        """Return the reservoir after another batch."""
        batch = batch.counted()
        if not batch.n_rows:
            return self
        numbers = 1.0 - random_numbers(self.seed, self.n_seen, batch.n_rows)  # in (0, 1]
        positions = np.arange(self.n_seen, self.n_seen + batch.n_rows)
        with np.errstate(divide="ignore"):
            new = np.log(-np.log(numbers)) - positions * (math.log(2) / half_life)
        rows = batch if self.rows is None else join_batches([self.rows, batch])
        positions = np.concatenate([self.positions, positions])
        priorities = np.concatenate([self.priorities, new])
        n_seen, dropped = self.n_seen + batch.n_rows, self.dropped
        if len(priorities) > size:
            order = smallest(priorities, size)
            dropped = min(dropped, float(priorities[order[size]]))
            kept = np.sort(order[:size])
            rows, positions, priorities = rows.take(kept), positions[kept], priorities[kept]
        return replace(
            self,
            n_seen=n_seen,
            rows=rows,
            positions=positions,
            priorities=priorities,
            dropped=dropped,
        )

    def factors(self, half_life: float) -> NDArray[np.float64]:
        """Return what the weights of the kept rows are multiplied by, with a mean of one."""
        rate = math.log(2) / half_life
        weights = np.exp((self.positions - self.n_seen) * rate)
        if self.dropped < math.inf:
            # The exponent is bounded: a row whose weight is much larger is kept for sure.
            chance = -np.expm1(-np.exp(np.minimum(self.positions * rate + self.dropped, 50.0)))
            weights = weights / np.maximum(chance, np.finfo(float).tiny)
        factors: NDArray[np.float64] = weights / weights.mean()
        return factors


def keep_rows(
    estimator: Any, before: StreamReservoir | None, X: Any, y: Any, sample_weight: Any
) -> None:
    """Add the rows of a call of `partial_fit` to the reservoir, if there is one."""
    if estimator.reservoir is None:
        estimator.__dict__.pop("_reservoir", None)
        return
    if before is None:
        random = check_random_state(estimator.random_state)
        before = StreamReservoir(int(random.randint(2**63, dtype=np.uint64)))
    weight = None
    if sample_weight is not None:  # one number is the weight of all rows
        weight = np.full(X.shape[0], sample_weight, dtype=np.float64)
    batch = RowBatch(X, np.asarray(y), weight, "the stream")
    half_life = estimator._half_life(stream=True)
    estimator._reservoir = before.added(batch, int(estimator.reservoir), half_life)


def reservoir_rows(estimator: Any) -> tuple[CheckedRows, Any, NDArray[np.float64]]:
    """Return the rows of the reservoir, their targets and their weights."""
    found: StreamReservoir | None = getattr(estimator, "_reservoir", None)
    if found is None or found.rows is None:
        raise DataError(
            "there are no rows to polish on: set reservoir, the number of rows to keep, and call "
            "partial_fit. A model file does not keep the rows."
        )
    weight = found.factors(estimator._half_life(stream=True)) * found.rows.weights
    return checked_rows(found.rows.X), found.rows.y, weight


def check_unchanged(name: str, wanted: Any, fitted: Any) -> None:
    """Refuse to continue a model with another value of a parameter that its coefficients fit."""
    if wanted != fitted:
        raise ValueError(
            f"{name}={wanted!r} differs from {name}={fitted!r} of the model to be continued. Its "
            f"coefficients were found with that value: keep {name}, or fit with warm_start=False."
        )


class PolishedStreams:
    """Estimators that can be polished on the rows that `partial_fit` has kept."""

    loss: str
    reservoir: int | None
    _loss: str
    _reservoir: StreamReservoir

    def _check_continued(self) -> None:
        """Refuse to continue a stream with another loss."""
        check_unchanged("loss", self.loss, self._loss)

    @abstractmethod
    def _stream_targets(
        self, rows: CheckedRows, y: Any, sample_weight: Any
    ) -> tuple[CheckedRows, AnyTargets]:
        """Return rows of the stream with the targets of the model to be continued."""

    def polish_stream(self) -> Self:
        """Solve for the coefficients on the reservoir, and move the vectors, as `fit` does.

        The result is a better model than the last iterate. `partial_fit` continues from the last
        iterate, so that this method can be called at any time.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        self._check_continued()
        polish_on(self, *self._stream_targets(*reservoir_rows(self)))
        return self


def polish_on(estimator: Any, rows: CheckedRows, targets: Any) -> None:
    """Solve for the coefficients of a stream's vectors, and move these, on some rows."""
    start = estimator._state
    if hasattr(estimator, "scaler_"):
        rows = checked_rows(estimator.scaler_.transform(rows.X))
    ready = estimator._training_rows(rows, start, None)
    settings = estimator._settings(ready, targets, stream=True)
    model = solve(start, ready, targets, replace(settings, polish=True))
    model = estimator._completed(model, ready, targets, True)
    names = getattr(estimator, "feature_names_in_", None)
    estimator._adopt(replace(model, feature_names=names), keeps_scaler=True)
