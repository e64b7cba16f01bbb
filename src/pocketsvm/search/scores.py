"""The scores of a search over C and gamma as a map, for displays and the command line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

# Colors begin at this quantile of the scores, so that they distinguish good scores.
LOWEST_COLOR = 0.25
# The row of candidates with learnt feature scales, which carry the width of the kernel.
SCALES = "scales"


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The scores of a search over C and gamma.

    Attributes
    ----------
    C : list of float
        The values of C, ascending.

    gamma : list of float or str
        The values of gamma, ascending. If candidates with and without learnt feature scales were
        compared, those with them follow as "scales": their gamma is in another unit.

    scores : ndarray of shape (n_gammas, n_Cs)
        The mean score of the folds, or NaN if no candidate of the cell was tried. If a cell has
        several candidates (such as losses), its score is the best one among those that were scored
        on most rows.

    n_rows : ndarray of shape (n_gammas, n_Cs)
        The number of rows, training and held out together, that each score is based on; 0 if the
        search always used all rows.

    best : tuple of two int
        The cell of the best candidate.

    best_score : float
        The score of the best candidate.
    """

    C: list[Any]
    gamma: list[Any]
    scores: NDArray[np.float64]
    n_rows: NDArray[np.intp]
    best: tuple[int, int]
    best_score: float

    @property
    def is_final(self) -> NDArray[np.bool_]:
        """Which cells were scored on the largest number of rows."""
        return np.asarray(self.n_rows == self.n_rows.max())

    @property
    def has_copies(self) -> bool:
        """Whether some cells were scored on fewer rows."""
        return bool((~self.is_final & np.isfinite(self.scores)).any())

    @property
    def low(self) -> float:
        """The score at which colors begin: the lower quartile."""
        return float(np.nanquantile(self.scores, LOWEST_COLOR))

    @classmethod
    def of(cls, search: Any) -> "ScoreMap":
        """Return the scores of a fitted search.

        Parameters
        ----------
        search : BudgetedSVCCV, BudgetedSVRCV, GridSearchCV or similar
            The search, over C or gamma or both, of an estimator of pocketsvm or a pipeline that
            ends in one.

        Returns
        -------
        score_map : ScoreMap
            The scores.
        """
        check_is_fitted(search, "cv_results_")
        results = search.cv_results_
        known = getattr(search, "estimator", search).get_params()
        has_both = len({_learns(candidate) for candidate in results["params"]}) > 1

        def values(candidate: dict[str, Any]) -> tuple[Any, Any]:
            """Return gamma and C, also those of the last step of a pipeline."""
            found = known | candidate
            gamma = SCALES if has_both and _learns(candidate) else _named(found, "gamma")
            return gamma, _named(found, "C")

        if not any(name.split("__")[-1] in ("C", "gamma") for name in results["params"][0]):
            raise ValueError("The search has neither C nor gamma among its parameters.")
        tried = [values(candidate) for candidate in results["params"]]
        gamma, c = (sorted(set(each), key=_order) for each in zip(*tried, strict=True))
        scores = np.full((len(gamma), len(c)), np.nan)
        n_rows = np.zeros(scores.shape, dtype=np.intp)
        used = results.get("n_resources", np.zeros(len(tried), dtype=np.intp))
        for each, score, rows in zip(tried, results["mean_test_score"], used, strict=True):
            cell = gamma.index(each[0]), c.index(each[1])
            is_better = rows == n_rows[cell] and score > scores[cell]
            if rows > n_rows[cell] or np.isnan(scores[cell]) or is_better:
                scores[cell], n_rows[cell] = score, rows
        best = values(search.best_params_)
        place = gamma.index(best[0]), c.index(best[1])
        return cls(c, gamma, scores, n_rows, place, float(search.best_score_))

    def at_border(self) -> Iterator[tuple[str, str]]:
        """Yield "C" and "gamma", with a sentence, if the best value is the first or last tried."""
        for name, values, place in (
            ("C", self.C, self.best[1]),
            ("gamma", self.gamma, self.best[0]),
        ):
            compared = [value for value in values if value != SCALES]
            if len(compared) > 1 and place in (0, len(compared) - 1):
                yield name, f"the best {name} is the {'largest' if place else 'smallest'} one tried"


def _named(parameters: dict[str, Any], name: str) -> Any:
    return next((v for key, v in parameters.items() if key.split("__")[-1] == name), None)


def _learns(candidate: dict[str, Any]) -> bool:
    """Whether a candidate learns feature scales."""
    scales = _named(candidate, "feature_scales")
    return isinstance(scales, str) and scales == "learn"


def _order(value: Any) -> tuple[bool, Any]:
    """Sort numbers before strings."""
    return isinstance(value, str), value


def written(values: Sequence[Any]) -> list[str]:
    """Write numbers as powers of two or its root if all of them are, else with three digits."""
    numbers = [value for value in values if not isinstance(value, str)]
    if all(2.0 ** (round(2 * log(number, 2)) / 2) == number for number in numbers):
        form = "2^{:g}".format
        halves = {number: round(2 * log(number, 2)) / 2 for number in numbers}
        return [value if isinstance(value, str) else form(halves[value]) for value in values]
    return [value if isinstance(value, str) else f"{value:.3g}" for value in values]
