"""How good predictions are, and how that is shown."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ..data import DataFile
from ..model.container import Array
from .console import show
from .saved import Saved, numbers_of

__all__ = ["ClassScores", "RegressionScores", "score_file"]

LARGEST_MATRIX = 12  # classes, for which a confusion matrix still fits a terminal


@dataclass
class ClassScores:
    """Counts of true (rows) and predicted (columns) classes; the last row is other labels."""

    labels: list[str]
    counts: Array = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros((len(self.labels) + 1, len(self.labels)), dtype=np.int64)

    def add(self, true: Array, predicted: Array) -> None:
        """Count rows, by positions of their classes; -1 is another label."""
        np.add.at(self.counts, (true, predicted), 1)

    def as_json(self) -> dict[str, Any]:
        """Return all that is known."""
        right = np.diag(self.counts).astype(np.float64)
        support, predicted = self.counts[:-1].sum(axis=1), self.counts.sum(axis=0)
        precision = right / np.maximum(predicted, 1)
        recall = right / np.maximum(support, 1)
        f1 = 2 * right / np.maximum(support + predicted, 1)
        n_rows, n_right = int(self.counts.sum()), int(right.sum())
        if not support.any():
            known = ", ".join(self.labels[:10])
            raise ValueError(f"no row has a label that the model knows; it knows {known}.")
        return {
            "rows": n_rows,
            "correct": n_right,
            "accuracy": n_right / n_rows,
            "classes": [
                {"label": label, "precision": p, "recall": r, "f1": f, "rows": n}
                for label, p, r, f, n in zip(
                    self.labels,
                    precision.tolist(),
                    recall.tolist(),
                    f1.tolist(),
                    support.tolist(),
                    strict=True,
                )
            ],
            "confusion": self.counts[:-1].tolist(),
            "unknown_labels": int(self.counts[-1].sum()),
        }

    def summary(self) -> str:
        """Return the one number that counts."""
        found = self.as_json()
        return f"accuracy {found['accuracy']:.2%} ({found['correct']:,} of {found['rows']:,})"

    def show(self) -> None:
        """Print it as tables."""
        found = self.as_json()
        show(self.summary())
        if found["unknown_labels"]:
            show(f"{found['unknown_labels']:,} rows have labels that the model does not know")
        table = Table("class", "precision", "recall", "F1", "rows", box=None, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in found["classes"]:
            numbers = (f"{row[name]:.4f}" for name in ("precision", "recall", "f1"))
            table.add_row(row["label"], *numbers, f"{row['rows']:,}")
        show("")
        show(table)
        if len(self.labels) > LARGEST_MATRIX:
            return
        matrix = Table("true \\ predicted", *self.labels, box=None, header_style="bold")
        for column in matrix.columns[1:]:
            column.justify = "right"
        for label, counts in zip(self.labels, found["confusion"], strict=True):
            matrix.add_row(label, *(f"{count:,}" for count in counts))
        show("")
        show(matrix)


@dataclass
class RegressionScores:
    """True and predicted numbers."""

    true: list[Array] = field(default_factory=list)
    predicted: list[Array] = field(default_factory=list)

    def add(self, true: Array, predicted: Array) -> None:
        """Take more rows."""
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
        """Return it in one line."""
        found = self.as_json()
        r2 = "unknown" if found["r2"] is None else f"{found['r2']:.4f}"
        return (
            f"R2 {r2}, mean absolute error {found['mae']:.6g}, "
            f"root mean squared error {found['rmse']:.6g} ({found['rows']:,} rows)"
        )

    def show(self) -> None:
        """Print it."""
        show(self.summary())


def score_file(saved: Saved, file: DataFile, task: Any, n_jobs: int) -> Any:
    """Predict all rows of a file with labels, and count."""
    scores: Any = RegressionScores() if saved.is_regression else ClassScores(saved.labels)
    n_rows = 0
    for batch in file.batches(saved.layout, labels=True, n_jobs=n_jobs):
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
