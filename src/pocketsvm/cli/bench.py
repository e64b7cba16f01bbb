"""``pocketsvm bench``: speed and accuracy on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from .reproduce import split_names


def bench(
    only: Annotated[
        str,
        typer.Option(
            metavar="PART,…",
            help="Measure only these parts (speed, growth, peers, exact, scale, cluster, solver, "
            "learners, tasks, tuning, few); 'none' writes the pages from stored results.",
            show_default="all",
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: about five minutes.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Seeds or data sets to measure at a time in the parts 'peers', 'solver', "
            "'learners' and 'tuning', each on one core (two in 'tuning'); they slow down each "
            "other.",
        ),
    ] = 1,
    rows: Annotated[
        float | None,
        typer.Option(
            min=100_000,
            metavar="NUMBER",
            help="Largest number of rows of the parts 'scale' and 'cluster', such as 1e8; 160 "
            "bytes of disk are needed for each.",
            show_default="1e7 and 8e6",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the results and pages; quick ones go to 'quick' in it.")
    ] = Path("benchmarks"),
    docs: Annotated[
        Path | None, typer.Option(help="Folder for a copy of the Markdown page and its pictures.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the part 'peers' from runs.csv of `pocketsvm reproduce`.",
        ),
    ] = None,
    remark: Annotated[
        str, typer.Option(help="A remark about the run, for the top of the page.")
    ] = "",
    readme: Annotated[
        bool, typer.Option("--readme", help="Only print the README's table from stored results.")
    ] = False,
) -> None:
    """Measure speed and accuracy on this machine.

    The results of each part are stored, so that one part can be measured again by itself. The pages
    are written from all stored results.
    """
    from ..experiments.bench.run import PARTS, Benchmarks

    parts = list(PARTS) if not only else [] if only == "none" else split_names(only)
    if unknown := [name for name in parts if name not in PARTS]:
        raise typer.BadParameter(
            f"there is no part '{unknown[0]}'; there are {', '.join(PARTS)}, or 'none'",
            param_hint="--only",
        )
    benchmarks = Benchmarks(
        out / "quick" if quick else out, quick, jobs, None if rows is None else int(rows)
    )
    if readme:
        print(benchmarks.readme())
        return
    for name in parts:
        benchmarks.measure(name, runs if name == "peers" else None)
    for path in benchmarks.write(remark, docs):
        print(f"Written: {path}")
