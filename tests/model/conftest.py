"""Files that the tests of this folder read and write."""

import numpy as np
import pandas as pd
import pytest
from model_files import problem, small

from pocketsvm import save_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.psvm"


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A model file with all sections but a preparation."""
    X, y = problem(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = small(class_weight={"x": 2.0, "z": 0.5}).fit(frame, np.array(["x", "y", "z"])[y])
    path = tmp_path_factory.mktemp("saved") / "model.psvm"
    save_model(clf, path, extra={"scaling": "none", "values": np.arange(3.0)})
    return path
