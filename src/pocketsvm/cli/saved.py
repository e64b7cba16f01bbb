"""Models in files, with what the command line adds: spellings of labels and the files' layout."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MaxAbsScaler

from ..data import Labels, Layout, meaning, number
from ..estimators.loading import read_estimator
from ..estimators.saving import save_model
from ..model import Model
from ..model.export.common import OUTLIER_LABELS
from ..model.preparation import Preparation, branches, split

# A scaler makes sparse rows dense: so many values at a time, which take 64 MiB as float64.
DENSE_VALUES = 1 << 23


@dataclass(frozen=True)
class Saved:
    """A fitted model, the layout of its data files, and how its labels are spelled."""

    estimator: Any
    layout: Layout
    spellings: list[str] | None = None

    @classmethod
    def load(cls, path: str, n_jobs: int | None = None) -> "Saved":
        """Read a model file that a command or `save_model` has written."""
        estimator, extra = read_estimator(path)
        steps, machine = split(estimator)
        if n_jobs is not None:
            machine.n_jobs = n_jobs
        # The layout holds the names; the estimator would warn about arrays, which have none.
        names = getattr(estimator, "feature_names_in_", None)
        _set_names(estimator, None)
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
        if steps:
            columns = Preparation.of(steps).columns
            layout = replace(
                layout,
                n_features=columns.n_inputs,
                texts=list(columns.texts),
                missing=columns.fills_all,
            )
        return cls(estimator, layout, spellings)

    def save(self, path: str) -> None:
        """Write the model file."""
        _set_names(self.estimator, self._feature_names())
        kept = asdict(self.layout) | {"spellings": self.spellings}
        extra = {name: kept[name] for name in ("label", "dropped", "first_index", "spellings")}
        save_model(self.estimator, path, extra=extra)

    def model(self) -> Model:
        """Return the model with the names of its features, for an export."""
        return replace(Model.of(self.estimator), feature_names=self._feature_names())

    def _feature_names(self) -> NDArray[np.object_] | None:
        names = self.layout.names
        return None if names is None else np.array(names, dtype=object)

    @property
    def task(self) -> str:
        """What the model is for, as `pocketsvm.model.Model.task`."""
        return str(split(self.estimator)[1]._task)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers: values, or the scores of a ranking."""
        return self.task in ("regression", "ranking")

    @property
    def has_probabilities(self) -> bool:
        """Whether its decision values have probabilities."""
        return str(split(self.estimator)[1]._loss) == "log_loss"

    @property
    def quantile(self) -> float | tuple[float, ...] | None:
        """The quantiles that it predicts; None if it predicts something else."""
        quantile: float | tuple[float, ...] | None = split(self.estimator)[1]._quantile
        return quantile

    @property
    def n_targets(self) -> int:
        """The number of targets that a regression predicts."""
        is_regression = self.task == "regression" and self.quantile is None
        return len(split(self.estimator)[1].intercept_) if is_regression else 1

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that it predicts."""
        classes: NDArray[Any] = (
            OUTLIER_LABELS if self.task == "novelty" else self.estimator.classes_
        )
        return classes

    @property
    def labels(self) -> list[str]:
        """The classes as the training file spelled them."""
        if self.spellings is not None:
            return self.spellings
        classes = self.classes.tolist()
        return [f"{label:.17g}" if isinstance(label, float) else str(label) for label in classes]

    def answers(self, X: Any) -> NDArray[Any]:
        """Return the decision values, or predicted numbers, of a batch."""
        estimator = self.estimator
        answer = estimator.predict if self.is_regression else estimator.decision_function
        parts = [answer(part) for part in self._parts(X)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _parts(self, X: Any) -> Iterator[Any]:
        """Yield the rows as the estimator takes them: most transformers need dense ones."""
        if not X.shape[0]:
            return
        needs_dense = not all(map(_takes_sparse, split(self.estimator)[0]))
        is_sparse: bool = sp.issparse(X)
        if not (is_sparse and needs_dense):
            yield X
            return
        step = max(DENSE_VALUES // X.shape[1], 1)
        for begin in range(0, X.shape[0], step):
            yield X[begin : begin + step].toarray()

    def codes(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Return the positions of the predicted classes."""
        if self.task == "novelty":
            return (values >= 0).astype(np.intp)
        return (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)

    def known_codes(self, labels: Labels) -> NDArray[np.intp]:
        """Return the classes of labels in a file, by spelling or by number; -1 for others."""
        positions: dict[Any, int] = {name: k for k, name in enumerate(self.labels)}
        by_number: dict[Any, int] = {}
        value: Callable[[str], Any] = number
        if self.classes.dtype.kind in "biuf":
            by_number = {float(label): k for k, label in enumerate(self.classes)}
        elif all(number(name) is not None for name in positions):  # they differ in leading zeros
            by_number = {meaning(name): k for name, k in positions.items()}
            value = meaning
        known = [positions.get(name, by_number.get(value(name), -1)) for name in labels.names]
        return np.array(known, dtype=np.intp)[labels.codes]


def _set_names(estimator: Any, names: NDArray[Any] | None) -> None:
    """Set the names of the features, as a fit on a data frame does; None removes them."""
    steps, machine = split(estimator)
    if steps:
        Preparation.of(steps).set_names(names)
    elif names is not None:
        machine.feature_names_in_ = names
    else:
        machine.__dict__.pop("feature_names_in_", None)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _takes_sparse(step: Any) -> bool:
    """Whether a transformer takes sparse rows."""
    if type(step) is ColumnTransformer:
        return all(_takes_sparse(each) for _, chain, _ in branches(step) for each in chain)
    return type(step) is MaxAbsScaler
