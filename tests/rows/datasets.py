"""Rows in files of every format, and in batches."""

import gzip
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import dump_svmlight_file

from pocketsvm import BudgetedSVC

N, D = 3000, 4
PARTS = (0, 700, 701, 2000, N)


def problem(seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, D)).round(3)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


def table(X, y, **more):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y} | more)


def write_parquet(folder, X, y, weight=None):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        more = {} if weight is None else {"w": weight[begin:end]}
        pq.write_table(table(X[begin:end], y[begin:end], **more), folder / f"part-{k}.parquet")


def write_csv(folder, X, y, opened=open, suffix=".csv"):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        with opened(folder / f"part-{k}{suffix}", "wt") as file:
            file.write("x0,x1,x2,x3,y\n")
            for row, label in zip(X[begin:end].tolist(), y[begin:end], strict=True):
                file.write(",".join(map(repr, row)) + f",{label}\n")


def write_svmlight(folder, X, y):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        path = str(folder / f"part-{k}.svm")
        dump_svmlight_file(X[begin:end], y[begin:end], path, zero_based=False)


def write_npy(folder, X, y):
    np.save(folder / "rows.npy", np.column_stack([X, y]))


WRITERS = {
    "parquet": write_parquet,
    "csv": write_csv,
    "csv.gz": lambda folder, X, y: write_csv(folder, X, y, gzip.open, ".csv.gz"),
    "svmlight": write_svmlight,
    "npy": write_npy,
}


class Batches:
    """Batches of arrays, as a user would write them."""

    def __init__(self, *arrays, size=450):
        self.arrays, self.size = arrays, size

    def batches(self):
        for begin in range(0, self.arrays[0].shape[0], self.size):
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


def fit(rows, **parameters):
    return BudgetedSVC(**{"budget": 4, "random_state": 0} | parameters).fit(rows)
