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
from ..experiments.paper.datasets import DATA_SETS, DataSet
from ..experiments.paper.protocol import (
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
from ..experiments.paper.results import Results, Row
from ..experiments.paper.tables import MANY_LINES, Table

__all__ = ["reproduce"]

WIDE = 200  # columns, where the output is no terminal
HEADINGS = ("", "part", "data set", "strategy", "B", "seed", "accuracy", "training")
WIDTHS = ("7", "8", "26", "20", ">4", ">4", ">9", ">10")


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
        int | None,
        typer.Option(
            min=1,
            help="Runs of each setting.",
            show_default=f"{RUNS}; {QUICK_RUNS} with --quick",
        ),
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
    from ..experiments.paper.report import Report  # needs matplotlib, which no other command does

    data_sets, parts = _choose(only)
    setting = Setting(
        strategies=_strategies(strategies),
        runs=runs or (QUICK_RUNS if quick else RUNS),
        budgets=_budgets(budgets),
        parts=parts,
    )
    problems = load_problems(data_sets, data, quick)
    tasks = plan(problems, setting)
    results = Results(out)
    save = results.save_parquet if format == "parquet" else results.save
    save()  # what cannot be written is found before the first run
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
        written = [*report.write(out, docs), save()]
    _show(report.tables, written)


# --- what was chosen ------------------------------------------------------------------------------


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _choose(only: str) -> tuple[list[DataSet], list[str]]:
    """Return the data sets and parts that were named; those of a kind not named are all meant."""
    names = [name.lower() for name in _names(only)]
    known = {data_set.name.lower(): data_set for data_set in DATA_SETS}
    if unknown := [name for name in names if name not in known and name not in PARTS]:
        raise typer.BadParameter(
            f"there is no data set or part '{unknown[0]}'; there are {', '.join([*known, *PARTS])}",
            param_hint="--only",
        )
    data_sets = [known[name] for name in known if name in names]
    return data_sets or list(DATA_SETS), [part for part in PARTS if part in names] or list(PARTS)


def _strategies(text: str) -> list[str]:
    known = _core.strategies()
    if text == "all":
        return list(dict.fromkeys((*default_strategies(), *known)))
    names = _names(text) or default_strategies()
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(
            f"there is no '{unknown[0]}'; there are {', '.join(known)}, or 'all'",
            param_hint="--strategies",
        )
    return list(dict.fromkeys(names))


def _budgets(text: str) -> list[int] | None:
    try:
        budgets = sorted({int(name) for name in _names(text)})
    except ValueError:
        budgets = [0]
    if budgets and budgets[0] < 2:
        raise typer.BadParameter(
            f"they must be whole numbers from 2, with commas, got '{text}'",
            param_hint="--budgets",
        )
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
            name = f"{task.problem.label}, {PARTS[task.part]}"
            progress.update(bar, description=name, runs=f"{number}/{len(left)}")
            rows = execute(task)
            results.add(rows)
            progress.update(bar, advance=task.weight)
            if number == 1:
                _print(console, HEADINGS)
            _print(console, (f"{number}/{len(left)}", *_cells(task, rows)))


def _print(console: Console, cells: Sequence[str]) -> None:
    line = "  ".join(f"{text:{width}}" for text, width in zip(cells, WIDTHS, strict=True))
    console.print(line.rstrip(), highlight=False, markup=False, soft_wrap=True)


def _cells(task: Task, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what the table that grows with the runs says of one."""
    strategy = task.strategies[0] if len(rows) == 1 else f"{len(rows)} strategies"
    budget, run = ("" if value is None else str(value) for value in (task.budget, task.seed))
    row = rows[0]
    if "accuracy" in row:
        outcome = f"{row['accuracy']:.2f} %", f"{row['seconds_fit']:.3f} s"
    else:
        outcome = f"{row['events']:,}", "events"
    return task.part, task.problem.label, strategy, budget, run, *outcome


def _show(tables: Sequence[Table], written: Sequence[Path]) -> None:
    """Print the tables and where everything is."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    for table in tables:
        if len(table.lines) >= MANY_LINES:
            continue
        shown = RichTable(
            *table.columns,
            title=table.title,
            title_justify="left",
            caption=table.note,
            caption_justify="left",
        )
        for line in table.lines:
            shown.add_row(*(str(cell) for cell in line))
        console.print(shown)
    for path in written:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True)
