"""The commands, and what they share: errors become messages and exit codes."""

import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from .console import shown_warnings
from .hints import with_hint

__all__ = ["app", "run"]

# In the order in which --help shows them: a function, or a group of them called `app`.
COMMANDS: tuple[str, ...] = (
    "train",
    "predict",
    "evaluate",
    "tune",
    "inspect",
    "export",
    "data",
    "reproduce",
    "bench",
)

# What a user can cause: bad values, files that are missing or damaged, a disk that is full.
USER_ERRORS = (ValueError, OSError, MemoryError, ImportError)
INTERRUPTED = 130  # what typer makes of Ctrl-C

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
        settings = getattr(module, "CONTEXT_SETTINGS", None)
        app.command(name, context_settings=settings)(getattr(module, name))


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
    given = _with_class_weights(sys.argv[1:] if arguments is None else arguments)
    try:
        with shown_warnings():
            app(given, prog_name="pocketsvm")  # which always exits
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            print("pocketsvm: interrupted", file=sys.stderr)
        return int(stop.code or _flush())
    except USER_ERRORS as error:
        print(f"pocketsvm: {_message(error)}", file=sys.stderr)
        _flush()
    return 1


def _with_class_weights(arguments: list[str]) -> list[str]:
    """Spell LIBSVM's ``-wLABEL WEIGHT``, which no parser of options knows, as --class-weight."""
    result, rest = [], iter(arguments)
    for argument in rest:
        found = re.fullmatch(r"-w(.+)", argument)
        result.append(f"--class-weight={found[1]}={next(rest, '')}" if found else argument)
    return result


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = "output" if error.filename is None else os.fsdecode(error.filename)
        return f"{name}: {error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory"
    return with_hint(error)


def _flush() -> int:
    """Write what is still to be written; returns the exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if not isinstance(error, BrokenPipeError):
            print(f"pocketsvm: standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _discard_output() -> None:
    """Let the interpreter's own flush at its end go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
