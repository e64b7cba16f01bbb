"""Pages: headings, paragraphs, tables and pictures, as Markdown and as one HTML file."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape
except ImportError as error:
    raise ImportError("pages need jinja2: pip install 'pocketsvm[experiments]'") from error

from ..._replacing import replacing
from .tables import Cell, Table

MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True)
class Picture:
    """A picture: its file name, a caption, and the content of the file."""

    file: str
    caption: str
    content: bytes

    @property
    def address(self) -> str:
        """The whole picture as a ``data:`` address."""
        data = base64.b64encode(self.content).decode()
        return f"data:{MEDIA_TYPES[Path(self.file).suffix]};base64,{data}"


Block = str | Table | Picture  # a text that begins with "#" is a heading


def read_paragraphs(path: Path, **values: int) -> list[str]:
    """Return the headings and paragraphs of a Markdown file, filled with values, as blocks."""
    text = path.read_text(encoding="utf-8").format(**values)
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def write_pages(blocks: Sequence[Block], name: str, folder: Path, docs: Path | None) -> list[Path]:
    """Write both pages to a folder, and the Markdown page also to another one."""
    pages = [write_html(blocks, folder, name), write_markdown(blocks, folder, name)]
    return [*pages, write_markdown(blocks, docs, name)] if docs else pages


def write_markdown(blocks: Sequence[Block], folder: Path, name: str) -> Path:
    """Write the Markdown page, and its pictures to the folder ``images`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for block in blocks:
        if isinstance(block, Picture):
            (folder / "images").mkdir(exist_ok=True)
            _write(folder / "images" / block.file, block.content)
    return _write(folder / f"{name}.md", markdown(blocks).encode())


def markdown(blocks: Sequence[Block]) -> str:
    """Return the Markdown of a page."""
    parts = []
    for block in blocks:
        if isinstance(block, Picture):
            parts.append(f"![{block.caption}](images/{block.file})\n\n*{block.caption}.*")
        else:
            parts.append(markdown_table(block) if isinstance(block, Table) else block)
    return "\n\n".join(parts) + "\n"


def write_html(blocks: Sequence[Block], folder: Path, name: str) -> Path:
    """Write the HTML page with its pictures inside."""
    environment = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["inline"] = _inline
    environment.tests["picture"] = lambda block: isinstance(block, Picture)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    template = environment.get_template("page.html")
    return _write(folder / f"{name}.html", template.render(blocks=blocks).encode())


def _write(path: Path, content: bytes) -> Path:
    with replacing(path) as file:
        file.write(content)
    return path


def markdown_table(table: Table) -> str:
    """Return a table with its title and note as Markdown."""
    lines = [
        table.headings,
        ["---:" if numeric else "---" for numeric in table.numeric],
        *([_markdown_cell(cell) for cell in line] for line in table.lines),
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if table.is_long:
        text = f"<details><summary>{len(table.rows)} rows</summary>\n\n{text}\n\n</details>"
    title = f"### {table.title}" if table.title else ""
    return "\n\n".join(part for part in (title, text, table.note) if part)


def _markdown_cell(cell: Cell) -> str:
    if not cell.published:
        return cell.ours
    difference = f"**{cell.difference}**" if cell.beyond else cell.difference
    return f"{cell.ours}<br><sub>{cell.published}, {difference}</sub>"


def _inline(text: str) -> Markup:
    """Turn the Markdown within a line into HTML: **strong**, *emphasis*, `code`, link texts."""
    escaped = str(escape(text))
    for pattern, tag in ((r"`(.+?)`", "code"), (r"\*\*(.+?)\*\*", "strong"), (r"\*(.+?)\*", "em")):
        escaped = re.sub(pattern, rf"<{tag}>\1</{tag}>", escaped)
    return Markup(re.sub(r"\[(.+?)\]\(.+?\)", r"\1", escaped))
