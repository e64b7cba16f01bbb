"""``pocketsvm predict``: a label for each row of a data file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, BinaryIO

import numpy as np
import typer

from .._array_file import replacing
from ..tables import Array, DataFile
from . import options
from .console import Reporter
from .saved import Saved

__all__ = ["predict"]


def predict(
    model: options.ModelFile,
    data: options.Data,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write; else to stdout."),
    ] = None,
    decision: Annotated[
        bool,
        typer.Option(
            "--decision", help="Add the decision values of the classes, separated by tabs."
        ),
    ] = False,
    header: options.Header = None,
    label: options.Label = None,
    format: options.Format = None,
    n_jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
) -> None:
    """Predict the rows of a data file: one label a line, in their order.

    The file may have labels or not; they are not looked at. It is read in pieces: its size does
    not matter.
    """
    options.check_apart(out, model, data)
    saved = Saved.load(model, n_jobs)
    if decision and saved.is_regression:
        raise typer.BadParameter(
            "a regression has no decision values, only predictions.", param_hint="--decision"
        )
    spelled = None if saved.is_regression else np.array(saved.labels, dtype=object)
    reporter = Reporter(quiet or out is None)
    told = options.data_options(format, label, header)
    with DataFile(data, told) as file, _output(out) as output, reporter.task("predicting") as task:
        for batch in file.batches(saved.layout, n_jobs=n_jobs):
            answers = saved.answers(batch.X)
            if spelled is None:
                columns = [_spelled(answers)]
            else:
                columns = [spelled[saved.codes(answers)].tolist()]
                if decision:
                    columns += map(_spelled, answers.reshape(len(answers), -1).T)
            lines = columns[0] if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))
            text = "\n".join(lines)
            output.write((text + "\n" * bool(text)).encode())
            task.advance(batch.X.shape[0], batch.X.shape[0])


def _spelled(values: Array) -> list[str]:
    return list(map(repr, values.tolist()))


@contextmanager
def _output(path: str | None) -> Iterator[BinaryIO | Any]:
    """Open a file that appears when it is complete; a pipe or device, as stdout, just streams."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "wb") as file:
            yield file
    else:
        with replacing(path) as file:
            yield file
