"""The command line: ``pocketsvm COMMAND``, one module per command.

A command's module has its name and a function of its name, whose signature and docstring are what
typer shows; `app.py` lists them. Commands raise: `main` turns an error of the user's making into
one line on stderr and an exit code.
"""

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
    sys.exit(run())
