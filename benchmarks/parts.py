"""The parts of the benchmarks, in the order in which they are measured."""

from collections.abc import Callable
from dataclasses import dataclass

from pocketsvm.paper.toolkit.tables import Table

from . import (
    cluster,
    exact,
    feature_scales,
    few_rows,
    gpu,
    growth,
    learners,
    peers,
    polish,
    scale,
    solver,
    speed,
    tasks,
    threads,
    tuning,
)


@dataclass(frozen=True)
class Part:
    """A part of the benchmarks.

    Attributes
    ----------
    title : str
        Its heading on the page.

    measure : callable
        Returns its tables. The arguments are whether sizes are small, and `options` by name.

    options : tuple of str
        The options of the command line that it takes.
    """

    title: str
    measure: Callable[..., list[Table]]
    options: tuple[str, ...] = ()


PARTS = {
    "speed": Part("Speed", speed.measure),
    "growth": Part("How cost grows", growth.measure),
    "polish": Part("The default fit beside the paper's", polish.measure, ("data", "budgets")),
    "peers": Part("Beside approximations of the kernel", peers.measure, ("jobs", "runs")),
    "exact": Part("Beside SVC and LightGBM", exact.measure),
    "few": Part("Few rows", few_rows.measure),
    "scale": Part("Scale", scale.measure, ("rows",)),
    "cluster": Part("Clusters", cluster.measure, ("rows",)),
    "solver": Part("The solver beside the exact SVM", solver.measure, ("jobs",)),
    "threads": Part("Threads and millions of rows", threads.measure),
    "learners": Part("Probabilities, quantiles, squared errors", learners.measure, ("jobs",)),
    "tasks": Part("Novelty detection and ranking", tasks.measure),
    "scales": Part("Feature scales", feature_scales.measure, ("jobs",)),
    "gpu": Part("GPU", gpu.measure),
    "tuning": Part("Tuning", tuning.measure, ("jobs",)),
}
