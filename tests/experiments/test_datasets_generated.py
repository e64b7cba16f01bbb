"""Generated rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC
from pocketsvm.experiments.datasets.generated import CASES, TEST_ROWS, sparse_rows, susy_like
from pocketsvm.experiments.datasets.registry import named


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


def test_sparse_rows_have_equally_many_non_zeros():
    X, y = sparse_rows(50, 64, 8)
    assert X.shape == (50, 64)
    assert_array_equal(np.diff(X.indptr), 8)
    assert X.has_canonical_format
    assert set(y) == {-1, 1}


@pytest.mark.parametrize("case", ["100 rows", "every row ten times", "scales from 1 to 10,000"])
def test_cases_have_training_and_test_rows(case):
    (X, y), (X_test, y_test) = CASES[case]()
    assert X.shape == (len(y), 20)
    assert X_test.shape == (TEST_ROWS, 20) == (len(y_test), 20)
