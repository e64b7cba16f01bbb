"""The style of all figures, and how they become SVG files."""

import io
from typing import Any

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ImportError as error:
    raise ImportError("figures need matplotlib: pip install 'pocketsvm[plot]'") from error

INK = "#1f2328"  # text and lines; an SVG file replaces it by the reader's text colour
ORANGE, BLUE, GREEN = "#c8501e", "#3b7dd8", "#7a9a3a"

INKED = rc_context(
    {
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": INK + "22",
    }
)

# Dark text on light pages and light text on dark pages, also if the file is opened by itself.
SVG_STYLE = (
    "<style>svg { color: #1f2328 } "
    "@media screen and (prefers-color-scheme: dark) { svg { color: #d7dce2 } }</style>"
)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    return Figure(figsize=(width, height), dpi=130, layout="constrained")


def add_legend(figure: Figure, n_columns: int) -> None:
    """Explain every label of the figure once, above it."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=n_columns,
        frameon=False,
    )


def simplify(axes: Axes) -> None:
    """Give axes few ticks, plain numbers, a light grid and no box."""
    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    sides: list[tuple[Any, str]] = [
        (axes.xaxis, axes.get_xscale()),
        (axes.yaxis, axes.get_yscale()),
    ]
    for axis, scale in sides:
        if scale == "log":
            axis.set_major_locator(LogLocator(10, subs=(1, 3), numticks=7))
            axis.set_major_formatter(plain)
            axis.set_minor_locator(NullLocator())
        elif not axis.have_units():
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(color=INK + "22", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def svg(figure: Figure) -> bytes:
    """Return the figure as an SVG file that follows the reader's light or dark scheme."""
    text = io.StringIO()
    with rc_context({"svg.hashsalt": "pocketsvm"}):
        figure.savefig(
            text,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(INK, "currentColor")
    opening, rest = drawing.split(">", 1)
    return f"{opening}>{SVG_STYLE}{rest}".encode()
