"""`open_dataset`, and what else takes the place of rows in memory."""

import errno
import glob
import os
from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..files.columns import Options
from ..files.errors import hints_for_datasets
from ..files.file import FORMATS
from ..files.remote import found_at, is_url
from ..files.tables import is_frame, is_stream
from .dataset import ArrowDataset, BatchesDataset, FileDataset
from .npy import NpyDataset
from .preparation import Preparing

# The data sets that wrap an object of a user; `takes` tells which objects these are.
KINDS = (BatchesDataset, ArrowDataset)
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

ONE_SHOT = (
    "fit reads the rows several times, and an iterator gives them only once. Pass an object whose "
    "method batches() begins anew each time it is called, or call partial_fit for each batch."
)


def as_dataset(X: Any, *, alone: bool = False) -> Any:
    """Return the data set that takes the place of X; None if X is anything else.

    A data frame is one only if targets are wanted and X is `alone`: then they are in its columns.
    """
    if hasattr(X, "opened"):
        return X
    _check_repeats(X)
    if alone and is_frame(X):
        return ArrowDataset(X)
    return next((kind(X) for kind in KINDS if kind.takes(X)), None)


def _check_repeats(X: Any) -> None:
    """Refuse what gives its rows only once."""
    if not hasattr(X, "__next__"):
        return
    if is_stream(X):
        raise TypeError(
            f"A {type(X).__name__} gives its rows only once, and fit reads them several times. "
            "Pass the table, query or data set that it comes from, or read all of it into a table, "
            "or call partial_fit for each batch."
        )
    raise TypeError(ONE_SHOT)


