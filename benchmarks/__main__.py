"""``make bench``: measure the parts that are not measured yet, and write the pages."""

import argparse
import datetime as dt
import signal
import sys
from pathlib import Path
from time import perf_counter

from pocketsvm.paper.datasets import registry
from pocketsvm.paper.toolkit.console import show
from pocketsvm.paper.toolkit.measure import PACKAGES, machine, versions

from .page import MARKED, fill, stored, write_pages
from .parts import PARTS
from .pieces import Pieces, kept_in
from .record import CHANGED, RESULTS, ROOT, Record, measured_commit

TERMINATED = 128 + signal.SIGTERM  # the exit code of a shell
BUILD = ROOT / "build" / "bench"
QUICK_FOLDER = BUILD / "quick"
MORE_PACKAGES = ("lightgbm", "scikit-learn-intelex")
# The options that choose a piece of a part, whose results are printed and not stored.
PIECES = ("data", "budgets")
LEAST_ROWS = 100_000


def names_of(text: str) -> list[str]:
    """Return the names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parts_of(text: str) -> list[str]:
    """Return names of parts; "none" stands for no part."""
    names = [] if text == "none" else names_of(text)
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(
            f"there is no part '{unknown[0]}'; there are {', '.join(PARTS)}, or 'none'"
        )
    return names


def data_sets_of(text: str) -> list[str]:
    """Return names of data sets of the paper."""
    try:
        return [registry.named(name).name for name in names_of(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def budgets_of(text: str) -> list[int]:
    """Return budgets."""
    budgets = [int(name) for name in names_of(text)]
    if min(budgets, default=0) < 2:
        raise argparse.ArgumentTypeError(f"budgets are whole numbers of at least 2, got '{text}'")
    return budgets


def rows_of(text: str) -> int:
    """Return a number of rows, which may be written as 1e8."""
    n_rows = int(float(text))
    if n_rows < LEAST_ROWS:
        raise argparse.ArgumentTypeError(f"at least {LEAST_ROWS:,} rows are needed, got {n_rows:,}")
    return n_rows


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="make bench ARGS=",
        description="Measure speed and accuracy. A part is measured once for each commit.",
    )
    add = result.add_argument
    add("--only", type=parts_of, default=list(PARTS), metavar="PART,…", help=", ".join(PARTS))
    add("--again", action="store_true", help="also measure parts that are already measured")
    add("--quick", action="store_true", help="small sizes; results go to build/bench/quick")
    add("--jobs", type=int, help="seeds or data sets to measure at a time, where that is possible")
    add("--rows", type=rows_of, help="the largest number of rows of 'scale' and 'cluster'")
    add("--runs", type=Path, help="take 'peers' from this runs.csv of pocketsvm reproduce")
    add("--data", type=data_sets_of, metavar="NAME,…", help="only these data sets of 'polish'")
    add("--budget", dest="budgets", type=budgets_of, metavar="B,…", help="budgets of 'polish'")
    add("--results", type=Path, metavar="FOLDER", help="folder of the results")
    add("--docs", type=Path, metavar="FOLDER", help="write the pages here")
    return result


def measure(
    name: str, options: argparse.Namespace, commit: str | None, folder: Path | None
) -> Record:
    """Measure a part and show its tables; its pieces are kept in the folder until it is done."""
    part = PARTS[name]
    chosen = {key: getattr(options, key) for key in part.options}
    given = {key: value for key, value in chosen.items() if value is not None}
    command = _command(name, options.quick, given)
    known = commit is not None and not commit.endswith(CHANGED)
    pieces = Pieces(folder / f"{name}.json" if folder and known else None, f"{commit} {command}")
    if pieces.found:
        print(f"{len(pieces.found)} pieces are already measured.", flush=True)
    start = perf_counter()
    with kept_in(pieces):
        tables = part.measure(options.quick, **given)
    record = Record(
        tables=tables,
        commit=commit,
        date=dt.date.today().isoformat(),
        command=command,
        seconds=perf_counter() - start + pieces.seconds,
        quick=options.quick,
        machine=machine(),
        versions=versions((*PACKAGES, *MORE_PACKAGES)),
    )
    show(tables)
    pieces.remove()
    return record


def _command(name: str, quick: bool, given: dict[str, object]) -> str:
    """Return the command that measures a part again, without local paths."""
    words = [*(["--quick"] if quick else []), "--only", name]
    for key, value in given.items():
        words += [f"--{key}", value.name if isinstance(value, Path) else f"{value}"]
    return f'make bench ARGS="{" ".join(words)}"'


def _write_pages(records: dict[str, Record], folder: Path | None) -> None:
    """Write the pages to a folder; without one, to the docs, with the tables of other pages."""
    written = write_pages(records, folder or ROOT / "docs")
    if folder is None:
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            if path.exists() and MARKED.search(path.read_text(encoding="utf-8")):
                fill(path, records)
                written.append(path)
    print("Written:", *written)


def main(arguments: list[str] | None = None) -> None:
    """Measure parts, store their records, and write the page from all records."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    is_piece = any(getattr(options, name) is not None for name in PIECES)
    if is_piece and options.only != ["polish"]:
        command_line.error("--data and --budget choose a piece of one part: add --only polish")
    folder = options.results or (QUICK_FOLDER if options.quick else RESULTS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # removes temporary files
    commit, spent = measured_commit(), {}
    for name in options.only:
        known = stored(folder).get(name)
        if known and known.is_of(commit) and not (options.again or is_piece):
            print(f"=== {name}: already measured for this commit ({known.date}); see --again")
            continue
        print(f"=== {name}\n", flush=True)
        kept = (BUILD if folder == RESULTS else folder) / "pieces"
        record = measure(name, options, commit, None if is_piece else kept)
        spent[name] = record.seconds
        print(f"=== {name}: {record.seconds:,.1f} s\n", flush=True)
        if not is_piece:
            record.write(folder / f"{name}.json")
    if len(spent) > 1:
        print(*(f"{name:<10} {seconds:>8,.1f} s" for name, seconds in spent.items()), sep="\n")
    if not is_piece:
        _write_pages(stored(folder), options.docs or (folder if options.quick else None))


if __name__ == "__main__":
    main()
