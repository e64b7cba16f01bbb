"""The log loss, which decides among candidates of few rows whose accuracies differ by chance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import KFold

from pocketsvm import BudgetedSVCCV


@pytest.mark.parametrize("label", [-1, 1, 2, 3])
def test_labels_of_rows_without_weight_do_not_matter(label):
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    weights = (y != 2) * 1.0
    found = [
        BudgetedSVCCV(40, cv=KFold(3), random_state=0).fit(X, labels, sample_weight=weights)
        for labels in (np.where(y == 2, 0, y), np.where(y == 2, label, y))
    ]
    assert found[0].best_params_ == found[1].best_params_
    losses = [each.cv_results_["smooth_log_loss"] for each in found]
    assert np.isfinite(losses[0]).any()
    assert_allclose(*losses)


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_the_lowest_loss_among_candidates_that_are_not_beaten_is_chosen(seed):
    """With fewer than 100 held-out rows, the scores of folds have no parts: they tell all."""
    X, y = make_moons(240, noise=0.3, random_state=seed)
    Cs, gammas = 2.0 ** np.arange(-4, 9, 2), 2.0 ** np.arange(-5, 4)
    found = BudgetedSVCCV(30, Cs=Cs, gammas=gammas, random_state=seed).fit(X, y)
    results = found.cv_results_
    scores = np.column_stack([results[f"split{k}_test_score"] for k in range(5)])
    is_complete = np.isfinite(scores).all(axis=1)
    top = np.argmax(np.where(is_complete, results["mean_test_score"], -1))
    lead = scores[top] - scores
    is_beaten = lead.mean(axis=1) > 2 * lead.std(axis=1, ddof=1) / np.sqrt(5)
    losses = np.where(is_complete & ~is_beaten, results["smooth_log_loss"], np.inf)
    assert found.best_index_ == np.argmin(losses)
