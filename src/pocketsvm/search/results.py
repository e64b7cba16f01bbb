"""The results of a search, as `sklearn.model_selection.GridSearchCV` has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .candidates import Candidate
from .race import Race

Array = NDArray[Any]


def cv_results(
    races: Sequence[tuple[dict[str, Any], Race]], n_rows: int, n_folds: int
) -> dict[str, Any]:
    """Return ``cv_results_``: all candidates of some races, each with the parameters that it fixed.

    Candidates that were dropped have NaN as scores of folds, and rank behind the others. Their mean
    is that of some folds or of small copies; ``n_resources`` tells how many rows these have.
    """
    lines = [(candidate, fixed, race) for fixed, race in races for candidate in sorted(tried(race))]
    scores, means = np.full((len(lines), n_folds), np.nan), np.empty((len(lines), 3, 2))
    rows, is_complete = np.empty(len(lines), np.intp), np.empty(len(lines), bool)
    for k, (candidate, _, race) in enumerate(lines):
        level = next(each for each in reversed(race.levels) if candidate in each.results)
        found = np.array([each.numbers for each in level.results[candidate]])
        means[k] = np.column_stack([found.mean(axis=0), found.std(axis=0)])
        is_complete[k] = level is race.last and len(found) == n_folds
        if is_complete[k]:
            scores[k] = found[:, 0]
        each = np.mean([len(fold.train) + len(fold.test) for fold in level.folds])
        is_copy = level.folds[0].share < 1.0
        rows[k] = each if is_copy else n_rows * len(found) // n_folds
    params = [{"C": each.C, "gamma": each.gamma, **fixed} for each, fixed, _ in lines]
    mean = means[:, 0, 0]
    low = np.where(np.isfinite(mean), mean, -np.inf)
    low = np.where(is_complete, low, low - 1.0 - np.ptp(low[np.isfinite(low)]))
    return {
        "mean_fit_time": means[:, 1, 0],
        "std_fit_time": means[:, 1, 1],
        "mean_score_time": means[:, 2, 0],
        "std_score_time": means[:, 2, 1],
        **{
            f"param_{name}": np.ma.MaskedArray([each[name] for each in params])
            for name in params[0]
        },
        "params": params,
        **{f"split{k}_test_score": scores[:, k] for k in range(n_folds)},
        "mean_test_score": mean,
        "std_test_score": means[:, 0, 1],
        "rank_test_score": rankdata(-low, method="min").astype(np.int32),
        "n_resources": rows,
    }


def tried(race: Race) -> set[Candidate]:
    """Return the candidates that were tried."""
    return {candidate for level in race.levels for candidate in level.results}


def score_array(race: Race, gammas: Sequence[float], Cs: Sequence[float]) -> Array:
    """Return the scores (gammas, Cs, folds), NaN for candidates that were dropped."""
    n_folds = len(race.last.folds)
    scores = np.full((len(gammas), len(Cs), n_folds), np.nan)
    for candidate, found in race.last.results.items():
        if len(found) < n_folds:
            continue
        place = gammas.index(candidate.gamma), Cs.index(candidate.C)
        scores[place] = [result.score for result in found]
    return scores
