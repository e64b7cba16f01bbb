"""Arguments and option groups that several commands share.

The module imports nothing large: help and shell completion load it.
"""

import os
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from .._formats import FILES, listed, names
from ..training.strategies import STRATEGIES

TABLES = "Tables"
REGRESSION = "Regression"
NOVELTY = "Novelty detection"
RANKING = "Ranking"
# Model files keep no larger number (`estimators.saving`, which would take long to import here).
MAX_THREADS = 1024


def _check_n_jobs(given: int) -> int:
    if given == 0:
        raise typer.BadParameter("0 threads do nothing; give 1 or more, or -1 for all processors.")
    if abs(given) > MAX_THREADS:
        raise typer.BadParameter(f"{given} is out of range; give at most {MAX_THREADS}.")
    return given


def _check_device(given: str) -> str:
    if given == "cpu":
        return given
    from ..backends.devices import device_of
    from .hints import in_flags

    try:
        device_of(given)
    except (ImportError, RuntimeError, ValueError) as error:
        raise typer.BadParameter(in_flags(str(error))) from None
    return given


def _check_separator(given: str | None) -> str | None:
    if given is None:
        return None
    character = {"tab": "\t", "\\t": "\t", "space": " "}.get(given, given)
    if (
        len(character) != 1
        or not character.isascii()
        or character.isalnum()
        or character in '"\r\n.+-'
    ):
        raise typer.BadParameter(f"{given!r} is not one character that can separate values.")
    return character


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"Data file: {listed(FILES)}, compressed or not; - for a pipe. Also a folder, or a "
        "pattern in quotes, such as 'rows/*.parquet'.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Read rows in batches if they would take more memory than this, such as 2GB: at "
        "least 1MB, or 0 for always.",
        show_default="half of what is there, 0 for folders",
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Keep the state of the training in this file; the same command resumes from it.",
    ),
]
Every = Annotated[
    str,
    typer.Option("--every", metavar="TIME", help="Time between checkpoints, such as 60s or 5m."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")]
Jobs = Annotated[
    int,
    typer.Option(callback=_check_n_jobs, help="Number of threads; -1 for all processors."),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda|cuda:1|auto",
        callback=_check_device,
        help="What computes kernel values: the CPU, a GPU, or a GPU if there is one.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no progress and no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@dataclass(frozen=True)
class DataOptions:
    """How to read a data file."""

    format: Annotated[
        Literal[names(FILES)] | None,  # type: ignore[valid-type]
        typer.Option(help="Format of the data file.", show_default="detected from the file"),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the label, by name or number (from 1; -1 is the last), which is no "
            "feature. By default that of the training file.",
            rich_help_panel=TABLES,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row holds the column names.",
            show_default="detected from the file",
            rich_help_panel=TABLES,
        ),
    ] = None
    sep: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            callback=_check_separator,
            help="Separator of the values in a CSV file: a character, or tab or space.",
            show_default="detected from the file",
            rich_help_panel=TABLES,
        ),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        typer.Option(
            help="The mark before the decimals in a CSV file.",
            show_default="detected from the file",
            rich_help_panel=TABLES,
        ),
    ] = None


@dataclass(frozen=True)
class TrainingDataOptions(DataOptions):
    """How to read a data file, which columns to leave out, and which ones to prepare."""

    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the label, by name or number (from 1; -1 is the last). By default the "
            "one named label, target, class or y, or else the last.",
            rich_help_panel=TABLES,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Leave out a column; may be repeated.", rich_help_panel=TABLES
        ),
    ] = None
    impute: Annotated[
        Literal["mean", "median", "most_frequent"] | None,
        typer.Option(
            help="Fill in missing numbers with this value of their column, and missing texts with "
            "the most frequent one; the model keeps the values.",
            show_default="refuse missing values",
            rich_help_panel=TABLES,
        ),
    ] = None
    one_hot: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN|text",
            help="Encode a column of categories, one feature per category; may be repeated. 'text' "
            "means all columns of words.",
            rich_help_panel=TABLES,
        ),
    ] = None
    dates: Annotated[
        bool,
        typer.Option(
            "--dates",
            help="Use each column of dates as year, month, weekday (Monday is 0) and hour.",
            rich_help_panel=TABLES,
        ),
    ] = False


