"""Data files as the commands open them, to be read once, in batches."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any

from ..files import DataFile, Options
from ..rows.opening import found_files
from .options import DataOptions, TaskOptions

STANDARD_INPUT = "standard input"
ONE_QUERY = "all rows are of one query; --query names the column of the queries"


def opened_files(data: str, options: DataOptions, **more: Any) -> Generator[DataFile]:
    """Open the files of a folder or pattern, one after the other; `more` is for `options_of`."""
    for path in ["-"] if data == "-" else found_files(data):
        with DataFile(path, options_of(options, **more)) as file:
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
    with closing(opened_files(test, options, task=task)) as files:
        yield chain([next(files)], files)


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
        options.decimal,
        texts or (),
        getattr(options, "dates", False),
        getattr(options, "impute", None) is not None,
        weights,
        ids if task is None or task.query is None else task.query,
        queries=task is not None and task.rank,
        labelled=task is None or not task.one_class,
    )
