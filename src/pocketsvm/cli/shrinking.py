"""The given model of ``pocketsvm compress``, its rows, and the file of the smaller model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..compression.given import given, labels_of
from ..estimators.loading import read_machine
from ..files.svmlight import load_svmlight
from ..model import Model
from ..model.container import MAGIC
from ..model.file import write_model
from .options import DataOptions
from .reading import opened_files
from .saved import Saved


@dataclass(frozen=True)
class Shrunk:
    """A model file to make small.

    Attributes
    ----------
    given : estimator or str
        The estimator of a model file of pocketsvm, or the path of one of LIBSVM.

    saved : Saved or None
        What the command line keeps with a model of pocketsvm.
    """

    given: Any
    path: str
    saved: Saved | None = None

    @classmethod
    def open(cls, path: str) -> "Shrunk":
        """Open a model file of pocketsvm or LIBSVM."""
        with open(path, "rb") as file:
            is_ours = file.read(len(MAGIC)) == MAGIC
        if not is_ours:
            return cls(path, path)
        saved = Saved.load(path)
        return cls(saved.estimator, path, saved)

    def rows(self, data: str, columns: DataOptions, n_jobs: int) -> tuple[Any, NDArray[Any] | None]:
        """Return the rows of data files, and what their labels mean if the model knows them all."""
        if self.saved is None:
            X, y = load_svmlight(data)
            labels = labels_of(given(self.path).model)
            return X, y if labels is None or np.isin(y, labels).all() else None
        found, truths = [], []
        for file in opened_files(data, columns):
            for batch in file.batches(self.saved.layout, labels=True, n_jobs=n_jobs):
                assert batch.labels is not None  # they were asked for
                found.append(batch.X)
                truths.append(self.saved.truth(batch.labels, file.name))
        if not found:
            raise ValueError(f"{data}: there are no rows.")
        X = sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)
        y = np.concatenate(truths)
        if self.saved.is_regression:
            return X, y
        classes = labels_of(self.saved.model)
        assert classes is not None
        return X, classes[y] if (y >= 0).all() else None

    def save(self, small: Any, out: str) -> None:
        """Write the smaller model, with what was kept beside the given one."""
        model = Model.of(small)
        if self.saved is None:
            write_model(model, out, {})
            return
        names = self.saved.model.feature_names
        write_model(replace(model, feature_names=names), out, read_machine(self.path)[1])
