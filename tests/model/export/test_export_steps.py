"""Every way of using the steps, exported to C and ONNX, on 10,000 rows."""

import export_models as models
import numpy as np
import pandas as pd
import prepared_models as prepared
import pytest
from export_steps import run_c, run_onnx
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVR
from pocketsvm.model.export import export_c
from pocketsvm.model.export.common import Exportable

UNKNOWN = pytest.mark.filterwarnings("ignore:Found unknown categories")


@UNKNOWN
@prepared.EVERY_CHAIN
def test_c_prepares_rows_as_the_pipeline(tmp_path, chain):
    clf, X, *_ = prepared.fitted(chain)
    labels, values = run_c(clf, X, tmp_path)
    assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=models.tolerance(clf))
    models.assert_same_labels(labels, clf, X)


@UNKNOWN
@prepared.EVERY_CHAIN
def test_onnx_prepares_rows_as_the_pipeline(tmp_path, chain):
    clf, X, *_ = prepared.fitted(chain)
    found = run_onnx(clf, X, tmp_path)
    assert_allclose(found["decision"], clf.decision_function(X), rtol=0, atol=models.tolerance(clf))
    models.assert_same_labels(found["label"], clf, X)


@pytest.mark.parametrize("machine", [BudgetedSVR(20, random_state=0), BudgetedOneClassSVM(20)])
def test_other_tasks_are_prepared_too(tmp_path, machine):
    clf, X, trained, y = prepared.fitted("yeo-johnson")
    model = make_pipeline(clone(clf[0]), machine).fit(trained, y.astype(float))
    expected = model.predict(X)
    labels, _ = run_c(model, X, tmp_path)
    found = run_onnx(model, X, tmp_path)
    if isinstance(machine, BudgetedSVR):
        assert_allclose(labels, expected, rtol=0, atol=models.tolerance(model))
        assert_allclose(found["value"], expected, rtol=0, atol=models.tolerance(model))
    else:
        models.assert_same_labels(labels, model, X)
        models.assert_same_labels(found["label"], model, X)


def test_models_that_need_double_say_so(tmp_path):
    """Repeated numbers jump from one share to another if they are rounded."""
    clf = prepared.fitted("quantiles")[0]
    found = Exportable.of(clf)
    assert (found.given, found.dtype) == (np.float64, np.float32)
    export_c(clf, tmp_path / "model.h")
    header = (tmp_path / "model.h").read_text()
    assert "static inline int model_predict(const double *x)" in header
    assert "static inline void model_decision(const double *x, float *out)" in header


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_large_numbers_stay_different_categories(tmp_path, encoder):
    """They are equal in float32."""
    X = pd.DataFrame({"code": 2.0**24 + np.arange(200) % 4})
    y = np.arange(200) % 4 % 3 == 0
    clf = make_pipeline(encoder, BudgetedSVC(10, random_state=0)).fit(X, y)
    assert_array_equal(run_c(clf, X, tmp_path)[0], clf.predict(X))
    assert_array_equal(run_onnx(clf, X, tmp_path)["label"], clf.predict(X))
