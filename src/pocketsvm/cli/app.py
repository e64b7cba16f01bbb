"""The list of commands, and how one is run: errors become messages and exit codes."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from .escaping import escaped, escaped_lines
from .lazy import LazyGroup

# The modules of the commands in the order of --help, each with the first sentence of its help.
COMMANDS = {
    "train": "Train a model on a data file.",
    "predict": "Predict the rows of a data file: one label per line, in their order.",
    "evaluate": "Compare a model's predictions with the labels of a data file.",
    "tune": "Find the best C and gamma by cross-validation, and train a model with them.",
    "compress": "Make a trained SVM small.",
    "inspect": "Show what is in a model file.",
    "export": "Write a model for another program.",
    "data": "The paper's data sets: list and download them.",
    "reproduce": "Run the paper's experiments and show its tables and figures beside the published "
    "ones.",
}

# What a user can cause: bad values, files that are missing or damaged, a full disk.
USER_ERRORS = (ValueError, OSError, MemoryError, ImportError)
INTERRUPTED = 130  # typer's exit code for Ctrl-C
# The command line that runs, without the name of the program: errors suggest a better one.
ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())

app = typer.Typer(
    name="pocketsvm",
    cls=LazyGroup,
    help="Gaussian-kernel SVMs on a budget of support vectors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, text in COMMANDS.items():
    app.command(name, help=text)(lambda: None)


def _show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__  # reads the metadata of the package, which takes time

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
    """Run one command line, by default that of the process; return the exit code."""
    given = _with_class_weights(sys.argv[1:] if arguments is None else arguments)
    ARGUMENTS.set(tuple(given))
    try:
        with _shown_warnings():
            app(given, prog_name="pocketsvm")  # always raises SystemExit
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            print("pocketsvm: interrupted", file=sys.stderr)
        return int(stop.code or _flush())
    except USER_ERRORS as error:
        print(f"pocketsvm: {escaped_lines(_message(error))}", file=sys.stderr)
        _flush()
    return 1


def _with_class_weights(arguments: list[str]) -> list[str]:
    """Write LIBSVM's ``-wLABEL WEIGHT``, which option parsers do not know, as --class-weight."""
    result, rest = [], iter(arguments)
    for argument in rest:
        found = re.fullmatch(r"-w(.+)", argument)
        result.append(f"--class-weight={found[1]}={next(rest, '')}" if found else argument)
    return result


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show each warning that is meant for users as one line on stderr."""

    def show_warning(message: Any, *_: Any, **__: Any) -> None:
        from .hints import with_hint  # the library is loaded: it has warned

        text = escaped(" ".join(with_hint(message).split()))
        print(f"pocketsvm: warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("default", RuntimeWarning)
        warnings.showwarning = show_warning
        yield


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = "output" if error.filename is None else os.fsdecode(error.filename)
        return f"{name}: {error.strerror}"
    if isinstance(error, MemoryError) and not str(error):
        return "not enough memory"
    if isinstance(error, ValueError | MemoryError):
        from .hints import with_hint  # the library is loaded: it has raised

        return with_hint(error)
    return str(error)


def _flush() -> int:
    """Flush standard output; return the exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if not isinstance(error, BrokenPipeError):
            print(f"pocketsvm: standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _discard_output() -> None:
    """Send what is left in the buffer nowhere, so that the interpreter's own flush succeeds."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
