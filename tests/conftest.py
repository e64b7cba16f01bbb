"""Shared settings and fixtures: reproducible Hypothesis runs, and rows in both layouts."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import settings

from pocketsvm import _core

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
