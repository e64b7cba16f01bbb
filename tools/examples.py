"""Run the examples of a Markdown page as a reader would: in order, in one folder.

Blocks of ``python`` share one namespace; a block of ``text`` right behind one is what it prints.
In blocks of ``console`` lines after ``$`` and ``>`` are commands, others what they print. Output is
compared as doctest does it: ``...`` stands for anything.

    python tools/examples.py docs/guide.md docs/images

runs a page in a new folder and copies the pictures it draws.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)

# The first line, and those that continue it: behind a backslash, or after a ``>``.
COMMAND = re.compile(r"(.*\n(?:(?<=\\\n).*\n|> .*\n)*)([\s\S]*)")


@dataclass(frozen=True)
class Example:
    """Something to run, and what it prints; None: that is not shown."""

    language: str
    code: str
    printed: str | None
    line: int


def examples(text: str) -> Iterator[Example]:
    """Yield the examples of a page, in order."""
    for block in FENCE.finditer(text):
        language, code, printed = block.groups()
        line = text.count("\n", 0, block.start()) + 2
        if language == "python":
            yield Example(language, code, printed, line)
        elif language == "console":
            for command in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
                typed, shown = COMMAND.fullmatch(command).groups()
                typed = re.sub("^> ", "", typed, flags=re.MULTILINE)
                yield Example(language, typed, shown, line)


def run_page(page: Path) -> None:
    """Run a page in the current folder; the first example that fails raises."""
    namespace = {"__name__": "__main__"}
    for example in examples(page.read_text()):
        place = f"{page.name}, line {example.line}"
        if example.language == "python":
            printed = _run_python(example.code, namespace, place)
        else:
            printed = _run_command(example.code, place)
        wanted = printed if example.printed is None else example.printed
        if not doctest.OutputChecker().check_output(wanted, printed, OPTIONS):
            raise AssertionError(
                f"{place}:\n{example.code}\nshould print\n{wanted}\nand prints\n{printed}"
            )


def _run_python(code: str, namespace: dict, place: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(compile(code, place, "exec"), namespace)
    return stdout.getvalue()


def _run_command(command: str, place: str) -> str:
    scripts = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "COLUMNS": "80",
    }
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise AssertionError(f"{place}:\n{command}\nfails with\n{done.stdout}{done.stderr}")
    return done.stdout


def main(page: Path, pictures: Path) -> None:
    """Run a page in a new folder and copy the pictures it draws."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_page(page)
        for picture in sorted(Path().glob("*.png")):
            shutil.copy(picture, pictures / picture.name)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
