"""Estimators for Dask: rows in dask arrays and dataframes, on any cluster.

The rows stay where they are. Workers summarise their partitions and draw the sample, the process
of the client makes the passes over it, and every sum of the solver is a tree over the partitions in
a fixed order. All tasks are pure functions of a partition, so that Dask runs them again if a worker
is lost. `partitions` is the source of rows, `estimators` has the estimators, and `answers` what
workers return for predictions and scores.
"""

try:
    from .estimators import DaskBudgetedSVC, DaskBudgetedSVR
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith(("dask", "distributed")):
        raise
    raise ImportError("pocketsvm.dask needs Dask: pip install 'pocketsvm[dask]'") from error

__all__ = ["DaskBudgetedSVC", "DaskBudgetedSVR"]
