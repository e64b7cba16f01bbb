"""Clocks, memory, threads, and a description of the machine."""

import gc
import os
import platform
import sys
from collections.abc import Callable, Hashable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Generic, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from ... import _core

PACKAGES = ("pocketsvm", "numpy", "scipy", "scikit-learn")
# Long runs vary little: by default a call is not repeated after this time in total.
REPEAT_SECONDS = 10.0

Name = TypeVar("Name", bound=Hashable)
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


def cpu_time(call: Callable[[], Value]) -> tuple[Value, float]:
    """Call, and return the result and the CPU time of this process."""
    begin = process_time()
    return call(), process_time() - begin


def fastest(
    calls: Mapping[Name, Callable[[], Any]],
    rounds: int,
    enough: float | None = None,
    clock: Callable[[], float] = perf_counter,
) -> dict[Name, Timed[Any]]:
    """Return the fastest run of each call.

    The calls are interleaved in rounds, so that a slow period of the machine affects all of them. A
    call that has run for more than `enough` seconds (`REPEAT_SECONDS`) in total is not repeated.
    """
    limit = REPEAT_SECONDS if enough is None else enough
    best: dict[Name, Timed[Any]] = {}
    spent = dict.fromkeys(calls, 0.0)
    for _ in range(rounds):
        for name, call in calls.items():
            if spent[name] > limit:
                continue
            run = timed(call, clock)
            spent[name] += run.seconds
            if name not in best or run.seconds < best[name].seconds:
                best[name] = run
    return best


def one_thread() -> Any:
    """Limit BLAS and OpenMP to one thread within this context, as pocketsvm is by default."""
    return threadpool_limits(1)


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes (Linux only)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def can_measure_memory() -> bool:
    """Whether `peak_memory` works on this system."""
    return sys.platform.startswith("linux")


def machine() -> dict[str, Any]:
    """Describe the machine and its Python."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "instruction_set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


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
