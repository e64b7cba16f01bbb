"""Option groups."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pocketsvm.cli.groups import grouped


@dataclass(frozen=True)
class Colour:
    colour: Annotated[str, typer.Option("--colour", "-c")] = "red"
    shade: Annotated[int, typer.Option(min=0)] = 3


@dataclass(frozen=True)
class Paint(Colour):
    layers: int = 1
    names: Annotated[list[str] | None, typer.Option("--name")] = None


@grouped
def paint(wall: str, *, first: Paint, dry: bool = False) -> None:
    """Paint a wall."""
    print(wall, first, dry)


def test_fields_take_the_place_of_the_group():
    parameters = inspect.signature(paint).parameters
    assert list(parameters) == ["wall", "colour", "shade", "layers", "names", "dry"]
    assert paint.__doc__ == "Paint a wall."


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["north"], ("north", Paint(), False)),
        (["north", "-c", "blue", "--layers", "2", "--dry"], ("north", Paint("blue", 3, 2), True)),
        (["--name", "a", "--name", "b", "x"], ("x", Paint(names=["a", "b"]), False)),
    ],
)
def test_a_command_gets_one_object_per_group(arguments, expected):
    app = typer.Typer()
    app.command()(paint)
    done = CliRunner().invoke(app, arguments)
    assert done.output == " ".join(map(str, expected)) + "\n"


def test_options_of_a_group_are_checked():
    app = typer.Typer()
    app.command()(paint)
    assert CliRunner().invoke(app, ["north", "--shade", "-1"]).exit_code == 2