def open_dataset(
    path: Any,
    label: Any = None,
    *,
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    qid: Any = None,
    scaler: Any = None,
    impute: str | None = None,
    one_hot: Any = None,
    dates: bool = False,
    dtype: str | None = None,
    format: str | None = None,
    n_jobs: int | None = -1,
) -> Any:
    r"""Open rows that need not fit into memory, for `fit`.

    No row is read yet. `fit` reads the rows several times, in batches: the first scan counts
    them, learns the preparation and draws a sample, which finds the support vectors; the solver
    then reads all rows a few times. A ranking does so if the rows of each query are
    contiguous, and otherwise learns from a sample of whole queries.

    Parameters
    ----------
    path : str or path-like, an iterable of them, or an object with rows
        A file, a folder (all of its files, in the order of their names), or a pattern such as
        ``"rows/*.parquet"``. Formats are Parquet, CSV, TSV, LIBSVM text, all of them compressed or
        not. A NumPy file (``.npy``) is opened alone. A URL, such as ``"s3://bucket/rows"`` or
        ``"gs://bucket/rows/*.parquet"``, names files as a path does. An object with rows is a
        ``pyarrow.dataset.Dataset``, a LazyFrame of polars, or anything with the method
        ``__arrow_c_stream__``: a table or data frame, a relation of DuckDB, an expression of ibis.
        It must give the same rows in the same order each time.

    label : str, int, list of these or array, default=None
        The label's column, by name or number (from 1; -1 is the last). By default the one named
        label, target, class or y, or else the last. A list names several targets of a regression.
        For a NumPy file also another NumPy file, or an array.

    features : sequence of str, default=None
        The columns to use, by name or number. By default all other columns.

    sample_weight : str, default=None
        The column of the weights of the rows, by name or number.

    qid : str, int or array, default=None
        The column of the queries of the rows, by name or number, for `BudgetedRanker`; other
        estimators ignore the column. LIBSVM text has its queries after the labels, as
        ``qid:NUMBER``. For a NumPy file also another NumPy file, or an array.

    scaler : transformer, default=None
        StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler of scikit-learn. `fit` fits a
        copy, and the fitted model applies it to all rows. RobustScaler learns from the sample, the
        others from all rows. It scales numbers only, not what `one_hot` makes of texts. Scalers
        other than MaxAbsScaler make sparse rows dense, a batch at a time.

    impute : {"mean", "median", "most_frequent"}, default=None
        The strategy of the SimpleImputer that fills in missing numbers; missing texts become the
        most frequent one. Means, and most frequent texts, are those of all rows; medians and most
        frequent numbers are those of the sample, which is exact if it holds all rows. By default,
        missing values are refused.

    one_hot : list of str or int, or "text", default=None
        The columns to encode, by name or number, as OneHotEncoder does: each text becomes a
        feature, and texts that `fit` has not seen are ignored. Numbers in these columns count as
        texts. "text" means all columns of words. By default, columns of words are refused.

    dates : bool, default=False
        Whether each column of dates becomes four features: year, month, weekday (Monday is 0) and
        hour. Text files write dates as ``2024-01-31`` or ``2024-01-31T18:30:00``. By default,
        columns of dates are refused.

    dtype : {"float32", "float64"}, default=None
        The precision of the rows. By default float32 for Parquet files whose features all are, and
        for LIBSVM text unless that would round a column by more than 1e-6 of its spread; NumPy
        files keep theirs, and others have float64.

    format : {"libsvm", "csv", "tsv", "parquet"}, default=None
        The format. By default the files tell.

    n_jobs : int, default=-1
        Threads that parse LIBSVM text.

    Returns
    -------
    dataset : object
        Takes the place of X and y in `fit` and `score`, and of X in `predict`,
        `decision_function` and `predict_proba`. Its method ``batches()`` yields X, y and weights,
        and ``columns`` has the names of the features.

    Raises
    ------
    ValueError
        If a column that is named is not there, or an argument has no meaning for the files.

    Notes
    -----
    Columns that are given by number are those of the first file. In other files, they are found by
    name. All files must have the same columns, in any order, unless `features` are given.

    The fitted model has the preparation: it takes raw rows, and `save` keeps it.

    Text is parsed once, into a temporary folder that is removed when the fit ends. Set the
    environment variable TMPDIR to choose the disk.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pocketsvm import BudgetedSVC, open_dataset
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(4):
    ...         with open(os.path.join(folder, f"part-{k}.csv"), "w") as file:
    ...             _ = file.write("a,b,label\n")
    ...             for row, label in zip(X[k::4], y[k::4]):
    ...                 _ = file.write(f"{row[0]},{row[1]},{label}\n")
    ...     rows = open_dataset(folder, label="label", scaler=StandardScaler())
    ...     clf = BudgetedSVC(budget=20, random_state=0).fit(rows)
    >>> clf.feature_names_in_
    array(['a', 'b'], dtype=object)
    """
    label, qid = _column_or_array(label), _column_or_array(qid)
    if dtype not in (None, "float32", "float64"):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}.")
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    preparing = Preparing(scaler, impute, one_hot)
    _check_repeats(path)
    columns = [] if label is None or isinstance(label, np.ndarray) else [label]
    columns = [str(each) for each in (label if isinstance(label, list | tuple) else columns)]
    options = Options(
        format=format,
        label=columns[0] if columns else None,
        weights=None if sample_weight is None else str(sample_weight),
        ids=None if qid is None or isinstance(qid, np.ndarray) else str(qid),
        targets=tuple(columns[1:]),
        dates=dates,
        features=None if features is None else tuple(map(str, features)),
    )
    if hasattr(path, "get_fragments") or is_stream(path):
        with hints_for_datasets():
            return ArrowDataset(path, options, dtype, preparing)
    paths = found_files(path)
    if not paths:
        raise ValueError("path is empty: give a file, a folder or a pattern, or several of them.")
    if any(name.endswith(".npy") for name in paths):
        if len(paths) > 1:
            raise ValueError(f"A NumPy file is opened alone, but path names {len(paths)} files.")
        if is_url(paths[0]):
            raise ValueError(f"{paths[0]}: a NumPy file must be on a disk of this machine.")
        if features is not None or sample_weight is not None:
            raise ValueError("features and sample_weight are for tables, not for NumPy files.")
        return NpyDataset(paths[0], label, dtype, preparing, qid)
    for name, given in (("label", label), ("qid", qid)):
        if isinstance(given, np.ndarray):
            raise ValueError(f"{name} must be a column of the files; an array is for a NumPy file.")
    with hints_for_datasets():
        found = FileDataset(paths, options, dtype, preparing, n_jobs)
    named = {"label": label, "features": features, "sample_weight": sample_weight}
    for name in (name for name, given in named.items() if given is not None):
        if not found.is_table:
            raise ValueError(
                f"{paths[0]} is LIBSVM text, which has its labels at the start of the lines and no "
                f"columns of other kinds: leave out {name}."
            )
    return found


def _column_or_array(given: Any) -> Any:
    """Return the name or the number of a column, a list of them, or values as an array."""
    is_column = given is None or isinstance(given, str | os.PathLike | Integral | list | tuple)
    return given if is_column else np.asarray(given)


def found_files(path: Paths) -> list[str]:
    """Return the files of a path, a folder, a pattern or several of them."""
    if not isinstance(path, str | os.PathLike):
        return [name for each in path for name in found_files(each)]
    text = os.fspath(path)
    if is_url(text):
        return found_at(text)
    if os.path.isdir(text):
        found = sorted(
            str(file)
            for file in Path(text).rglob("*")
            if file.is_file() and not any(part[0] in "._" for part in file.relative_to(text).parts)
        )
        if not found:
            raise FileNotFoundError(f"The folder {text} has no files.")
        return found
    if not os.path.exists(text) and glob.has_magic(text):
        found = sorted(name for name in glob.glob(text, recursive=True) if os.path.isfile(name))
        if not found:
            raise FileNotFoundError(f"No file matches {text}.")
        return found
    if not os.path.exists(text):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    return [text]
