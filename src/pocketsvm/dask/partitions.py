"""Where the rows are: partitions of dask collections, and what is read from them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from dask.delayed import delayed
from dask.local import get_sync
from distributed import KilledWorker, futures_of, wait

from .._cached import cached_property
from ..files.columns import Layout
from ..files.errors import DataError
from ..rows.chunk import Needs, checked_chunk
from ..rows.source import NO_ROWS, Follower, Reading, Source
from ..solving.blas import ONE_BLAS_THREAD

T = TypeVar("T")

# Results that are merged by one task.
ARITY = 8
# Packages whose versions decide on the bits of a model.
PACKAGES = ("pocketsvm", "numpy", "sklearn")


# --- tasks: pure functions of a partition ---------------------------------------------------------


class OwnTasks:
    """The tasks of a partition that shares none with others: they run in the task that reads it.

    So its rows neither wait in memory for that task nor move to another worker. This is no data
    class, because Dask would look for tasks in its fields.
    """

    def __init__(self, graph: dict[Any, Any], keys: list[Any]) -> None:
        self.graph, self.keys = graph, keys

    def compute(self) -> list[Any]:
        """Return X, y and the weights or None."""
        found = iter(get_sync(self.graph, [key for key in self.keys if key is not None]))
        return [None if key is None else next(found) for key in self.keys]


def _read(shared: Any, block: Any, number: int, first: int) -> Any:
    """Read a partition; None if it has no rows."""
    reading, needs, layout = shared
    X, y, weight = block.compute() if isinstance(block, OwnTasks) else block
    chunk = checked_chunk(X, y, weight, f"partition {number}", needs, layout)
    chunk = chunk.counted(needs.ignored)
    with ONE_BLAS_THREAD:
        return reading(chunk, first) if chunk.n_rows else None


def same(value: T) -> T:
    """Return the value: a task that keeps it on the cluster once, for many other tasks."""
    return value


def _merge(shared: Any, parts: list[Any]) -> Any:
    """Merge the results of partitions that follow each other; None has no rows."""
    found = [part for part in parts if part is not None]
    return shared[0].merge(found) if found else None


# --- where the rows are ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Partitions(Source):
    """The partitions of X, y and the weights, as lazy values.

    Attributes
    ----------
    client : Client
        The cluster.

    blocks : list of tuple
        X, y and the weights (or None) of each partition.

    needs : Needs
        What is wanted of the rows besides their features.

    first : list of int
        The number of rows before each partition; its number, as long as this is unknown.

    layout : Layout or None
        The columns of the rows.

    n_threads : int
        Threads of each task.
    """

    is_remote = True
    client: Any
    blocks: list[tuple[Any, Any, Any]]
    needs: Needs
    first: list[int]
    layout: Layout | None = None
    n_threads: int = 1

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the features."""
        return None if self.layout is None else self.layout.names

    def started(self, sizes: dict[int, int]) -> "Partitions":
        """Return the partitions after the first scan, which has counted their rows."""
        counts = [sizes.get(k, 0) for k in range(len(self.blocks))]
        return replace(self, first=np.cumsum([0, *counts[:-1]]).tolist())

    @cached_property
    def packed(self) -> Sequence[Any]:
        """The partitions with their own tasks; the blocks if they share any, or are in memory."""
        # Blocks share graphs. The reference keeps the graph alive, so that its id is not reused.
        whole: dict[int, tuple[Any, dict[Any, Any]]] = {}
        packed: list[OwnTasks] = []
        seen: set[Any] = set()
        for block in self.blocks:
            graph: dict[Any, Any] = {}
            for part in block:
                if part is not None:
                    shared = part.dask
                    if id(shared) not in whole:
                        if futures_of(part):  # type: ignore[no-untyped-call]
                            return self.blocks
                        whole[id(shared)] = shared, dict(shared)
                    if not _add_tasks(graph, whole[id(shared)][1], part.key):
                        return self.blocks
            if not seen.isdisjoint(graph):
                return self.blocks
            seen |= set(graph)
            packed.append(OwnTasks(graph, [None if part is None else part.key for part in block]))
        return packed

    def scan(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all partitions, as a tree in a fixed order."""
        found: T | None = self.result(self.client.compute(self.tree(reading)))
        if found is None:
            raise DataError(NO_ROWS)
        return found

    def result(self, future: Any) -> Any:
        """Wait for a result; an error of the user's own tasks gets a note about the partition."""
        try:
            return future.result()
        except (DataError, KilledWorker):
            raise
        except Exception as error:
            for number, block in enumerate(self.blocks):
                parts = self.client.compute([part for part in block if part is not None])
                if any(part.exception() is not None for part in parts):
                    error.add_note(f"Partition {number} could not be computed.")
                    break
            raise

    def tree(self, reading: Any) -> Any:
        """Return the lazy result of a scan."""
        name, token = type(reading).__name__, uuid4().hex
        # It must be there before the partitions, which would else pile up and wait for it.
        whole = (reading, self.needs, self.layout)
        shared = self.client.submit(same, whole, key=f"{name}-shared-{token}")
        wait(shared)  # type: ignore[no-untyped-call]
        read, merge = delayed(_read, pure=False), delayed(_merge, pure=False)
        parts = [
            read(shared, block, k, first, dask_key_name=f"{name}-{token}-{k}")
            for k, (block, first) in enumerate(zip(self.packed, self.first, strict=True))
        ]
        level = 0
        while len(parts) > 1:
            level += 1
            parts = [
                merge(
                    shared,
                    parts[k : k + ARITY],
                    dask_key_name=f"{name}-merge-{token}-{level}-{k}",
                )
                for k in range(0, len(parts), ARITY)
            ]
        return parts[0]


def _add_tasks(found: dict[Any, Any], graph: dict[Any, Any], key: Any) -> bool:
    """Add a task of a graph and all that it needs; False if some are on the cluster already."""
    keys = [key]
    while keys:
        key = keys.pop()
        task: Any = graph.get(key)
        if not hasattr(task, "dependencies"):  # missing, or in an older form
            return False
        if key not in found:
            found[key] = task
            keys += task.dependencies
    return True


def blocks_of(X: Any, y: Any, weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return the partitions of X, y and the weights."""
    X = rows_in_one_piece(X)
    parts = _lazy(X)
    others = []
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is None:
            others.append([None] * len(parts))
            continue
        found = _lazy(_aligned(values, X))
        if len(found) != len(parts):
            raise ValueError(
                f"X has {len(parts)} partitions and {name} {len(found)}; they must be cut at the "
                f"same rows. Use {name}.rechunk(...) or repartition."
            )
        others.append(found)
    return list(zip(parts, *others, strict=True))


def rows_in_one_piece(X: Any) -> Any:
    """Return an array whose chunks hold whole rows."""
    if not is_array(X) and not is_frame(X):
        raise TypeError(
            f"X must be a dask array or dataframe, got {type(X).__name__}; BudgetedSVC and "
            "BudgetedSVR take rows in memory and on disk."
        )
    if is_array(X) and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    return X.rechunk({1: -1}) if is_array(X) and len(X.chunks[1]) > 1 else X


def _aligned(values: Any, X: Any) -> Any:
    """Return y or the weights with the chunks of X, if these are known."""
    if not is_array(values) and not is_frame(values):
        raise TypeError(
            f"y and sample_weight must be dask arrays or dataframes, got {type(values).__name__}."
        )
    if is_array(values) and is_array(X):
        chunks = X.chunks[0]
        known = not (np.isnan(chunks).any() or np.isnan(values.chunks[0]).any())
        if known and sum(chunks) != values.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {sum(chunks)} and "
                f"{values.shape[0]}."
            )
        if known and chunks != values.chunks[0]:
            return values.rechunk({0: chunks})
    return values


def _lazy(values: Any) -> list[Any]:
    """Return the partitions; those of frames that read few columns are not joined, as Dask would.

    Dask's optimisation joins the partitions of a column, such as y, more than those of all others.
    """
    if is_frame(values):
        return list(values.simplify().to_delayed(optimize_graph=False))
    found = values.to_delayed()
    return list(found.ravel())


def is_array(values: Any) -> bool:
    """Tell whether the values are a dask array."""
    return _is_of("dask.array", values, "Array")


def is_frame(values: Any) -> bool:
    """Tell whether the values are a dask dataframe or one of its columns."""
    return _is_of("dask.dataframe", values, "DataFrame", "Series")


def _is_of(name: str, values: Any, *types: str) -> bool:
    """Tell whether the values are of these types of a module.

    Code that has such values has already imported the module. Workers need none of them, and they
    take memory: dask.dataframe imports pandas and pyarrow, and dask.array imports cupy where it is
    installed.
    """
    module = sys.modules.get(name)
    return module is not None and isinstance(values, tuple(getattr(module, t) for t in types))


def check_versions(client: Any) -> None:
    """Refuse workers whose packages would give other bits, or none at all."""
    found = client.get_versions(packages=list(PACKAGES))
    here = {name: found["client"]["packages"].get(name) for name in PACKAGES}
    here["pocketsvm"] = version("pocketsvm")
    if not found["workers"]:
        raise RuntimeError("The cluster of the Dask client has no workers.")
    for address, worker in found["workers"].items():
        for name, wanted in here.items():
            got = worker["packages"].get(name)
            if got != wanted:
                raise RuntimeError(
                    f"The worker {address} has {name} {got or 'not installed'}, and the client has "
                    f"{wanted}. Install the same versions on all workers."
                )
