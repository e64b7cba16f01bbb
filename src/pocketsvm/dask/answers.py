"""What workers answer for a partition: predictions, and the sums that a score is made of."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.batch import RowBatch
from .partitions import is_frame


@dataclass(frozen=True, eq=False)
class Score:
    """The sums that a score is made of: weights, hits, mean, squares and errors."""

    model: Any
    regression: bool

    def __call__(self, batch: RowBatch, first: int) -> tuple[float, ...]:
        """Return the sums of a partition."""
        predicted, w, y = self.model.predict(batch.X), batch.weights, batch.y
        if not self.regression:
            return float(w.sum()), float(w @ (predicted == y)), 0.0, 0.0, 0.0
        total, mean = float(w.sum()), float(w @ y / w.sum())
        return total, 0.0, mean, float(w @ (y - mean) ** 2), float(w @ (y - predicted) ** 2)

    def merge(self, parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """Merge the sums of partitions."""
        weight, right, mean, squares, errors = parts[0]
        for more, hits, other, spread, wrong in parts[1:]:
            total = weight + more
            squares += spread + (other - mean) ** 2 * weight * more / total
            mean += (other - mean) * more / total
            weight, right, errors = total, right + hits, errors + wrong
        return weight, right, mean, squares, errors


def answer(X: Any, method: str, model: Any) -> Any:
    """Answer for a block of an array; a block may have no rows."""
    if not X.shape[0]:
        return getattr(model, method)(np.zeros((1, model.n_features_in_)))[:0]
    return getattr(model, method)(X)


def nameless(model: Any, X: Any) -> Any:
    """Compare the names of the features once, and return a model that does not ask for them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return model
    if is_frame(X) and list(X.columns) != names.tolist():
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{names.tolist()[:10]}, got {list(X.columns)[:10]}."
        )
    model = copy.copy(model)
    del model.feature_names_in_
    return model


def answer_frame(frame: Any, method: str, model: Any) -> Any:
    """Answer for a partition of a dataframe."""
    found = answer(frame.to_numpy(), method, model)
    return framed(found, frame.index)


def framed(values: NDArray[Any], index: Any) -> Any:
    """Return answers as a series, or as a dataframe if rows have several."""
    import pandas as pd

    kind = pd.Series if values.ndim == 1 else pd.DataFrame
    return kind(values, index=index)
