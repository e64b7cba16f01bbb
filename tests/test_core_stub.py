"""The stub of the native core lists exactly the names and parameters of the compiled module."""

import ast
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

from pocketsvm import _core

STUB = Path(__file__).resolve().parents[1] / "src" / "pocketsvm" / "_core.pyi"


def signatures(source):
    """Parameters by qualified name; a class and a property have names, too."""
    found = {}

    def visit(nodes, prefix):
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[prefix + node.name] = "class"
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
                found[prefix + node.name] = (*decorators, parameters(node.args))

    visit(ast.parse(source).body, "")
    return found


def parameters(arguments):
    """The parameters as written, without types: names, order, kinds and which have a default."""
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    if arguments.vararg is not None:
        arguments.vararg.annotation = None
    arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
    arguments.kw_defaults = [value and ast.Constant(...) for value in arguments.kw_defaults]
    return ast.unparse(arguments)


@pytest.fixture(scope="module")
def compiled():
    generator = StubGen(_core)
    generator.put(_core)
    return generator.get()


def test_the_stub_is_that_of_the_module(compiled):
    assert signatures(STUB.read_text()) == signatures(compiled)
    assert len(signatures(compiled)) > 40


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("def strategies() -> list[str]: ...", ""),
        ("loss: str, ", ""),
        ("intercept_rate: float = 1.0", "intercept_rate: float"),
        ("*, n_features: int, ", "n_features: int, *, "),
        ("@staticmethod\n", "\n"),
        ("def n_lines(self)", "def lines(self)"),
    ],
)
def test_a_difference_is_found(written, changed, compiled):
    assert written in compiled
    damaged = compiled.replace(written, changed, 1)
    assert signatures(damaged) != signatures(compiled)
