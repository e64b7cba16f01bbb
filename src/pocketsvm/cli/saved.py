"""Models in files, and what the command line keeps with them: spellings and the files' layout."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

from ..data import Labels, Layout, number
from ..estimators.loading import read_estimator
from ..estimators.saving import save_model
from ..model.container import Array
from ..model.preparation import split

__all__ = ["Saved", "numbers_of", "targets"]

# Numbers of rows that are scaled at once, which makes sparse ones dense.
DENSE_VALUES = 1 << 23


def targets(labels: Labels) -> tuple[Array, list[str] | None]:
    """Return labels for a fit: numbers where all are, and how each class is spelled; else text.

    Spellings of one number are one class, spelled as the first of them.
    """
    numbers = labels.numbers()
    if numbers is None or np.abs(numbers).max() > 2**53:  # float64 holds no larger ones exactly
        return np.array(labels.names)[labels.codes], None
    _, first = np.unique(numbers, return_index=True)
    return numbers, [labels.names[code] for code in labels.codes[first]]


@dataclass(frozen=True)
class Saved:
    """A fitted model, the layout of its files, and how its labels are spelled."""

    estimator: Any
    layout: Layout
    spellings: list[str] | None = None

    @classmethod
    def load(cls, path: str, n_jobs: int | None = None) -> "Saved":
        """Read a model file, written here or by `save_model`."""
        estimator, extra = read_estimator(path)
        scaler, machine = split(estimator)
        if n_jobs is not None:
            machine.n_jobs = n_jobs
        first = machine if scaler is None else scaler
        names = first.__dict__.pop("feature_names_in_", None)  # the layout has them
        label, dropped = extra.get("label"), extra.get("dropped", [])
        first_index, spellings = extra.get("first_index", 1), extra.get("spellings")
        right = (
            isinstance(label, str | int | None)
            and _all(dropped, int)
            and first_index in (0, 1)
            and (spellings is None or _all(spellings, str))
            and (spellings is None or len(spellings) == len(getattr(machine, "classes_", [])))
        )
        if not right:
            raise ValueError(f"{path}: what is kept beside the model is damaged.")
        named = None if names is None else names.tolist()
        layout = Layout(machine.n_features_in_, named, label, dropped, first_index)
        return cls(estimator, layout, spellings)

    def save(self, path: str) -> None:
        """Write the model file."""
        scaler, machine = split(self.estimator)
        first = machine if scaler is None else scaler
        if self.layout.names is not None:
            first.feature_names_in_ = np.array(self.layout.names, dtype=object)
        kept = asdict(self.layout) | {"spellings": self.spellings}
        extra = {name: kept[name] for name in ("label", "dropped", "first_index", "spellings")}
        save_model(self.estimator, path, extra=extra)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers."""
        return is_regressor(self.estimator)

    @property
    def labels(self) -> list[str]:
        """The classes, as they are spelled."""
        if self.spellings is not None:
            return self.spellings
        classes = self.estimator.classes_.tolist()
        return [f"{label:.17g}" if isinstance(label, float) else str(label) for label in classes]

    def answers(self, X: Any) -> Array:
        """Return the decision values, or predicted numbers, of a batch."""
        answer = self.estimator.predict if self.is_regression else self._decide
        parts = [answer(part) for part in self._parts(X)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _decide(self, X: Any) -> Array:
        return self.estimator.decision_function(X)

    def _parts(self, X: Any) -> Iterator[Any]:
        """Yield the rows as the estimator takes them: a scaler needs dense ones."""
        if not X.shape[0]:
            return
        if split(self.estimator)[0] is None or not sp.issparse(X):
            yield X
            return
        step = max(DENSE_VALUES // X.shape[1], 1)
        for begin in range(0, X.shape[0], step):
            yield X[begin : begin + step].toarray()

    def codes(self, values: Array) -> Array:
        """Return the positions of the predicted classes."""
        return (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)

    def known_codes(self, labels: Labels) -> Array:
        """Return the classes of labels in a file, by spelling or by number; -1 for others."""
        positions: dict[Any, int] = {name: k for k, name in enumerate(self.labels)}
        if self.estimator.classes_.dtype.kind in "biuf":
            positions |= {float(label): k for k, label in enumerate(self.estimator.classes_)}
        known = [positions.get(name, positions.get(number(name), -1)) for name in labels.names]
        return np.array(known, dtype=np.intp)[labels.codes]


def numbers_of(labels: Labels, name: str) -> Array:
    """Return labels as numbers; raise ValueError where one is none."""
    numbers = labels.numbers()
    if numbers is None:
        wrong = next(text for text in labels.names if number(text) is None)
        raise ValueError(f"{name}: the label {wrong!r} is not a number, as a regression needs.")
    return numbers


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
