"""``pocketsvm data``: which of the paper's data sets are there, and how to get them."""

import json
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Column, Table

from ..experiments.paper.datasets import DATA_SETS, File, named
from ..experiments.paper.download import PAGE, fetch

__all__ = ["app"]

app = typer.Typer(help="The paper's data sets: what is there, and downloads.", no_args_is_help=True)


@app.command("list")
def list_files(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    check: Annotated[
        bool, typer.Option(help="Read the files that are there, and see whether they are right.")
    ] = True,
) -> None:
    """Show which files are there, and where. They are looked for in $POCKETSVM_DATA first.

    The exit code is 1 where one is wrong.
    """
    rows = [
        {"data_set": data_set.name, "source": source.label, "says": source.says}
        | _state(file, check)
        for data_set in DATA_SETS
        for source in data_set.sources
        for file in source.files
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        _show(rows)
    if any(row["problem"] is not None for row in rows):
        raise typer.Exit(1)


@app.command("fetch")
def fetch_files(
    name: Annotated[str, typer.Argument(help="The paper's name of the data set: ADULT, say.")],
    force: Annotated[bool, typer.Option("--force", help="Download what is there, too.")] = False,
    page: Annotated[str, typer.Option(help="The address below which the files are.")] = PAGE,
) -> None:
    """Download the files of a data set into the cache folder, and check them."""
    try:
        source = named(name).sources[0]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        paths = fetch(source, force=force, page=page, progress=_Bar(progress, source.label))
    for file, path in zip(source.files, paths, strict=True):
        print(f"{file.name}: {path}, checked")


def _state(file: File, check: bool) -> dict[str, Any]:
    path = file.find()
    checked_by = problem = None
    if path is not None and check:
        try:
            checked_by = file.check(path)
        except (ValueError, OSError) as error:
            problem = str(error)
    return {
        "file": file.name,
        "rows": file.n_rows,
        "features": file.n_features,
        "path": None if path is None else str(path),
        "checked_by": checked_by,
        "problem": problem,
    }


def _show(rows: list[dict[str, Any]]) -> None:
    names = (Column(name, no_wrap=True) for name in ("data set", "file", "rows x features"))
    table = Table(*names, Column("where", overflow="fold"), "checked", box=SIMPLE_HEAD)
    for row in rows:
        shape = f"{row['rows']:,} x {row['features']}"
        table.add_row(row["source"], row["file"], shape, row["path"] or "–", _words(row))
    console = Console()
    console.print(table)
    for data_set in DATA_SETS:
        for source in data_set.sources:
            console.print(f"[bold]{source.label}[/]: {source.says}", highlight=False)


def _words(row: dict[str, Any]) -> str:
    if row["path"] is None:
        return "not there"
    if row["problem"] is not None:
        return f"wrong: {row['problem']}"
    return row["checked_by"] or "not checked"


class _Bar:
    """A bar of rich's as pooch wants it; one file after the other."""

    def __init__(self, progress: Progress, label: str) -> None:
        self.progress, self.label = progress, label

    @property
    def total(self) -> None:
        """How many bytes a file has: with which pooch begins it."""

    @total.setter
    def total(self, n_bytes: int) -> None:
        self.task = self.progress.add_task(self.label, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        self.progress.update(self.task, advance=n_bytes)

    def reset(self) -> None:
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        pass
