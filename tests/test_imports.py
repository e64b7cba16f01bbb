"""Which modules may import which: data flows in one direction."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pocketsvm"
# Modules and packages import only what stands in a line above them.
LAYERS = (
    ("_cached", "_core", "_formats", "_replacing", "_sklearn", "_warnings", "profile"),
    ("_versions", "files"),
    ("rows",),
    ("backends",),
    ("training", "metrics"),
    ("model",),
    ("solving",),
    ("tasks",),
    ("fit",),
    ("estimators",),
    ("search", "dask", "callbacks", "compression", "exceptions"),
    ("_trusted", "mlflow", "onnx"),
    ("plots",),
    ("merge_table",),
    ("paper",),
    ("cli",),
)
LEVELS = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# Only these call native code; the others go through them.
NATIVE_ROOMS = {
    "_versions",
    "files",
    "rows",
    "backends",
    "compression",
    "training",
    "solving",
    "tasks",
    "model",
    "merge_table",
    "paper",
}
MODULES = sorted(
    path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.name != "__main__.py"
)


class Import(NamedTuple):
    """An imported name, with the path of its module."""

    path: tuple[str, ...]
    line: int
    is_late: bool

    @property
    def room(self) -> str | None:
        """The package or module of pocketsvm that is imported, None for other libraries."""
        if self.path[0] != "pocketsvm":
            return None
        return self.path[1] if self.path[1:2] and self.path[1] in LEVELS else "pocketsvm"


def imports(module: Path) -> Iterator[Import]:
    """Yield every name that a module imports, relative ones as absolute."""
    package = ("pocketsvm", *module.parent.parts)
    tree = ast.parse((SOURCE / module).read_text())
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(tuple(name.name.split(".")), node.lineno, id(node) in late)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            parts = tuple(node.module.split(".")) if node.module else ()
            for name in node.names:
                yield Import((*start, *parts, name.name), node.lineno, id(node) in late)


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_import_only_what_lies_below(module):
    room = room_of(module)
    if room == "__init__":
        allowed = set(LEVELS) - {"cli", "paper"}
    else:
        assert room in LEVELS, f"{room} has no place in LAYERS"
        allowed = {room, *(other for other in LEVELS if LEVELS[other] < LEVELS[room])}
        if room in ("paper", "cli"):
            allowed.add("pocketsvm")  # they may use the public names, as any user
    wrong = [
        f"line {each.line}: {'.'.join(each.path)}"
        for each in imports(module)
        if each.room is not None and each.room not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_the_package_does_not_import_the_benchmarks(module):
    assert not [each for each in imports(module) if each.path[0] == "benchmarks"]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_own_modules_are_imported_at_the_top(module):
    """Only commands import late, because each needs only a part of the package."""
    late = [each for each in imports(module) if each.room is not None and each.is_late]
    assert not late or room_of(module) == "cli"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_native_code_is_called_only_where_the_data_flows(module):
    native = [each for each in imports(module) if each.room == "_core"]
    assert not native or room_of(module) in NATIVE_ROOMS


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_private_names_of_scikit_learn_are_imported_in_one_module(module):
    private = [
        ".".join(each.path)
        for each in imports(module)
        if each.path[0] == "sklearn" and any(part.startswith("_") for part in each.path)
    ]
    assert not private or module == Path("_sklearn.py")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_private_methods_of_scikit_learn_are_called_in_one_module(module):
    private = {"_validate_params", "_get_param_names", "_init_callback_context"}
    tree = ast.parse((SOURCE / module).read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & private
    assert not used or module == Path("_sklearn.py")
