"""Ramps max(0, u), whose kink is rounded off, `width` to either side.

ramp(u) = 0 for u < -width,   (u + width)^2 / (4 width) in between,   u for u > width.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def ramp(u: Array, width: Array | float) -> Array:
    """Return max(0, u), with its kink rounded off over `width` to either side."""
    slope = _ramp_slope(u, width)
    values: Array = width * slope * slope + np.maximum(u - width, 0)
    return values


def ramp_derivatives(u: Array, width: Array | float) -> tuple[Array, Array]:
    """Return the slope and the curvature of the rounded ramp."""
    slope = _ramp_slope(u, width)
    curvature: Array = ((slope > 0) & (slope < 1)) / (2 * width)
    return slope, curvature


def _ramp_slope(u: Array, width: Array | float) -> Array:
    slope: Array = (u + width) / (2 * width)
    np.clip(slope, 0, 1, out=slope)
    return slope
