"""Warnings that point at the line of the user."""

import sys
import warnings
from pathlib import Path

import sklearn

# Frames of these packages are passed over: the user called them.
FOLDERS = (str(Path(__file__).parent), str(Path(sklearn.__file__).parent))


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line that called pocketsvm, however deep this call is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(FOLDERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
