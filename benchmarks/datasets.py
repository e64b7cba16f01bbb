"""The rows of the benchmarks: the paper's six data sets with its settings, and generated ones.

The data sets are looked for in ``$POCKETSVM_DATA``, as LIBSVM text, plain or compressed. The
unsplit ones are split 3 : 1, stratified, with a fixed seed. Where SUSY and WEB themselves are not
to be had, a part of SUSY (``susy21k``) and the whole of WEB (``w8a``) stand in for them.
"""

import inspect
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

import pocketsvm

SUSY_GAMMA = 2.0**-7


@dataclass(frozen=True)
class DataSet:
    """One data set of the paper: its files, its hyperparameters and its two budgets."""

    name: str
    train: str
    test: str | None
    n_features: int
    C: float
    gamma: float
    budgets: tuple[int, int] = (100, 500)

    @property
    def paths(self):
        return [find(name) for name in (self.train, self.test) if name]

    def load(self):
        """X_train, y_train, X_test, y_test; dense where most entries are not zero."""
        parts = [read(path, self.n_features) for path in self.paths]
        if len(parts) == 2:
            (X, y), (X_test, y_test) = parts
        else:
            X, X_test, y, y_test = train_test_split(
                *parts[0], test_size=0.25, random_state=7, stratify=parts[0][1]
            )
        if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
            X, X_test = X.toarray(), X_test.toarray()
        return X, y, X_test, y_test


DATA_SETS = (
    DataSet("SUSY (21k rows)", "susy21k", None, 18, 2**5, SUSY_GAMMA),
    DataSet("SKIN", "skin_nonskin", None, 3, 2**5, 2**-7, (100, 200)),
    DataSet("IJCNN", "ijcnn1", "ijcnn1.t", 22, 2**5, 2**1),
    DataSet("ADULT", "a9a", "a9a.t", 123, 2**5, 2**-7),
    DataSet("WEB (w8a)", "w8a", "w8a.t", 300, 2**3, 2**-5),
    DataSet("PHISHING", "phishing", None, 68, 2**3, 2**3),
)


def find(name: str) -> Path | None:
    """The file of that name in the data folder, plain or compressed."""
    folder = os.environ.get("POCKETSVM_DATA")
    if not folder:
        return None
    paths = (Path(folder) / (name + ending) for ending in ("", ".gz", ".bz2"))
    return next((path for path in paths if path.is_file()), None)


def available():
    """Those of the six data sets whose files are there; a line about those that are not."""
    there = [data_set for data_set in DATA_SETS if None not in data_set.paths]
    missing = [data_set.name for data_set in DATA_SETS if data_set not in there]
    if missing:
        print(f"Skipped, for they are not in $POCKETSVM_DATA: {', '.join(missing)}.\n")
    return there


def read(path, n_features=None, n_jobs=None):
    """X (CSR, float32) and y, by load_svmlight where this pocketsvm has it."""
    if not hasattr(pocketsvm, "load_svmlight"):
        X, y = load_svmlight_file(str(path), n_features=n_features)
    elif n_jobs and "n_jobs" in inspect.signature(pocketsvm.load_svmlight).parameters:
        X, y = pocketsvm.load_svmlight(path, n_features=n_features, n_jobs=n_jobs)
    else:
        X, y = pocketsvm.load_svmlight(path, n_features=n_features)
    X = X.astype(np.float32, copy=False)
    if X.nnz < 2**31:  # scikit-learn's SVC takes no others
        X.indices = X.indices.astype(np.int32, copy=False)
        X.indptr = X.indptr.astype(np.int32, copy=False)
    return X, y


def susy_like(n_rows, n_features=18, sharpness=1.62, seed=0):
    """Standardised dense float32 rows of two overlapping classes; the sharper, the less overlap."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), np.float32)
    y = np.empty(n_rows, np.int8)
    for begin in range(0, n_rows, 10_000):  # in pieces, so that nothing but X and y is large
        part = slice(begin, min(begin + 10_000, n_rows))
        random.standard_normal(dtype=np.float32, out=X[part])
        a, b, c, d, e = X[part, :5].T
        score = a + 0.5 * e + 0.7 * b * c + 0.5 * (d**2 - 1)
        y[part] = random.random(len(score)) < expit(sharpness * score)
    return X, y


def sparse_rows(n_rows, n_features, nonzeros, seed=0):
    """CSR float32 rows with as many non-zeros each; 2 % overlap, however many non-zeros."""
    random = np.random.default_rng(seed)
    step = n_features // nonzeros
    indices = np.arange(nonzeros) * step + random.integers(step, size=(n_rows, nonzeros))
    direction = random.choice(np.array([-1, 1], np.float32), n_features)
    y = random.choice(np.array([-1, 1], np.int8), n_rows)
    values = random.standard_normal(indices.shape, dtype=np.float32)
    values += y[:, None] * direction[indices] * (2 / nonzeros**0.5)
    values /= nonzeros**0.5
    starts = np.arange(n_rows + 1, dtype=np.int32) * nonzeros
    parts = (values.ravel(), indices.astype(np.int32).ravel(), starts)
    return sparse.csr_array(parts, shape=(n_rows, n_features)), y
