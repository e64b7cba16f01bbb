"""The rows of `train` and `tune`: a data set that is opened once, whatever its size.

Whether all rows are in memory is up to the data set, which knows how much memory they may take.
While they are read for the first time, `FirstLook` counts them and finds what looks wrong.
"""

import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import typer
from sklearn.base import is_classifier
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._replacing import temporary_folder
from ..files import LABEL_NAMES, DataError, Layout
from ..files.memory import available_memory, memory_problem
from ..files.reader import number
from ..rows.chunk import Chunk, Needs
from ..rows.dataset import Dataset, FileDataset
from ..rows.opening import found_files
from ..rows.preparation import WIDE, Preparing, used_columns
from ..rows.source import ChunkSource
from .app import ARGUMENTS
from .console import Reporter
from .needs import all_needs_named, are_too_many
from .options import MachineOptions, TaskOptions, TrainingDataOptions
from .reading import ONE_QUERY, STANDARD_INPUT, options_of
from .saved import spelled

SCALERS = {
    "standard": StandardScaler(),
    "minmax": MinMaxScaler(),
    "maxabs": MaxAbsScaler(),
    "robust": RobustScaler(unit_variance=True),
}
# The share of the memory that rows may take, unless --memory says another size.
SHARE = 0.5
# A Parquet file that takes more memory than so many bytes, and so many bytes for each byte of its
# own, is read in batches, whatever memory there is.
MOST_UNPACKED = 1 << 30
MOST_EXPANSION = 500
UNITS = ("", "K", "M", "G", "T")
LEAST_MEMORY = 10**6  # a smaller size is probably a mistake in the unit
INPUT = "pocketsvm-input-"  # of the names of the folders with copies of standard input
LABEL_RULES = {
    "option": "named by --label",
    "name": f"the only column named {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}",
    "last": "the last column",
}
MOST_CLASSES_NAMED = 20  # in a message, which should stay readable


@dataclass(eq=False, repr=False)
class TrainingData(Dataset):
    """Rows to train on, which stay open for several fits.

    Attributes
    ----------
    name : str
        What messages call them.

    files : FileDataset
        The files.

    source : ChunkSource
        The rows in the open files.

    preparing : Preparing
        What is done to rows before the kernel sees them.

    whole : Chunk or None
        All rows, if they may be in memory at once.
    """

    name: str
    files: FileDataset
    source: ChunkSource
    preparing: Preparing
    whole: Chunk | None = None

    @contextmanager
    def opened(self, needs: Needs, like: Layout | None = None) -> Iterator[ChunkSource]:
        """Give the rows, which are open, to a fit or a fitted model."""
        yield replace(self.source, ignored=needs.ignored)

    def take(self, chosen: Any) -> "TrainingData":
        """Return some of the rows, which are in memory."""
        assert self.whole is not None
        part = replace(self)
        part.hold(self.whole.take(chosen))
        return part

    def hold(self, rows: Chunk) -> None:
        """Take these for all rows, and keep them in memory."""
        self.source = replace(self.source, read=lambda: iter([rows]))
        self.whole = rows

    @property
    def has_texts(self) -> bool:
        """Whether labels are texts, and not numbers."""
        if self.source.spellings is not None:
            return False
        first = next(self.source.read(), None)
        self.files.n_scans = 0  # this was none
        return first is not None and first.y.dtype.kind == "U"

    @property
    def is_text(self) -> bool:
        """Whether the files are LIBSVM text."""
        return not self.files.is_table

    @property
    def label(self) -> str:
        """Where the label was taken from, for a message."""
        if self.is_text:
            return "at the start of each line"
        label = self.layout.label
        return f"column {label + 1 if isinstance(label, int) else repr(label)}"

    @property
    def layout(self) -> Layout:
        """Where the files have their columns."""
        assert self.source.layout is not None
        return self.source.layout


