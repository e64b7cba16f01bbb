"""Pictures that commands draw into files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from .._replacing import replacing
from .saved import Saved

DOTS_PER_INCH = 150  # sharp in a document, and still a small file
# Inches.
PROFILE_SIZE = (9.6, 3.0)


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


@contextmanager
def picture(path: str, size: tuple[float, float]) -> Iterator[Any]:
    """Give a figure of this size in inches to draw on, and write it to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, layout="constrained")
    yield figure
    with replacing(path) as file:
        figure.savefig(file, format=os.path.splitext(path)[1].removeprefix("."))


def draw_training(saved: Saved, path: str) -> None:
    """Draw what a training did, and the feature scales of the model if it has some."""
    from ..plots import FeatureScalesDisplay, ProfileDisplay

    estimator, model = saved.estimator, saved.model
    width, height = PROFILE_SIZE
    if model.feature_scales is None:
        with picture(path, PROFILE_SIZE) as figure:
            ProfileDisplay.from_estimator(estimator, ax=figure.subplots(1, 2))
        return
    display = FeatureScalesDisplay(scales=model.feature_scales, names=model.prepared_names)
    below = display.size[1]
    with picture(path, (width, height + below)) as figure:
        top, bottom = figure.subfigures(2, 1, height_ratios=(height, below))
        ProfileDisplay.from_estimator(estimator, ax=top.subplots(1, 2))
        display.plot(bottom.add_subplot())
