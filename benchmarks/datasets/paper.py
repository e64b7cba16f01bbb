"""The paper's data sets, as far as their files exist."""

from collections.abc import Container

from pocketsvm.paper.datasets import registry
from pocketsvm.paper.datasets.problems import Problem, load_problems
from pocketsvm.paper.datasets.registry import DataSet

from .tasks import Task


def available(quick: bool = False, names: Container[str] | None = None) -> list[Problem]:
    """Return the problems whose files exist; print which of them are missing.

    With `names`, only the data sets of these names are wanted.
    """
    wanted = [each for each in registry.DATA_SETS if names is None or each.name in names]
    found = [data_set for data_set in wanted if data_set.find() is not None]
    missing = [data_set.name for data_set in wanted if data_set not in found]
    if missing:
        print(f"Skipped, because they are not in $POCKETSVM_DATA: {', '.join(missing)}.\n")
    return [problem for problem in load_problems(found, quick=quick) if not problem.generated]


def paper_task(name: str) -> Task | None:
    """Return the task of a data set of the paper; None if its files are missing."""
    data_set = registry.named(name)
    if data_set.find() is None:
        return None
    problem, *_ = load_problems([data_set])
    return Task.of(problem)


def labelled() -> dict[str, DataSet]:
    """Return the data sets by the labels of their sources, in the order of the pages."""
    return {
        source.label: data_set for data_set in registry.DATA_SETS for source in data_set.sources
    }
