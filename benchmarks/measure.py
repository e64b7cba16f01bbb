"""The fastest of several runs, CPU time, memory, and the size of a model."""

import pickle
import sys
import tempfile
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeVar

from pocketsvm.paper.toolkit.measure import Timed, timed

# Long runs vary little: by default a call is not repeated after this time in total.
REPEAT_SECONDS = 10.0

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


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


def kilobytes(model: Any) -> float:
    """Return the size of a model as its package saves it: a pickle, if it has no format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if hasattr(model, "save"):
            model.save(path)
        elif hasattr(model, "booster_"):
            model.booster_.save_model(path)
        else:
            path.write_bytes(pickle.dumps(model))
        return path.stat().st_size / 1000


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes (Linux only)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def can_measure_memory() -> bool:
    """Whether `peak_memory` works on this system."""
    return sys.platform.startswith("linux")
