"""How good predictions are, and how that is shown."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.metrics import roc_auc_score

from ..files import DataFile
from ..metrics import expected_calibration_error
from ..model.prediction import log_probabilities, probabilities
from .console import Task, show
from .escaping import escaped
from .kept import Scores
from .number_scores import QuantileScores, RegressionScores
from .rank_scores import RankScores
from .saved import Saved, predicted_codes

MOST_VALUES = 1 << 26  # decision values that are kept for ROC-AUC: half a GiB
LARGEST_MATRIX = 12  # number of classes whose confusion matrix still fits a terminal
MOST_LABELS_NAMED = 10  # in a message, which should stay readable


class ClassScores(Scores):
    """Sums of weights for true (rows) and predicted (columns) classes; the last row is unknown.

    Decision values are kept for ROC-AUC, unless there are very many.
    """

    def __init__(self, task: str, labels: list[str], *, has_probabilities: bool) -> None:
        super().__init__()
        self.task, self.labels, self.has_probabilities = task, labels, has_probabilities
        self.counts = np.zeros((len(labels) + 1, len(labels)))
        self.n_rows, self.n_unknown = 0, 0
        self.is_weighted = False

    def add(
        self, true: NDArray[Any], answers: NDArray[Any], weights: Any = None, queries: Any = None
    ) -> None:
        """Add rows by the positions of their classes and by decision values; -1 is unknown."""
        self.is_weighted |= weights is not None
        weights = np.ones(len(true)) if weights is None else weights
        np.add.at(self.counts, (true, predicted_codes(self.task, answers)), weights)
        self.n_rows += len(true)
        self.n_unknown += int((true < 0).sum())
        self.kept.append((true, weights, answers))
        if self.n_rows * len(self.labels) > MOST_VALUES:
            self.kept.clear()

    def roc_auc(self) -> float | None:
        """Return the area under the ROC curve, the mean over classes if there are several.

        None if a class has no rows, or all of them, or if the decision values were not kept.
        """
        if (rows := self._kept_rows()) is None:
            return None
        true, weights, values = rows
        if len(np.unique(true)) < len(self.labels):
            return None
        columns = {1: values} if values.ndim == 1 else dict(enumerate(values.T))
        areas = [roc_auc_score(true == k, v, sample_weight=weights) for k, v in columns.items()]
        return float(np.mean(areas))

    def _kept_rows(self) -> tuple[NDArray[Any], ...] | None:
        """Return classes, weights and decision values of the rows whose class is known."""
        if self.n_rows * len(self.labels) > MOST_VALUES:
            return None
        true, weights, values = self.columns()
        counted = (true >= 0) & (weights > 0)
        return true[counted], weights[counted], values[counted]

    def probability_scores(self) -> dict[str, float | None]:
        """Return how good the probabilities are; None if there are none, or too many to keep."""
        rows = self._kept_rows() if self.has_probabilities else None
        if rows is None or not len(rows[0]):
            return {"log_loss": None, "brier": None, "calibration_error": None}
        true, weights, values = rows
        columns = values.reshape(len(values), -1)
        found = probabilities(columns)
        errors = np.square(found - np.eye(len(self.labels))[true])
        squares = errors[:, 1] if len(self.labels) == 2 else errors.sum(axis=1)
        own = log_probabilities(columns)[np.arange(len(true)), true]
        numbers = np.arange(len(self.labels))
        return {
            "log_loss": float(np.average(-own, weights=weights)),
            "brier": float(np.average(squares, weights=weights)),
            "calibration_error": expected_calibration_error(
                true, found, labels=numbers, sample_weight=weights
            ),
        }

    def as_json(self) -> dict[str, Any]:
        """Return all scores."""
        right = np.diag(self.counts).astype(np.float64)
        support, predicted = self.counts[:-1].sum(axis=1), self.counts.sum(axis=0)
        if not support.any():
            known = ", ".join(map(escaped, self.labels[:MOST_LABELS_NAMED]))
            raise ValueError(f"No row has a label that the model knows; it knows {known}.")
        columns = {
            "label": self.labels,
            "precision": _ratio(right, predicted),
            "recall": _ratio(right, support),
            "f1": _ratio(2 * right, support + predicted),
            "rows": self._numbers(support),
        }
        return {
            "rows": self.n_rows,
            "correct": self._numbers(right.sum()),
            "accuracy": float(right.sum() / self.counts.sum()),
            "roc_auc": self.roc_auc(),
            **self.probability_scores(),
            "classes": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "confusion": self._numbers(self.counts[:-1]),
            "unknown_labels": self.n_unknown,
        }

    def _numbers(self, counts: Any) -> Any:
        """Return sums of weights; without weights, they are whole numbers."""
        return counts.tolist() if self.is_weighted else counts.astype(np.int64).tolist()

    def summary(self) -> str:
        """Return the main scores in one line."""
        found = self.as_json()
        if self.is_weighted:
            return f"accuracy {found['accuracy']:.2%} (weighted, {found['rows']:,} rows)"
        return f"accuracy {found['accuracy']:.2%} ({found['correct']:,} of {found['rows']:,})"

    def show(self) -> None:
        """Print the scores."""
        found = self.as_json()
        show(self.summary())
        if found["roc_auc"] is not None:
            mean = "" if len(self.labels) == 2 else ", mean of each class against the rest"
            show(f"ROC-AUC {found['roc_auc']:.4f}{mean}")
        if found["log_loss"] is not None:
            show(
                f"log loss {found['log_loss']:.4f}, Brier score {found['brier']:.4f}, "
                f"expected calibration error {found['calibration_error']:.4f}"
            )
        elif not self.has_probabilities:
            show("log loss and Brier score: none, because the model predicts no probabilities")
        if found["unknown_labels"]:
            show(f"{found['unknown_labels']:,} rows have labels that the model does not know")
        table = _table("class", "precision", "recall", "F1", "rows")
        for row in found["classes"]:
            numbers = (f"{row[name]:.4f}" for name in ("precision", "recall", "f1"))
            table.add_row(escaped(row["label"]), *numbers, _count(row["rows"]))
        show("")
        show(table)
        if len(self.labels) > LARGEST_MATRIX:
            return
        labels = [escaped(label) for label in self.labels]
        matrix = _table("true \\ predicted", *labels)
        for label, counts in zip(labels, found["confusion"], strict=True):
            matrix.add_row(label, *map(_count, counts))
        show("")
        show(matrix)


def _count(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"


def _ratio(parts: NDArray[Any], wholes: NDArray[Any]) -> list[float]:
    """Return shares; a share of nothing is zero."""
    shares: list[float] = (parts / np.where(wholes > 0, wholes, 1.0)).tolist()
    return shares


def _table(first: str, *numbers: str) -> Table:
    """Return an empty table with a column of names and columns of numbers."""
    table = Table(first, *numbers, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def new_scores(task: str, labels: list[str], loss: str | None, quantile: Any) -> Scores:
    """Return scores of a model for this task, with these classes, loss and quantiles."""
    if task == "ranking":
        return RankScores()
    if quantile is not None:
        return QuantileScores(np.ravel(quantile).tolist())
    if task == "regression":
        return RegressionScores()
    return ClassScores(task, labels, has_probabilities=loss == "log_loss")


def score_files(saved: Saved, files: Iterable[DataFile], task: Task, n_jobs: int) -> Scores:
    """Predict all rows of files with labels, and compare."""
    model = saved.model
    if saved.n_targets > 1:
        raise ValueError(
            f"the model predicts {saved.n_targets} targets, but a data file has one label a row."
        )
    scores = new_scores(model.task, saved.labels, model.loss, model.quantile)
    names, n_rows, weight = [], 0, 0.0
    for file in files:
        names.append(file.name)
        for batch in file.batches(saved.layout, labels=True, n_jobs=n_jobs):
            assert batch.labels is not None  # they were asked for
            true = saved.truth(batch.labels, file.name)
            scores.add(true, saved.answers(batch.X), batch.weights, batch.ids)
            weight += len(true) if batch.weights is None else float(batch.weights.sum())
            n_rows += batch.X.shape[0]
            task.advance(batch.X.shape[0], batch.X.shape[0])
    where = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more files"
    if not n_rows:
        raise ValueError(f"{where}: there are no rows.")
    if not weight:
        raise ValueError(f"{where}: the weights of all rows are zero.")
    return scores
