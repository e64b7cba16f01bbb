"""The command line: ``pocketsvm COMMAND``, one module per command.

A command's module has its name and a function of its name, whose signature and docstring are what
typer shows; `app.py` lists them. Commands raise: `main` turns an error of the user's making into
one line on stderr and an exit code.
"""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the exit code is 0, 1 (it failed), 2 (misused) or 130 (Ctrl-C)."""
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"pocketsvm: {error.name} is missing; pip install 'pocketsvm[cli]'")
    code = run()  # which has written all there is to write
    # Without taking the interpreter down: a reader of pyarrow may still have a thread in it, which
    # would take the process down with an abort.
    os._exit(code)