@dataclass(frozen=True)
class MachineOptions:
    """Parameters of the estimator that are not searched for."""

    budget: Annotated[
        int,
        typer.Option(
            "--budget", "-B", metavar="<int>", min=2, help="Maximum number of support vectors."
        ),
    ] = 500
    max_iter: Annotated[
        int, typer.Option("--max-iter", metavar="<int>", min=1, help="Passes over the rows.")
    ] = 20
    scale: Annotated[
        Literal["none", "standard", "minmax", "maxabs", "robust"] | None,
        typer.Option(
            help="Scale the features; the model keeps the scaler. Outliers do not affect 'robust'.",
            show_default="standard for tables, none for LIBSVM text",
        ),
    ] = None
    feature_scales: Annotated[
        str | None,
        typer.Option(
            metavar="none|learn|auto|LIST|FILE",
            help="What features are multiplied by inside the kernel: learnt before the fit, learnt "
            "where this predicts better (auto), or one number for each, as a list with commas or "
            "in a text file.",
            show_default="none; a search without values of gamma: auto",
        ),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=WEIGHT|balanced",
            help="Weight of a class; may be repeated. LIBSVM's -wLABEL WEIGHT does the same.",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(metavar="<int>", min=0, max=2**32 - 1, help="Seed of the order of the rows."),
    ] = 0
    regression: Annotated[
        bool, typer.Option("--regression", help="Predict numbers.", rich_help_panel=REGRESSION)
    ] = False
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            "-p",
            help="Width of the tube: smaller errors cost nothing.",
            rich_help_panel=REGRESSION,
        ),
    ] = 0.1


@dataclass(frozen=True)
class LearnerOptions:
    """The loss, and how it is minimised."""

    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help="Loss to minimise: hinge, squared_hinge or log_loss (which gives probabilities); "
            "with --regression epsilon_insensitive, squared_error, huber or quantile.",
            show_default="hinge or epsilon_insensitive",
        ),
    ] = None
    quantiles: Annotated[
        str | None,
        typer.Option(
            metavar="Q,Q,...",
            help="Predict these quantiles, such as 0.1,0.5,0.9.",
            rich_help_panel=REGRESSION,
        ),
    ] = None
    maintenance: Annotated[
        Literal[STRATEGIES],  # type: ignore[valid-type]
        typer.Option(
            metavar="STRATEGY",
            help=f"What to do when the budget overflows: {', '.join(STRATEGIES)}.",
        ),
    ] = "merge"
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="Train a model without intercept.")
    ] = False
    polish: Annotated[
        Literal["yes", "thorough", "no"],
        typer.Option(
            help="Solve for the coefficients after the passes, and move the vectors if this is "
            "cheap (yes) or until it gains nothing (thorough); or keep the last iterate (no)."
        ),
    ] = "yes"


Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="COLUMN",
        help="Column with the query of each row; it is no feature. LIBSVM text has qid:NUMBER "
        "after the label.",
        rich_help_panel=RANKING,
    ),
]


@dataclass(frozen=True)
class TaskOptions:
    """What the model is for, besides classification and regression."""

    one_class: Annotated[
        bool,
        typer.Option(
            "--one-class",
            help="Tell outliers (-1) from normal rows (1). Labels are ignored; a table needs none.",
            rich_help_panel=NOVELTY,
        ),
    ] = False
    nu: Annotated[
        float,
        typer.Option(
            "--nu", "-n", help="Share of the rows that are outliers.", rich_help_panel=NOVELTY
        ),
    ] = 0.5
    rank: Annotated[
        bool,
        typer.Option(
            "--rank",
            help="Rank the rows of each query by relevance, which is the label.",
            rich_help_panel=RANKING,
        ),
    ] = False
    query: Query = None


@dataclass(frozen=True)
class OutputOptions:
    """What to print."""

    quiet: Quiet = False
    json: Json = False


def check_apart(out: str | None, *sources: str | None) -> None:
    """Refuse to write over a file that is read."""
    if out is None or not os.path.exists(out):
        return
    for source in sources:
        if source is not None and os.path.realpath(out) == os.path.realpath(source):
            raise typer.BadParameter(
                f"{out} is an input of this command, and would be overwritten; give the output "
                "another name."
            )