@contextmanager
def opened_rows(
    data: str,
    columns: TrainingDataOptions,
    machine: MachineOptions,
    estimator: Any,
    memory: str | None,
    reporter: Reporter,
    task: TaskOptions | None = None,
) -> Iterator[TrainingData]:
    """Open the rows to train on, and tell the estimator the weights of their classes."""
    limit = None if memory is None else parse_size(memory)
    with ExitStack() as stack, ExitStack() as opened:
        name = STANDARD_INPUT if data == "-" else data
        path = stack.enter_context(_copied_input()) if data == "-" else data
        options = options_of(columns, task=task)
        files = FileDataset(found_files(path), options, n_jobs=estimator.n_jobs, say=reporter.say)
        is_text = not files.is_table
        if not is_text:
            labelled = replace(options, labelled=estimator._what().needs.labelled)
            has_classes = is_classifier(estimator)
            named = all_needs_named(files.paths, labelled, ARGUMENTS.get(), has_classes=has_classes)
            stack.enter_context(named)
        if is_text and (columns.impute is not None or columns.one_hot):
            raise ValueError(f"{name} is LIBSVM text; --impute and --one-hot are for tables.")
        files.memory = _default_memory(files, path) if limit is None else limit
        if files.n_bytes_of_rows() > files.memory:
            which = f"{len(files.paths):,} files" if len(files.paths) > 1 else name
            reporter.say(f"{which}, {files.n_bytes / 1e6:,.1f} MB: read in batches")
        scale = machine.scale or ("none" if is_text else "standard")
        notes = []
        if machine.scale is None and scale == "standard":
            notes.append("the features are scaled (--scale standard); --scale none turns this off")
        if task is not None and task.rank and task.query is None and not is_text:
            notes.append(ONE_QUERY)
        preparing = Preparing(SCALERS.get(scale), columns.impute, columns.one_hot, leaves_out=True)
        with reporter.task("reading") as reading:
            files.on_batch = lambda progress: reading.advance(progress.n_new, progress.n_new)
            source = opened.enter_context(files.opened(estimator._what().needs))
            rows = TrainingData(name, files, source, preparing)
            rows.say = reporter.say
            set_class_weights(estimator, machine.class_weight, rows)
            if estimator.gamma == "auto" and rows.layout.n_features >= WIDE:
                # Columns that no row uses are left out, but they count.
                estimator.set_params(gamma=1 / rows.layout.n_features)
            look = FirstLook(rows, estimator, reporter, notes)
            rows.source = replace(source, read=look.followed(source.read))
            if (whole := rows.source.whole()) is not None:
                opened.close()
                rows.hold(whole)
        yield rows


@contextmanager
def _copied_input() -> Iterator[str]:
    """Copy standard input to a file, which can be read several times; messages keep its name."""
    with temporary_folder(INPUT) as folder:
        path = os.path.join(folder, "rows")
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield path
        except DataError as error:
            raise DataError(error.problem.replace(path, STANDARD_INPUT), *error.hints) from error


