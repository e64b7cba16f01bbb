"""`Summary`: what a fit has to know about all rows before it begins.

A summary is computed for each batch, and summaries are merged in the order of the batches.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from ..files.errors import DataError
from .chunk import Chunk, label_codes
from .columns import as_numbers, check_categories

Array = NDArray[Any]

# More classes than this are refused: such labels are probably numbers to predict.
MOST_CLASSES = 10_000
# Figures of all rows are rounded to so many digits: how the rows were cut into batches changes only
# the digits after them, and must not change the vectors.
DIGITS = 12
# Rows that are summed up at once: transposed, they fit into the cache of a core.
ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known about the columns of some rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.

    present : ndarray of shape (n_features,)
        The number of values of each column that are not missing. The next ones depend on them.

    mean, squares, least, most : ndarray of shape (n_features,)
        For each column, the mean, the sum of squared differences from it, and the range.

    squared_norm : float
        The largest squared norm of a row.
    """

    n_rows: int
    present: NDArray[np.int64]
    mean: Array
    squares: Array
    least: Array
    most: Array
    squared_norm: float

    @classmethod
    def of_rows(cls, X: Any) -> "Columns":
        """Return what is known about the columns of dense or sparse rows."""
        is_sparse: bool = sp.issparse(X)
        return Columns(X.shape[0], *(_sparse_columns if is_sparse else _dense_columns)(X))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.mean)

    @property
    def variances(self) -> Array:
        """The variances of the columns."""
        with np.errstate(over="ignore", invalid="ignore"):
            variances: Array = rounded(self.squares / self.n_rows)
        return variances


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary(Columns):
    """What is known about some rows and their targets; only rows with a weight count.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        The sorted labels; for a regression, a single zero.

    counts, weights : ndarray of shape (n_classes,)
        The number of rows of each label, and the sum of their weights.

    least_weight, most_weight : float
        The range of the weights.

    largest_target : float
        The largest absolute target of a regression.

    has_weights, is_sparse : bool
        Whether rows have weights, and whether they are stored as sparse rows.

    texts : dict of int to dict of str to int
        The number of rows for each text of a column of texts. These columns are zero elsewhere.

    is_norm_a_bound : bool
        Whether `squared_norm` is only a bound, because the rows were prepared.
    """

    labels: Array
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    least_weight: float
    most_weight: float
    largest_target: float
    has_weights: bool
    is_sparse: bool
    texts: dict[int, dict[str, int]] = field(default_factory=dict)
    is_norm_a_bound: bool = False

    def class_weight(self, class_weight: Any) -> Any:
        """Resolve "balanced" with the weights of all rows; leave out classes without weight."""
        if class_weight == "balanced":
            balanced = self.weights.sum() / (len(self.labels) * self.weights)
            return dict(zip(self.labels.tolist(), rounded(balanced).tolist(), strict=True))
        if isinstance(class_weight, dict):
            return {label: weight for label, weight in class_weight.items() if weight != 0}
        return class_weight

    @property
    def variance(self) -> float:
        """The variance of all values."""
        return float(rounded(np.mean(self.variances) + np.var(self.mean)))

    def of(self, columns: Sequence[int]) -> "Summary":
        """Return the summary of some columns of numbers."""
        chosen = list(columns)
        names = ("present", "mean", "squares", "least", "most")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def filled(self, values: Any) -> "Summary":
        """Return the summary of rows with these values in place of missing ones."""
        values = np.asarray(values, dtype=np.float64)
        n_missing, change = self.n_rows - self.present, values - self.mean
        some = n_missing > 0
        return replace(
            self,
            present=np.full(self.n_features, self.n_rows),
            mean=self.mean + change * (n_missing / self.n_rows),
            squares=self.squares + change**2 * (n_missing * (self.present / self.n_rows)),
            least=np.where(some, np.minimum(self.least, values), self.least),
            most=np.where(some, np.maximum(self.most, values), self.most),
        )

    def scaled(self, scaler: Any) -> "Summary":
        """Return the summary of rows after a fitted scaler, without the norm."""
        least, most, mean = scaler.transform(np.stack([self.least, self.most, self.mean]))
        spread = self.most - self.least
        slope = (most - least) / np.where(spread > 0, spread, 1.0)
        ends = np.sort([least, most], axis=0)
        squares = slope**2 * self.squares
        return replace(self, mean=mean, squares=squares, least=ends[0], most=ends[1])


