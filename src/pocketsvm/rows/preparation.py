"""Preparation of rows: impute, one-hot and scale, learnt from all rows or during the survey.

Preparation is a chain of transformers of scikit-learn. If all rows are at hand, they are fitted as
in memory. If not, means, ranges, variances and categories come from the summary of all rows, and
medians and most frequent numbers from a sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

from ..files.errors import DataError, Hint
from .chunk import Chunk
from .columns import as_numbers, column_name
from .summary import Summary, rounded, text_counts

Array = NDArray[Any]
Steps = tuple[Any, ...]  # fitted transformers of scikit-learn

STRATEGIES = ("mean", "median", "most_frequent")
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
# Most scalers make sparse rows dense: rows at hand may take this many bytes, and rows to predict
# are scaled so many values at a time.
MOST_DENSE_BYTES = 2**32
DENSE_VALUES = 1 << 23
# Support vectors are dense. From this many features on, a model can leave out the columns that no
# row uses; beyond the second number, the list of all columns would take too long.
WIDE, WIDEST = 1 << 17, 1 << 23


@dataclass(frozen=True, eq=False)
class Preparing:
    """What is to be done to rows before the kernel sees them.

    Attributes
    ----------
    scaler : transformer or None
        Scales the numbers.

    impute : str or None
        The strategy of the `SimpleImputer` that fills in missing numbers; missing texts become the
        most frequent one.

    one_hot : sequence of str or int, "text" or None
        The columns to encode, by name or number; "text" means all columns of words.

    leaves_out : bool
        Whether the columns that no row uses are left out, if sparse rows are wide.

    known : tuple of transformers or None
        The fitted steps of a model that is continued.
    """

    scaler: Any = None
    impute: str | None = None
    one_hot: Any = None
    leaves_out: bool = False
    known: Steps | None = None

    def __post_init__(self) -> None:
        if self.impute not in (None, *STRATEGIES):
            raise ValueError(
                f"impute must be None or one of {', '.join(STRATEGIES)}, got {self.impute!r}."
            )
        if self.scaler is not None and not isinstance(self.scaler, SCALERS):
            raise TypeError(
                "scaler must be a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler, got "
                f"{type(self.scaler).__name__}. Use other transformers in a pipeline, on rows in "
                "memory."
            )
        # The user may change the parameters of the scaler later.
        object.__setattr__(self, "scaler", None if self.scaler is None else clone(self.scaler))

    @property
    def texts(self) -> Sequence[str]:
        """The columns to encode, as `pocketsvm.files.Options` has them."""
        if self.one_hot is None:
            return ()
        return (self.one_hot,) if isinstance(self.one_hot, str) else [*map(str, self.one_hot)]

    def fitted(self, rows: Chunk, names: Sequence[str] | None = None) -> Steps:
        """Return the steps, fitted to all rows."""
        if self.known is not None:
            return self.known
        return _fitted(self.unfitted(rows, names), rows.X)

    def unfitted(self, rows: Chunk, names: Sequence[str] | None = None) -> list[Any]:
        """Return the steps for these rows; refuse columns that nothing can be learnt from."""
        for column in rows.texts:
            text_counts(rows.X, column)  # refuses too many
        used, is_sparse = None, sp.issparse(rows.X)
        if self.impute is not None and not is_sparse:
            self._check_present(~np.isnan(as_numbers(rows.X, rows.texts)).all(axis=0), names)
        if self.leaves_out and is_sparse:
            used = used_columns(np.unique(rows.X.indices), rows.X.shape[1])
        return self._unfitted(rows, used)

    def learnt(
        self, summary: Summary, sample: Chunk, factors: Array, names: Sequence[str] | None = None
    ) -> tuple[Summary, Steps]:
        """Return the steps, learnt from a summary and a sample, and the summary after them.

        The factors are what a row of the sample stands for.
        """
        steps = self.known
        if steps is None:
            self._check_present(summary.present > 0, names)
            used = None
            if summary.is_sparse and self.leaves_out:
                is_used = (summary.least != 0) | (summary.most != 0)
                used = used_columns(np.flatnonzero(is_used), summary.n_features)
            known = [sorted(counts) for counts in summary.texts.values()]
            steps = _fitted(self._unfitted(sample, used, known or "auto"), sample.X)
            if steps:
                _learn(steps, summary, sample, factors)
        return (prepared_summary(summary, steps) if steps else summary), steps

    def _unfitted(self, rows: Chunk, used: Any, categories: Any = "auto") -> list[Any]:
        """Return the transformers that impute, encode and scale rows, one after the other.

        The indicators of categories are not scaled: a rare one would become very large. `used` are
        the columns to keep; None keeps all. `categories` are those of each column of texts.
        """
        numbers: list[Any] = []
        words: list[Any] = [
            OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
        ]
        if self.impute is not None:
            numbers.append(SimpleImputer(strategy=self.impute, keep_empty_features=True))
            words.insert(0, SimpleImputer(strategy="most_frequent", keep_empty_features=True))
        if self.scaler is not None:
            numbers.append(clone(self.scaler))
        kept = make_pipeline(*numbers) if numbers else "passthrough"
        if used is not None:
            return [ColumnTransformer([("used", kept, list(used))], sparse_threshold=1.0)]
        if not rows.texts:
            return numbers
        others = [j for j in range(rows.X.shape[1]) if j not in rows.texts]
        branches = [("numbers", kept, others)] if others else []
        texts = ("texts", make_pipeline(*words), list(rows.texts))
        return [ColumnTransformer([*branches, texts])]

    def _check_present(self, is_present: Array, names: Sequence[str] | None) -> None:
        """Refuse a column without values, which nothing can be learnt from."""
        if self.impute is not None and not is_present.all():
            k = int(np.flatnonzero(~is_present)[0])
            column = str(k + 1) if names is None else names[k]
            problem = f"column {column_name(names, k)} has no values:"
            raise DataError(problem, Hint("leave it out ({}).", "drop", column))


def used_columns(used: Array, n_features: int) -> list[int] | None:
    """Return the columns that rows use, if there are many others; None keeps all."""
    is_sparse = WIDE <= n_features <= WIDEST and 0 < 2 * len(used) <= n_features
    return used.tolist() if is_sparse else None


def transformed(steps: Sequence[Any], X: Any) -> Any:
    """Return rows after the steps."""
    for step in steps:
        X = step.transform(as_taken(step, X))
    return X.astype(np.float64) if X.dtype == object else X


def names_after(names: Any, steps: Sequence[Any], n_features: int) -> list[str]:
    """Return the names of the features after the steps; x0, x1 and so on if they have none."""
    for step in steps:
        try:
            names = step.get_feature_names_out(names)
        except (AttributeError, ValueError):  # of a transformer that does not know them
            names = None
            break
        if isinstance(step, ColumnTransformer):
            names = [name.partition("__")[2] or name for name in names]  # without the branch
    if names is None or len(names) != n_features:
        return [f"x{k}" for k in range(n_features)]
    return [str(name) for name in names]


def in_parts(steps: Sequence[Any], X: Any) -> Iterator[Any]:
    """Yield rows after the steps; sparse rows that become dense come in several parts."""
    is_sparse: bool = sp.issparse(X)
    if not is_sparse or all(map(takes_sparse, steps)):
        yield transformed(steps, X)
        return
    n_each = max(DENSE_VALUES // X.shape[1], 1)
    for begin in range(0, X.shape[0], n_each):
        yield transformed(steps, X[begin : begin + n_each])


def takes_sparse(step: Any) -> bool:
    """Whether a transformer takes sparse rows."""
    return bool(get_tags(step).input_tags.sparse)


def as_taken(step: Any, X: Any) -> Any:
    """Return rows as a step takes them; refuse sparse rows that are too large if dense."""
    is_sparse: bool = sp.issparse(X)
    if not is_sparse or takes_sparse(step):
        return X
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    if n_bytes > MOST_DENSE_BYTES:
        raise DataError(
            f"{type(step).__name__} makes sparse rows dense, which takes {n_bytes / 2**30:,.0f} "
            f"GiB, and the limit is {MOST_DENSE_BYTES / 2**30:.0f} GiB. MaxAbsScaler keeps them "
            "sparse."
        )
    return X.toarray()


def _fitted(steps: Sequence[Any], X: Any) -> Steps:
    """Fit steps to rows, one after the other."""
    for step in steps:
        step.fit(as_taken(step, X))
        X = transformed([step], X)
    return tuple(steps)


# --- what is learnt during the survey -------------------------------------------------------------


def _parts(steps: Steps, n_features: int) -> tuple[Sequence[Any], Sequence[Any], Sequence[int]]:
    """Return the steps of numbers, those of texts, and the columns of numbers."""
    if not isinstance(steps[0], ColumnTransformer):
        return steps, (), range(n_features)
    found: dict[str, tuple[Sequence[Any], Sequence[int]]] = {
        name: ([step for _, step in one.steps] if isinstance(one, Pipeline) else [], columns)
        for name, one, columns in steps[0].transformers_
    }
    nothing: tuple[Sequence[Any], Sequence[int]] = ((), ())
    numbers, columns = found.get("used") or found.get("numbers", nothing)
    return numbers, found.get("texts", nothing)[0], columns


def _learn(steps: Steps, summary: Summary, sample: Chunk, factors: Array) -> None:
    """Set what steps have learnt from a sample to what is known about all rows."""
    numbers, words, columns = _parts(steps, summary.n_features)
    found = summary.of(columns)
    for step in numbers:
        if isinstance(step, SimpleImputer):
            values = as_numbers(sample.X, sample.texts)
            if step.strategy == "mean":
                step.statistics_ = rounded(found.mean)
            elif isinstance(values, np.ndarray):
                typical = [_typical(step.strategy, values[:, k], factors) for k in columns]
                step.statistics_ = np.where(np.isnan(typical), rounded(found.mean), typical)
            found = found.filled(step.statistics_)
        elif not isinstance(step, RobustScaler):
            _set_scaler(step, found)
    if len(words) > 1:
        every = summary.texts.values()
        most = [max(sorted(counts), key=counts.__getitem__) for counts in every]
        words[0].statistics_ = np.array(most, dtype=object)


def _typical(strategy: str, values: Array, factors: Array) -> float:
    """Return the median or the most frequent value of weighted numbers; NaN if all are missing."""
    is_there = ~np.isnan(values)
    values, factors = values[is_there], factors[is_there]
    if not len(values):
        return np.nan
    if strategy == "median" and (factors == factors[0]).all():
        return float(np.median(values))
    if strategy == "median":
        return float(np.quantile(values, 0.5, weights=factors, method="inverted_cdf"))
    different, codes = np.unique(values, return_inverse=True)
    return float(different[np.bincount(codes, factors).argmax()])


def _set_scaler(scaler: Any, summary: Summary) -> None:
    """Fit a scaler to all rows; a RobustScaler keeps the quantiles of the sample."""
    # Two rows with the range of the columns make scikit-learn check and set everything else.
    scaler.fit(np.stack([summary.least, summary.most]))
    scaler.n_samples_seen_ = summary.n_rows
    if not isinstance(scaler, StandardScaler):
        return
    if scaler.with_mean or scaler.with_std:
        scaler.mean_ = rounded(summary.mean)
    if scaler.with_std:
        scaler.var_ = summary.variances
        constant = (summary.most == summary.least) | (scaler.var_ == 0)
        scaler.scale_ = np.sqrt(np.where(constant, 1.0, scaler.var_))


def prepared_summary(summary: Summary, steps: Steps) -> Summary:
    """Return the summary of prepared rows: the numbers, then an indicator for each category."""
    numbers, words, columns = _parts(steps, summary.n_features)
    found = summary.of(columns)
    for step in numbers:
        is_imputer = isinstance(step, SimpleImputer)
        found = found.filled(step.statistics_) if is_imputer else found.scaled(step)
    norm = float(np.square([found.least, found.most]).max(axis=0).sum())
    counts = _category_counts(summary, words)
    shares = counts / summary.n_rows
    return replace(
        found,
        present=np.full(len(found.mean) + len(counts), summary.n_rows),
        mean=np.append(found.mean, shares),
        squares=np.append(found.squares, counts * (1 - shares)),
        least=np.append(found.least, counts == summary.n_rows),
        most=np.append(found.most, counts > 0),
        squared_norm=norm + len(summary.texts),  # a row has one category of each column
        texts={},
        is_norm_a_bound=True,
    )


def _category_counts(summary: Summary, words: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number of rows of each category, after missing texts were filled in."""
    counts = [np.empty(0, np.int64)]
    for k, (column, texts) in enumerate(summary.texts.items()):
        categories = words[-1].categories_[k].tolist()
        counts.append(np.array([texts.get(text, 0) for text in categories]))
        if len(words) > 1:
            n_missing = summary.n_rows - summary.present[column]
            counts[-1][categories.index(words[0].statistics_[k])] += n_missing
    return np.concatenate(counts)
