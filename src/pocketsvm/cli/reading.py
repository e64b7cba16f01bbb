"""Data files as the commands read them: rows and labels for a fit."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data import LABEL_NAMES, DataFile, Labels, Layout, Options, Table, number
from ..data.memory import memory_problem
from ..data.opening import found_files
from .console import Reporter
from .options import DataOptions, MachineOptions, TaskOptions

LABEL_RULES = {
    "option": "named by --label",
    "name": f"the only column named {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}",
    "last": "the last column",
}
ONE_QUERY = "all rows are of one query; --query names the column of the queries"
# Scaling makes sparse rows dense: they may take this many bytes, so that memory is not exhausted.
MOST_DENSE_BYTES = 2**32
# A file with more classes than this, and fewer rows per class than that, probably has a numeric
# column in place of the label.
MANY_CLASSES, ROWS_PER_CLASS = 20, 10
# Support vectors are dense. From this many features on, a model leaves out columns that no row of
# the training file uses; beyond the second number, the list of all columns would take too long.
WIDE, WIDEST = 1 << 17, 1 << 23


@dataclass(frozen=True)
class TrainingSet:
    """Rows and targets of a data file, as a fit takes them.

    `spellings` is how the file spells the classes, in their order; None if they are texts, or for
    a regression. `scale` is how the features are to be scaled; `qid` has the queries of a ranking.
    """

    X: Any
    y: NDArray[Any]
    spellings: list[str] | None
    layout: Layout
    scale: str = "none"
    qid: NDArray[Any] | None = None

    @property
    def used(self) -> NDArray[np.intp] | None:
        """The columns to train on, where the rows are wide and use few of them; None for all."""
        return used_columns(self.X)

    @property
    def metadata(self) -> dict[str, Any]:
        """What a fit takes besides X and y."""
        return {} if self.qid is None else {"qid": self.qid}

    @property
    def class_names(self) -> list[str]:
        """The classes as the file spells them, in their order."""
        return self.spellings or np.unique(self.y).tolist()


def data_files(data: str) -> list[str]:
    """Return the files of a folder or pattern; ``-`` is standard input."""
    return ["-"] if data == "-" else found_files(data)


def opened_files(
    data: str,
    options: DataOptions,
    *,
    weights: str | None = None,
    ids: str | None = None,
    task: TaskOptions | None = None,
) -> Iterator[DataFile]:
    """Open the files of a folder or pattern, one after the other."""
    for path in data_files(data):
        with open_data(path, options, weights=weights, ids=ids, task=task) as file:
            yield file


@contextmanager
def opened_test(
    test: str | None, options: DataOptions, task: TaskOptions
) -> Iterator[Iterable[DataFile] | None]:
    """Open the first test file, so that wrong names are found before the work is done.

    Others of a folder or pattern follow one after the other.
    """
    if test is None:
        yield None
        return
    first, *others = data_files(test)
    with open_data(first, options, task=task) as file:
        yield chain([file], (f for path in others for f in opened_files(path, options, task=task)))


def open_data(
    path: str,
    options: DataOptions,
    *,
    weights: str | None = None,
    ids: str | None = None,
    task: TaskOptions | None = None,
) -> DataFile:
    """Open a data file, to be read at once or in batches."""
    return DataFile(path, options_of(options, weights=weights, ids=ids, task=task))


def options_of(
    options: DataOptions,
    *,
    weights: str | None = None,
    ids: str | None = None,
    task: TaskOptions | None = None,
) -> Options:
    """Return what the flags say about a data file."""
    drop, texts = getattr(options, "drop", None), getattr(options, "one_hot", None)
    return Options(
        options.format,
        options.header,
        options.label,
        drop or (),
        options.sep,
        texts or (),
        getattr(options, "impute", None) is not None,
        weights,
        ids if task is None or task.query is None else task.query,
        queries=task is not None and task.rank,
        labelled=task is None or not task.one_class,
    )


def read_training_set(
    path: str,
    options: DataOptions,
    machine: MachineOptions,
    n_jobs: int,
    reporter: Reporter,
    purpose: TaskOptions | None = None,
) -> TrainingSet:
    """Read a data file for a fit, and report its size and its label."""
    with open_data(path, options, task=purpose) as file, reporter.task("reading") as task:
        if file.format == "libsvm" and (file.options.texts or file.options.missing):
            raise ValueError(f"{path} is LIBSVM text; --impute and --one-hot are for tables.")
        table = file.read(n_jobs=n_jobs, advance=lambda n_rows: task.advance(n_rows, n_rows))
    reporter.say(f"{file.name}: {_summary(table)}")
    n_rows, n_features = table.X.shape
    n_vectors = min(machine.budget, n_rows * machine.max_iter)
    used = used_columns(table.X)
    n_kept = n_features if used is None else len(used)
    if table.largest_index and (problem := memory_problem(n_vectors, n_kept)):
        raise ValueError(f"{table.largest_index} is the largest one, and {problem}")
    if not sp.issparse(table.X):
        _check_columns(table, path)
    scale = machine.scale or ("none" if file.format == "libsvm" else "standard")
    if machine.scale is None and scale == "standard":
        reporter.say("the features are scaled (--scale standard); --scale none turns this off")
    needs_dense = sp.issparse(table.X) and scale not in ("none", "maxabs")
    X = _dense(table.X, scale) if needs_dense else table.X
    if purpose is not None and purpose.one_class:
        return TrainingSet(X, np.zeros(n_rows), None, table.layout, scale)
    if purpose is not None and purpose.rank:
        relevance = numbers_of(table.labels, path, "a ranking")
        if table.ids is None:
            reporter.say(ONE_QUERY)
        qid = np.zeros(n_rows, dtype=np.intp) if table.ids is None else np.array(table.ids)
        return TrainingSet(X, relevance, None, table.layout, scale, qid)
    if machine.regression:
        return TrainingSet(X, numbers_of(table.labels, path), None, table.layout, scale)
    y, spellings = table.labels.targets()
    _check_classes(y, table, path)
    return TrainingSet(X, y, spellings, table.layout, scale)


def _check_columns(table: Table, path: str) -> None:
    """Refuse a column without values; warn about a text that differs in almost all rows."""
    n_rows = table.X.shape[0]
    names = table.layout.names or [f"{k + 1}" for k in range(table.layout.n_features)]
    for j, name in enumerate(names if table.layout.missing else []):
        if _missing(table.X[:, j]).all():
            raise ValueError(
                f"{path}: column {name!r} has no values: leave it out (--drop {name})."
            )
    for j in table.layout.texts:
        n_texts = len(set(table.X[:, j].tolist()))
        if n_texts > MANY_CLASSES and n_texts * ROWS_PER_CLASS > n_rows:
            warnings.warn(
                f"{path}: column {names[j]!r} has {n_texts:,} different texts in {n_rows:,} rows, "
                "and each becomes a feature. If it names the rows, leave it out: --drop "
                f"{names[j]}.",
                stacklevel=2,
            )


def used_columns(X: Any) -> NDArray[np.intp] | None:
    """Return the columns that a row uses, if the rows are wide and leave most columns empty."""
    is_sparse: bool = sp.issparse(X)
    if not is_sparse or not WIDE <= X.shape[1] <= WIDEST:
        return None
    used = np.unique(X.indices)
    return used if 0 < 2 * len(used) <= X.shape[1] else None


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(column != column, dtype=bool)


def _summary(table: Table) -> str:
    """Return what was read: rows, features, and which column is the label and why."""
    n_rows, n_features = table.X.shape
    size = f"{_counted(n_rows, 'row')}, {_counted(n_features, 'feature')}"
    if table.layout.texts:
        size += f" ({len(table.layout.texts):,} of text)"
    if table.layout.missing:
        size += f", {_counted(int(_missing(table.X).sum()), 'missing value')}"
    if table.layout.label is None and not sp.issparse(table.X):
        return f"{size}; no label"
    if table.label_rule is None:
        return f"{size}; label: at the start of each line"
    label = label_name(table.layout)
    return f"{size}; label: column {label} ({LABEL_RULES[table.label_rule]})"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def numbers_of(labels: Labels, name: str, what: str = "a regression") -> NDArray[np.float64]:
    """Return labels as numbers; raise ValueError if one is not a number."""
    numbers = labels.numbers()
    if numbers is None:
        wrong = next(text for text in labels.names if number(text) is None)
        raise ValueError(f"{name}: the label {wrong!r} is not a number, as {what} needs.")
    return numbers


def _dense(X: Any, scale: str) -> Any:
    """Return sparse rows as a scaler takes them."""
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    if n_bytes > MOST_DENSE_BYTES:
        raise ValueError(
            f"--scale {scale} makes sparse rows dense, which takes {n_bytes / 2**30:,.0f} GiB, "
            f"and the limit is {MOST_DENSE_BYTES / 2**30:.0f} GiB; scale the file beforehand."
        )
    return X.toarray()


def _check_classes(y: NDArray[Any], table: Table, path: str) -> None:
    """Refuse or warn if the labels look like numbers to predict."""
    if y.dtype.kind == "f" and (fraction := np.flatnonzero(y != np.floor(y))).size:
        raise ValueError(
            f"{path}: {y[fraction[0]]:g} is not a class label, which is a whole number or a word. "
            f"To predict such numbers, train with --regression.{_label_hint(table.layout)}"
        )
    n_classes = len(table.labels.names)
    if n_classes > MANY_CLASSES and n_classes * ROWS_PER_CLASS > len(y):
        warnings.warn(
            f"{path} has {n_classes:,} classes in {len(y):,} rows.{_label_hint(table.layout)}",
            stacklevel=2,
        )


def _label_hint(layout: Layout) -> str:
    """Name the column that the label was taken from."""
    if layout.label is None:
        return ""
    name = label_name(layout)
    return f" The label is taken from column {name}; if it is another, say --label COLUMN."


def label_name(layout: Layout) -> str:
    """Return the name of the label's column for a message, or its number."""
    return str(layout.label + 1) if isinstance(layout.label, int) else repr(layout.label)
