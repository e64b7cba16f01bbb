"""Measurements with Dask, in a process of their own; see `child`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from pocketsvm.dask import DaskBudgetedSVC, estimators
from pocketsvm.dask import partitions as read_by_workers
from pocketsvm.estimators import BudgetedSVC

from .child import GAMMA, answer, fitted, labels_beside, timed_call
from .measure import peak_memory
from .weighing import WeighedPartitions, weighed


def fit_on_dask(paths: list[str], budget: int, n_jobs: int) -> dict[str, Any]:
    """Fit a model with this many workers; the peak is that of the largest one."""
    with _cluster(n_jobs) as client:
        X, y = _rows_of(paths)
        model = DaskBudgetedSVC(budget, gamma=GAMMA, random_state=0)
        fit = timed_call(lambda: model.fit(X, y))
        peaks = client.run(peak_memory)
    return fitted(model.to_local()) | fit | {"scans": None, "peak_bytes": max(peaks.values())}


def sizes_on_dask(paths: list[str], budget: int) -> dict[str, Any]:
    """Fit a model; return the bytes of the arguments and results of each reading."""
    with _cluster(2) as client, patch.object(estimators, "Partitions", WeighedPartitions):
        model = DaskBudgetedSVC(budget, gamma=GAMMA, random_state=0)
        model.fit(*_rows_of(paths))
        return weighed(client)


def _rows_of(paths: list[str]) -> tuple[Any, Any]:
    """Return X and y of Parquet or NumPy files: a partition each, read again in each reading."""
    if paths[0].endswith(".npy"):
        sizes = [len(np.load(path, mmap_mode="r")) for path in paths]
        labels = [labels_beside(path) for path in paths]
        return tuple(
            _lazy([(path, 0, n) for path, n in zip(found, sizes, strict=True)])
            for found in (paths, labels)
        )
    import dask.dataframe as dd

    frame = dd.read_parquet(paths)
    return frame.drop(columns="y"), frame["y"]


def _lazy(parts: list[tuple[str, int, int]]) -> Any:
    """Return rows of NumPy files, given by their first and last number, as a partition each."""
    import dask.array as da  # not at the top: workers, which import this module, do not need it

    file = np.load(parts[0][0], mmap_mode="r")
    return da.concatenate(  # type: ignore[no-untyped-call]
        [
            da.from_delayed(delayed(_rows)(*part), (part[2] - part[1], *file.shape[1:]), file.dtype)  # type: ignore[no-untyped-call]
            for part in parts
        ]
    )


def _rows(path: str, begin: int, end: int) -> NDArray[Any]:
    return np.array(np.load(path, mmap_mode="r")[begin:end])


def accuracies_on_dask(
    path: str,
    setting: dict[str, Any],
    budget: int,
    n_seeds: int,
    partitions: list[int],
    orders: list[str],
) -> dict[str, list[float]]:
    """Return the test accuracies by order and number of partitions, one per seed."""
    with np.load(path) as file:
        X, y, X_test, y_test = (file[name] for name in ("X", "y", "X_test", "y_test"))
    sorts = {
        "random": np.random.default_rng(0).permutation(len(y)),
        "by label": np.argsort(y, kind="stable"),
        "by feature": np.argsort(X[:, X.var(axis=0).argmax()], kind="stable"),
    }

    def accuracy(model: Any, rows: Any) -> float:
        model.fit(*rows)
        local = model.to_local() if isinstance(model, DaskBudgetedSVC) else model
        return 100 * float(accuracy_score(y_test, local.predict(X_test)))

    def accuracies(kind: type[BudgetedSVC], rows: Any) -> list[float]:
        models = [kind(budget, **setting, random_state=seed) for seed in range(n_seeds)]
        return [accuracy(model, rows) for model in models]

    found: dict[str, list[float]] = {}
    with _cluster(2), TemporaryDirectory() as folder:
        # Workers read files: rows in the tasks themselves would travel in each reading.
        paths = [os.path.join(folder, name) for name in ("X.npy", "y.npy")]
        for order in orders:
            rows = X[sorts[order]], y[sorts[order]]
            for path, values in zip(paths, rows, strict=True):
                np.save(path, values)
            found[f"{order} alone"] = accuracies(BudgetedSVC, rows)
            for n in partitions:
                ends = np.linspace(0, len(y), n + 1).astype(int).tolist()
                lazy = [_lazy([(path, *cut) for cut in pairwise(ends)]) for path in paths]
                found[f"{order} {n}"] = accuracies(DaskBudgetedSVC, lazy)
    return found


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    """Start workers of one thread each, as processes."""
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        # The time of a fit in memory has no time for imports, either.
        client.run(import_module, read_by_workers.__name__)
        yield client


if __name__ == "__main__":
    answer(globals())
