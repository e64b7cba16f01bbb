"""The page: what was run, the tables and the pictures, as Markdown and as one HTML file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import figures
from .pages import Block, Picture, write_html, write_markdown
from .protocol import Problem, Setting
from .results import Row
from .tables import Table, all_tables, checks, curves, merging_seconds

__all__ = ["Report"]

TITLE = "The paper, reproduced"

# What stands above each table; a table is shown under the first heading whose names hold its own.
SECTIONS = {
    "Accuracy": ("table1", "table2"),
    "Time": ("table3-time", "merging-time"),
    "Decisions": ("table3-decisions",),
    "pocketsvm's defaults": ("table2-defaults",),
    "Beside other models": ("peers",),
}
WHY = (
    "**Accuracy in the paper's setting** is that of the last iterate, which is noisy: the "
    "deviations that the paper prints reach 3.9 points. Strategies that decide alike may differ as "
    "much, likely because one tie broken in another way early in a run leads to another model.",
    "**Splits.** The paper's splits of SUSY, SKIN and PHISHING are not known. Ours are fixed and "
    "told above; accuracies on these three compare only roughly.",
    "**Stand-ins.** Where the list of data sets says that other rows stand for the paper's, their "
    "number is another, and with it lambda = 1 / (n C), the number of steps and the merging "
    "frequency. One pass over the part of SUSY that is at hand is a far shorter training than one "
    "over 4.5 million rows.",
    "**Merging frequency** depends on the data, C, gamma and the passes. Where a run has other "
    "rows or passes than the paper's, so it likely has another frequency.",
    "**Training time.** Kernel rows, searches and lookups are vector code in float32 here, but for "
    "gss-precise, which needs float64. What a lookup can save depends on what share of the time "
    "the search has, and so on the machine, on how fast a kernel row is and on the merging "
    "frequency.",
    "**Ties.** Candidates tie where rows are equal, or so far apart that every merge costs the "
    "same. Which of them is taken is chance; the paper does not say how it counts them.",
    "**Factors.** The paper does not say whether it sums before it divides. We do: a mean over the "
    "events would hang on those few whose minimum is nearly zero. That mean is in `runs.csv`, too "
    "(`factor`).",
    "**Passes.** With every pass the coefficients of merged vectors grow, while a new vector "
    "enters with coefficient 1: its share m may fall below 1/400, the width of a cell of the "
    "table, and the best h below 0.01, the precision of gss. Where gss and lookup-wd decide worse "
    "over all passes than in the first, this is likely why. lookup-h computes WD from h, and merge "
    "looks a scaled WD up, which should spare both.",
    "**The tables.** Ours are folded at m = 1/2, where h jumps, and WD is computed without "
    "cancellation near kappa = 1; of both the paper does not speak.",
)
HOW = (
    "One thread for everything, BLAS included. Strategies take turns: run 1 of each, then run 2 of "
    "each, and so on, so that a slow moment of the machine hits all alike; times are medians. The "
    "number of a run is its seed. Every run is one line of `runs.csv`, with all of `profile_`."
)


@dataclass(frozen=True)
class Report:
    """What there is to say of the lines of a plan's runs, be they all there or not."""

    rows: Sequence[Row]
    problems: Sequence[Problem]
    setting: Setting
    command: str
    quick: bool
    n_done: int
    n_tasks: int

    def write(self, folder: Path, docs: Path | None = None) -> list[Path]:
        """Write both pages, and the Markdown one with its pictures into another folder, too."""
        blocks = list(self._blocks())
        pages = [write_html(blocks, folder), write_markdown(blocks, folder)]
        return [*pages, write_markdown(blocks, docs)] if docs else pages

    @property
    def tables(self) -> list[Table]:
        """The tables for which there are results."""
        return all_tables(self.rows, self.problems, self.setting)

    def _blocks(self) -> Iterator[Block]:
        """Headings ("# ..."), paragraphs, tables and pictures, in their order."""
        tables, pictures = self.tables, self._pictures()
        yield f"# {TITLE}"
        yield (
            "The experiments of *Speeding Up Budgeted Stochastic Gradient Descent SVM Training "
            "with Precomputed Golden Section Search* (Tobias Glasmachers and Sahar Qaadan), run "
            "again by pocketsvm. Under each figure of ours stand the published one and the "
            "difference."
        )
        yield f"Written by `{self.command}`."
        if self.quick:
            yield (
                "**A quick run: at most a few thousand rows of each data set, which is too few to "
                "judge by.**"
            )
        if self.n_done < self.n_tasks:
            yield f"**Incomplete: {self.n_done} of {self.n_tasks} runs are done.**"
        if self.rows:
            yield self._machine()
        held = checks(self.rows, self.problems, self.setting)
        if held:
            yield "## What should hold"
            yield held
        yield "## Data sets"
        yield from self._data()
        for heading, names in SECTIONS.items():
            shown = [table for table in tables if table.name in names]
            if shown or heading in pictures:
                yield f"## {heading}"
                yield from pictures.get(heading, ())
                yield from shown
        yield "## The functions that are tabulated"
        yield surfaces()
        yield "## Where figures differ, and why"
        yield from WHY
        yield "## How it was measured"
        yield HOW

    def _machine(self) -> str:
        row = max(self.rows, key=lambda row: row["program"].startswith("pocketsvm"))
        versions = ", ".join(f"{name} {row[name]}" for name in ("numpy", "scipy", "scikit-learn"))
        return (
            f"{row['cpu']}, {row['cores']} cores, {row['instruction_set']}, {row['system']} · "
            f"{row['program']}, Python {row['python']}, {versions}"
        )

    def _data(self) -> Iterator[str]:
        for problem in self.problems:
            published = problem.data_set.published.n_rows
            yield (
                f"**{problem.label}**: trained on {problem.n_rows:,} rows (the paper: "
                f"{published:,}). {problem.says}"
            )

    def _pictures(self) -> dict[str, list[Picture]]:
        """Return the pictures that the results allow, by the heading under which they stand."""
        pictures = {}
        spent = merging_seconds(self.rows, self.problems, self.setting)
        if spent:
            pictures["Time"] = [
                Picture(
                    "merging-time",
                    "Merging time in seconds, the paper's setting, medians: A and B of each "
                    "strategy; an arrow marks a bar that is cut",
                    figures.svg(figures.breakdown(spent)),
                )
            ]
        points = curves(self.rows, self.problems, self.setting)
        if points:
            axes = {"size": "vectors in the model", "fit": "seconds to train"}
            pictures["Beside other models"] = [
                Picture(
                    f"accuracy-over-{key}",
                    f"Test accuracy over {label}, as far as {figures.SPAN} points below the best",
                    figures.svg(figures.draw_accuracy(points, key, label)),
                )
                for key, label in axes.items()
            ]
        return pictures


@cache
def surfaces() -> Picture:
    """Return the picture that depends on no run."""
    return Picture(
        "surfaces",
        "The merging problem solved: h and, on a logarithmic scale, WD, over the share m and the "
        "kernel value κ",
        figures.svg(figures.surfaces()),
    )
