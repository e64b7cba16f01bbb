"""The page of the benchmarks, written from the stored records."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from pocketsvm.paper.comparison import pictures as comparison_pictures
from pocketsvm.paper.toolkit.pages import Block, Picture, markdown_table, write_markdown
from pocketsvm.paper.toolkit.tables import Table

from . import growth, peers
from .parts import PARTS
from .record import Record
from .targets import targets

# The order on the page.
ORDER = (
    *("peers", "polish", "exact", "solver", "few", "learners", "tasks", "tuning", "scales"),
    *("speed", "growth", "scale", "gpu", "cluster"),
)
TOP = (
    "Written by `make bench`, which measures everything below again. Times are the fastest of "
    "interleaved runs unless a table says otherwise; only compare times within a table."
)
QUICK_WARNING = "**This was a quick run, whose sizes are too small for conclusions.**"


def stored(folder: Path) -> dict[str, Record]:
    """Return the records in a folder, by part."""
    paths = {name: folder / f"{name}.json" for name in PARTS}
    return {name: Record.read(path) for name, path in paths.items() if path.is_file()}


def write_page(records: Mapping[str, Record], folder: Path) -> Path:
    """Write the page with its pictures to a folder."""
    return write_markdown(list(_blocks(records)), folder, "benchmarks")


def readme(records: Mapping[str, Record]) -> str:
    """Return the README's table in Markdown."""
    if "peers" not in records:
        raise FileNotFoundError("there are no results of the part 'peers': measure it first")
    return markdown_table(peers.readme_table(records["peers"].tables[0].rows))


def _blocks(records: Mapping[str, Record]) -> Iterator[Block]:
    tables = {table.name: table for record in records.values() for table in record.tables}
    yield from ("# Benchmarks", TOP)
    if any(record.quick for record in records.values()):
        yield QUICK_WARNING
    if table := targets({name: table.rows for name, table in tables.items()}):
        yield from ("## Targets", table)
    for name in ORDER:
        if name in records and any(records[name].tables):
            yield f"## {PARTS[name].title}"
            yield from _pictures(name, tables)
            yield from filter(None, records[name].tables)
            yield records[name].provenance


def _pictures(part: str, tables: Mapping[str, Table]) -> list[Picture]:
    if part == "growth":
        figure = growth.draw_growth(tables["growth"].rows, tables["slopes"].rows)
        caption = "Seconds over n, B, d and non-zeros; slopes are fitted to the filled points"
        return [Picture("growth.png", caption, _png(figure))]
    if part == "peers":
        files = {"size": "accuracy-by-size.png", "fit": "accuracy-by-time.png"}
        return comparison_pictures(tables["peers"].rows, files, _png)
    return []


def _png(figure: Figure) -> bytes:
    """Return the figure as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
