"""Hooks of MkDocs: pages that are made when the site is built, public names, and formulas.

The gallery's pages come from ``build/gallery``, which ``tools/gallery.py`` writes, and the
changelog from ``CHANGELOG.md``. The script of the live picture comes from ``build/live``, which
``tools/live_picture.py`` writes. A line ``::: module`` in a page stands for a list of the names in
the module's ``__all__``, and for a description of each from its docstring. Formulas become MathML,
which browsers draw without a script.
"""

import html
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "build" / "gallery"
LIVE = ROOT / "build" / "live" / "live.js"
MODULE = re.compile(r"^::: ([\w.]+)$", flags=re.MULTILINE)
FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</(?:span|div)>', flags=re.DOTALL
)


def on_config(config: MkDocsConfig) -> None:
    """List the pages of the gallery in the navigation."""
    if not (GALLERY / "index.md").exists():
        raise PluginError("There is no gallery. Run: python tools/gallery.py build/gallery")
    if not LIVE.exists():
        raise PluginError(
            "There is no live picture. Run: python tools/live_picture.py " + str(LIVE)
        )
    pages = sorted(path.name for path in GALLERY.glob("*.md"))
    pages.insert(0, pages.pop(pages.index("index.md")))
    for entry in config.nav or []:
        if "Gallery" in entry:
            entry["Gallery"] = [f"gallery/{page}" for page in pages]


@event_priority(100)  # before the plugins, which see these pages too
def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the changelog and the gallery."""
    files.append(File.generated(config, "changelog.md", abs_src_path=str(ROOT / "CHANGELOG.md")))
    for path in sorted(GALLERY.iterdir()):
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    files.append(File.generated(config, "assets/live.js", abs_src_path=str(LIVE)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace a module by its public names."""
    return MODULE.sub(_public_names, markdown)


def _public_names(match: re.Match[str]) -> str:
    module = importlib.import_module(match[1])
    lines, descriptions = ["| name | |", "|---|---|"], []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            path = f"{module.__name__}.{name}"
            summary = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
            lines.append(f"| [`{name}`][{path}] | {summary} |")
            descriptions.append(f"\n::: {path}")
        else:
            value = thing if isinstance(thing, (tuple, int)) else tuple(thing)
            lines.append(f"| `{name}` | `{value!r}` |")
    return "\n".join(lines + descriptions)


def on_page_content(content: str, **_: Any) -> str:
    """Write formulas as MathML, which the search does not index.

    A literal block of a docstring has two colons before it, of which one is shown.
    """
    return FORMULA.sub(_mathml, content).replace("::</p>", ":</p>")


def _mathml(match: re.Match[str]) -> str:
    kind, tex = match.groups()
    display = "block" if kind == "div" else "inline"
    math = convert(html.unescape(tex), display=display)
    if "\\" in math:  # a command that the converter does not know
        raise PluginError(f"This formula cannot be written as MathML: {tex}")
    style = "formula" if kind == "div" else "formula-inline"
    return f'<{kind} class="{style}" data-search-exclude>{math}</{kind}>'
