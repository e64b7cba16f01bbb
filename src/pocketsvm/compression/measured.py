"""The rows of a compression: those that a model learns from, and those it is measured on."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_consistent_length, column_or_1d

from ..backends.base import Backend
from ..estimators.loading import ESTIMATORS
from ..model.model import Model
from ..rows.checked import CheckedRows, check_rows, checked_rows
from ..rows.opening import as_dataset
from ..rows.preparation import in_parts
from ..training.settings import COMPRESSION_CHOICES as CHOICES
from .distilled import takes_labels
from .given import Given, codes_of, exact_values, labels_of
from .report import Report
from .sizes import size_of

Array = NDArray[Any]


def checked_inputs(found: Given, X: Any, y: Any) -> tuple[Given, CheckedRows | None, Array | None]:
    """Return the model, the rows as its kernel sees them, and y; all checked."""
    if X is None:
        return found, None, None
    if as_dataset(X) is not None:
        raise TypeError(
            "compress takes rows in memory. Of a data set, give some thousands of rows: they are "
            "enough to imitate a model."
        )
    shape = np.shape(X)
    if found.from_libsvm and len(shape) == 2 and shape[1] > found.model.vectors.shape[1]:
        found = found.widened(shape[1])
    model = found.model
    if found.pipeline is not None and model.preparation is not None and not sp.issparse(X):
        # The steps of a pipeline check rows themselves, and may take columns by name.
        for step in model.preparation.steps:
            X = step.transform(X)
        X = X if sp.issparse(X) else np.asarray(X)
        model = replace(model, preparation=None, feature_names=None)
    probe = copy.copy(ESTIMATORS[model.task]())
    probe._model = model
    rows = check_rows(probe, X, reset=False, layout=model.layout)
    if steps := model.steps:
        parts = list(in_parts(steps, rows.X))
        join = sp.vstack if sp.issparse(parts[0]) else np.concatenate
        rows = checked_rows(parts[0] if len(parts) == 1 else join(parts))
    if y is not None:
        classes = labels_of(found.model)
        y = np.asarray(y) if np.ndim(y) > 1 and classes is None else column_or_1d(y)
        check_consistent_length(rows.X, y)
        if classes is not None and (unknown := set(y.tolist()) - set(classes.tolist())):
            raise ValueError(
                f"y holds {unknown.pop()!r}, which is no class of the given model; its classes "
                f"are {', '.join(map(repr, classes.tolist()))}."
            )
    return found, rows, y


@dataclass(frozen=True, eq=False)
class Measured:
    """What a given model computes for some rows.

    Attributes
    ----------
    found : Given
        The model.

    rows : CheckedRows or None
        All rows, as the kernel sees them; None if none were given.

    y : ndarray or None
        Their labels.

    learnt, held_out : ndarray
        The positions of the rows that a model learns from, and of those it is measured on. Without
        rows, both are all support vectors.

    values : ndarray of shape (n_rows, n_values)
        The decision values of the model.

    backend : Backend
        Computes kernel values.
    """

    found: Given
    rows: CheckedRows | None
    y: Array | None
    learnt: Array
    held_out: Array
    values: Array
    backend: Backend

    @classmethod
    def of(
        cls,
        found: Given,
        rows: CheckedRows | None,
        y: Array | None,
        backend: Backend,
        random: np.random.RandomState,
    ) -> "Measured":
        """Hold rows out, and compute the decision values of all."""
        seen = checked_rows(found.model.vectors) if rows is None else rows
        most = CHOICES.most_labels_held_out if takes_labels(found.model) else CHOICES.most_held_out
        n_out = min(int(CHOICES.held_out * seen.n_rows), most)
        learnt = held_out = np.arange(seen.n_rows)
        if rows is not None:
            if n_out < 1:
                raise ValueError(f"{seen.n_rows} rows are too few to compress a model with.")
            order = random.permutation(seen.n_rows)
            learnt, held_out = np.sort(order[n_out:]), np.sort(order[:n_out])
        return cls(found, rows, y, learnt, held_out, found.values(seen, backend), backend)

    @property
    def seen(self) -> CheckedRows:
        """All rows, or support vectors in place of them."""
        return checked_rows(self.found.model.vectors) if self.rows is None else self.rows

    @property
    def _seen(self) -> CheckedRows:
        """The rows that it is measured on."""
        return self.seen.take(self.held_out)

    def agreement(self, model: Model) -> float:
        """Return the share of rows with the same label, or of the variance that is kept."""
        return self._agreement(exact_values(model, self._seen, self.backend))

    def _agreement(self, values: Array) -> float:
        before, model = self.values[self.held_out], self.found.model
        if model.task in ("classification", "novelty"):
            return float(np.mean(codes_of(model, values) == self.found.codes(before)))
        variance = float(before.var(axis=0).sum())
        change = float(np.square(values - before).mean(axis=0).sum())
        return 1.0 - change / variance if variance > 0 else float(change == 0)

    def report(self, model: Model, dtype: str) -> Report:
        """Return what a model has lost."""
        found, values = self.found, exact_values(model, self._seen, self.backend)
        before = self.values[self.held_out]
        is_same = before.shape == values.shape and found.pairs is None
        return Report(
            vectors_before=len(found.model.vectors),
            vectors=len(model.vectors),
            bytes_before=size_of(found.pairs or found.model, "float64"),
            bytes=size_of(model, dtype),
            dtype=dtype,
            measured_on="its support vectors" if self.rows is None else "held-out rows",
            n_measured=len(values),
            agreement=self._agreement(values),
            largest_change=float(np.abs(values - before).max()) if is_same else None,
            score_before=self._score(found.codes(before), before),
            score=self._score(codes_of(found.model, values), values),
            seconds=0.0,
        )

    def _score(self, codes: Array, values: Array) -> float | None:
        """Return the accuracy or the coefficient of determination."""
        model = self.found.model
        if self.y is None or model.task == "ranking":
            return None
        y = self.y[self.held_out]
        if model.task == "regression":
            values = np.sort(values, axis=1) if isinstance(model.quantile, tuple) else values
            return float(r2_score(y, values)) if model.quantile is None else None
        classes = labels_of(model)
        assert classes is not None
        return float(accuracy_score(y, classes[codes]))
