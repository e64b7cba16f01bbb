"""Headings, paragraphs, tables and pictures as Markdown, and as one HTML file by itself."""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from ..._replacing import replacing
from .tables import MANY_LINES, Cell, Table

__all__ = ["Block", "Picture", "write_html", "write_markdown"]

NAME = "reproduction"


@dataclass(frozen=True)
class Picture:
    """A picture with its name and what it shows."""

    name: str
    caption: str
    svg: str


Block = str | Table | Picture  # a text that begins with "#" is a heading


def write_markdown(blocks: Sequence[Block], folder: Path) -> Path:
    """Write the Markdown page, and its pictures beside it under ``images``."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    parts = []
    for block in blocks:
        if isinstance(block, Picture):
            file = f"{NAME}-{block.name}.svg"
            _write(images / file, block.svg)
            parts.append(f"![{block.caption}](images/{file})\n\n*{block.caption}.*")
        else:
            parts.append(_markdown_table(block) if isinstance(block, Table) else block)
    page = folder / f"{NAME}.md"
    _write(page, "\n\n".join(parts) + "\n")
    return page


def write_html(blocks: Sequence[Block], folder: Path) -> Path:
    """Write the HTML page, with its pictures in it."""
    body = "\n".join(_html_block(block) for block in blocks)
    page = folder / f"{NAME}.html"
    _write(page, PAGE.substitute(title=html.escape(str(blocks[0]).lstrip("# ")), body=body))
    return page


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


# --- Markdown -------------------------------------------------------------------------------------


def _markdown_table(table: Table) -> str:
    lines = [
        table.columns,
        ["---:" if number else "---" for number in _numbers(table)],
        *([_markdown_cell(cell) for cell in line] for line in table.lines),
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if len(table.lines) >= MANY_LINES:
        text = f"<details><summary>{len(table.lines)} lines</summary>\n\n{text}\n\n</details>"
    title = [f"### {table.title}"] if table.title else []
    return "\n\n".join([*title, text, *([table.note] if table.note else [])])


def _markdown_cell(cell: Cell) -> str:
    if not cell.published:
        return cell.ours
    difference = f"**{cell.difference}**" if cell.beyond else cell.difference
    return f"{cell.ours}<br><sub>{cell.published}, {difference}</sub>"


def _numbers(table: Table) -> list[bool]:
    """Tell which columns are numbers: those whose cells all begin with one, or have none."""
    number = re.compile(r"([≤≥] )?[-+]?\d|–$")
    columns = zip(*table.lines, strict=True)
    return [all(number.match(cell.ours) for cell in column) for column in columns]


# --- HTML -----------------------------------------------------------------------------------------


def _html_block(block: Block) -> str:
    if isinstance(block, Picture):
        data = base64.b64encode(block.svg.encode()).decode()
        caption = html.escape(block.caption)
        return (
            '<figure><div class="scroll" tabindex="0">'
            f'<img src="data:image/svg+xml;base64,{data}" alt="{caption}"></div>'
            f"<figcaption>{caption}.</figcaption></figure>"
        )
    if isinstance(block, Table):
        return _html_table(block)
    level = len(block) - len(block.lstrip("#"))
    tag = f"h{level}" if level else "p"
    return f"<{tag}>{_inline(block.lstrip('# '))}</{tag}>"


def _html_table(table: Table) -> str:
    sides = [' class="number"' if number else "" for number in _numbers(table)]
    heads = zip(sides, table.columns, strict=True)
    head = "".join(f'<th scope="col"{side}>{_inline(name)}</th>' for side, name in heads)
    body = "\n".join(f"<tr>{_html_line(line, sides)}</tr>" for line in table.lines)
    text = (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )
    if len(table.lines) >= MANY_LINES:
        text = f"<details><summary>{len(table.lines)} lines</summary>{text}</details>"
    title = f"<h3>{_inline(table.title)}</h3>\n" if table.title else ""
    return title + text + (f'\n<p class="note">{_inline(table.note)}</p>' if table.note else "")


def _html_line(line: Sequence[Cell], sides: Sequence[str]) -> str:
    first, *others = line
    cells = [f'<th scope="row">{_inline(first.ours)}</th>']
    for cell, side in zip(others, sides[1:], strict=True):
        beside = ""
        if cell.published:
            tag = "strong" if cell.beyond else "span"
            beside = (
                f"<small>{html.escape(cell.published)} "
                f"<{tag}>{html.escape(cell.difference)}</{tag}></small>"
            )
        cells.append(f"<td{side}>{_inline(cell.ours)}{beside}</td>")
    return "".join(cells)


def _inline(text: str) -> str:
    """Turn the Markdown within a line, **strong**, *emphasis* and `code`, into HTML."""
    text = html.escape(text)
    for pattern, tag in ((r"`(.+?)`", "code"), (r"\*\*(.+?)\*\*", "strong"), (r"\*(.+?)\*", "em")):
        text = re.sub(pattern, rf"<{tag}>\1</{tag}>", text)
    return text


# The policy forbids every request; all that the page needs is in it.
PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>$title</title>
<style>
:root { --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --page: #fff; --shade: #f6f8fa;
  --beyond: #b3400f; color-scheme: light }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #d7dce2; --quiet: #9198a1; --line: #3d444d; --page: #14171c; --shade: #1d2127;
    --beyond: #ff9d70; color-scheme: dark }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; background: var(--page);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word }
p, .note { max-width: 46rem }
h1 { font-size: 1.8rem } h2 { font-size: 1.35rem; margin-top: 2.5rem } h3 { font-size: 1.05rem }
h1, h2, h3 { line-height: 1.25 }
code { font-size: .9em; background: var(--shade); padding: .1em .3em; border-radius: .25em }
.scroll { overflow-x: auto; max-width: 100% }
.note, figcaption { color: var(--quiet); font-size: .875rem }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top }
td.number, th.number { text-align: right; white-space: nowrap }
thead th { background: var(--shade); vertical-align: bottom }
tbody th { font-weight: 600; min-width: 8rem }
td { min-width: 4rem }
td small { display: block; color: var(--quiet) }
td strong { color: var(--beyond) }
figure { margin: 1rem 0 }
img { display: block; width: 100%; min-width: 36rem; height: auto }
summary { cursor: pointer; color: var(--quiet) }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt }
  .scroll { overflow: visible }
  table { font-size: 7.5pt } th, td { padding: .15rem .3rem }
  td.number, th.number { white-space: normal }
  img { min-width: 0; width: auto; max-width: 100%; max-height: 24cm }
  tr, figure { break-inside: avoid } h2, h3 { break-after: avoid }
}
</style>
</head>
<body>
$body
</body>
</html>
""")
