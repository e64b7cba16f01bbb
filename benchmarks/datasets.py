"""The paper's six data sets with its settings, as the benchmarks take them.

They are looked for in ``$POCKETSVM_DATA``, as LIBSVM text, plain or compressed. The unsplit ones
are split 3 : 1, stratified, with a fixed seed. Where SUSY and WEB themselves are not to be had, a
part of SUSY (``susy21k``) and the whole of WEB (``w8a``) stand in for them.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split


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

    def load(self):
        """X_train, y_train, X_test, y_test; None where a file is missing."""
        paths = [find(name) for name in (self.train, self.test) if name]
        if None in paths:
            return None
        parts = [load_svmlight_file(path, n_features=self.n_features) for path in paths]
        if len(parts) == 2:
            (X, y), (X_test, y_test) = parts
        else:
            X, X_test, y, y_test = train_test_split(
                *parts[0], test_size=0.25, random_state=7, stratify=parts[0][1]
            )
        return X.astype("float32"), y, X_test.astype("float32"), y_test


DATA_SETS = (
    DataSet("SUSY (21k rows)", "susy21k", None, 18, 2**5, 2**-7),
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
