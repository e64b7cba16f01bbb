"""Run the programs of the gallery, and write a page for each of them.

    python tools/gallery.py build/gallery

runs every ``examples/plot_*.py``, each in a process of its own. A page has the title and the text
of the program's docstring, its figure, what it prints, the time it took and its source. A program
that fails, warns or draws nothing is an error.
"""

import ast
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
# Runs a program as __main__, then saves its figure.
RUNNER = """
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
from matplotlib import pyplot as plt
assert len(plt.get_fignums()) == 1, "the program must draw one figure"
plt.gcf().savefig(sys.argv[2], dpi=110)
"""
HEAD = """# Gallery

Short programs, each with its picture. They run when this site is built; the times are those of this
build, including the import of the libraries.
"""


@dataclass(frozen=True)
class Shown:
    """A program that was run: what its page shows."""

    program: Path
    printed: str
    seconds: float

    @property
    def name(self) -> str:
        """The name of the page and of the picture, without an ending."""
        return self.program.stem.removeprefix("plot_").replace("_", "-")

    @property
    def docstring(self) -> tuple[str, str]:
        """The title and the text of the program."""
        docstring = ast.get_docstring(ast.parse(self.program.read_text())) or ""
        title, _, text = docstring.partition("\n\n")
        return title.rstrip("."), text

    def page(self) -> str:
        """Return the page."""
        title, text = self.docstring
        _, _, code = self.program.read_text().partition('"""\n\n')
        printed = f"It prints:\n\n```text\n{self.printed.rstrip()}\n```\n\n" if self.printed else ""
        return (
            f"# {title}\n\n{text}\n\n![{title}]({self.name}.png)\n\n{printed}"
            f"```python\n{code.rstrip()}\n```\n\n"
            f"`examples/{self.program.name}` took {self.seconds:.1f} seconds.\n"
        )

    def card(self) -> str:
        """Return the entry in the list of all programs."""
        title, _ = self.docstring
        picture = f"![{title}]({self.name}.png)"
        return f"[{picture} **{title}** <small>{self.seconds:.1f} s</small>]({self.name}.md)\n"


def programs() -> list[Path]:
    """Return the programs of the gallery."""
    return sorted(EXAMPLES.glob("plot_*.py"))


def show(program: Path, folder: Path) -> Shown:
    """Run a program and save its figure in the folder."""
    shown = Shown(program, "", 0.0)
    command = [sys.executable, "-W", "error", "-c", RUNNER, program, folder / f"{shown.name}.png"]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{program.name} fails:\n{done.stderr}")
    return Shown(program, done.stdout, seconds)


def main(folder: Path) -> None:
    """Run all programs and write all pages."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cards = []
    for program in programs():
        shown = show(program, folder)
        print(f"{program.name}: {shown.seconds:.1f} s", flush=True)
        (folder / f"{shown.name}.md").write_text(shown.page())
        cards.append(shown.card())
    cards_html = "\n".join(cards)
    (folder / "index.md").write_text(
        f'{HEAD}\n<div class="gallery" markdown>\n{cards_html}\n</div>\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
