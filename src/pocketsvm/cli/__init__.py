"""The command line: ``pocketsvm COMMAND``, one module per command.

A command's module has the command's name and holds a function of that name. Its signature and
docstring are what ``--help`` shows; `groups` lets it take its options in dataclasses. The module
is imported when the command is named, and the function imports the rest when it runs, so that
``--version``, ``--help`` and shell completion are quick.

`app` lists the commands. They raise errors; `app.run` turns an error that the user caused into one
line on stderr and an exit code.
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
    code = run()  # flushes all output
    # The interpreter must not shut down in the usual way: a pyarrow reader may still have a thread
    # in it, which would abort the process.
    os._exit(code)
