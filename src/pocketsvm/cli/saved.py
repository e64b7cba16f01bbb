"""Models in files, with what the command line adds: spellings of labels and the files' layout."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.loading import read_machine
from ..files import Labels, Layout
from ..files.reader import meaning, number
from ..model import Model
from ..model.export.common import OUTLIER_LABELS
from ..model.file import write_model

KEPT = ("label", "dropped", "first_index")  # of the layout; the model has the rest


@dataclass(frozen=True)
class Saved:
    """A fitted model, the layout of its data files, and how its labels are spelled.

    Attributes
    ----------
    estimator : estimator of pocketsvm
        Predicts rows of a file, whose columns have been found by the layout.

    model : Model
        The model.

    layout : Layout
        Where the training file had its columns.

    spellings : list of str or None
        How it spelled the classes, in their order.
    """

    estimator: Any
    model: Model
    layout: Layout
    spellings: list[str] | None = None

    @classmethod
    def load(cls, path: str, n_jobs: int | None = None, device: str = "cpu") -> "Saved":
        """Read a model file that a command or `save_model` has written."""
        machine, extra = read_machine(path)
        if n_jobs is not None:
            machine.n_jobs = n_jobs
        machine.device = device
        model = machine._model
        # The layout holds the names; the estimator would warn about arrays, which have none.
        machine._model = replace(model, feature_names=None)
        label, dropped = extra.get("label"), extra.get("dropped", [])
        first_index, spellings = extra.get("first_index", 1), extra.get("spellings")
        n_classes = 0 if model.classes is None else len(model.classes)
        right = (
            isinstance(label, str | int | None)
            and _is_list_of(dropped, int)
            and first_index in (0, 1)
            and (spellings is None or _is_list_of(spellings, str))
            and (spellings is None or len(spellings) == n_classes)
        )
        if not right:
            raise ValueError(
                f"{path}: what it says about the columns and labels of its training file is "
                "damaged."
            )
        layout = replace(model.layout, label=label, dropped=dropped, first_index=first_index)
        return cls(machine, model, layout, spellings)

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers: values, or the scores of a ranking."""
        return self.model.task in ("regression", "ranking")

    @property
    def n_targets(self) -> int:
        """The number of targets that a regression predicts."""
        is_regression = self.model.task == "regression" and self.model.quantile is None
        return len(self.model.intercept) if is_regression else 1

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels that it predicts; None if it predicts numbers."""
        return OUTLIER_LABELS if self.model.task == "novelty" else self.model.classes

    @property
    def labels(self) -> list[str]:
        """The classes as the training file spelled them; none if it predicts numbers."""
        if self.spellings is not None or self.classes is None:
            return self.spellings or []
        return spelled(self.classes.tolist())

    def answers(self, X: Any) -> NDArray[Any]:
        """Return the decision values, or predicted numbers, of a batch."""
        estimator = self.estimator
        answer = estimator.predict if self.is_regression else estimator.decision_function
        answers: NDArray[Any] = answer(X) if X.shape[0] else np.empty(0)
        return answers

    def truth(self, labels: Labels, name: str) -> NDArray[Any]:
        """Return what labels in a file mean: numbers, or positions of classes, -1 for others."""
        return labels.checked_numbers(name) if self.is_regression else self._known_codes(labels)

    def _known_codes(self, labels: Labels) -> NDArray[np.intp]:
        """Return the classes of labels in a file, by spelling or by number; -1 for others."""
        assert self.classes is not None
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


def save_model(estimator: Any, layout: Layout, spellings: list[str] | None, path: str) -> None:
    """Write the model file of a fitted estimator, or of a pipeline that ends with one."""
    names = None if layout.names is None else np.array(layout.names, dtype=object)
    model, kept = replace(Model.of(estimator), feature_names=names), asdict(layout)
    if spellings is not None and model.classes is not None:  # some may have had no weight
        spellings = spelled(model.classes.tolist(), spellings)
    extra = {name: kept[name] for name in KEPT} | {"spellings": spellings}
    write_model(model, path, extra)


def predicted_codes(task: str, values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of the classes that decision values predict."""
    if task == "novelty":
        return (values >= 0).astype(np.intp)
    return (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)


def spelled(labels: Iterable[Any], spellings: Iterable[str] | None = None) -> list[str]:
    """Return labels as a file spelled these numbers, or as texts if it has not spelled them."""
    known = {number(text): text for text in spellings or ()}
    texts = (f"{label:.17g}" if isinstance(label, float) else str(label) for label in labels)
    return [known.get(number(text), text) for text in texts]


def _is_list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
