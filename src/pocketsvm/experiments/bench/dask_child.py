"""Measurements with Dask, in a process of their own; see `child`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from ...dask import DaskBudgetedSVC
from ...estimators import BudgetedSVC
from ..toolkit.measure import peak_memory
from .child import GAMMA, answer, fitted, timed_call


def fit_on_dask(paths: list[str], budget: int, n_jobs: int) -> dict[str, Any]:
    """Fit a model with this many workers; the peak is that of the largest one."""
    with _cluster(n_jobs) as client:
        frame = dd.read_parquet(paths)
        model = DaskBudgetedSVC(budget, gamma=GAMMA, random_state=0)
        fit = timed_call(lambda: model.fit(frame.drop(columns="y"), frame["y"]))
        peaks = client.run(peak_memory)
    return fitted(model.to_local()) | fit | {"readings": None, "peak_bytes": max(peaks.values())}


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
    random = np.random.default_rng(0).permutation(len(y))
    sorts = {
        "random": random,
        "by label": np.argsort(y, kind="stable"),
        "by feature": np.argsort(X[:, X.var(axis=0).argmax()], kind="stable"),
    }

    def accuracy(model: Any) -> float:
        return 100 * float(accuracy_score(y_test, model.predict(X_test)))

    found: dict[str, list[float]] = {
        "alone": [
            accuracy(BudgetedSVC(budget, **setting, random_state=seed).fit(X, y))
            for seed in range(n_seeds)
        ]
    }
    with _cluster(2):
        for order in orders:
            at = sorts[order]
            for n in partitions:
                size = -(-len(y) // n)
                rows = _lazy(X[at], (size, -1)), _lazy(y[at], (size,))
                found[f"{order} {n}"] = [
                    accuracy(
                        DaskBudgetedSVC(budget, **setting, random_state=seed).fit(*rows).to_local()
                    )
                    for seed in range(n_seeds)
                ]
    return found


def _lazy(array: NDArray[Any], chunks: tuple[int, ...]) -> Any:
    return da.from_array(array, chunks=chunks)  # type: ignore[no-untyped-call]


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    """Start workers of one thread each, as processes."""
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


if __name__ == "__main__":
    answer(globals())
