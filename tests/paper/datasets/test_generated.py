"""Generated rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC
from pocketsvm.paper.datasets.generated import susy_like
from pocketsvm.paper.datasets.registry import named


def test_generated_rows_follow_from_their_seed_and_merge_as_often_as_the_papers():
    X, y = susy_like(500_000)
    assert X.dtype == np.float32
    assert X.shape == (500_000, 18)
    again, labels = susy_like(20_000)
    assert_array_equal(again, X[:20_000])
    assert_array_equal(labels, y[:20_000])
    assert not np.array_equal(susy_like(10, seed=1)[0], X[:10])
    susy = named("SUSY")
    model = BudgetedSVC(
        100, susy.C, gamma=susy.gamma, max_iter=1, polish=False, fit_intercept=False, random_state=0
    )
    frequency = model.fit(X, y).profile_.merge_frequency
    assert frequency == pytest.approx(susy.published.merge_frequency / 100, abs=0.02)
