"""Every way of using the steps, through a file."""

import prepared_models as prepared
import pytest
from model_files import round_trip
from numpy.testing import assert_array_equal

UNKNOWN = pytest.mark.filterwarnings("ignore:Found unknown categories")


@UNKNOWN
@prepared.EVERY_CHAIN
def test_a_chain_decides_the_same_after_loading(path, chain):
    clf, X, *_ = prepared.fitted(chain)
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)
    again = round_trip(twin, path)
    assert_array_equal(again.predict(X), clf.predict(X), strict=True)
