"""Run the examples of a Markdown page in order, in one folder.

Sybil finds the code blocks. Blocks of ``python`` share one namespace; a block of ``text`` is the
output of the ``python`` block before it. In blocks of ``console``, lines that begin with ``$`` or
``>`` are commands and the other lines are their output. In outputs, ``...`` matches anything, as in
doctest. The comment ``<!-- skip: next -->`` skips a block.

    python tools/examples.py docs/tutorial.md docs/images

runs a page in a new folder and copies the pictures that it draws.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, SkipParser

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# The first line and those that continue it: after a backslash, or after a ``>``.
COMMAND = re.compile(r"(.*\n(?:(?<=\\\n).*\n|> .*\n)*)([\s\S]*)")
PRINTED = "__printed__"  # the name under which the namespace of a page keeps the last output


def run_page(page: Path) -> None:
    """Run a page in the current folder; the first example that fails raises an exception."""
    parsers = (
        CodeBlockParser("python", _run_python),
        CodeBlockParser("text", _compare_text),
        CodeBlockParser("console", _run_console),
        SkipParser(),
    )
    document = Document.parse(str(page), *parsers)
    document.namespace["__name__"] = "__main__"
    for example in document.examples():
        example.evaluate()


def _run_python(example: Example) -> None:
    # Empty lines before the code give tracebacks the line numbers of the page.
    source = "\n" * example.line + example.parsed
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(compile(source, example.path, "exec"), example.namespace)
    example.namespace[PRINTED] = stdout.getvalue()


def _compare_text(example: Example) -> str | None:
    return _difference(example.parsed, example.namespace[PRINTED])


def _run_console(example: Example) -> str | None:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "80",
    }
    for block in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        typed, wanted = COMMAND.fullmatch(block).groups()
        command = re.sub("^> ", "", typed, flags=re.MULTILINE)
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
        if done.returncode:
            return f"{command}fails with\n{done.stdout}{done.stderr}"
        if difference := _difference(wanted, done.stdout):
            return f"{command}{difference}"
    return None


def _difference(wanted: str, printed: str) -> str | None:
    if doctest.OutputChecker().check_output(wanted, printed, OPTIONS):
        return None
    return f"should print\n{wanted}\nand prints\n{printed}"


def main(page: Path, pictures: Path) -> None:
    """Run a page in a new folder and copy the pictures that it draws."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_page(page)
        for picture in sorted(Path().glob("*.png")):
            shutil.copy(picture, pictures / picture.name)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
