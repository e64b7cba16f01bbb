"""The rows of the benchmarks: the paper's data sets where they are there, and generated ones."""

import dataclasses

import numpy as np
from scipy import sparse

from pocketsvm.experiments.paper import datasets as paper
from pocketsvm.experiments.paper.protocol import layout

SUSY_GAMMA = paper.named("SUSY").gamma

# Every source as a data set of its own, named like it.
DATA_SETS = [
    dataclasses.replace(data_set, name=source.label, sources=(source,))
    for data_set in paper.DATA_SETS
    for source in data_set.sources
]


def available():
    """Those of the data sets whose files are there; a line about those of which none are."""
    there = [data_set.find() for data_set in paper.DATA_SETS]
    missing = [d.name for d, found in zip(paper.DATA_SETS, there, strict=True) if found is None]
    if missing:
        print(f"Skipped, for they are not in $POCKETSVM_DATA: {', '.join(missing)}.\n")
    labels = {found[0].label for found in there if found is not None}
    return [data_set for data_set in DATA_SETS if data_set.name in labels]


def load(data_set):
    """X_train, y_train, X_test, y_test; dense where most entries are not zero."""
    return layout(data_set.load())


def susy_like(n_rows, n_features=18, sharpness=1.62, seed=0):
    """Rows of two classes, by default as hard to tell apart as SUSY's."""
    return paper.susy_like(n_rows, n_features, sharpness, seed)


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
