"""Training on files that are not read into memory: folders, patterns, and files that are too large.

Rows are read in batches (`pocketsvm.open_dataset`).
"""

import os
import re
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import typer
from sklearn.base import clone, is_classifier

from ..data import DataFile, number
from ..data.compression import SUFFIXES
from ..data.dataset import FileDataset, Progress
from ..data.drawing import Plan
from ..data.memory import available_memory
from ..data.opening import found_files
from ..data.survey import survey
from ..estimators.elsewhere import plan_of
from ..model.preparation import split
from ..training.settings import Choices
from .console import Reporter, Task
from .fitting import SCALERS
from .options import MachineOptions, TaskOptions, TrainingDataOptions
from .reading import ONE_QUERY, TrainingSet, label_name, options_of

# Bytes of memory that a fit takes for each byte of text, and for each value and row of a Parquet
# file.
TEXT_BYTES = 8
VALUE_BYTES = 24
ROW_BYTES = 24
# A Parquet file that takes more memory than so many bytes, and so many bytes for each byte of its
# own, is read in batches, whatever memory there is.
MOST_UNPACKED = 1 << 30
MOST_EXPANSION = 500
# Bytes of text for each byte of a compressed file.
EXPANSION = 5
# The share of the memory that rows may take, unless --memory says another size.
SHARE = 0.5
# Readings of all rows that a fit usually makes.
READINGS = 3
# Tasks that learn from a sample, which usually takes one reading.
LEARN_FROM_SAMPLE = ("novelty", "ranking")
UNITS = ("", "K", "M", "G", "T")


