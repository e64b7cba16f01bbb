"""Shared settings and fixtures: reproducible Hypothesis runs, rows in both layouts, a cluster."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings

from pocketsvm import _core

# Tests of real data sets skip where neither $POCKETSVM_DATA nor this folder beside the clone is.
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("POCKETSVM_DATA", str(BESIDE))

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def core_rows():
    """Return a function that converts a dense array to `Rows`, with layout "dense" or "csr"."""

    def rows(X, layout="dense"):
        if layout == "dense":
            return _core.Rows.dense(np.ascontiguousarray(X))
        X = scipy.sparse.csr_array(X)
        return _core.Rows.csr(X.data, X.indices, X.indptr, X.shape[1])

    return rows


@pytest.fixture(scope="session")
def cluster():
    """Three workers, which are processes; a process that has imported all packages forks them."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    from pocketsvm.dask import partitions

    config = {
        "distributed.comm.timeouts.connect": "60s",
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(config):
        context = get_mp_context()
        context.set_forkserver_preload(["dask.dataframe", "distributed", partitions.__name__])
        with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    """A client of the cluster, which is the current one."""
    from distributed import Client

    with Client(cluster) as client:
        yield client
