"""``pocketsvm data``: the paper's data sets, which of them exist, and downloads."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Column, Table

if TYPE_CHECKING:
    from ..paper.datasets.files import File

app = typer.Typer(help="The paper's data sets: list and download them.", no_args_is_help=True)


@app.command("list")
def list_files(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    check: Annotated[
        bool, typer.Option(help="Read the existing files and check that they are right.")
    ] = True,
) -> None:
    """Show which files exist, and where. $POCKETSVM_DATA is searched first, then the cache folder.

    The exit code is 1 if a file is wrong.
    """
    from ..paper.datasets import registry

    rows = [
        {"data_set": data_set.name, "source": source.label, "says": source.description}
        | _state(file, check)
        for data_set in registry.DATA_SETS
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
    name: Annotated[
        str, typer.Argument(help="The name of the data set in the paper, such as ADULT.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Download existing files again.")] = False,
    page: Annotated[
        str | None,
        typer.Option(
            help="Address of the folder that holds the files.",
            show_default="that of the LIBSVM data sets",
        ),
    ] = None,
) -> None:
    """Download the files of a data set to the cache folder, and check them."""
    from ..paper.datasets.download import PAGE, WrongFileError, fetch
    from ..paper.datasets.registry import named

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
        bar = _Bar(progress, source.label)
        try:
            paths = fetch(source, force=force, page=page or PAGE, progress=bar)
        except WrongFileError as error:
            raise ValueError(f"{error} (--force downloads it again)") from error
    for file, path in zip(source.files, paths, strict=True):
        print(f"{file.name}: {path}, checked")


def _state(file: "File", check: bool) -> dict[str, Any]:
    from ..paper.datasets.files import find

    path = find(file.name)
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
    for source, description in {row["source"]: row["says"] for row in rows}.items():
        console.print(f"[bold]{source}[/]: {description}", highlight=False)


def _words(row: dict[str, Any]) -> str:
    if row["path"] is None:
        return "missing"
    if row["problem"] is not None:
        return f"wrong: {row['problem']}"
    return str(row["checked_by"] or "not checked")


class _Bar:
    """A progress bar of rich with the methods that pooch calls, for one file after the other."""

    def __init__(self, progress: Progress, label: str) -> None:
        self.progress, self.label = progress, label

    @property
    def total(self) -> None:
        """The number of bytes of a file; pooch sets it first."""

    @total.setter
    def total(self, n_bytes: int) -> None:
        self.task = self.progress.add_task(self.label, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Count downloaded bytes."""
        self.progress.update(self.task, advance=n_bytes)

    def reset(self) -> None:
        """Start again from zero."""
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        """Do nothing: rich removes its bars."""
