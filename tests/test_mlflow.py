"""MLflow serves a model file, without pickle."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, save_model

pyfunc = pytest.importorskip(
    "mlflow.pyfunc", reason="MLflow is not there: make ecosystem installs it"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # those of MLflow


@pytest.fixture
def model(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=list("abc"))
    y = np.where(frame["a"] > 0, "up", "down")
    return make_pipeline(StandardScaler(), BudgetedSVC(10, loss="log_loss")).fit(frame, y), frame


def served(model, folder):
    save_model(model, folder / "model.psvm")
    pyfunc.save_model(
        folder / "served", loader_module="pocketsvm.mlflow", data_path=folder / "model.psvm"
    )
    files = [path.name for path in (folder / "served").rglob("*") if path.is_file()]
    assert "model.psvm" in files
    assert not [name for name in files if name.endswith(("pkl", "pickle"))]
    return pyfunc.load_model(str(folder / "served"))


def test_predictions_are_those_of_the_model(model, tmp_path):
    model, frame = model
    found = served(model, tmp_path)
    assert_array_equal(found.predict(frame), model.predict(frame))


def test_a_parameter_chooses_the_method(model, tmp_path):
    from pocketsvm.mlflow import ModelFile

    model, frame = model
    served(model, tmp_path)
    wrapper = ModelFile(str(tmp_path / "model.psvm"))
    for method in ("predict_proba", "decision_function"):
        expected = getattr(model, method)(frame)
        assert_array_equal(wrapper.predict(frame, {"method": method}), expected)
    with pytest.raises(ValueError, match=r"method must be one of .* got 'fit'"):
        wrapper.predict(frame, {"method": "fit"})
