"""Tables in the terminal."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable

from .tables import Table

WIDTH = 200  # columns if the output is not a terminal


def show(tables: Iterable[Table], written: Iterable[Path] = ()) -> None:
    """Print the tables, except for long ones, and the paths of the files that were written."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    for table in tables:
        if table.is_long or not table:
            continue
        columns = zip(table.headings, table.numeric, strict=True)
        shown = RichTable(
            *(Column(text, justify="right" if number else "left") for text, number in columns),
            title=table.title,
            title_justify="left",
            caption=table.note,
            caption_justify="left",
        )
        for line in table.lines:
            shown.add_row(*map(str, line))
        console.print(shown)
    for path in written:
        console.print(f"Written: {path}", highlight=False, soft_wrap=True)
