"""The axes and colors that all displays share."""

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# M. Petroff's ten colors, which color-blind readers can tell apart too.
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
GREY = "#555555"


def one_panel(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """Return the axes given, or those of a new figure of this size in inches."""
    plt = _pyplot()
    if ax is None:
        ax = plt.subplots(layout="constrained", figsize=size)[1]
    return ax


def two_panels(axes: "Sequence[Axes] | None", size: tuple[float, float]) -> NDArray[Any]:
    """Return the two axes given, or those of a new figure of this size in inches."""
    plt = _pyplot()
    if axes is None:
        axes = plt.subplots(1, 2, layout="constrained", figsize=size)[1]
    panels = np.asarray(axes)
    if panels.shape != (2,):
        raise ValueError(f"ax must be 2 axes, got an array of shape {panels.shape}.")
    return panels


def _pyplot() -> ModuleType:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'pocketsvm[plot]'") from error
    return plt
