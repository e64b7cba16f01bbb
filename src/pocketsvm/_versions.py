"""The versions and the instruction set that a bug report should name."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from . import _core

PACKAGES = ("pocketsvm", "numpy", "scipy", "scikit-learn", "joblib", "matplotlib")


def instruction_set() -> str:
    """Return the instruction set in use, on which the bits of a model depend."""
    return _core.instruction_set()


def show_versions() -> None:
    """Print the versions and the instruction set in use, for bug reports.

    Examples
    --------
    >>> from pocketsvm import show_versions
    >>> show_versions()
    pocketsvm: ...
    """
    for package in PACKAGES:
        try:
            print(f"{package}: {version(package)}")
        except PackageNotFoundError:
            print(f"{package}: not installed")
    print(f"python: {sys.version.split()[0]} ({platform.python_implementation()})")
    print(f"machine: {platform.platform()}")
    usable = ", ".join(_core.instruction_sets())
    print(f"instruction set: {instruction_set()} (usable here: {usable})")
