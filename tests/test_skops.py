"""skops keeps estimators without pickle, with the types that `trusted_types` names."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from prepared_models import EVERY_CHAIN, fitted
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pocketsvm
from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    BudgetedSVRCV,
    load_model,
    save_model,
)

skops = pytest.importorskip("skops.io", reason="skops is not there: make ecosystem installs it")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
Y = (X[:, 0] > 0).astype(int)
SEARCH = {"Cs": [1.0], "gammas": [0.1], "cv": 2}
MODELS = {
    "classes": lambda: BudgetedSVC(10).fit(X, Y),
    "unpolished": lambda: BudgetedSVC(10, polish=False).fit(X, Y + (X[:, 1] > 0)),
    "words": lambda: BudgetedSVC(10, loss="log_loss").fit(X, np.array(["no", "yes"])[Y]),
    "stream": lambda: BudgetedSVC(10, gamma=0.1, reservoir=50).partial_fit(X, Y, [0, 1]),
    "numbers": lambda: BudgetedSVR(10).fit(X, X[:, 0]),
    "quantiles": lambda: BudgetedSVR(10, loss="quantile", quantile=[0.1, 0.9]).fit(X, X[:, 0]),
    "novelties": lambda: BudgetedOneClassSVM(10).fit(X),
    "ranking": lambda: BudgetedRanker(10).fit(X, Y),
    "class search": lambda: BudgetedSVCCV(10, **SEARCH).fit(X, Y),
    "number search": lambda: BudgetedSVRCV(10, **SEARCH).fit(X, X[:, 0]),
    "pipeline": lambda: make_pipeline(StandardScaler(), BudgetedSVC(10)).fit(X, Y),
    "sigmoid": lambda: CalibratedClassifierCV(BudgetedSVC(10), cv=2).fit(X, Y),
    "temperature": lambda: CalibratedClassifierCV(BudgetedSVC(10), method="temperature", cv=2).fit(
        X, Y
    ),
}


def reloaded(model):
    return skops.loads(skops.dumps(model), trusted=pocketsvm.trusted_types())


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_is_loaded_with_the_trusted_types(make):
    model = make()
    found = reloaded(model)
    assert_array_equal(found.predict(X), model.predict(X))
    if isinstance(model, BudgetedSVC):
        assert repr(found.profile_) == repr(model.profile_)


@EVERY_CHAIN
def test_a_loaded_preparation_is_loaded_again(chain, tmp_path):
    model, _, X, _ = fitted(chain)
    save_model(model, tmp_path / "model.psvm")
    model = load_model(tmp_path / "model.psvm")
    model.predict(X)
    assert_array_equal(reloaded(model).predict(X), model.predict(X))


def test_without_the_list_skops_refuses():
    with pytest.raises(TypeError, match="BudgetedSVC"):
        skops.loads(skops.dumps(BudgetedSVC(10).fit(X, Y)))
