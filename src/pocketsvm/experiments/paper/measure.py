"""Clocks, threads and the machine: what a measured figure depends on beside the data."""

import gc
import os
import platform
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from ... import _core

__all__ = ["PACKAGES", "Timed", "cpu_model", "machine", "one_thread", "timed", "versions"]

PACKAGES = ("pocketsvm", "numpy", "scipy", "scikit-learn")


class Timed(NamedTuple):
    """What a call took and what it returned."""

    seconds: float
    value: Any


def timed(call: Callable[[], Any]) -> Timed:
    """Time one call by the clock on the wall, without Python's garbage collection."""
    gc.disable()
    try:
        start = perf_counter()
        value = call()
        return Timed(perf_counter() - start, value)
    finally:
        gc.enable()


def one_thread() -> AbstractContextManager[Any]:
    """Within this context BLAS and OpenMP work on one thread, as pocketsvm does by default."""
    return threadpool_limits(1)


def machine() -> dict[str, Any]:
    """Tell the machine and its Python."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "instruction_set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def cpu_model() -> str:
    """Return the name of the CPU, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
