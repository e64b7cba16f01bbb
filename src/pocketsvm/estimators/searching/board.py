"""The results of all candidates, and which of them are the best."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .candidates import Result
from .grid import C_STEP, GAMMA_STEP, Candidate
from .surface import smoothed

# A candidate is dropped if it is this many standard errors worse than the best one, by its scores
# on at least this many parts of held-out rows.
STANDARD_ERRORS = 2.0
LEAST_PARTS = 4
# With few rows, losses are smoothed over candidates at most this many steps of the grid away.
SMOOTHING_STEPS = 1.3


@dataclass(eq=False)
class Board:
    """The results of all candidates: on every fold, and on the sample that screened them."""

    n_folds: int
    results: dict[Candidate, dict[int, Result]] = field(default_factory=dict)
    screened: dict[Candidate, Result] = field(default_factory=dict)

    def add(self, candidate: Candidate, fold: int, result: Result) -> None:
        """Add the result of a candidate on a fold."""
        self.results.setdefault(candidate, {})[fold] = result

    def ordered(self, candidates: Iterable[Candidate], folds: Sequence[int]) -> list[Candidate]:
        """Sort candidates by their mean score on some folds, the best first.

        Among equals, the one with the smaller C, then gamma, comes first: it is the smoother model.
        """
        return sorted(candidates, key=lambda each: (-self.mean(each, folds), each.C, each.gamma))

    def mean(self, candidate: Candidate, folds: Sequence[int]) -> float:
        """Return the mean score on some folds; minus infinity if one is not finite."""
        scores = [self.results[candidate][fold].score for fold in folds]
        return float(np.mean(scores)) if np.isfinite(scores).all() else -math.inf

    def is_beaten(self, candidate: Candidate, best: Candidate, folds: Sequence[int]) -> bool:
        """Tell whether a candidate is worse than the best one by more than chance explains."""
        if self.mean(candidate, folds) == -math.inf:
            return self.mean(best, folds) > -math.inf
        lead = np.concatenate(
            [self.results[best][k].parts - self.results[candidate][k].parts for k in folds]
        )
        lead = lead[np.isfinite(lead)]
        if len(lead) < LEAST_PARTS:
            return False
        error = lead.std(ddof=1) / math.sqrt(len(lead))
        return bool(lead.mean() > STANDARD_ERRORS * error)

    def log_loss(self, candidate: Candidate, folds: Sequence[int]) -> float:
        """Return the log loss on some folds, with the best slope; NaN if it is not known."""
        losses = [self.results[candidate][fold].log_losses for fold in folds]
        known = [each for each in losses if each is not None]
        return float(np.mean(known, axis=0).min()) if len(known) == len(losses) else math.nan

    def best(self, candidates: Iterable[Candidate], folds: Sequence[int]) -> Candidate:
        """Return the best candidate on some folds.

        With few rows, the accuracies of many candidates differ by chance alone. Among those that
        the one with the highest accuracy does not beat, the one with the lowest log loss, smoothed
        over its neighbours, is the best. It depends less on chance: it counts how far decision
        values are on the right side.
        """
        ordered = self.ordered(candidates, folds)
        losses = self.smooth_losses(ordered, folds)
        rivals = [each for each in losses if not self.is_beaten(each, ordered[0], folds)]
        return min(rivals, key=losses.__getitem__, default=ordered[0])

    def smooth_losses(
        self, candidates: Iterable[Candidate], folds: Sequence[int]
    ) -> dict[Candidate, float]:
        """Return the log losses on some folds, smoothed over neighbours, where they are known."""
        losses = {each: self.log_loss(each, folds) for each in candidates}
        known = [each for each, loss in losses.items() if math.isfinite(loss)]
        units = SMOOTHING_STEPS * np.array([GAMMA_STEP, C_STEP])
        points = np.log2(np.reshape(known, (-1, 2))) / units
        smooth = smoothed(points, np.array([losses[each] for each in known]))
        return dict(zip(known, smooth.tolist(), strict=True))

    def survivors(
        self, candidates: Iterable[Candidate], folds: Sequence[int], most: int, least: int = 1
    ) -> list[Candidate]:
        """Return the candidates that may still win, the best first."""
        ordered = self.ordered(candidates, folds)
        rest = [each for each in ordered[least:] if not self.is_beaten(each, ordered[0], folds)]
        return (ordered[:least] + rest)[:most]

    def complete(self) -> list[Candidate]:
        """Return the candidates that have a result on every fold."""
        return [each for each, found in self.results.items() if len(found) == self.n_folds]
