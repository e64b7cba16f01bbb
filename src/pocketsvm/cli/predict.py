"""``pocketsvm predict``: a label for each row of a data file."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .groups import grouped

if TYPE_CHECKING:
    from ..files import Batch


@dataclass(frozen=True)
class PredictionOptions:
    """Where predictions go, and in which form."""

    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="File to write: text, or Parquet if its name ends with .parquet or .pq.",
            show_default="standard output",
        ),
    ] = None
    decision: Annotated[
        bool,
        typer.Option(
            "--decision", help="Add the decision values of the classes, separated by tabs."
        ),
    ] = False
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Add the probabilities of the classes, separated by tabs."),
    ] = False
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Write this column before each prediction, separated by a tab; it is no feature.",
        ),
    ] = None
    quiet: options.Quiet = False
    json: Annotated[
        bool, typer.Option("--json", help="Write a JSON list with one object per line.")
    ] = False


@grouped
def predict(
    model: options.ModelFile,
    data: options.Data,
    *,
    output: PredictionOptions,
    columns: options.DataOptions,
    n_jobs: options.Jobs = -1,
    device: options.Device = "cpu",
) -> None:
    """Predict the rows of a data file: one label per line, in their order.

    For a regression with several quantiles, a line has one number for each.

    The file may have labels; they are ignored. It is read in batches, so it may be larger than
    memory.
    """
    from .answers import answers, as_json, as_lines, as_parquet, is_parquet, open_output
    from .console import Reporter
    from .reading import opened_files
    from .saved import Saved

    options.check_apart(output.out, model, data)
    saved = Saved.load(model, n_jobs, device)
    if output.decision and saved.is_regression:
        raise typer.BadParameter(
            "a regression has no decision values, nor does a ranking.",
            param_hint="--decision",
        )
    if output.proba and saved.model.loss != "log_loss":
        raise typer.BadParameter(
            "the model has no probabilities; train one with --loss log_loss, or calibrate it in "
            "Python with CalibratedClassifierCV.",
            param_hint="--proba",
        )
    # Progress must not appear between the labels on a terminal.
    reporter = Reporter(output.quiet or (output.out is None and sys.stdout.isatty()))
    if is_parquet(output.out) and output.json:
        raise typer.BadParameter(f"{output.out} is Parquet; leave out --json or name another file.")

    def batches() -> "Iterator[Batch]":
        for file in opened_files(data, columns, ids=output.id):
            yield from file.batches(saved.layout, n_jobs=n_jobs)

    with open_output(output.out) as stream, reporter.task("predicting") as task:
        found = answers(saved, batches(), output, task)
        if is_parquet(output.out):
            as_parquet(found, stream, saved, output)
            return
        for text in as_json(found) if output.json else as_lines(found):
            stream.write(text.encode())