def parse_size(text: str) -> int:
    """Return the number of bytes that a text such as "2GB" means: none, or at least 1 MB."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if not found:
        raise typer.BadParameter(
            f"{text!r} is not a size such as 500MB or 2GB.", param_hint="--memory"
        )
    base = 1024 if found[3] else 1000
    size = int(float(found[1]) * base ** UNITS.index(found[2].upper()))
    if 0 < size < LEAST_MEMORY:
        raise typer.BadParameter(
            f"{text!r} is less than 1MB, the minimum; 0 reads all rows in batches.",
            param_hint="--memory",
        )
    return size


def _default_memory(files: FileDataset, path: str) -> int:
    """Return the memory that rows may take; those of a folder or pattern stay in their files."""
    if files.paths != [path]:
        return 0
    most = max(MOST_UNPACKED, MOST_EXPANSION * files.n_bytes)
    return min(int(SHARE * (available_memory() or 2**62)), most)


def set_class_weights(estimator: Any, given: list[str] | None, rows: TrainingData) -> None:
    """Set the class weights that --class-weight gives; labels are numbers or texts, as in files."""
    if not given:
        return
    if given == ["balanced"]:
        estimator.set_params(class_weight="balanced")
        return
    weights: dict[Any, float] = {}
    are_texts = rows.has_texts
    for item in given:
        label, _, text = item.rpartition("=")
        weight, value = number(text), number(label)
        if not label or weight is None:
            raise typer.BadParameter(f"{item!r} is not LABEL=WEIGHT.", param_hint="--class-weight")
        weights[label if value is None or are_texts else value] = weight
    estimator.set_params(class_weight=weights)


@dataclass(eq=False)
class FirstLook:
    """What the first scan of the rows shows: how many there are, and what looks wrong.

    Attributes
    ----------
    rows : TrainingData
        The rows.

    estimator : estimator of pocketsvm
        The estimator that is to be fitted.

    reporter : Reporter
        Shows what was found.

    notes : list of str
        What else to show.
    """

    rows: TrainingData
    estimator: Any
    reporter: Reporter
    notes: list[str]
    n_missing: int = 0
    labels: set[Any] = field(default_factory=set)
    fraction: float | None = None
    texts: dict[int, set[str]] = field(default_factory=dict)
    used: Any = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def followed(self, read: Callable[[], Iterator[Chunk]]) -> Callable[[], Iterator[Chunk]]:
        """Return a scan that looks at the rows when it is made for the first time."""

        def follow() -> Iterator[Chunk]:
            is_first, n_rows = not self.rows.n_rows, 0
            for chunk in read():
                if is_first:
                    self._add(chunk)
                    n_rows += chunk.n_rows
                yield chunk
            if is_first:
                self.rows.n_rows = n_rows
                self._report()

        return follow

    def _add(self, chunk: Chunk) -> None:
        X, y = chunk.X, chunk.y
        if self.rows.layout.missing:
            self.n_missing += int((X != X).sum())
        for column in chunk.texts:
            self.texts.setdefault(column, set()).update(X[:, column].tolist())
        if self.rows.is_text and X.shape[1] >= WIDE:
            self.used = np.union1d(self.used, X.indices)
        if is_classifier(self.estimator):
            self.labels.update(np.unique(y).tolist())
            if self.fraction is None and y.dtype.kind == "f":
                self.fraction = next(iter(y[y != np.floor(y)].tolist()), None)

    def _report(self) -> None:
        """Say what was read; refuse labels and columns that cannot be right, or warn."""
        rows = self.rows
        if not rows.n_rows:
            raise ValueError(f"{rows.name} holds no rows.")
        self.reporter.say(f"{rows.name}: {self._summary()}")
        self._check_memory()
        for column, texts in self.texts.items():
            self._check_texts(column, len(texts))
        for note in self.notes:
            self.reporter.say(note)
        if is_classifier(self.estimator):
            self._check_classes()

    def _summary(self) -> str:
        """Return what was read: rows, features, and which column is the label and why."""
        layout = self.rows.layout
        size = f"{_counted(self.rows.n_rows, 'row')}, {_counted(layout.n_features, 'feature')}"
        if layout.texts:
            size += f" ({len(layout.texts):,} of text)"
        if layout.missing:
            size += f", {_counted(self.n_missing, 'missing value')}"
        if layout.label is None and not self.rows.is_text:
            return f"{size}; no label"
        rule = "" if layout.label_rule is None else f" ({LABEL_RULES[layout.label_rule]})"
        return f"{size}; label: {self.rows.label}{rule}"

    def _check_memory(self) -> None:
        """Refuse LIBSVM text with an index that makes vectors larger than the memory."""
        layout, n_rows = self.rows.layout, self.rows.n_rows
        n_vectors = min(self.estimator.budget, n_rows * self.estimator.max_iter)
        used = used_columns(self.used, layout.n_features)
        problem = memory_problem(n_vectors, layout.n_features if used is None else len(used))
        if layout.largest_index is not None and problem is not None:
            raise ValueError(f"{layout.largest_index} is the largest one, and {problem}")

    def _check_texts(self, column: int, n_texts: int) -> None:
        """Warn about a text that differs in almost all rows."""
        names, n_rows = self.rows.layout.names, self.rows.n_rows
        name = str(column + 1) if names is None else names[column]
        if are_too_many(n_texts, n_rows):
            warnings.warn(
                f"{self.rows.name}: column {name!r} has {n_texts:,} different texts in {n_rows:,} "
                "rows, and each becomes a feature. If it names the rows, leave it out: --drop "
                f"{name}.",
                stacklevel=2,
            )

    def _check_classes(self) -> None:
        """Refuse or warn if the labels look like numbers to predict; refuse weights of others."""
        rows, n_rows, hint = self.rows, self.rows.n_rows, ""
        if rows.layout.label is not None:
            hint = f" The label is taken from {rows.label}; if it is another, say --label COLUMN."
        if self.fraction is not None:
            raise ValueError(
                f"{rows.name}: {self.fraction:g} is not a class label, which is a whole number or "
                f"a word. To predict such numbers, train with --regression.{hint}"
            )
        n_classes = len(self.labels)
        if are_too_many(n_classes, n_rows):
            warnings.warn(
                f"{rows.name} has {n_classes:,} classes in {n_rows:,} rows.{hint}", stacklevel=2
            )
        weights = self.estimator.class_weight
        unknown = set(weights) - self.labels if isinstance(weights, dict) else set()
        if unknown:
            wrong = spelled(sorted(unknown, key=str))[0]
            known = spelled(sorted(self.labels), rows.source.spellings)
            raise typer.BadParameter(
                f"no class is labelled {wrong!r}; there are "
                f"{', '.join(known[:MOST_CLASSES_NAMED])}.",
                param_hint="--class-weight",
            )


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
