"""A whole reproduction: make the missing runs, and write the report on those that are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .datasets.files import folders
from .datasets.problems import load_problems
from .datasets.registry import DataSet
from .protocol import PARTS, Setting, Task, execute, open_results, plan
from .report import Report
from .toolkit.console import show
from .toolkit.results import Results, Row

HEADINGS = ("", "part", "data set", "strategy", "B", "seed", "accuracy", "training")
WIDTHS = ("7", "8", "26", "20", ">4", ">4", ">9", ">10")


@dataclass(frozen=True)
class Reproduction:
    """What to run, and where the results go.

    Attributes
    ----------
    data_sets, setting, quick
        What to run; a quick reproduction uses a part of the rows.

    named : bool
        Whether the data sets were named one by one: then none of them may be missing.

    command : str
        The command line that writes the same page, without local paths.

    data : Path or None
        Where the data sets are; None means ``$POCKETSVM_DATA``.

    out, docs : Path
        The folder of the results and pages, and one for a second copy of the Markdown page.

    format : str
        The format of the results; ``runs.csv`` is always written, because runs resume from it.
    """

    data_sets: Sequence[DataSet]
    setting: Setting
    quick: bool
    named: bool
    command: str
    data: Path | None
    out: Path
    docs: Path | None
    format: Literal["csv", "parquet"]

    def _missing(self) -> list[DataSet]:
        """Say which data sets do not exist, and return them; those that were named must exist."""
        if self.named:
            return []
        missing = [each for each in self.data_sets if each.find(self.data) is None]
        if missing:
            names = ", ".join(data_set.name for data_set in missing)
            places = " or ".join(map(str, folders(self.data)))
            found = (
                f"the files of {names} are not in {places}. Set POCKETSVM_DATA to a folder that "
                "contains them, or download them: pocketsvm data fetch NAME."
            )
            if len(missing) == len(self.data_sets) and "SUSY" not in names:
                raise FileNotFoundError(f"There is nothing to run: {found}")
            Console(stderr=True).print(f"Skipped: {found}", soft_wrap=True, highlight=False)
        return missing

    def run(self) -> None:
        """Make the missing runs, write the report and print its tables."""
        missing = self._missing()
        problems = load_problems(self.data_sets, self.data, self.quick, missing)
        tasks = plan(problems, self.setting)
        results = open_results(self.out)
        save = results.save_parquet if self.format == "parquet" else results.save
        save()  # finds a folder that cannot be written before the first run
        try:
            _make_runs(tasks, results)
        finally:  # the report covers what is done, also after a failure
            done = [
                [row for row in rows if row is not None]
                for task in tasks
                if None not in (rows := results.of(task.lines))
            ]
            report = Report(
                rows=[row for rows in done for row in rows],
                problems=problems,
                setting=self.setting,
                command=self.command,
                quick=self.quick,
                n_done=len(done),
                n_tasks=len(tasks),
                missing=[data_set.name for data_set in missing],
            )
            written = [*report.write(self.out, self.docs), save()]
        show(report.tables, written)


def _make_runs(tasks: Sequence[Task], results: Results) -> None:
    """Make the runs that are missing, with one line each, and a progress bar in a terminal."""
    left = [task for task in tasks if None in results.of(task.lines)]
    console = Console(stderr=True)
    if len(left) < len(tasks):
        console.print(f"{len(tasks) - len(left)} of {len(tasks)} runs are already done.")
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
    """Return the cells of a finished run."""
    strategy = task.strategies[0] if len(rows) == 1 else f"{len(rows)} strategies"
    budget, run = ("" if value is None else str(value) for value in (task.budget, task.seed))
    row = rows[0]
    if "accuracy" in row:
        outcome = f"{row['accuracy']:.2f} %", f"{row['seconds_fit']:.3f} s"
    else:
        outcome = f"{row['events']:,}", "events"
    return task.part, task.problem.label, strategy, budget, run, *outcome
