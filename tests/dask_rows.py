"""Rows for the tests of Dask, as dask arrays and dataframes."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

N, D = 3000, 4
SETTINGS = {"budget": 4, "random_state": 0}


def problem():
    X = np.random.default_rng(0).normal(size=(N, D))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


class Batches:
    def __init__(self, *arrays, size):
        self.arrays, self.size = arrays, size

    def batches(self):
        for begin in range(0, N, self.size):
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


def arrays(*values, chunks=1000):
    return [da.from_array(each, chunks=(chunks, *each.shape[1:])) for each in values]


def frames(X, y, n=3):
    frame = pd.DataFrame(X, columns=list("abcd"))
    return dd.from_pandas(frame, npartitions=n), dd.from_pandas(pd.Series(y), npartitions=n)
