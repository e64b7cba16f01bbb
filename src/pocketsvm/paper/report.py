"""The report: what was run, its tables and its pictures, as Markdown and as one HTML file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .._cached import cached_property
from .comparison import pictures as comparison_pictures
from .datasets.problems import Problem
from .figures import breakdown, surfaces
from .protocol import Setting
from .summary import marked, summary
from .tables import all_tables, merging_seconds, targets
from .toolkit.figures import svg
from .toolkit.measure import written_with
from .toolkit.pages import Block, Picture, read_paragraphs, write_pages
from .toolkit.results import Row
from .toolkit.tables import Table

TITLE = "The paper, reproduced"
NAME = "reproduction"
REMARKS = Path(__file__).with_name("remarks.md")

# The headings, with the names of the tables below them.
SECTIONS = {
    "Accuracy": ("table1", "table2"),
    "Time": ("table3-time", "merging-time"),
    "Decisions": ("table3-decisions",),
    "pocketsvm's defaults": ("table2-defaults",),
    "Compared with other models": (),  # pictures; `runs.csv` has the figures
}


@dataclass(frozen=True)
class Report:
    """The results of the planned runs, or of those that are finished."""

    rows: Sequence[Row]
    problems: Sequence[Problem]
    setting: Setting
    command: str
    quick: bool
    n_done: int
    n_tasks: int
    missing: Sequence[str] = ()

    def write(self, folder: Path, docs: Path | None = None) -> list[Path]:
        """Write both pages to a folder, and the Markdown page also to another one."""
        return write_pages(list(self._blocks()), NAME, folder, docs)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables for which there are results."""
        tables = all_tables(self.rows, self.problems, self.setting)
        return marked(tables, self.problems)

    def _blocks(self) -> Iterator[Block]:
        yield f"# {TITLE}"
        yield (
            "The experiments of *Speeding Up Budgeted Stochastic Gradient Descent SVM Training "
            "with Precomputed Golden Section Search* (Tobias Glasmachers and Sahar Qaadan), run "
            "again with pocketsvm. Below each of our figures are the published one and the "
            "difference."
        )
        yield f"Written by `{self.command}` {written_with()}."
        if self.quick:
            yield (
                "**This was a quick run with at most a few thousand rows per data set, which are "
                "too few for conclusions.**"
            )
        if self.n_done < self.n_tasks:
            yield f"**Incomplete: {self.n_done} of {self.n_tasks} runs are done.**"
        if self.missing:
            yield f"**Skipped, because the data are missing: {', '.join(self.missing)}.**"
        if self.rows:
            yield self._machine()
        yield from summary(self.rows, self.problems, self.setting)
        if table := targets(self.rows, self.problems, self.setting):
            yield from ("## Targets", table)
        yield "## Data sets"
        for problem in self.problems:
            published = problem.data_set.published.n_rows
            yield (
                f"**{problem.label}**: {problem.n_rows:,} training rows (the paper: "
                f"{published:,}). {problem.description}"
            )
        yield from self._sections()
        yield from ("## The functions in the table", _surfaces())
        yield from read_paragraphs(REMARKS)

    def _sections(self) -> Iterator[Block]:
        pictures = self._pictures()
        for heading, names in SECTIONS.items():
            shown = [table for table in self.tables if table.name in names]
            if shown or heading in pictures:
                yield from (f"## {heading}", *pictures.get(heading, ()), *shown)

    def _machine(self) -> str:
        row = max(self.rows, key=lambda row: row["program"].startswith("pocketsvm"))
        versions = ", ".join(f"{name} {row[name]}" for name in ("numpy", "scipy", "scikit-learn"))
        return (
            f"{row['cpu']}, {row['cores']} cores, {row['instruction_set']}, {row['system']} · "
            f"{row['program']}, Python {row['python']}, {versions}"
        )

    def _pictures(self) -> dict[str, list[Picture]]:
        """Return the pictures for which there are results, by their headings."""
        pictures = {}
        if spent := merging_seconds(self.rows, self.problems, self.setting):
            caption = (
                "Merging time in seconds, the paper's setting, medians: A and B of each strategy; "
                "an arrow marks a bar that is cut off"
            )
            content = svg(breakdown(spent))
            pictures["Time"] = [Picture(f"{NAME}-merging-time.svg", caption, content)]
        for table in self.tables:
            if table.name == "peers":
                files = {key: f"{NAME}-accuracy-over-{key}.svg" for key in ("size", "fit")}
                pictures["Compared with other models"] = comparison_pictures(table.rows, files, svg)
        return pictures


@cache
def _surfaces() -> Picture:
    """Return the picture that depends on no run."""
    caption = (
        "The solution of the merging problem: h and, on a logarithmic scale, WD, over the share m "
        "and the kernel value κ"
    )
    return Picture(f"{NAME}-surfaces.svg", caption, svg(surfaces()))
