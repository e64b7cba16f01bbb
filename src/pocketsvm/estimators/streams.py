"""Streams: `partial_fit` keeps some rows, on which a model can be polished."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.batch import RowBatch
from ..data.errors import DataError
from ..data.rows import CheckedRows, checked_rows
from ..data.sampling import AnyTargets
from ..data.stream import StreamReservoir
from ..solving.solve import solve


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


def scaled_reservoir(estimator: Any) -> StreamReservoir | None:
    """Return the rows that were kept, as the kernel sees them, for a model file."""
    found: StreamReservoir | None = getattr(estimator, "_reservoir", None)
    if found is None or found.rows is None or not hasattr(estimator, "scaler_"):
        return found
    return replace(found, rows=replace(found.rows, X=estimator.scaler_.transform(found.rows.X)))


def reservoir_rows(estimator: Any) -> tuple[CheckedRows, Any, NDArray[np.float64]]:
    """Return the rows of the reservoir, their targets and their weights."""
    found: StreamReservoir | None = getattr(estimator, "_reservoir", None)
    if found is None or found.rows is None:
        raise DataError(
            "there are no rows to polish on: set reservoir, the number of rows to keep, and call "
            "partial_fit."
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
