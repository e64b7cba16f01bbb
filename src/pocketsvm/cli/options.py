"""Options that several commands share, as typer takes them."""

import os
from typing import Annotated, Any, Literal

import typer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..data import FORMATS, Options

__all__ = [
    "Budget",
    "ClassWeight",
    "Data",
    "Drop",
    "Epsilon",
    "Format",
    "Header",
    "Jobs",
    "Json",
    "Label",
    "MaxIter",
    "ModelFile",
    "Quiet",
    "Regression",
    "Scale",
    "Seed",
    "check_apart",
    "data_options",
    "new_scaler",
]

TABLES = "Tables (CSV, TSV, Parquet)"
REGRESSION = "Regression"
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


def _n_jobs(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all processors.")
    return given


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Data file: LIBSVM text, CSV, TSV or Parquet, compressed or not; - for a pipe.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")]
Budget = Annotated[
    int, typer.Option("--budget", "-B", min=2, help="The most support vectors in the model.")
]
MaxIter = Annotated[int, typer.Option("--max-iter", min=1, help="Passes over the rows.")]
Scale = Annotated[
    Literal["none", "standard", "minmax"],
    typer.Option("--scale", help="Scale the features, in the model."),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="LABEL=WEIGHT|balanced",
        help="Weight of a class; may be repeated. LIBSVM's -wLABEL WEIGHT does the same.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Decides the order of the rows.")
]
Regression = Annotated[
    bool, typer.Option("--regression", help="Predict numbers.", rich_help_panel=REGRESSION)
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", "-p", help="Errors up to this cost nothing.", rich_help_panel=REGRESSION
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="The label's column, by name or number (from 1; -1 is the last). Otherwise the one "
        "named label, target, class or y, or else the last.",
        rich_help_panel=TABLES,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row has the columns' names.",
        show_default="told by the file",
        rich_help_panel=TABLES,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="Leave out a column; may be repeated.",
        rich_help_panel=TABLES,
    ),
]
Format = Annotated[
    Literal[FORMATS] | None,  # type: ignore[valid-type]
    typer.Option(
        "--format",
        help="What the data file is.",
        show_default="told by the file",
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--n-jobs", callback=_n_jobs, help="Threads; -1 for all processors."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no remarks.")]


def data_options(
    format: str | None,
    label: str | None = None,
    header: bool | None = None,
    drop: list[str] | None = None,
) -> Options:
    """Bundle what is said of a data file."""
    return Options(format, header, label, drop or ())


def check_apart(out: str | None, *sources: str) -> None:
    """Refuse to write over a file that is read."""
    if out is None or not os.path.exists(out):
        return
    for source in sources:
        if os.path.realpath(out) == os.path.realpath(source):
            raise typer.BadParameter(f"{out} is read; it would be overwritten.")


def new_scaler(name: str) -> Any:
    """Return a new scaler, or None for "none"."""
    return SCALERS[name]() if name in SCALERS else None
