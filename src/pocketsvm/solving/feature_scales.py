"""Learned feature scales: one for each feature, found on the rows at hand before a fit."""

import numpy as np
from numpy.typing import NDArray

from ..rows.checked import CheckedRows
from ..training.settings import Parameters
from ..training.targets import Targets


def learned_scales(
    rows: CheckedRows, targets: Targets, parameters: Parameters, *, auto: bool
) -> NDArray[np.float64] | None:
    """Return the scale of each feature.

    Parameters
    ----------
    rows : CheckedRows
        The rows at hand, prepared: all, or a sample that stands for all.

    targets : Targets
        Their targets.

    parameters : Parameters
        How to train.

    auto : bool
        Whether one gamma for all features may be better: then None is returned.

    Returns
    -------
    scales : ndarray of shape (n_features,) or None
        The scales, with which gamma is one; None if one gamma for all features is better.
    """
    raise NotImplementedError("feature scales cannot be learnt yet: give an array.")
