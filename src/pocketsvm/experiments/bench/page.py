"""The benchmark page: the tables and pictures of all parts, and how they were measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..comparison import pictures as comparison_pictures
from ..toolkit.figures import png
from ..toolkit.pages import Block, Picture
from ..toolkit.tables import Table
from .growth import draw_growth
from .targets import targets

TITLES = {
    "peers": "Beside other models",
    "exact": "The exact SVM in two implementations",
    "speed": "Speed",
    "growth": "How cost grows",
    "scale": "Scale",
}
TOP = (
    "Written by `make bench`, which measures everything below again. Times are the fastest of "
    "interleaved runs unless a table says otherwise; only compare times within a table."
)
QUICK_WARNING = "**This was a quick run, whose sizes are too small for conclusions.**"


@dataclass(frozen=True)
class Record:
    """The tables of one part, and how they were measured."""

    tables: list[Table]
    quick: bool
    seconds: float
    date: str
    command: str
    machine: dict[str, Any]
    versions: dict[str, str]

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Record":
        """Return the record that `asdict` described."""
        return cls(**record | {"tables": [Table(**table) for table in record["tables"]]})

    @property
    def provenance(self) -> str:
        """How the tables were measured, in one paragraph."""
        m = self.machine
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return (
            f"Measured by `{self.command}` on {self.date} in {self.seconds:,.0f} s: {m['cpu']}, "
            f"{m['cores']} cores, {m['instruction_set']}, {m['system']} · Python {m['python']}, "
            f"{versions}"
        )


def blocks(records: Mapping[str, Record], remark: str) -> Iterator[Block]:
    """Yield the blocks of the page, from the stored records."""
    tables = {table.name: table for record in records.values() for table in record.tables}
    yield from ("# Benchmarks", TOP)
    if remark:
        yield remark
    if any(record.quick for record in records.values()):
        yield QUICK_WARNING
    if table := targets({name: table.rows for name, table in tables.items()}):
        yield from ("## Targets", table)
    for name, title in TITLES.items():
        if name in records and any(records[name].tables):
            yield f"## {title}"
            yield from _pictures(name, tables)
            yield from filter(None, records[name].tables)
            yield records[name].provenance


def _pictures(part: str, tables: Mapping[str, Table]) -> list[Picture]:
    if part == "growth":
        figure = draw_growth(tables["growth"].rows, tables["slopes"].rows)
        caption = "Seconds over n, B, d and non-zeros; slopes are fitted to the filled points"
        return [Picture("growth.png", caption, png(figure))]
    if part == "peers":
        files = {"size": "accuracy-by-size.png", "fit": "accuracy-by-time.png"}
        return comparison_pictures(tables["peers"].rows, files, png)
    return []