def rounded(values: Any) -> Any:
    """Round to the digits that do not depend on the batches."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values)))
    # Two steps, because a power of ten may overflow.
    unit = 10.0 ** (exponent - DIGITS + 1)
    return np.where(unit > 0, np.round(values / np.where(unit > 0, unit, 1)) * unit, values)


def summarise(batch: Chunk, *, regression: bool) -> Summary:
    """Summarise the rows of a batch that has at least one."""
    labels, counts, weights = _by_label(batch, regression)
    is_sparse: bool = sp.issparse(batch.X)
    columns = Columns.of_rows(batch.X if is_sparse else as_numbers(batch.X, batch.texts))
    return Summary(
        **vars(columns),
        labels=labels,
        counts=counts,
        weights=weights,
        least_weight=1.0 if batch.weight is None else float(batch.weight.min()),
        most_weight=1.0 if batch.weight is None else float(batch.weight.max()),
        largest_target=float(np.abs(batch.y).max()) if regression else 0.0,
        has_weights=batch.weight is not None,
        is_sparse=is_sparse,
        texts={column: text_counts(batch.X, column) for column in batch.texts},
    )


def text_counts(X: Array, column: int) -> dict[str, int]:
    """Return the number of rows for each text of a column; refuse too many texts."""
    values = X[:, column]
    counts = Counter(values[values == values].tolist())
    check_categories(len(counts), column, next(iter(counts), ""))
    return dict(counts)


def merged(one: Summary | None, other: Summary | None) -> Summary | None:
    """Merge the summaries of rows and of the rows that follow them; None means no rows."""
    if one is None or other is None:
        return one or other
    if one.n_features != other.n_features:
        raise DataError(f"some rows have {one.n_features} features, others {other.n_features}.")
    n = np.maximum(one.present + other.present, 1)
    change = other.mean - one.mean
    labels, counts, weights = _joined(one, other)
    return replace(
        one,
        n_rows=one.n_rows + other.n_rows,
        labels=labels,
        counts=counts,
        weights=weights,
        least_weight=min(one.least_weight, other.least_weight),
        most_weight=max(one.most_weight, other.most_weight),
        largest_target=max(one.largest_target, other.largest_target),
        present=one.present + other.present,
        mean=one.mean + change * (other.present / n),
        squares=one.squares + other.squares + change**2 * (one.present * (other.present / n)),
        least=np.minimum(one.least, other.least),
        most=np.maximum(one.most, other.most),
        squared_norm=max(one.squared_norm, other.squared_norm),
        has_weights=one.has_weights or other.has_weights,
        is_sparse=one.is_sparse and other.is_sparse,
        texts={k: _added(one.texts[k], other.texts[k], k) for k in one.texts},
    )


def _added(one: dict[str, int], other: dict[str, int], column: int) -> dict[str, int]:
    """Add the numbers of rows of a column of texts."""
    total = dict(Counter(one) + Counter(other))
    check_categories(len(total), column, next(iter(total), ""))
    return total


def _by_label(batch: Chunk, regression: bool) -> tuple[Array, Array, Array]:
    if regression:
        return np.zeros(1), np.array([batch.n_rows]), np.array([batch.weights.sum()])
    labels, codes = label_codes(batch.y)
    _check_number(labels)
    counts = np.bincount(codes, minlength=len(labels))
    if batch.weight is None:
        return labels, counts, counts.astype(np.float64)
    return labels, counts, np.bincount(codes, batch.weight, len(labels))


def _joined(one: Summary, other: Summary) -> tuple[Array, Array, Array]:
    check_kinds([*one.labels[:1].tolist(), *other.labels[:1].tolist()])
    labels, codes = np.unique(np.concatenate([one.labels, other.labels]), return_inverse=True)
    _check_number(labels)
    counts = np.bincount(codes, np.concatenate([one.counts, other.counts]), len(labels))
    weights = np.bincount(codes, np.concatenate([one.weights, other.weights]), len(labels))
    return labels, counts.astype(np.int64), weights


def check_kinds(labels: Sequence[Any], place: str = "") -> None:
    """Refuse labels of which some are texts and others numbers."""
    texts = [label for label in labels if isinstance(label, str)]
    if 0 < len(texts) < len(labels):
        number = next(label for label in labels if not isinstance(label, str))
        raise DataError(
            f"{place}some labels are texts and others numbers: {texts[0]!r} and {number!r}."
        )


def _check_number(labels: Array) -> None:
    if len(labels) > MOST_CLASSES:
        raise DataError(
            f"there are more than {MOST_CLASSES:,} different labels, for example "
            f"{labels[0].item()!r}. "
            "BudgetedSVR predicts numbers."
        )


def _sparse_columns(X: Any) -> tuple[Array, Array, Array, Array, Array, float]:
    """Return the number, mean, sum of squares and range of each column, and the largest norm."""
    found = (*mean_variance_axis(X, axis=0), *min_max_axis(X, axis=0))
    mean, variance, least, most = (np.asarray(values, dtype=np.float64) for values in found)
    present = np.full(X.shape[1], X.shape[0])
    return present, mean, variance * X.shape[0], least, most, largest_norm(X)


def _dense_columns(X: Array) -> tuple[Array, Array, Array, Array, Array, float]:
    """Return the same of dense rows, some at a time: NumPy is fastest along contiguous columns."""
    n_features, norm = X.shape[1], 0.0
    n_before, mean, squares = (np.zeros(n_features, dtype) for dtype in (np.int64, float, float))
    least, most = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, len(X), ROWS_AT_ONCE):
            columns = np.array(X[begin : begin + ROWS_AT_ONCE].T, dtype=np.float64, order="C")
            n_new, new = np.full(n_features, columns.shape[1]), columns.mean(axis=1)
            if np.isnan(new).any():
                # Missing values become the mean of the others, and change no sum.
                missing = np.isnan(columns)
                n_new = columns.shape[1] - missing.sum(axis=1)
                new = np.where(missing, 0.0, columns).sum(axis=1) / np.maximum(n_new, 1)
                columns = np.where(missing, new[:, None], columns)
            n_rows = np.maximum(n_before + n_new, 1)
            norm = max(norm, float(np.einsum("ij,ij->j", columns, columns).max()))
            least = np.where(n_new > 0, np.minimum(least, columns.min(axis=1)), least)
            most = np.where(n_new > 0, np.maximum(most, columns.max(axis=1)), most)
            columns -= new[:, None]
            change = new - mean
            squares += np.einsum("ij,ij->i", columns, columns)
            squares += change**2 * (n_before * n_new / n_rows)
            mean += change * (n_new / n_rows)
            n_before += n_new
    return n_before, mean, squares, least, most, norm


def largest_norm(X: Any) -> float:
    """Return the largest squared norm of a row."""
    is_sparse: bool = sp.issparse(X)
    with np.errstate(over="ignore"):
        if is_sparse:
            return float(X.multiply(X).sum(axis=1).max())
        return float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max())
