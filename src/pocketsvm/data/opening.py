"""`open_dataset`, and what else takes the place of rows in memory."""

import errno
import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .columns import Options
from .dataset import ArrowDataset, BatchesDataset, FileDataset, others
from .errors import hints_for_datasets
from .file import FORMATS
from .npy import NpyDataset

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

ONE_SHOT = (
    "fit reads the rows several times, and an iterator gives them only once. Pass an object whose "
    "method batches() begins anew each time it is called, or call partial_fit for each batch."
)


def as_dataset(X: Any) -> Any:
    """Return the data set that takes the place of X; None if X is anything else."""
    if hasattr(X, "opened"):
        return X
    if callable(getattr(X, "batches", None)):
        return BatchesDataset(X)
    if hasattr(X, "__next__"):
        raise TypeError(ONE_SHOT)
    if type(X).__module__.startswith("pyarrow.") and hasattr(X, "get_fragments"):
        return ArrowDataset(X)
    return None


def open_dataset(
    path: Any,
    label: Any = None,
    *,
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    qid: Any = None,
    scaler: Any = None,
    dtype: str | None = None,
    format: str | None = None,
    n_jobs: int | None = -1,
) -> Any:
    r"""Open rows on disk, which need not fit into memory, for `fit`.

    No row is read yet. `fit` reads the rows several times, in batches: the first reading counts
    them and draws a sample, which finds the support vectors; the solver then reads all rows, two or
    three times. Novelty detection and ranking learn from the sample alone.

    Parameters
    ----------
    path : str or path-like, an iterable of them, or a pyarrow.dataset.Dataset
        A file, a folder (all of its files, in the order of their names), or a pattern such as
        ``"rows/*.parquet"``. Formats are Parquet, CSV, TSV, LIBSVM text, all of them compressed or
        not. A NumPy file (``.npy``) is opened alone.

    label : str, int or array-like, default=None
        The label's column, by name or number (from 1; -1 is the last). By default the one named
        label, target, class or y, or else the last. For a NumPy file also another NumPy file, or an
        array.

    features : sequence of str, default=None
        The columns to use, by name or number. By default all other columns.

    sample_weight : str, default=None
        The column of the weights of the rows, by name or number.

    qid : str, int or array-like, default=None
        The column of the queries of the rows, by name or number, for `BudgetedRanker`; other
        estimators ignore the column. LIBSVM text has its queries after the labels, as
        ``qid:NUMBER``. For a NumPy file also another NumPy file, or an array.

    scaler : transformer, default=None
        StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler of scikit-learn. `fit` fits a
        copy, and the fitted model applies it to all rows. RobustScaler learns from the sample, the
        others from all rows.

    dtype : {"float32", "float64"}, default=None
        The precision of the rows. By default float32 for LIBSVM text and for Parquet files whose
        features all are, and float64 for others.

    format : {"libsvm", "csv", "tsv", "parquet"}, default=None
        The format. By default the files tell.

    n_jobs : int, default=-1
        Threads that parse LIBSVM text.

    Returns
    -------
    dataset : object
        Takes the place of X and y in `fit`. Its method ``batches()`` yields X, y and weights.

    Notes
    -----
    Text is parsed once, into a temporary folder that is removed when the fit ends. Set the
    environment variable TMPDIR to choose the disk.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC, open_dataset
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(4):
    ...         with open(os.path.join(folder, f"part-{k}.csv"), "w") as file:
    ...             _ = file.write("a,b,label\n")
    ...             for row, label in zip(X[k::4], y[k::4]):
    ...                 _ = file.write(f"{row[0]},{row[1]},{label}\n")
    ...     rows = open_dataset(folder, label="label")
    ...     clf = BudgetedSVC(budget=20, random_state=0).fit(rows)
    >>> clf.feature_names_in_
    array(['a', 'b'], dtype=object)
    """
    label, qid = _column_or_array(label), _column_or_array(qid)
    if dtype not in (None, "float32", "float64"):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}.")
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    scaler = None if scaler is None else clone(scaler)
    if hasattr(path, "__next__"):
        raise TypeError(ONE_SHOT)
    options = Options(
        format=format,
        label=None if label is None or isinstance(label, np.ndarray) else str(label),
        weights=None if sample_weight is None else str(sample_weight),
        ids=None if qid is None or isinstance(qid, np.ndarray) else str(qid),
    )
    chosen = None if features is None else [str(column) for column in features]
    if hasattr(path, "get_fragments"):
        if chosen is not None:
            with hints_for_datasets():
                drop = others("the data set", list(path.schema.names), chosen, options)
            options = replace(options, drop=drop)
        return ArrowDataset(path, options, dtype, scaler)
    paths = found_files(path)
    if not paths:
        raise ValueError("path names no file.")
    if any(name.endswith(".npy") for name in paths):
        if len(paths) > 1:
            raise ValueError(f"A NumPy file is opened alone, but path names {len(paths)} files.")
        if features is not None or sample_weight is not None:
            raise ValueError("features and sample_weight are for tables, not for NumPy files.")
        return NpyDataset(paths[0], label, dtype, scaler, qid)
    for name, given in (("label", label), ("qid", qid)):
        if isinstance(given, np.ndarray):
            raise ValueError(f"{name} must be a column of the files; an array is for a NumPy file.")
    return FileDataset(paths, options, chosen, dtype, scaler, n_jobs)


def _column_or_array(given: Any) -> Any:
    """Return the name or the number of a column, or values as an array."""
    is_column = given is None or isinstance(given, str | os.PathLike | Integral)
    return given if is_column else np.asarray(given)


def found_files(path: Paths) -> list[str]:
    """Return the files of a path, a folder, a pattern or several of them."""
    if not isinstance(path, str | os.PathLike):
        return [name for each in path for name in found_files(each)]
    text = os.fspath(path)
    if os.path.isdir(text):
        found = sorted(
            str(file)
            for file in Path(text).rglob("*")
            if file.is_file() and not any(part[0] in "._" for part in file.relative_to(text).parts)
        )
        if not found:
            raise FileNotFoundError(f"the folder {text} has no files.")
        return found
    if not os.path.exists(text) and glob.has_magic(text):
        found = sorted(name for name in glob.glob(text, recursive=True) if os.path.isfile(name))
        if not found:
            raise FileNotFoundError(f"no file matches {text}.")
        return found
    if not os.path.exists(text):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    return [text]
