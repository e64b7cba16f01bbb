"""Scores of candidates as a surface over C and gamma, smoothed over neighbours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def smoothed(points: Array, values: Array) -> Array:
    """Smooth values over neighbours, by a local linear regression.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        The points, scaled so that points at distance 1 or more do not affect each other.

    values : ndarray of shape (n_points,)
        The values.

    Returns
    -------
    smooth : ndarray of shape (n_points,)
        The values of planes, each of which fits the neighbours of a point best. Points without
        neighbours keep their value.
    """
    smooth = np.empty(len(values))
    for k, point in enumerate(points):
        steps = points - point
        nearness = np.maximum(1.0 - np.square(steps).sum(axis=1), 0.0)
        near = nearness > 0
        # Square roots of the regression weights.
        weights = nearness[near]
        plane = np.column_stack([np.ones(len(weights)), steps[near]]) * weights[:, None]
        smooth[k] = np.linalg.lstsq(plane, values[near] * weights, rcond=1e-9)[0][0]
    return smooth
