"""The classes of warnings and errors, to filter and to catch them."""

from .estimators.drift import DriftWarning
from .files.errors import DataError
from .rows.scales import ScaleWarning, TargetWarning

__all__ = ["DataError", "DriftWarning", "ScaleWarning", "TargetWarning"]
