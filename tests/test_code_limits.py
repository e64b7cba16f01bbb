"""Files and functions stay short enough to read: a long one usually has two jobs."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path.relative_to(ROOT)
    for folder in ("src/pocketsvm", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
MAX_FILE, MAX_FUNCTION = 450, 50
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines with code: no blank lines, comments or docstrings."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def body_lengths(text: str) -> dict[str, int]:
    """Return the number of code lines in the body of every function."""
    lines = code_lines(text)
    lengths = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = set(range(node.body[0].lineno, node.end_lineno + 1))
            lengths[f"{node.name}, line {node.lineno}"] = len(lines & body)
    return lengths


EXAMPLE = '''"""One

two."""

X = 1  # one


def f(
    a,
):
    """Three."""
    # two
    g(
        a
    )
'''


def test_lines_are_counted_without_blanks_comments_and_docstrings():
    assert code_lines(EXAMPLE) == {5, 8, 9, 10, 13, 14, 15}
    assert body_lengths(EXAMPLE) == {"f, line 8": 3}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_files_and_functions_are_short(module):
    text = (ROOT / module).read_text()
    assert len(code_lines(text)) <= MAX_FILE
    too_long = {name: n for name, n in body_lengths(text).items() if n > MAX_FUNCTION}
    assert not too_long
