"""``pocketsvm compress``: a trained SVM, made small."""

from typing import Annotated, Literal

import typer

from . import options
from .groups import grouped


@grouped
def compress(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model file of pocketsvm or LIBSVM.")
    ],
    out: Annotated[str, typer.Argument(metavar="OUT", help="Model file to write.")],
    *,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="DATA",
            help="Data file of rows with labels, such as those of the training, on which the "
            "smaller model is solved and measured.",
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("-B", "--budget", min=2, help="Largest number of vectors.")
    ] = None,
    bytes: Annotated[
        int | None, typer.Option("--bytes", min=1, help="Most bytes of all numbers.")
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16", "int16", "int8"] | None,
        typer.Option(
            "--dtype",
            help="Type of the numbers in C.",
            show_default="float32, with --bytes int8",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            help="Find the smallest budget that changes at most this share of the labels.",
        ),
    ] = None,
    columns: options.DataOptions,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random numbers.")] = 0,
    n_jobs: options.Jobs = -1,
    json: options.Json = False,
) -> None:
    """Make a trained SVM small.

    Give one of --budget, --bytes and --tolerance. MODEL is a model file of pocketsvm, or one of
    LIBSVM with a Gaussian kernel. With --rows, the smaller model is solved so that its decision
    values on these rows are those of the given one. A tenth of them, at most 2,000, are held out
    and show what was lost. Without rows, vectors are merged and solved for so that both functions
    are close everywhere.
    """
    from ..compression import compress as make_small
    from .console import print_json, show
    from .shrinking import Shrunk

    if sum(each is not None for each in (budget, bytes, tolerance)) != 1:
        raise typer.BadParameter("give one of --budget, --bytes and --tolerance.")
    options.check_apart(out, model, rows)
    work = Shrunk.open(model)
    X, y = (None, None) if rows is None else work.rows(rows, columns, n_jobs)
    small = make_small(
        work.given,
        X,
        y,
        budget=budget,
        bytes=bytes,
        dtype=dtype,
        tolerance=tolerance,
        n_jobs=n_jobs,
        random_state=seed,
    )
    work.save(small, out)
    report = small.compression_
    if json:
        print_json({"model": out, **report.as_dict()})
    else:
        for line in str(report).splitlines():
            show(line)
