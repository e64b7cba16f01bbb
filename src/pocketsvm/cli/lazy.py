"""Commands that are imported when they are named, and how their help looks."""

import re
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """Drop the type of flags from the help: they take no value, but typer shows ``<bool>``."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command whose help wraps at the terminal's width, and shows no type for flags."""

    def __init__(self, *args: Any, help: str | None = None, **settings: Any) -> None:
        # typer keeps the line breaks of a docstring; only those between paragraphs are meant.
        unwrapped = re.sub(r"(?<!\n)\n(?!\n)", " ", help or "")
        super().__init__(*args, help=unwrapped, **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments."""
        return _without_flag_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments."""
        return _without_flag_types(super().get_params(ctx))


class LazyGroup(Group):
    """A group whose commands stand for modules of this package.

    The commands it holds have a name and a help text, which is enough to list, complete and
    suggest them. The module of a command is imported when the command line names it.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the name of the command, the command itself, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None or name is None else _load(name), rest


def _load(name: str) -> Any:
    """Import the module of a command, and return what typer makes of its function or group."""
    module = import_module(f".{name}", __package__)
    holder = typer.Typer(add_completion=False)
    holder.callback()(lambda: None)  # makes it a group, even of one command
    if hasattr(module, "app"):
        for command in module.app.registered_commands:
            command.cls = Command
        holder.add_typer(module.app, name=name, cls=Group)
    else:
        settings = getattr(module, "CONTEXT_SETTINGS", None)
        holder.command(name, cls=Command, context_settings=settings)(getattr(module, name))
    group = get_command(holder)
    assert isinstance(group, TyperGroup)
    return group.commands[name]
