"""Columns of raw rows: their names, and which of them hold texts or missing values.

Rows with texts are arrays of objects: floats and texts, where NaN is a missing value of both kinds.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from ..files.columns import ColumnSelector, Layout, Options, listed
from ..files.errors import DataError
from ..files.reader import LARGEST_EXACT
from .sparse import safe_to_convert

Array = NDArray[Any]

# What the missing values of data frames are as texts.
MISSING = frozenset(["nan", "None", "<NA>", "NaT"])
# Rows of an array that tell which columns hold words.
ROWS_FOR_WORDS = 1000
# A category more takes a feature more.
MOST_CATEGORIES = 10_000


def layout_of(X: Any, texts: Sequence[str], *, missing: bool, place: str) -> Layout:
    """Return the layout of rows, of which these are the first ones.

    `texts` are the columns to be encoded, as `pocketsvm.files.Options` has them.
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    shape: Any = getattr(X, "shape", ())
    n_features = shape[1] if len(shape) > 1 else 0
    numbers = [str(k + 1) for k in range(n_features)]
    options = Options(texts=texts)
    words = _words(X) if texts else frozenset()
    selector = ColumnSelector(place, names or numbers, options, words)
    found = sorted(selector.find_texts(range(n_features)))
    return Layout(n_features, names, texts=found, missing=missing)


def _words(X: Any) -> frozenset[int]:
    """Return the positions of the columns that hold words."""
    if hasattr(X, "select_dtypes"):  # pandas, and Dask, whose partitions are not there yet
        numbers = set(X.select_dtypes(include=["number", "bool", "boolean"]).columns)
        return frozenset(k for k, name in enumerate(X.columns) if name not in numbers)
    if sp.issparse(X):
        return frozenset()
    values = np.asarray(X[:ROWS_FOR_WORDS], dtype=object)
    return frozenset(
        k for k, column in enumerate(values.T) if any(isinstance(value, str) for value in column)
    )


def in_order(X: Any, names: Sequence[str] | None, place: str) -> Any:
    """Return a data frame with its columns in the order of these names.

    Rows without names of columns are returned as they are.
    """
    if names is None or not hasattr(X, "columns"):
        return X
    columns = {str(column): column for column in X.columns}
    if list(columns) == list(names):
        return X
    for missing in (name for name in names if name not in columns):
        raise DataError(f"{place} lacks the column {missing!r}; it has {listed(list(columns))}.")
    for unknown in (name for name in columns if name not in names):
        raise DataError(f"{place} has the column {unknown!r}, which the first rows do not have.")
    return X[[columns[name] for name in names]]


def features_of(X: Any, layout: Layout | None) -> Any:
    """Check the features of rows in scikit-learn's way, but not whether they are finite."""
    if layout is None or not layout.texts:
        X = safe_to_convert(X) if sp.issparse(X) else X
        return check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            input_name="X",
        )
    if not hasattr(X, "columns"):
        X = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    check_width(X, layout, "X")
    n_features = layout.n_features
    found = np.empty((X.shape[0], n_features), dtype=object)
    numbers = [k for k in range(n_features) if k not in layout.texts]
    if numbers:
        found[:, numbers] = check_array(
            _taken(X, numbers), dtype=np.float64, ensure_all_finite=False, input_name="X"
        )
    for k in layout.texts:
        found[:, k] = _texts(np.asarray(_taken(X, [k]), dtype=object).ravel(), k, layout)
    return found


def check_width(X: Any, layout: Layout, place: str) -> None:
    """Refuse rows that have not as many features as others."""
    if X.shape[1] != layout.n_features:
        raise DataError(
            f"{place}: some rows have {layout.n_features} features, others {X.shape[1]}."
        )


def _taken(X: Any, columns: list[int]) -> Any:
    """Return some columns of a data frame or an array."""
    return X[[X.columns[k] for k in columns]] if hasattr(X, "columns") else X[:, columns]


def _texts(values: Array, column: int, layout: Layout) -> Array:
    """Return a column as texts and NaN; numbers become the texts that files have for them."""
    found = values.astype(object)
    is_text = np.array([isinstance(value, str) for value in values.tolist()], dtype=bool)
    for row in np.flatnonzero(~is_text).tolist():
        value = values[row]
        if str(value) in MISSING:
            found[row] = np.nan
        elif isinstance(value, Real | np.bool_):
            found[row] = _spelled(value)
        else:
            name = column_name(layout.names, column)
            raise DataError(
                f"column {name} is to be encoded, and must hold texts or numbers, got {value!r}: "
                "convert the column, as by X.astype({...: str})."
            )
    return found


def _spelled(value: Any) -> str:
    """Return a number as text, as pyarrow writes those of Parquet files: 1 and 1.0 are "1"."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    is_whole = isinstance(value, Integral) or (abs(value) < LARGEST_EXACT and value == int(value))
    return str(int(value)) if is_whole else str(float(value))


def column_name(names: Sequence[str] | None, column: int) -> str:
    """Return the name of a column for a message, or its number from 1."""
    return str(column + 1) if names is None else repr(names[column])


def as_numbers(X: Any, texts: Sequence[int]) -> Any:
    """Return rows as numbers: a text is zero, or NaN if it is missing."""
    if not texts:
        return X
    found = np.zeros(X.shape)
    numbers = [k for k in range(X.shape[1]) if k not in texts]
    found[:, numbers] = X[:, numbers]
    for k in texts:
        found[X[:, k] != X[:, k], k] = np.nan
    return found


def check_finite(X: Any, layout: Layout, place: str, n_before: int = 0) -> None:
    """Refuse infinite values, and missing ones unless the layout allows them."""
    is_sparse: bool = sp.issparse(X)
    values = X.data if is_sparse else as_numbers(X, layout.texts)
    if np.isfinite(values.sum(dtype=np.float64)):
        return
    is_wrong = np.isinf(values) if layout.missing and not is_sparse else ~np.isfinite(values)
    if not is_wrong.any():
        return
    wrong = int(np.flatnonzero(is_wrong.ravel())[0])
    if is_sparse:
        row = int(np.searchsorted(np.asarray(X.indptr), wrong, side="right")) - 1
        column = X.indices[wrong]
    else:
        row, column = divmod(wrong, X.shape[1])
    value = values.ravel()[wrong]
    what = "the value is missing (NaN)" if np.isnan(value) else f"{value} is not a finite number"
    raise DataError(f"{place}, row {n_before + row + 1}, column {column + 1}: {what}.")


def check_categories(n_categories: int, column: int, example: Any) -> None:
    """Refuse a column of too many different texts, each of which would become a feature."""
    if n_categories > MOST_CATEGORIES:
        raise DataError(
            f"column {column + 1} has more than {MOST_CATEGORIES:,} different texts, such as "
            f"{example!r}, and each would become a feature. If it names the rows, leave it out."
        )
