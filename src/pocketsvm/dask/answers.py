"""What workers answer for a partition: predictions, and the sums that a score is made of."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.columns import Layout
from ..rows.chunk import Chunk
from ..rows.columns import features_of, in_order
from .partitions import is_frame


@dataclass(frozen=True, eq=False)
class Score:
    """The sums that a score is made of: weight, hits, and mean, squares and errors of targets."""

    model: Any
    regression: bool

    def __call__(self, chunk: Chunk, first: int) -> tuple[Any, ...]:
        """Return the sums of a partition."""
        predicted, w = self.model.predict(chunk.X), chunk.weights
        total = float(w.sum())
        if not self.regression:
            return total, float(w @ (predicted == chunk.y)), 0.0, 0.0, 0.0
        y, predicted = (each.reshape(chunk.n_rows, -1) for each in (chunk.y, predicted))
        mean = w @ y / total
        return total, 0.0, mean, w @ (y - mean) ** 2, w @ (y - predicted) ** 2

    def merge(self, parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Merge the sums of partitions."""
        weight, right, mean, squares, errors = parts[0]
        for more, hits, other, spread, wrong in parts[1:]:
            total = weight + more
            squares = squares + spread + (other - mean) ** 2 * weight * more / total
            mean = mean + (other - mean) * more / total
            weight, right, errors = total, right + hits, errors + wrong
        return weight, right, mean, squares, errors


def answer(X: Any, method: str, model: Any) -> Any:
    """Answer for a block of an array; a block may have no rows."""
    if not X.shape[0]:
        return getattr(model, method)(one_row(model._model.layout))[:0]
    return getattr(model, method)(X)


def one_row(layout: Layout) -> NDArray[Any]:
    """Return a row that a model takes."""
    row = np.zeros((1, layout.n_features), dtype=object if layout.texts else np.float64)
    if layout.texts:
        row[:, layout.texts] = ""
    return row


def nameless(model: Any, X: Any) -> Any:
    """Compare the names of the features once, and return a model that takes arrays."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return model
    if is_frame(X) and list(X.columns) != names.tolist():
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{names.tolist()[:10]}, got {list(X.columns)[:10]}."
        )
    model = copy.copy(model)
    model._model = replace(model._model, feature_names=None)
    return model


def answer_frame(frame: Any, method: str, model: Any, layout: Layout) -> Any:
    """Answer for a partition of a dataframe, whose columns are found by name."""
    X = frame
    if len(frame):
        X = features_of(in_order(frame, layout.names, "a partition"), layout)
    return framed(answer(X, method, model), frame.index)


def framed(values: NDArray[Any], index: Any) -> Any:
    """Return answers as a series, or as a dataframe if rows have several."""
    import pandas as pd

    kind = pd.Series if values.ndim == 1 else pd.DataFrame
    return kind(values, index=index)
