"""The scores of a search over C and gamma, for displays and the command line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .steps import last_step, parameter_name

# Colors begin at this quantile of the scores, so that they distinguish good scores.
LOWEST_COLOR = 0.25


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The scores of a search over C and gamma.

    Attributes
    ----------
    C : list of float
        The values of C, ascending.

    gamma : list of float or str
        The values of gamma, ascending.

    scores : ndarray of shape (n_gammas, n_Cs)
        The mean score of the folds, or NaN if no candidate of the cell could be fitted. If a cell
        has several candidates (such as budgets), its score is the best one among those that were
        scored on most rows.

    n_rows : ndarray of shape (n_gammas, n_Cs)
        The number of rows, training and test together, that each score is based on; 0 if the
        search always used all rows.

    best : tuple of two int
        The cell of the best candidate.

    best_score : float
        The score of the best candidate.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.tuning import ScoreMap, tune
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=20, random_state=0)
    >>> found = ScoreMap.of(tune(clf, X, y, C=[0.1, 1.0, 10.0], gamma=[0.01, 1.0]))
    >>> found.scores.shape, found.gamma[found.best[0]]
    ((2, 3), 1.0)
    """

    C: list[Any]
    gamma: list[Any]
    scores: NDArray[np.float64]
    n_rows: NDArray[np.intp]
    best: tuple[int, int]
    best_score: float

    @property
    def is_final(self) -> NDArray[np.bool_]:
        """Which cells were scored in the last round, on the largest number of rows."""
        return np.asarray(self.n_rows == self.n_rows.max())

    @property
    def low(self) -> float:
        """The score at which colors begin: the lower quartile."""
        return float(np.nanquantile(self.scores, LOWEST_COLOR))

    @classmethod
    def of(cls, search: Any) -> "ScoreMap":
        """Return the scores of a fitted search.

        Parameters
        ----------
        search : GridSearchCV, HalvingGridSearchCV or similar
            The search, over C or gamma or both, of an estimator of pocketsvm or a pipeline that
            ends in one.

        Returns
        -------
        score_map : ScoreMap
            The scores.
        """
        check_is_fitted(search, "cv_results_")
        machine = last_step(search.estimator)
        c_name, gamma_name = (parameter_name(search.estimator, name) for name in ("C", "gamma"))
        results = search.cv_results_
        if not any(c_name in each or gamma_name in each for each in results["params"]):
            raise ValueError("The search has neither C nor gamma among its parameters.")

        def values(candidate: dict[str, Any]) -> tuple[Any, Any]:
            return candidate.get(c_name, machine.C), candidate.get(gamma_name, machine.gamma)

        tried = [values(candidate) for candidate in results["params"]]
        c, gamma = (sorted(set(each), key=_order) for each in zip(*tried, strict=True))
        cells = [(gamma.index(gamma_value), c.index(c_value)) for c_value, gamma_value in tried]
        scores = np.full((len(gamma), len(c)), np.nan)
        n_rows = np.zeros(scores.shape, dtype=np.intp)
        used = results.get("n_resources", np.zeros(len(cells), dtype=np.intp))
        for cell, score, rows in zip(cells, results["mean_test_score"], used, strict=True):
            if rows > n_rows[cell] or np.isnan(scores[cell]) or score > scores[cell]:
                scores[cell], n_rows[cell] = score, rows
        best_c, best_gamma = values(search.best_params_)
        best = gamma.index(best_gamma), c.index(best_c)
        return cls(c, gamma, scores, n_rows, best, float(search.best_score_))

    def at_border(self) -> Iterator[tuple[str, str]]:
        """Yield "C" and "gamma", with a sentence, if the best value is the first or last tried."""
        for name, values, place in (
            ("C", self.C, self.best[1]),
            ("gamma", self.gamma, self.best[0]),
        ):
            if len(values) > 1 and place in (0, len(values) - 1):
                yield name, f"the best {name} is the {'largest' if place else 'smallest'} one tried"


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
