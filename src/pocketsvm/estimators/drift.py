"""Warnings about streams that a classifier does not follow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._warnings import warn
from ..profile import Profile

# Warn if this share of the rows violates the margin, in two calls of at least so many steps.
NEARLY_ALL = 0.9
LEAST_STEPS = 100
# Rows of a call on which a model is compared with the most frequent class, if so many of them are
# of other classes, and the stream has been long enough for the model to know better.
COMPARED_ROWS, LEAST_OTHERS = 256, 10
LONG_STREAM = 10_000


class DriftWarning(UserWarning):
    """A classifier does not follow its stream."""


def warn_about_drift(before: Profile, after: Profile) -> None:
    """Warn if nearly all rows violate the margin in two successive calls of `partial_fit`.

    A model that follows its stream has rows outside of the margin. If the stream has changed, the
    model cannot catch up: each new row counts as much as each of the many old ones.
    """
    calls = (before, after)
    if all(c.steps >= LEAST_STEPS and c.violations >= NEARLY_ALL * c.steps for c in calls):
        warn(
            f"More than {NEARLY_ALL:.0%} of the rows of the last two calls of partial_fit violate "
            "the margin. If the stream changes with time, set half_life, the number of rows after "
            "which a row counts half as much. If it does not, the classes overlap almost entirely, "
            "or the regularisation is too strong: use a larger C or a smaller alpha.",
            DriftWarning,
        )


def warn_about_majority(predicted: NDArray[Any], y: NDArray[Any]) -> None:
    """Warn if predicting the most frequent class is as good as the model, after a long stream."""
    _, counts = np.unique(y, return_counts=True)
    right, frequent = int(np.count_nonzero(predicted == y)), int(counts.max())
    if right <= frequent <= len(y) - LEAST_OTHERS:
        warn(
            f"After more than {LONG_STREAM:,} rows, the model is not better than predicting the "
            f"most frequent class, which {frequent / len(y):.0%} of the last rows have: it is "
            f"right for {right / len(y):.0%}. Standardise the columns, try another gamma or a "
            "larger budget, or set alpha: the default is 1e-4 / C, for streams of any length. "
            "With reservoir and polish_stream, the model is less noisy.",
            DriftWarning,
        )
