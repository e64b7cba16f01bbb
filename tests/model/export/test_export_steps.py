"""Every way of using the steps, exported to C and ONNX, on 10,000 rows."""

import export_models as models
import prepared_models as prepared
import pytest
from export_steps import run_c, run_onnx
from numpy.testing import assert_allclose

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
