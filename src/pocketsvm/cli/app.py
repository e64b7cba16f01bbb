"""The commands, and what they share: errors become messages and exit codes."""

import sys
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__

__all__ = ["app", "run"]

# In the order in which --help shows them: a function, or a group of them called `app`.
COMMANDS: tuple[str, ...] = ("reproduce", "data")

# What a user can cause: bad values, files that are missing or damaged, a disk that is full.
USER_ERRORS = (ValueError, OSError, MemoryError, ImportError)

app = typer.Typer(
    name="pocketsvm",
    help="Gaussian-kernel SVMs on a budget of support vectors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in COMMANDS:
    module = import_module(f".{name}", __package__)
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(getattr(module, name))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pocketsvm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run(arguments: list[str] | None = None) -> int:
    """Run one command line, by default the process's own; returns the exit code."""
    try:
        return app(arguments, standalone_mode=True) or 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        print("pocketsvm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone: nothing to say, nobody to hear it
        return 1
    except USER_ERRORS as error:
        print(f"pocketsvm: {error}", file=sys.stderr)
        return 1