def parse_size(text: str) -> int:
    """Return the number of bytes that a text such as "2GB" means."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if not found:
        raise typer.BadParameter(
            f"{text!r} is not a size such as 500MB or 2GB.", param_hint="--memory"
        )
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** UNITS.index(found[2].upper()))


def open_if_large(
    data: str,
    columns: TrainingDataOptions,
    machine: MachineOptions,
    task: TaskOptions,
    memory: str | None,
    n_jobs: int,
    reporter: Reporter,
) -> FileDataset | None:
    """Return the data set of a folder, a pattern or a large file; None if it fits into memory.

    The metadata of a Parquet file tells how large its rows are before any of them is read.
    """
    limit = None if memory is None else parse_size(memory)
    if data == "-":
        return None
    paths = found_files(data)
    needed = sum(_needed(path, columns) for path in paths)
    if limit is None:
        n_bytes = sum(os.path.getsize(path) for path in paths)
        limit = int(SHARE * (available_memory() or 2**62))
        limit = min(limit, max(MOST_UNPACKED, MOST_EXPANSION * n_bytes))
    if paths == [data] and needed <= limit:
        return None
    if columns.impute is not None or columns.one_hot:
        raise ValueError(
            f"{data} is read in batches, because it is a folder, a pattern or too large for the "
            "memory; --impute and --one-hot need all rows in memory."
        )
    is_table = _format(paths[0], columns) != "libsvm"
    scale = machine.scale or ("standard" if is_table else "none")
    dataset = FileDataset(
        paths,
        options_of(columns, task=task),
        scaler=clone(SCALERS[scale]) if scale in SCALERS else None,
        n_jobs=n_jobs,
        say=reporter.say,
    )
    files = f"{len(paths):,} files" if len(paths) > 1 else paths[0]
    reporter.say(f"{files}, {dataset.n_bytes / 1e6:,.1f} MB: read in batches")
    if task.rank and task.query is None and is_table:
        reporter.say(ONE_QUERY)
    if machine.scale is None and scale == "standard":
        reporter.say("the features are scaled (--scale standard); --scale none turns this off")
    return dataset


def _format(path: str, columns: TrainingDataOptions) -> str:
    with DataFile(path, options_of(columns)) as file:
        return file.format


def _needed(path: str, columns: TrainingDataOptions) -> int:
    """Estimate the memory of a fit on a file in memory."""
    size = os.path.getsize(path)
    if _format(path, columns) == "parquet" and not path.endswith(SUFFIXES):
        import pyarrow.parquet as parquet

        found = parquet.read_metadata(path)
        return int(found.num_rows * (found.num_columns * VALUE_BYTES + ROW_BYTES))
    return size * TEXT_BYTES * (EXPANSION if path.endswith(SUFFIXES) else 1)


def set_class_weights(estimator: Any, given: list[str] | None) -> None:
    """Set the class weights that --class-weight gives, before the classes are known."""
    if not given:
        return
    if given == ["balanced"]:
        estimator.set_params(class_weight="balanced")
        return
    weights: dict[Any, float] = {}
    for item in given:
        label, _, text = item.rpartition("=")
        weight, value = number(text), number(label)
        if not label or weight is None:
            raise typer.BadParameter(f"{item!r} is not LABEL=WEIGHT.", param_hint="--class-weight")
        weights[label if value is None else value] = weight
    estimator.set_params(class_weight=weights)


def fit(
    estimator: Any, dataset: FileDataset, reporter: Reporter, callbacks: Sequence[Any] = ()
) -> float:
    """Fit an estimator to a data set; return the seconds it took."""
    begin = time.perf_counter()
    has_label = estimator._uses_y
    n_readings = 1 if estimator._task in LEARN_FROM_SAMPLE else READINGS
    with reporter.task("training", total=n_readings) as task:
        dataset.on_batch = ReadingProgress(task, n_readings)
        estimator.set_callbacks(*callbacks)
        try:
            estimator.fit(dataset)
        except ValueError as error:
            if "Unknown label type" not in str(error):
                raise
            raise ValueError(
                f"the labels are not classes, but numbers ({error}). To predict numbers, train "
                f"with --regression. {label_hint(dataset)}"
            ) from error
    estimator.set_callbacks()
    label = f"; label: {label_hint(dataset)}" if has_label else ""
    counted = f"{dataset.n_readings} reading{'s' if dataset.n_readings > 1 else ''}"
    reporter.say(f"read {task.rows:,} rows in {counted}{label}")
    most = Choices().rows_per_vector * int(estimator.budget)
    if estimator._task in LEARN_FROM_SAMPLE and dataset.n_rows > most:
        reporter.say(f"the model is fitted to a sample of at most {most:,} of these rows")
    if not is_classifier(estimator):
        dataset.spellings = None
    return time.perf_counter() - begin


def label_hint(dataset: FileDataset) -> str:
    """Name the column that the label was taken from."""
    layout = dataset.layout
    if layout is None or layout.label is None:
        return "at the start of each line"
    return f"column {label_name(layout)}"


class ReadingProgress:
    """Follows the readings of all rows."""

    def __init__(self, task: Task, n_readings: int = READINGS) -> None:
        self.task, self.n_readings = task, n_readings
        self.done = 0.0

    def __call__(self, progress: Progress) -> None:
        """Count what has been read since the last call."""
        done = progress.reading - 1 + progress.share
        self.task.total = max(self.n_readings, progress.reading)
        note = (
            f"reading {progress.reading}, {progress.share * progress.n_bytes / 1e6:,.0f} of "
            f"{progress.n_bytes / 1e6:,.0f} MB"
        )
        self.task.advance(progress.n_new, max(done - self.done, 1e-9), note)
        self.done = max(done, self.done)


def sample_of(
    dataset: FileDataset, estimator: Any, machine: MachineOptions, reporter: Reporter
) -> TrainingSet:
    """Draw a sample of the rows, on which ``tune`` compares settings."""
    plan: Plan = plan_of(estimator, np.random.RandomState(estimator.random_state))
    regression = machine.regression
    with (
        reporter.task("sampling", total=1) as task,
        dataset.opened(regression=regression) as source,
    ):
        dataset.on_batch = ReadingProgress(task)
        found = survey(source, plan, regression=regression)
    rows = found.sample
    reporter.say(f"settings are compared on {rows.n_rows:,} of {found.summary.n_rows:,} rows")
    assert dataset.layout is not None
    scale = next((name for name, s in SCALERS.items() if type(s) is type(dataset.scaler)), "none")
    return TrainingSet(rows.X, rows.y, dataset.spellings, dataset.layout, scale)


def refit(searched: Any, dataset: FileDataset, reporter: Reporter) -> tuple[Any, int]:
    """Fit the best estimator of a search to all rows; return it and their number."""
    best = clone(split(searched.best_estimator_)[1])
    fit(best, dataset, reporter)
    return best, dataset.n_rows
