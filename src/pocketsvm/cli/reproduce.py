"""``pocketsvm reproduce``: the paper's experiments, its tables and figures beside the published."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..training.strategies import STRATEGIES

if TYPE_CHECKING:
    from ..paper.datasets.registry import DataSet


def reproduce(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets; default $POCKETSVM_DATA.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results and pages.")] = Path(
        "reproduction"
    ),
    only: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Only these data sets (susy, skin, …), only these parts (paper, audit, defaults, "
            "peers, exact), or both.",
        ),
    ] = "",
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each setting.", show_default="5, or 2 with --quick"),
    ] = None,
    budgets: Annotated[
        str, typer.Option(metavar="B,…", help="Budgets, instead of the paper's.")
    ] = "",
    strategies: Annotated[
        str,
        typer.Option(metavar="NAME,…", help=f"Some of {', '.join(STRATEGIES)}, or all."),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A few thousand rows and two runs: under two minutes.")
    ] = False,
    format: Annotated[
        Literal["csv", "parquet"],
        typer.Option(help="Format of the results; runs.csv is always written, to resume from."),
    ] = "csv",
    docs: Annotated[
        Path | None, typer.Option(help="Folder for a copy of the Markdown page and its pictures.")
    ] = None,
) -> None:
    """Run the paper's experiments and show its tables and figures beside the published ones.

    Data sets that do not exist are skipped, unless --only names them. Every finished run is kept:
    the same command resumes a reproduction that was stopped.
    """
    from ..paper.datasets import registry
    from ..paper.protocol import QUICK_RUNS, RUNS, Setting
    from ..paper.run import Reproduction

    data_sets, parts = _choose(only)
    setting = Setting(
        strategies=_strategies(strategies),
        runs=runs or (QUICK_RUNS if quick else RUNS),
        budgets=_budgets(budgets),
        parts=parts,
    )
    command = _command(quick, only=only, runs=runs or "", budgets=budgets, strategies=strategies)
    try:
        named = len(data_sets) < len(registry.DATA_SETS)
        Reproduction(data_sets, setting, quick, named, command, data, out, docs, format).run()
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished runs are kept; the same command resumes.", err=True)
        raise


def split_names(text: str) -> list[str]:
    """Return the names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _choose(only: str) -> tuple[list["DataSet"], list[str]]:
    """Return the data sets and parts that were named; if none of a kind is named, all of them."""
    from ..paper.datasets import registry
    from ..paper.protocol import PARTS

    chosen = [name.lower() for name in split_names(only)]
    known = {data_set.name.lower(): data_set for data_set in registry.DATA_SETS}
    if unknown := [name for name in chosen if name not in known and name not in PARTS]:
        raise typer.BadParameter(
            f"there is no data set or part '{unknown[0]}'; there are {', '.join([*known, *PARTS])}",
            param_hint="--only",
        )
    data_sets = [known[name] for name in known if name in chosen]
    parts = [part for part in PARTS if part in chosen]
    return data_sets or list(known.values()), parts or list(PARTS)


def _strategies(text: str) -> Sequence[str]:
    from ..paper.protocol import default_strategies

    known = list(STRATEGIES)
    if text == "all":
        return list(dict.fromkeys((*default_strategies(), *known)))
    chosen = split_names(text) or default_strategies()
    if unknown := [name for name in chosen if name not in known]:
        raise typer.BadParameter(
            f"there is no '{unknown[0]}'; there are {', '.join(known)}, or 'all'",
            param_hint="--strategies",
        )
    return list(dict.fromkeys(chosen))


def _budgets(text: str) -> list[int] | None:
    try:
        budgets = sorted({int(name) for name in split_names(text)})
    except ValueError:
        budgets = [0]
    if budgets and budgets[0] < 2:
        raise typer.BadParameter(
            f"they must be whole numbers of at least 2, separated by commas, got '{text}'",
            param_hint="--budgets",
        )
    return budgets or None


def _command(quick: bool, **options: int | str) -> str:
    """Return the command line that makes the same page, without local folders."""
    words = ["pocketsvm", "reproduce", *(["--quick"] if quick else [])]
    for name, value in options.items():
        words += [f"--{name}", str(value)] if value else []
    return shlex.join(words)
