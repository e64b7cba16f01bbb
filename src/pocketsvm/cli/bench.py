"""``pocketsvm bench``: the benchmarks of a checkout."""

import subprocess
import sys
from pathlib import Path

import typer

__all__ = ["bench"]

# All options are those of the benchmarks, --help included.
CONTEXT_SETTINGS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "run.py"


def bench(context: typer.Context) -> None:
    """Measure speed and accuracy on this machine, as `make bench` does.

    The benchmarks are in the source, not in the installed package: it has to be installed from a
    checkout, editable. Options are passed on; --quick is one, and --help lists them.
    """
    if not BENCHMARKS.is_file():
        raise FileNotFoundError(
            "the benchmarks are not in the installed package: get the source of pocketsvm and run "
            "`make bench` there."
        )
    raise typer.Exit(subprocess.run([sys.executable, str(BENCHMARKS), *context.args]).returncode)
