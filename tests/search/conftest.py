"""What the tests of searches share."""

import pytest

from pocketsvm import BudgetedSVCCV, BudgetedSVRCV


@pytest.fixture(autouse=True)
def _features_count_alike(request, monkeypatch):
    """Search C and gamma alone, unless a test is about feature scales."""
    if not request.module.__name__.endswith("test_feature_scales"):
        for search in (BudgetedSVCCV, BudgetedSVRCV):
            monkeypatch.setitem(search.__init__.__kwdefaults__, "feature_scales", None)
