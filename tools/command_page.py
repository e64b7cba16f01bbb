"""Write the page of the command line from the commands themselves.

    python tools/command_page.py docs/command-line.md

The options come from the signatures of the commands, as typer reads them. Neither the width of a
terminal nor the version of typer changes the page.
"""

import importlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from typer.models import ArgumentInfo

from pocketsvm.cli.app import COMMANDS
from pocketsvm.cli.groups import grouped
from pocketsvm.cli.options import DataOptions

INTRODUCTION = """\
# Command line

This page lists all commands with their arguments and options. `make docs` writes it from the
program, and `pocketsvm COMMAND --help` prints the same. The [tutorial](command-line-tutorial.md)
shows examples.

The command line needs the extra `cli`, and tables need the extra `data`:
`pip install "pocketsvm[cli,data]"`. `python -m pocketsvm` runs the same commands.

- Results are written to standard output. Progress, remarks, warnings and errors are written to
  standard error. `--json` prints the result as JSON.
- The exit code is 0 on success, 1 on failure, 2 on incorrect usage and 130 after Ctrl-C.
- An option that begins with one dash and a letter takes its value after a blank: `-B 200`. A long
  option takes it after a blank or an equals sign: `--budget 200`, `--budget=200`.
- `-wLABEL WEIGHT` is the same as `--class-weight LABEL=WEIGHT`, as in LIBSVM.
- `pocketsvm --version` prints the version, `pocketsvm --install-completion` sets up completion for
  the current shell, and `pocketsvm --show-completion` prints it.
"""
DATA_FILES = """\
## Data files

All commands that read a data file have these options:
"""
KINDS = {int: "integer", float: "number", str: "text", Path: "path"}
ARGUMENTS, OPTIONS = "Arguments", "Options"


class Entry(NamedTuple):
    """An argument or an option, and the heading of its help."""

    panel: str
    spelling: str
    value: str
    text: str

    def row(self) -> str:
        """Return the row of a table."""
        text = self.text if self.panel == OPTIONS else f"*{self.panel}.* {self.text}"
        return f"| `{self.spelling}` | {self.value} | {text} |"


def page() -> str:
    """Return the page."""
    rows = [f"| [`{name}`](#{name}) | {text} |" for name, text in COMMANDS.items()]
    parts = [INTRODUCTION, _table("command | ", rows), DATA_FILES]
    parts.append(_table("option | value | ", [entry.row() for entry in SHARED]))
    for name in COMMANDS:
        module = importlib.import_module(f"pocketsvm.cli.{name}")
        if hasattr(module, "app"):
            parts.append(f"## {name}\n\n{module.app.info.help}\n")
            for one in module.app.registered_commands:
                parts.append(_section(f"{name} {one.name}", one.callback, "###"))
        else:
            parts.append(_section(name, getattr(module, name), "##"))
    return "\n".join(parts)


def _section(name: str, function: Callable[..., None], level: str) -> str:
    """Return the description of one command."""
    entries = list(_of(function))
    arguments = [entry for entry in entries if entry.panel == ARGUMENTS]
    usage = " ".join(["pocketsvm", name, "[OPTIONS]", *(entry.spelling for entry in arguments)])
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(function.__doc__ or ""))
    parts = [f"{level} {name}", f"    {usage}", text]
    if arguments:
        parts.append("\n".join(f"- `{one.spelling}`: {one.text}" for one in arguments))
    options = [entry for entry in entries if entry not in [*arguments, *SHARED]]
    if len(options) + len(arguments) < len(entries):
        parts.append("The options of [data files](#data-files), and these:")
    return "\n\n".join([*parts, _table("option | value | ", [one.row() for one in options])])


def _table(heads: str, rows: list[str]) -> str:
    return "\n".join([f"| {heads}|", "|---" * (heads.count("|") + 1) + "|", *rows]) + "\n"


def _of(function: Callable[..., None]) -> Iterator[Entry]:
    """Yield the arguments, then the options; those with a heading of their own come last."""
    entries = []
    for parameter in inspect.signature(function).parameters.values():
        kind, info = get_args(parameter.annotation)[:2]
        text = " ".join(str(info.help).split())
        if isinstance(info, ArgumentInfo):
            name = info.metavar or parameter.name.upper()
            is_needed = parameter.default is inspect.Parameter.empty
            entries.append(Entry(ARGUMENTS, name if is_needed else f"[{name}]", "", text))
            continue
        spellings = _spellings(parameter.name, kind, info)
        if default := _default(parameter.default, info.show_default, spellings):
            text += f" Default: {default}."
        panel = info.rich_help_panel or OPTIONS
        entries.append(Entry(panel, "`, `".join(spellings), _value(kind, info), text))
    panels = list(dict.fromkeys([ARGUMENTS, OPTIONS, *(entry.panel for entry in entries)]))
    yield from sorted(entries, key=lambda entry: panels.index(entry.panel))


def _spellings(name: str, kind: Any, info: Any) -> list[str]:
    """Return how an option is written: the short form first."""
    # In an Annotated type, the first of the given spellings is where a default would be.
    given = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
    long = [one for one in given if one.startswith("--")]
    if not long:
        word = name.replace("_", "-")
        is_switch = bool in (kind, *get_args(kind))
        long = [f"--{word}", f"--no-{word}"] if is_switch else [f"--{word}"]
    long = [word for one in long for word in one.split("/")]
    short = [one for one in given if not one.startswith("--")]
    return [*short, *long]


def _value(kind: Any, info: Any) -> str:
    """Return what stands after an option: a name, or the words to choose from."""
    limits = [f"from {info.min}"] if info.min is not None else []
    limits += [f"to {info.max}"] if info.max is not None else []
    if info.metavar and not info.metavar.startswith("<"):
        return " ".join([", ".join(f"`{word}`" for word in info.metavar.split("|")), *limits])
    kinds = [kind]
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kinds[0]) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(kinds[0]))
    if kinds[0] is bool:
        return ""
    return " ".join([KINDS[kinds[0]], *limits])


def _default(default: Any, shown: Any, spellings: list[str]) -> str:
    """Return what holds if the option is not given, or an empty string."""
    if isinstance(shown, str):
        return shown
    if default is True:
        return f"`{spellings[0]}`"
    return "" if default is None or default is False or default == "" else f"`{default}`"


@grouped
def _read(*, columns: DataOptions) -> None:
    """Stand for the commands that read data files."""


# The options of all of these commands.
SHARED = list(_of(_read))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
