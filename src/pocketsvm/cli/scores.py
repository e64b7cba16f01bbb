"""How good predictions are, and how that is shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ..data import DataFile
from .console import Task, show
from .escaping import escaped
from .reading import numbers_of
from .saved import Saved

LARGEST_MATRIX = 12  # number of classes whose confusion matrix still fits a terminal
MOST_LABELS_NAMED = 10  # in a message, which should stay readable


class ClassScores:
    """Counts of true (rows) and predicted (columns) classes; the last row is unknown labels."""

    def __init__(self, labels: list[str]) -> None:
        self.labels = labels
        self.counts = np.zeros((len(labels) + 1, len(labels)), dtype=np.int64)

    def add(self, true: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add rows by the positions of their classes; -1 is an unknown label."""
        np.add.at(self.counts, (true, predicted), 1)

    def as_json(self) -> dict[str, Any]:
        """Return all scores."""
        right = np.diag(self.counts).astype(np.float64)
        support, predicted = self.counts[:-1].sum(axis=1), self.counts.sum(axis=0)
        if not support.any():
            known = ", ".join(map(escaped, self.labels[:MOST_LABELS_NAMED]))
            raise ValueError(f"no row has a label that the model knows; it knows {known}.")
        columns = {
            "label": self.labels,
            "precision": (right / np.maximum(predicted, 1)).tolist(),
            "recall": (right / np.maximum(support, 1)).tolist(),
            "f1": (2 * right / np.maximum(support + predicted, 1)).tolist(),
            "rows": support.tolist(),
        }
        n_rows, n_right = int(self.counts.sum()), int(right.sum())
        return {
            "rows": n_rows,
            "correct": n_right,
            "accuracy": n_right / n_rows,
            "classes": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "confusion": self.counts[:-1].tolist(),
            "unknown_labels": int(self.counts[-1].sum()),
        }

    def summary(self) -> str:
        """Return the main scores in one line."""
        found = self.as_json()
        return f"accuracy {found['accuracy']:.2%} ({found['correct']:,} of {found['rows']:,})"

    def show(self) -> None:
        """Print the scores."""
        found = self.as_json()
        show(self.summary())
        if found["unknown_labels"]:
            show(f"{found['unknown_labels']:,} rows have labels that the model does not know")
        table = _table("class", "precision", "recall", "F1", "rows")
        for row in found["classes"]:
            numbers = (f"{row[name]:.4f}" for name in ("precision", "recall", "f1"))
            table.add_row(escaped(row["label"]), *numbers, f"{row['rows']:,}")
        show("")
        show(table)
        if len(self.labels) > LARGEST_MATRIX:
            return
        labels = [escaped(label) for label in self.labels]
        matrix = _table("true \\ predicted", *labels)
        for label, counts in zip(labels, found["confusion"], strict=True):
            matrix.add_row(label, *(f"{count:,}" for count in counts))
        show("")
        show(matrix)


def _table(first: str, *numbers: str) -> Table:
    """Return an empty table with a column of names and columns of numbers."""
    table = Table(first, *numbers, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    return table


class RegressionScores:
    """True and predicted numbers."""

    def __init__(self) -> None:
        self.true: list[NDArray[Any]] = []
        self.predicted: list[NDArray[Any]] = []

    def add(self, true: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Add rows by their numbers."""
        self.true.append(true)
        self.predicted.append(predicted)

    def as_json(self) -> dict[str, Any]:
        """Return R2 and mean errors; R2 is None for fewer than two rows."""
        true, predicted = np.concatenate(self.true), np.concatenate(self.predicted)
        return {
            "rows": len(true),
            "r2": float(r2_score(true, predicted)) if len(true) > 1 else None,
            "mae": float(mean_absolute_error(true, predicted)),
            "rmse": float(root_mean_squared_error(true, predicted)),
        }

    def summary(self) -> str:
        """Return the scores in one line."""
        found = self.as_json()
        r2 = "unknown" if found["r2"] is None else f"{found['r2']:.4f}"
        return (
            f"R2 {r2}, mean absolute error {found['mae']:.6g}, "
            f"root mean squared error {found['rmse']:.6g} ({found['rows']:,} rows)"
        )

    def show(self) -> None:
        """Print the scores."""
        show(self.summary())


Scores = ClassScores | RegressionScores


def new_scores(labels: list[str] | None) -> Scores:
    """Return scores of a classifier with these labels, or of a regression if there are none."""
    return RegressionScores() if labels is None else ClassScores(labels)


def score_file(saved: Saved, file: DataFile, task: Task, n_jobs: int) -> Scores:
    """Predict all rows of a file with labels, and compare."""
    scores = new_scores(None if saved.is_regression else saved.labels)
    n_rows = 0
    for batch in file.batches(saved.layout, labels=True, n_jobs=n_jobs):
        assert batch.labels is not None  # they were asked for
        answers = saved.answers(batch.X)
        if saved.is_regression:
            scores.add(numbers_of(batch.labels, file.name), answers)
        else:
            scores.add(saved.known_codes(batch.labels), saved.codes(answers))
        n_rows += batch.X.shape[0]
        task.advance(batch.X.shape[0], batch.X.shape[0])
    if not n_rows:
        raise ValueError(f"{file.name} holds no rows.")
    return scores
