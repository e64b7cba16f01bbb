"""The scores of ``tune`` as a map of C and gamma: text on a terminal, or a picture."""

import os
from typing import Any

import numpy as np
import typer
from rich.text import Text

from .._replacing import replacing
from ..tuning import ScoreMap, written
from .console import show

# Five colours of viridis, from low to high, and a text colour that is readable on each.
SHADES = (
    ("#440154", "white"),
    ("#3b528b", "white"),
    ("#21918c", "white"),
    ("#5ec962", "black"),
    ("#fde725", "black"),
)
DOTS_PER_INCH = 150  # sharp in a document, and still a small file


def show_map(found: ScoreMap) -> None:
    """Print the scores as lines of text: coloured on a terminal, readable without colours.

    The longer axis goes down, so that ten columns and any number of lines fit 80 characters.
    """
    names, heads, cells = ("gamma", "C"), (written(found.gamma), written(found.C)), _cells(found)
    if len(found.C) > len(found.gamma):
        names, heads = names[::-1], heads[::-1]
        cells = [list(column) for column in zip(*cells, strict=True)]
    texts = [cell for line in cells for cell, _ in line]
    width = max(map(len, [*texts, *(f"{head} " for head in heads[1])])) + 1
    corner = f"{names[0]} \\ {names[1]}"
    first = max(map(len, [corner, *heads[0]]))
    lines = [Text(f"{corner:>{first}}" + "".join(f"{head} ".rjust(width) for head in heads[1]))]
    for head, line in reversed(list(zip(heads[0], cells, strict=True))):
        shown = [Text(f"{text:>{width}}", style) for text, style in line]
        lines.append(Text.assemble(f"{head:>{first}}", *shown))
    show(Text("\n").join(lines))


def _cells(found: ScoreMap) -> list[list[tuple[str, str]]]:
    """Return the text and the style of each cell."""
    low, high = found.low, np.nanmax(found.scores)
    levels = np.maximum(found.scores - low, 0.0) / (high - low or 1.0)
    cells: list[list[tuple[str, str]]] = [[] for _ in found.gamma]
    for place, score in np.ndenumerate(found.scores):
        if np.isnan(score):
            cells[place[0]].append(("- ", "dim"))
            continue
        text = f"{score:.3f}".replace("0.", ".", 1) if score > -1 else f"{score:.1f}"
        shade, ink = SHADES[min(int(levels[place] * len(SHADES)), len(SHADES) - 1)]
        style = f"{ink} on {shade}"
        if place == found.best:
            cells[place[0]].append((f"{text}*", f"bold {style}"))
        else:
            final = found.is_final[place]
            cells[place[0]].append((f"{text} " if final else f"({text})", style))
    return cells


def show_best(result: dict[str, Any], found: ScoreMap) -> None:
    """Print the best candidate, and what a reader should know about the map."""
    best = result["best"]
    if not found.is_final.all():
        show("(in parentheses: dropped early, scored on fewer rows)")
    show(
        f"best: C {best['c']:g}, gamma {best['gamma']:g}, budget {best['budget']}: "
        f"{result['scoring']} {result['score']:.4f} ({result['folds']} folds)"
    )
    for hint in found.at_border():
        show(f"{hint}: others beyond it may be better")
    if result["plot"] is not None:
        show(f"{result['plot']} shows the scores")


def check_picture(path: str) -> None:
    """Refuse a picture that cannot be drawn, before the work is done."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'pocketsvm[plot]'") from error
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    formats = FigureCanvasBase.get_supported_filetypes()
    if ending not in formats:
        raise typer.BadParameter(
            f"{path!r} ends in none of {', '.join(sorted(formats))}.", param_hint="--plot"
        )


def draw(found: ScoreMap, path: str) -> None:
    """Draw the scores into a file."""
    from matplotlib.figure import Figure

    from ..plots import TuningDisplay

    display = TuningDisplay(score_map=found)
    figure = Figure(figsize=display.size, dpi=DOTS_PER_INCH, layout="constrained")
    display.plot(figure.add_subplot())
    with replacing(path) as file:
        figure.savefig(file, format=os.path.splitext(path)[1].removeprefix("."))
