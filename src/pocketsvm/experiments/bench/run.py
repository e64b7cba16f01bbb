"""The benchmarks of one folder: parts are measured and stored as JSON, and shown on one page."""

import datetime as dt
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from ..._replacing import replacing
from ..toolkit.console import show
from ..toolkit.measure import PACKAGES, machine, versions
from ..toolkit.pages import markdown_table, write_pages
from ..toolkit.tables import Table
from . import exact, growth, peers, scale, speed
from .page import Record, blocks

TERMINATED = 128 + signal.SIGTERM  # the exit code of a shell

PARTS: dict[str, Callable[[bool], list[Table]]] = {
    "speed": speed.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "exact": exact.measure,
    "scale": scale.measure,
}


@dataclass(frozen=True)
class Benchmarks:
    """The folder of the results and pages, and whether the runs are quick."""

    folder: Path
    quick: bool

    def measure(self, name: str, runs: Path | None = None) -> None:
        """Measure a part and store its record; the peers may come from the runs of a report."""
        print(f"=== {name}\n", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        command = f"pocketsvm bench {'--quick ' if self.quick else ''}--only {name}"
        if runs:
            command = f"pocketsvm reproduce; {command} --runs {runs.name}"
        start = perf_counter()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # removes temporary files
        tables = peers.from_runs(runs) if runs else PARTS[name](self.quick)
        record = Record(
            tables=tables,
            quick=self.quick,
            seconds=perf_counter() - start,
            date=dt.date.today().isoformat(),
            command=command,
            machine=machine(),
            versions=versions((*PACKAGES, "scikit-learn-intelex")),
        )
        show(tables)
        with replacing(self.folder / f"{name}.json") as file:
            file.write(json.dumps(asdict(record), indent=1).encode())

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
        return write_pages(list(blocks(self.records, remark)), "benchmarks", self.folder, docs)

    def readme(self) -> str:
        """Return the README's table in Markdown."""
        records = self.records
        if "peers" not in records:
            raise FileNotFoundError(
                f"{self.folder} has no results of the part 'peers': measure it first"
            )
        return markdown_table(peers.readme_table(records["peers"].tables[0].rows))
