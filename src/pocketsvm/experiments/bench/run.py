"""The benchmarks of one folder: parts are measured and stored as JSON, and shown on one page."""

import datetime as dt
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from ..._replacing import replacing
from ..comparison import pictures as comparison_pictures
from ..toolkit.console import show
from ..toolkit.figures import png
from ..toolkit.measure import PACKAGES, machine, versions
from ..toolkit.pages import Block, Picture, markdown_table, write_pages
from ..toolkit.tables import Table
from . import (
    cluster,
    exact,
    few_rows,
    growth,
    learners,
    peers,
    scale,
    solver,
    speed,
    tasks,
    tuning,
)
from .targets import targets

TERMINATED = 128 + signal.SIGTERM  # the exit code of a shell

PARTS: dict[str, Callable[[bool], list[Table]]] = {
    "speed": speed.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "exact": exact.measure,
    "few": few_rows.measure,
    "scale": scale.measure,
    "cluster": cluster.measure,
    "solver": solver.measure,
    "learners": learners.measure,
    "tasks": tasks.measure,
    "tuning": tuning.measure,
}
# Parts whose models may be trained at the same time.
PARALLEL_PARTS: dict[str, Callable[[bool, int], list[Table]]] = {
    "peers": peers.measure,
    "solver": solver.measure,
    "learners": learners.measure,
    "tuning": tuning.measure,
}
# Parts with a number of rows.
SIZED_PARTS: dict[str, Callable[[bool, int | None], list[Table]]] = {
    "scale": scale.measure,
    "cluster": cluster.measure,
}


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


@dataclass(frozen=True)
class Benchmarks:
    """The folder of the results and pages, and how much is measured.

    Attributes
    ----------
    folder : Path
        The folder.

    quick : bool
        Whether sizes are small.

    jobs : int
        Processes at a time.

    rows : int or None
        The largest number of rows of the parts "scale" and "cluster"; None means the usual one.
    """

    folder: Path
    quick: bool
    jobs: int = 1
    rows: int | None = None

    def measure(self, name: str, runs: Path | None = None) -> None:
        """Measure a part and store its record; the peers may come from the runs of a report."""
        print(f"=== {name}\n", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        command = f"pocketsvm bench {'--quick ' if self.quick else ''}--only {name}"
        if name in SIZED_PARTS and self.rows is not None:
            command += f" --rows {self.rows}"
        if runs:
            command = f"pocketsvm reproduce; {command} --runs {runs.name}"
        start = perf_counter()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # removes temporary files
        tables = peers.from_runs(runs) if runs else self._tables(name)
        record = Record(
            tables=tables,
            quick=self.quick,
            seconds=perf_counter() - start,
            date=dt.date.today().isoformat(),
            command=command,
            machine=machine(),
            versions=versions((*PACKAGES, "lightgbm", "scikit-learn-intelex")),
        )
        show(tables)
        with replacing(self.folder / f"{name}.json") as file:
            file.write(json.dumps(asdict(record), indent=1).encode())

    def _tables(self, name: str) -> list[Table]:
        if name in PARALLEL_PARTS:
            return PARALLEL_PARTS[name](self.quick, self.jobs)
        if name in SIZED_PARTS:
            return SIZED_PARTS[name](self.quick, self.rows)
        return PARTS[name](self.quick)

    @property
    def records(self) -> dict[str, Record]:
        """The stored records, by part."""
        paths = {name: self.folder / f"{name}.json" for name in PARTS}
        return {
            name: Record.from_json(json.loads(path.read_text()))
            for name, path in paths.items()
            if path.is_file()
        }

    def write(self, remark: str = "", docs: Path | None = None) -> list[Path]:
        """Write the pages from all stored records."""
        return write_pages(list(_blocks(self.records, remark)), "benchmarks", self.folder, docs)

    def readme(self) -> str:
        """Return the README's table in Markdown."""
        records = self.records
        if "peers" not in records:
            raise FileNotFoundError(
                f"{self.folder} has no results of the part 'peers': measure it first"
            )
        return markdown_table(peers.readme_table(records["peers"].tables[0].rows))


# --- the page -------------------------------------------------------------------------------------

TITLES = {
    "peers": "Compared with other models",
    "exact": "The exact SVM in two implementations",
    "solver": "Solver",
    "few": "Few rows",
    "learners": "Probabilities, quantiles, squared errors",
    "tasks": "Novelty detection and ranking",
    "tuning": "Tuning",
    "speed": "Speed",
    "growth": "How cost grows",
    "scale": "Scale",
    "cluster": "Clusters",
}
TOP = (
    "Written by `make bench`, which measures everything below again. Times are the fastest of "
    "interleaved runs unless a table says otherwise; only compare times within a table."
)
QUICK_WARNING = "**This was a quick run, whose sizes are too small for conclusions.**"


def _blocks(records: Mapping[str, Record], remark: str) -> Iterator[Block]:
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
        figure = growth.draw_growth(tables["growth"].rows, tables["slopes"].rows)
        caption = "Seconds over n, B, d and non-zeros; slopes are fitted to the filled points"
        return [Picture("growth.png", caption, png(figure))]
    if part == "peers":
        files = {"size": "accuracy-by-size.png", "fit": "accuracy-by-time.png"}
        return comparison_pictures(tables["peers"].rows, files, png)
    return []
