"""A warning about streams that a classifier no longer follows."""

from .._warnings import warn
from ..profile import Profile

# Warn if this share of the rows violates the margin, in two calls of at least so many steps.
NEARLY_ALL = 0.9
LEAST_STEPS = 100


class DriftWarning(UserWarning):
    """Nearly all rows of a stream violate the margin."""


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
