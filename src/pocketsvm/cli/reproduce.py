"""``pocketsvm reproduce``: the paper's experiments, its tables and figures beside the published."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from .. import _core
from ..paper.datasets import DATA_SETS, DataSet
from ..paper.pages import MANY_LINES
from ..paper.protocol import (
    PARTS,
    QUICK_RUNS,
    RUNS,
    Setting,
    Task,
    default_strategies,
    execute,
    load_problems,
    plan,
)
from ..paper.report import Report
from ..paper.results import Results, Row
from ..paper.tables import Table

__all__ = ["reproduce"]

WIDE = 200  # columns, where the output is no terminal


def reproduce(
    data: Annotated[
        Path | None, typer.Option(help="Where the data sets are; else $POCKETSVM_DATA.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results and pages go.")] = Path("reproduction"),
    only: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Only these data sets (susy, skin, …), or only these parts "
            f"({', '.join(PARTS)}), or both.",
        ),
    ] = "",
    runs: Annotated[
        int | None, typer.Option(min=1, help=f"Runs of each setting. [default: {RUNS}]")
    ] = None,
    budgets: Annotated[
        str, typer.Option(metavar="B,…", help="Budgets, instead of the paper's.")
    ] = "",
    strategies: Annotated[
        str, typer.Option(metavar="NAME,…", help=f"Of {', '.join(_core.strategies())}, or all.")
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A few thousand rows and two runs: under two minutes.")
    ] = False,
    format: Annotated[
        Literal["csv", "parquet"],
        typer.Option(help="Format of the results; runs.csv is kept in any case, to go on from."),
    ] = "csv",
    docs: Annotated[
        Path | None, typer.Option(help="Write the Markdown page and its pictures there, too.")
    ] = None,
) -> None:
    """Run the paper's experiments and put its tables and figures beside the published ones.

    Every finished run is kept: a command that was stopped goes on where it was.
    """
    data_sets, parts = _choose(only)
    setting = Setting(
        strategies=_strategies(strategies),
        runs=runs or (QUICK_RUNS if quick else RUNS),
        budgets=_budgets(budgets),
        parts=parts,
    )
    results = Results(out)
    problems = load_problems(data_sets, data, quick)
    tasks = plan(problems, setting)
    try:
        _run(tasks, results)
    except KeyboardInterrupt:
        typer.echo("Stopped. What is done is kept; the same command goes on from there.", err=True)
        raise
    finally:  # the pages tell of what there is, however the runs ended
        done = [rows for task in tasks if None not in (rows := results.of(task.lines))]
        report = Report(
            rows=[row for rows in done for row in rows],
            problems=problems,
            setting=setting,
            command=_command(quick, only=only, runs=runs, budgets=budgets, strategies=strategies),
            quick=quick,
            n_done=len(done),
            n_tasks=len(tasks),
        )
        written = report.write(out, docs)
        written.append(results.save_parquet() if format == "parquet" else results.path)
    _show(report.tables, written)


# --- what was chosen ------------------------------------------------------------------------------


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _choose(only: str) -> tuple[list[DataSet], list[str]]:
    """Return the data sets and parts that were named; those of a kind not named are all meant."""
    names = [name.lower() for name in _names(only)]
    known = {data_set.name.lower(): data_set for data_set in DATA_SETS}
    if unknown := [name for name in names if name not in known and name not in PARTS]:
        raise ValueError(
            f"--only: there is no data set or part '{unknown[0]}'; there are "
            f"{', '.join([*known, *PARTS])}"
        )
    data_sets = [known[name] for name in known if name in names]
    return data_sets or list(DATA_SETS), [part for part in PARTS if part in names] or list(PARTS)


def _strategies(text: str) -> list[str]:
    known = _core.strategies()
    if text == "all":
        return list(dict.fromkeys((*default_strategies(), *known)))
    names = _names(text) or default_strategies()
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"--strategies: there is no '{unknown[0]}'; there are {', '.join(known)}, or 'all'"
        )
    return list(dict.fromkeys(names))


def _budgets(text: str) -> list[int] | None:
    try:
        budgets = sorted({int(name) for name in _names(text)})
    except ValueError:
        budgets = [0]
    if budgets and budgets[0] < 2:
        raise ValueError(f"--budgets must be whole numbers from 2, with commas, got '{text}'")
    return budgets or None


def _command(quick: bool, **options: Any) -> str:
    """Return the command line that makes the same page, without folders: they are local."""
    words = ["pocketsvm", "reproduce", *(["--quick"] if quick else [])]
    for name, value in options.items():
        words += [f"--{name}", str(value)] if value else []
    return shlex.join(words)


# --- what is seen ---------------------------------------------------------------------------------


def _run(tasks: list[Task], results: Results) -> None:
    """Make the runs that are not done, with a line each, and a bar where there is a terminal."""
    left = [task for task in tasks if None in results.of(task.lines)]
    console = Console(stderr=True)
    if len(left) < len(tasks):
        console.print(f"{len(tasks) - len(left)} of {len(tasks)} runs are done already.")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[runs]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        refresh_per_second=2,
        speed_estimate_period=3600,
        transient=True,
    ) as progress:
        bar = progress.add_task("", total=sum(task.weight for task in left), runs="")
        for number, task in enumerate(left, 1):
            progress.update(bar, description=_what(task), runs=f"{number}/{len(left)}")
            rows = execute(task)
            results.add(rows)
            progress.update(bar, advance=task.weight)
            progress.console.print(
                f"{number:4d}/{len(left)}  {_what(task)}  {_outcome(rows)}",
                highlight=False,
                soft_wrap=True,
            )


def _what(task: Task) -> str:
    strategy = task.strategy if len(task.strategies) == 1 else f"{len(task.strategies)} strategies"
    budget = "" if task.budget is None else f"B = {task.budget}"
    run = "" if task.seed is None else f"run {task.seed + 1}"
    return f"{task.part:8}  {task.problem.label:26}  {strategy:20}  {budget:9}  {run:6}"


def _outcome(rows: Sequence[Row]) -> str:
    row = rows[0]
    if "accuracy" not in row:
        return f"{row['events']:,} events"
    return f"{row['accuracy']:6.2f} %  {row['seconds_fit']:8.3f} s"


def _show(tables: Sequence[Table], written: Sequence[Path]) -> None:
    """Print the tables and where everything is."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    for table in tables:
        if len(table.lines) >= MANY_LINES:
            continue
        shown = RichTable(*table.columns, title=table.title, title_justify="left")
        for line in table.lines:
            shown.add_row(*(str(cell) for cell in line))
        console.print(shown)
    for path in written:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True)
