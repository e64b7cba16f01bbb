"""Streams: `partial_fit` keeps some rows, on which a model can be polished."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..files.errors import DataError
from ..fit import polished
from ..model.model import Model
from ..rows.checked import checked_rows
from ..rows.chunk import Chunk
from ..rows.memory import InMemory
from ..rows.preparation import transformed
from ..rows.stream import StreamReservoir
from ..tasks.base import Task
from ..training.settings import Parameters
from .watching import FitWatch


def with_kept_rows(
    model: Model, before: Model | None, estimator: Any, source: InMemory, sample_weight: Any
) -> Model:
    """Return the model of a call of `partial_fit` with a reservoir, to which its rows are added."""
    assert model.training is not None
    found = None
    if before is not None and before.training is not None:
        found = before.training.reservoir
    if found is None:
        random = check_random_state(estimator.random_state)
        found = StreamReservoir(int(random.randint(2**63, dtype=np.uint64)))
    weight = None
    if sample_weight is not None:  # one number is the weight of all rows
        weight = np.full(source.rows.n_rows, sample_weight, dtype=np.float64)
    half_life = estimator._parameters(stream=True).half_life
    chunk = Chunk(source.rows.X, source.y, weight, "the stream")
    found = found.added(chunk, int(estimator.reservoir), half_life)
    return replace(model, training=replace(model.training, reservoir=found))


def scaled_reservoir(model: Model) -> StreamReservoir | None:
    """Return the rows that were kept, prepared, for a model file."""
    assert model.training is not None
    found = model.training.reservoir
    if found is None or found.rows is None or model.preparation is None:
        return found
    X = transformed(model.preparation.steps, found.rows.X)
    return replace(found, rows=replace(found.rows, X=X))


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
    _model: Model
    _parameters: Callable[..., Parameters]

    @abstractmethod
    def _stream_task(self, classes: Any = None) -> Task:
        """Return the task of a stream."""

    def _check_continued(self) -> None:
        """Refuse to continue a stream with another loss."""
        check_unchanged("loss", self.loss, self._loss)

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
        assert self._model.training is not None
        found = self._model.training.reservoir
        if found is None or found.rows is None:
            raise DataError(
                "There are no rows to polish on: set reservoir, the number of rows to keep, and "
                "call partial_fit."
            )
        parameters = self._parameters(stream=True)
        weight = found.factors(parameters.half_life) * found.rows.weights
        source = InMemory(checked_rows(found.rows.X), found.rows.y, weight)
        watch = FitWatch(self, {}, is_stream=True)
        self._model = polished(self._stream_task(), source, parameters, watch, self._model)
        return self
