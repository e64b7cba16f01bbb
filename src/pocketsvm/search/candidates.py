"""Candidates: pairs of gamma and C, the grid that a search begins with, and how they are scored.

A candidate is a plain estimator, fitted to the training rows of a fold: its score is that of a fit.
"""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from .._sklearn import takes_weights
from ..training.settings import SEARCH_CHOICES
from .folds import Fold

# Called with an estimator, rows, targets and weights.
Scorer = Callable[[Any, Any, NDArray[Any], NDArray[Any] | None], float]


class Candidate(NamedTuple):
    """A pair of gamma and C."""

    gamma: float
    C: float

    def times(self, name: str, factor: float) -> "Candidate":
        """Return a candidate one of whose values is multiplied, and rounded to a power of root 2.

        A value that is reached on two ways gets the same bits.
        """
        log = round(2 * math.log2(getattr(self, name) * factor)) / 2
        return self._replace(**{name: 2.0**log})


@dataclass(frozen=True)
class Grid:
    """The values to begin with, ascending, and the limits of others.

    Attributes
    ----------
    gammas, Cs : tuple of float
        The values.

    gamma_step, C_step : float
        The factor between neighbours; one if only the values given are tried.

    centre : Candidate
        The values in the middle of the limits.

    reach : float
        The largest factor between the centre and a value that is tried.

    raised : tuple of str and float
        "gamma" or "C", of which larger values are tried on the folds themselves, and the factor
        between them; one if none are. Copies of folds have smaller budgets, which prefer smaller
        values.
    """

    gammas: tuple[float, ...]
    Cs: tuple[float, ...]
    gamma_step: float
    C_step: float
    centre: Candidate
    reach: float
    raised: tuple[str, float] = ("gamma", 1.0)

    @classmethod
    def of(
        cls,
        gammas: Sequence[float] | None,
        Cs: Sequence[float] | None,
        gamma_unit: float,
        C_unit: float,
    ) -> "Grid":
        """Return the grid of these values; None means the default ones, in these units.

        Units are rounded to powers of two.
        """
        found = []
        units = [2.0 ** round(math.log2(unit)) for unit in (gamma_unit, C_unit)]
        first = SEARCH_CHOICES.first_gammas, SEARCH_CHOICES.first_Cs
        for given, powers, unit in zip((gammas, Cs), first, units, strict=True):
            if given is not None:
                found.append((tuple(sorted({float(value) for value in given})), 1.0))
            else:
                values = tuple(unit * 2.0**power for power in powers)
                found.append((values, values[1] / values[0]))
        (some_gammas, gamma_step), (some_Cs, C_step) = found
        reach = 2.0**SEARCH_CHOICES.reach
        raised = "gamma", math.sqrt(gamma_step)
        return cls(some_gammas, some_Cs, gamma_step, C_step, Candidate(*units), reach, raised)

    def candidates(self) -> list[Candidate]:
        """Return all candidates of the grid."""
        return [Candidate(gamma, C) for gamma in self.gammas for C in self.Cs]

    def around(self, best: Candidate, share: float) -> list[Candidate]:
        """Return the neighbours of a candidate, at a share of the distance in the grid."""
        found = []
        for name, step in (("gamma", self.gamma_step), ("C", self.C_step)):
            for power in (-share, share) if step != 1.0 else ():
                found.append(best.times(name, step**power))
        return [each for each in found if self.reaches("gamma", each) and self.reaches("C", each)]

    def reaches(self, name: str, candidate: Candidate) -> bool:
        """Whether a value of a candidate may be tried."""
        ratio: float = getattr(candidate, name) / getattr(self.centre, name)
        return 1 / self.reach <= ratio <= self.reach

    def at(self, best: Candidate) -> "Grid":
        """Return the grid for another loss, whose best values are close to these ones."""
        gammas = (best.gamma,) if self.gamma_step != 1.0 else self.gammas
        return replace(self, gammas=gammas, Cs=(best.C,) if self.C_step != 1.0 else self.Cs)

    def with_one_gamma(self) -> "Grid":
        """Return the grid for learnt feature scales, which carry the width: gamma is one."""
        raised = "C", math.sqrt(self.C_step)
        return replace(self, gammas=(1.0,), gamma_step=1.0, raised=raised)


@dataclass(frozen=True)
class Result:
    """The score of a candidate on a fold.

    Attributes
    ----------
    score : float
        The score of the held-out rows.

    fit_seconds, score_seconds : float
        The time for training and for scoring.
    """

    score: float
    fit_seconds: float
    score_seconds: float

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The score and the times."""
        return self.score, self.fit_seconds, self.score_seconds


class NeedsProbabilitiesError(ValueError):
    """The score needs probabilities, which the model does not have."""


def weighted_scorer(machine: Any, scoring: Any) -> Scorer:
    """Return the score to maximise; it counts weights if it can."""
    scorer = check_scoring(machine, scoring=scoring)
    weighted = scoring is None or takes_weights(scorer)

    def score(estimator: Any, X: Any, y: Any, weights: Any) -> float:
        counted = {} if weights is None or not weighted else {"sample_weight": weights}
        try:
            return float(scorer(estimator, X, y, **counted))
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise NeedsProbabilitiesError(
                f"scoring={scoring!r} needs probabilities, which only loss='log_loss' gives."
            ) from error

    return score


def evaluate(machine: Any, fold: Fold, scorer: Scorer) -> Result:
    """Fit the estimator to the training rows of a fold, and score the held-out rows."""
    training, held = fold.parts()
    if fold.scales is not None:  # learnt once for all candidates
        machine = copy.copy(machine).set_params(feature_scales=fold.scales)
    begin = time.perf_counter()
    fitted = copy.copy(machine).fit(training.rows.X, training.y, sample_weight=training.weights)
    end = time.perf_counter()
    score = scorer(fitted, held.rows.X, held.y, held.weights)
    return Result(score, end - begin, time.perf_counter() - end)
