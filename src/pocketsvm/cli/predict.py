"""``pocketsvm predict``: a label for each row of a data file."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, BinaryIO

import numpy as np
import typer

from .._replacing import replacing
from ..data import Batch, DataFile
from ..model.container import Array
from . import options
from .console import Reporter, one_line_of_json
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
    json: Annotated[bool, typer.Option("--json", help="A JSON list, one object a line.")] = False,
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
    reporter = Reporter(quiet or (out is None and sys.stdout.isatty()))  # not between the labels
    told = options.data_options(format, label, header)
    written = _json_lines if json else _lines
    with DataFile(data, told) as file, _output(out) as output, reporter.task("predicting") as task:
        batches = file.batches(saved.layout, n_jobs=n_jobs)
        for text in written(_answers(saved, batches, decision, task)):
            output.write(text.encode())


def _answers(
    saved: Saved, batches: Iterable[Batch], decision: bool, task: Any
) -> Iterator[dict[str, Array]]:
    """Yield columns for each batch that has rows: labels or numbers, and decision values."""
    labels = None if saved.is_regression else np.array(saved.labels, dtype=object)
    for batch in batches:
        n_rows = batch.X.shape[0]
        if n_rows:
            values = saved.answers(batch.X)
            if labels is None:
                yield {"prediction": values}
            else:
                found = {"label": labels[saved.codes(values)]}
                yield found | {"decision": values} if decision else found
            task.advance(n_rows, n_rows)


def _lines(batches: Iterable[dict[str, Array]]) -> Iterator[str]:
    """Yield batches as lines: what belongs to a row, with tabs between."""
    for columns in batches:
        texts: list[Any] = []
        for values in columns.values():
            spell = str if values.dtype == object else repr
            texts += (map(spell, part) for part in values.reshape(len(values), -1).T.tolist())
        yield "\n".join(map("\t".join, zip(*texts, strict=True))) + "\n"


def _json_lines(batches: Iterable[dict[str, Array]]) -> Iterator[str]:
    """Yield batches as a list of objects, each in a line of its own."""
    before = "["
    for columns in batches:
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        objects = (dict(zip(columns, row, strict=True)) for row in rows)
        yield before + "\n" + ",\n".join(map(one_line_of_json, objects))
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


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
