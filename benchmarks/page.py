"""The pages of the benchmarks, and the tables in other pages, rendered from the stored records."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from pocketsvm._replacing import replacing
from pocketsvm.paper.comparison import pictures as comparison_pictures
from pocketsvm.paper.toolkit.pages import Block, Picture, markdown_table, write_markdown
from pocketsvm.paper.toolkit.tables import Table, headings

from . import exact, growth
from .parts import PARTS
from .record import Record
from .targets import targets

# The order on the page.
ORDER = (
    *("exact", "peers", "polish", "solver", "few", "learners", "tasks", "tuning", "scales"),
    *("speed", "growth", "threads", "scale", "gpu", "cluster"),
)
TOP = (
    "Written by `make pages` from the results in `benchmarks/results`. `make bench` measures them "
    "again. Times are the fastest of interleaved runs unless a table says otherwise; only compare "
    "times within a table. Each part names its command, its commit and its machine."
)
QUICK_WARNING = "**This was a quick run, whose sizes are too small for conclusions.**"
ALL_MET = "All targets that were measured are met."
# What changes with every commit of the code: tests leave it out.
REMARK = re.compile(r" \*\*Measured before the last changes in .*?\.\*\*")
MARKED = re.compile(r"(<!-- table: (\S+) -->\n\n).*?(<!-- end of table -->)", flags=re.DOTALL)


def stored(folder: Path) -> dict[str, Record]:
    """Return the records in a folder, by part."""
    paths = {name: folder / f"{name}.json" for name in PARTS}
    return {name: Record.read(path) for name, path in paths.items() if path.is_file()}


def write_pages(records: Mapping[str, Record], folder: Path) -> list[Path]:
    """Write the summary, the page of each part and their pictures to a folder."""
    written = [write_markdown(list(summary(records)), folder, "benchmarks")]
    for name in ORDER:
        blocks = list(part_page(name, records.get(name)))
        written.append(write_markdown(blocks, folder / "benchmarks", name))
    return written


def fill(path: Path, records: Mapping[str, Record]) -> None:
    """Write the tables between the marks of a page again."""
    with replacing(path) as file:
        file.write(filled(path.read_text(encoding="utf-8"), records).encode())


def filled(text: str, records: Mapping[str, Record]) -> str:
    """Return the text of a page with the tables between its marks."""

    def table(found: re.Match[str]) -> str:
        return found[1] + _table_of(found[2], records) + "\n\n" + found[3]

    return MARKED.sub(table, text)


def without_remarks(text: str) -> str:
    """Return the text of a page without what changes with every commit."""
    return REMARK.sub("", text)


# --- the summary ----------------------------------------------------------------------------------


def summary(records: Mapping[str, Record]) -> Iterator[Block]:
    """Yield the blocks of the summary: missed targets, all targets, and the parts."""
    yield from ("# Benchmarks", TOP)
    if any(record.quick for record in records.values()):
        yield QUICK_WARNING
    tables = {table.name: table.rows for record in records.values() for table in record.tables}
    if table := targets(tables):
        missed = [row for row in table.rows if "no" in row["met"]]
        yield "## Missed targets"
        yield Table("missed", "", table.columns, "", missed) if missed else ALL_MET
        yield "## All targets"
        yield table
    yield "## Parts"
    yield _parts(records)
    yield "Measure a missing part with its command, then run `make pages`."


def _parts(records: Mapping[str, Record]) -> Table:
    table = Table("parts", "", headings("part", "what", "measured", "seconds", "machine"))
    for name in ORDER:
        what, record = f"[{PARTS[name].title}](benchmarks/{name}.md)", records.get(name)
        if record is None:
            table.add(name, what, f"not measured on this version: `{_command(name)}`")
        else:
            machine = f"{record.machine['cpu']}, {record.machine['cores']} cores"
            table.add(name, what, record.date, f"{record.seconds:,.0f}", machine)
    return table


# --- a part ---------------------------------------------------------------------------------------


def part_page(name: str, record: Record | None) -> Iterator[Block]:
    """Yield the blocks of the page of a part."""
    yield f"# {PARTS[name].title}"
    if record is None:
        yield missing(name)
        return
    yield caption(record)
    if record.quick:
        yield QUICK_WARNING
    yield from _pictures(name, record.tables)
    for table in filter(None, record.tables):
        if table.title:  # a heading of the second level: the page has one of the first
            yield f"## {table.title}"
        yield Table(table.name, "", table.columns, table.note, table.rows)


def missing(name: str) -> str:
    """Say that a part was not measured, and how to do that."""
    return f"Not measured on this version: `{_command(name)}`."


def caption(record: Record) -> str:
    """Return how the tables were measured, and whether the code has changed since."""
    changed = record.changed_since()
    folders = " and ".join(f"`{name}/`" for name in changed)
    remark = f" **Measured before the last changes in {folders}.**" if changed else ""
    return record.provenance + remark


def _command(name: str) -> str:
    return f'make bench ARGS="--only {name}"'


def _table_of(name: str, records: Mapping[str, Record]) -> str:
    """Return the Markdown of a table, with its caption, by PART/TABLE."""
    part, _, which = name.partition("/")
    if part not in records:
        return missing(part)
    record = records[part]
    table = next(table for table in record.tables if which in ("readme", table.name))
    if which == "readme":
        table = exact.readme_table(table.rows)
    text = markdown_table(Table(table.name, "", table.columns, "", table.rows))
    return f"{text}\n\n{caption(record)}"


def _pictures(part: str, tables: Iterable[Table]) -> list[Picture]:
    rows = {table.name: table.rows for table in tables}
    if part == "growth":
        figure = growth.draw_growth(rows["growth"], rows["slopes"])
        caption = "Seconds over n, B, d and non-zeros; slopes are fitted to the filled points"
        return [Picture("growth.png", caption, _png(figure))]
    if part == "peers":
        files = {"size": "accuracy-by-size.png", "fit": "accuracy-by-time.png"}
        return comparison_pictures(rows["peers"], files, _png)
    return []


def _png(figure: Figure) -> bytes:
    """Return the figure as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
