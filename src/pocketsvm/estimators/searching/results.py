"""The results of a search, as `sklearn.model_selection.GridSearchCV` has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from .board import Board
from .grid import Candidate

Array = NDArray[Any]


def cv_results(
    board: Board, C_name: str, gamma_name: str, n_rows: int, fixed: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return ``cv_results_``: a list of all candidates that were tried.

    Candidates that were dropped have NaN where they have no score. Their mean is that of the scores
    they have; ``n_resources`` tells how many rows it is based on. They rank behind the others.
    ``smooth_log_loss`` has decided among candidates whose scores differ by chance; it is NaN where
    it is not known. `fixed` are parameters that are the same for all.
    """
    fixed = fixed or {}
    tried = sorted({*board.results, *board.screened})
    scores, seconds = _scores(board, tried), _seconds(board, tried)
    n_scored = np.isfinite(scores).sum(axis=1)
    has_all = np.array([len(board.results.get(each, {})) == board.n_folds for each in tried])
    only_screened = np.array([each not in board.results for each in tried])
    first = np.array(
        [board.screened[each].score if each in board.screened else np.nan for each in tried]
    )
    sums = np.where(np.isfinite(scores), scores, 0.0).sum(axis=1)
    mean = np.divide(sums, n_scored, out=np.full(len(tried), np.nan), where=n_scored > 0)
    mean[has_all & (n_scored < board.n_folds)] = np.nan  # a score that is not a number
    spread = np.array([_spread(row) for row in scores])
    rows = n_rows * np.array([len(board.results.get(each, {})) for each in tried]) // board.n_folds
    mean = np.where(only_screened, first, mean)
    rows = np.where(only_screened, n_rows // (2 * board.n_folds), rows)
    results: dict[str, Any] = {
        "mean_fit_time": _mean(seconds[0]),
        "std_fit_time": np.array([_spread(row) for row in seconds[0]]),
        "mean_score_time": _mean(seconds[1]),
        "std_score_time": np.array([_spread(row) for row in seconds[1]]),
        f"param_{C_name}": np.ma.MaskedArray([each.C for each in tried]),
        f"param_{gamma_name}": np.ma.MaskedArray([each.gamma for each in tried]),
        **{
            f"param_{name}": np.ma.MaskedArray([value] * len(tried))
            for name, value in fixed.items()
        },
        "params": [{C_name: each.C, gamma_name: each.gamma, **fixed} for each in tried],
    }
    results |= {f"split{k}_test_score": scores[:, k] for k in range(board.n_folds)}
    losses = board.smooth_losses(board.complete(), range(board.n_folds))
    return results | {
        "mean_test_score": mean,
        "std_test_score": spread,
        "rank_test_score": _ranks(mean, has_all),
        "n_resources": rows,
        "smooth_log_loss": np.array([losses.get(each, np.nan) for each in tried]),
    }


def joined(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the results of several searches on the same folds."""
    if len(tables) == 1:
        return tables[0]
    results: dict[str, Any] = {
        name: np.ma.MaskedArray(np.concatenate([table[name] for table in tables]))
        if name.startswith("param_")
        else np.concatenate([table[name] for table in tables])
        for name in tables[0]
        if name != "params"
    }
    results["params"] = [each for table in tables for each in table["params"]]
    complete = results["n_resources"] == results["n_resources"].max()
    results["rank_test_score"] = _ranks(results["mean_test_score"], complete)
    return results


def score_array(board: Board, gammas: Sequence[float], Cs: Sequence[float]) -> Array:
    """Return the scores (gammas, Cs, folds), NaN where there is none."""
    scores = np.full((len(gammas), len(Cs), board.n_folds), np.nan)
    for candidate, found in board.results.items():
        place = gammas.index(candidate.gamma), Cs.index(candidate.C)
        for fold, result in found.items():
            scores[(*place, fold)] = result.score
    return scores


def _scores(board: Board, tried: Sequence[Candidate]) -> Array:
    scores = np.full((len(tried), board.n_folds), np.nan)
    for line, candidate in zip(scores, tried, strict=True):
        for fold, result in board.results.get(candidate, {}).items():
            line[fold] = result.score
    return scores


def _seconds(board: Board, tried: Sequence[Candidate]) -> tuple[Array, Array]:
    fit, score = (np.full((len(tried), board.n_folds), np.nan) for _ in range(2))
    for k, candidate in enumerate(tried):
        found = board.results.get(candidate) or {0: board.screened[candidate]}
        for fold, result in found.items():
            fit[k, fold], score[k, fold] = result.fit_seconds, result.score_seconds
    return fit, score


def _mean(lines: Array) -> Array:
    return np.array([line[np.isfinite(line)].mean() for line in lines])


def _spread(line: Array) -> float:
    known = line[np.isfinite(line)]
    return float(known.std()) if len(known) else np.nan


def _ranks(mean: Array, has_all: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Rank the candidates, the best first; those without all scores come last."""
    low = np.where(np.isfinite(mean), mean, -np.inf)
    span = 1.0 + np.ptp(low[np.isfinite(low)])
    ranks = rankdata(-np.where(has_all, low, low - span), method="min")
    return ranks.astype(np.int32)
