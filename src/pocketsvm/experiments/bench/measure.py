"""Rounds, memory and child processes, in one place for all benchmarks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pocketsvm import BudgetedSVC
from pocketsvm.experiments.paper.measure import Timed, timed

PATIENCE = 10.0  # seconds after which a call is not repeated


def fastest(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Timed]:
    """The fastest run of each call, in rounds: a slow moment of the machine hits all alike."""
    best: dict[str, Timed] = {}
    spent = dict.fromkeys(calls, 0.0)
    for _ in range(rounds):
        for name, call in calls.items():
            if spent[name] > PATIENCE:
                continue
            run = timed(call)
            spent[name] += run.seconds
            if name not in best or run.seconds < best[name].seconds:
                best[name] = run
    return best


def passes_only(budget: int, **parameters: Any) -> BudgetedSVC:
    """The estimator without polishing, which is not what these clocks are about."""
    return BudgetedSVC(budget, **{"polish": False, "random_state": 0, **parameters})


def in_child(function: str, environment: dict[str, str] | None = None, **arguments: Any) -> Any:
    """What a function of child.py returns, called in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("child.py"))]
    done = subprocess.run(
        [*command, function, json.dumps(arguments)],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes (Linux)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def can_measure_memory() -> bool:
    return sys.platform.startswith("linux")
