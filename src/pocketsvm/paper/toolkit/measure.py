"""Clocks, threads, and a description of the machine."""

import datetime as dt
import gc
import os
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from ... import _core

PACKAGES = ("pocketsvm", "numpy", "scipy", "scikit-learn")

Value = TypeVar("Value")


class Timed(NamedTuple, Generic[Value]):
    """The time of a call in seconds, and what it returned."""

    seconds: float
    value: Value


def timed(call: Callable[[], Value], clock: Callable[[], float] = perf_counter) -> Timed[Value]:
    """Measure the wall-clock time of one call, without Python's garbage collection.

    Another `clock` is `time.process_time`, which counts the CPU time of all threads.
    """
    gc.disable()
    try:
        start = clock()
        value = call()
        return Timed(clock() - start, value)
    finally:
        gc.enable()


def one_thread() -> Any:
    """Limit BLAS and OpenMP to one thread within this context, as pocketsvm is by default."""
    return threadpool_limits(1)


def machine() -> dict[str, Any]:
    """Describe the machine and its Python."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "instruction_set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints about the repository of a folder; nothing without one."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def written_with() -> str:
    """Say when, with which version and, in a checkout, from which commit a page is written."""
    text = f"on {dt.date.today().isoformat()} with pocketsvm {version('pocketsvm')}"
    folder = Path(__file__).parent
    if not git(folder, "ls-files", Path(__file__).name):  # installed
        return text
    return f"{text}, commit {git(folder, 'rev-parse', '--short=12', 'HEAD')}"


def cpu_model() -> str:
    """Return the name of the CPU as the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
