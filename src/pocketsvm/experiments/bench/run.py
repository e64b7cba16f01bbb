"""Speed and accuracy of pocketsvm, measured on this machine: ``make bench``.

Each part is kept as JSON under ``build/bench``, so that one can be measured again by itself; the
page is written from all that is there. A quick run keeps its records and its page apart.
"""

import argparse
import datetime as dt
import json
import signal
import sys
from pathlib import Path
from time import perf_counter

import exact
import growth
import page
import peers
import scale
import speed

ROOT = Path(__file__).resolve().parents[1]
PARTS = {"speed": speed, "growth": growth, "peers": peers, "exact": exact, "scale": scale}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no large file is left behind
    options = parse()
    cache = ROOT / "build" / "bench" / ("quick" if options.quick else "full")
    cache.mkdir(parents=True, exist_ok=True)
    if not options.readme:
        for name in options.only:
            measure(name, options, cache)
        out = options.out or (cache if options.quick else ROOT / "docs")
        out.mkdir(parents=True, exist_ok=True)
        written = page.write(load(cache), out, options.remark)
        print(f"The page is in {written.relative_to(ROOT) if not options.out else written}.")
    else:
        print(readme(load(cache)))


def parse():
    parser = argparse.ArgumentParser(
        prog="pocketsvm bench",
        description="Speed and accuracy of pocketsvm, measured on this machine. "
        'In a checkout, make bench ARGS="..." takes the same options.',
    )
    parser.add_argument(
        "--only",
        type=names_of_parts,
        default=list(PARTS),
        metavar="PART,…",
        help=f"measure only these, of {', '.join(PARTS)}; 'none' writes the page from what is kept",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, under three minutes")
    parser.add_argument("--out", type=Path, help="folder of the page (docs)")
    parser.add_argument(
        "--readme", action="store_true", help="only print the README's table from what is kept"
    )
    parser.add_argument(
        "--runs",
        type=Path,
        metavar="FILE",
        help="runs.csv of `pocketsvm reproduce`: the peers are taken from there",
    )
    parser.add_argument("--remark", help="a sentence about the run, for the top of the page")
    return parser.parse_args()


def names_of_parts(text):
    names = [] if text == "none" else text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}")
    return names


def measure(name, options, cache):
    """Measure one part and keep its record."""
    print(f"=== {name}\n", flush=True)
    start = perf_counter()
    command = f'make bench ARGS="{"--quick " if options.quick else ""}--only {name}"'
    if name == "peers" and options.runs:
        tables = peers.taken_from(options.runs)
        command = f'pocketsvm reproduce; {command[:-1]} --runs {options.runs.name}"'
    else:
        tables = PARTS[name].measure(options.quick)
    record = {
        "tables": tables,
        "quick": options.quick,
        "seconds": perf_counter() - start,
        "date": dt.date.today().isoformat(),
        "command": command,
        "machine": page.machine(),
    }
    (cache / f"{name}.json").write_text(json.dumps(record, indent=1))


def load(cache):
    """The records that are kept, by part."""
    paths = {name: cache / f"{name}.json" for name in PARTS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def readme(parts):
    if "peers" not in parts:
        sys.exit('Measure first: make bench ARGS="--only peers"')
    return peers.readme(parts["peers"]["tables"][0]["rows"])


if __name__ == "__main__":
    main()
