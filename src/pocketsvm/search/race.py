"""The search: which values of C and gamma to try next, and which to drop.

With many rows, candidates are compared on small copies of folds first. A small copy has a share of
the rows and of the budget, so that each vector stands for as many rows as in the last fit. The best
candidates are then scored on the folds: the fewer rows, the more candidates. Copies have smaller
budgets, which prefer wider kernels: larger values of gamma are tried on the folds, and larger ones
of C with learnt feature scales, whose gamma is one. Every score is that of a fit.

Many candidates are scored on one fold after another, and after each, the worse half is dropped.

A race runs on the first folds, which hold out enough rows to compare. Only the best candidate is
scored on the others; with learnt feature scales, only if it is not clearly worse than one gamma.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..training.settings import SEARCH_CHOICES
from .candidates import Candidate, Grid, Result
from .folds import Fold, first_of

# A candidate and the fold to score it on.
Pair = tuple[Candidate, Fold]
# Called with a line of text and pairs; returns their results.
Run = Callable[[str, Sequence[Pair]], list[Result]]


@dataclass(eq=False)
class Level:
    """Candidates that are compared on the same folds, or on copies of some with a share of them."""

    folds: Sequence[Fold]
    results: dict[Candidate, list[Result]] = field(default_factory=dict)

    def mean(self, candidate: Candidate, n_folds: int | None = None) -> float:
        """Return the mean score of the first folds; minus infinity if it is not a finite number."""
        mean = float(np.mean([result.score for result in self.results[candidate][:n_folds]]))
        return mean if math.isfinite(mean) else -math.inf

    def n_seen(self, candidate: Candidate) -> int:
        """Return the number of folds that a candidate has been scored on."""
        return len(self.results.get(candidate, []))

    def best_of(self, candidates: Sequence[Candidate], n_kept: int) -> list[Candidate]:
        """Return those that are among the best of all on the folds that they have seen."""
        n_seen = self.n_seen(candidates[0])
        others = [each for each in self.results if self.n_seen(each) >= n_seen]
        least = sorted(self.mean(each, n_seen) for each in others)[-n_kept:][0]
        return [each for each in candidates if self.mean(each) >= least]

    def ordered(self) -> list[Candidate]:
        """Sort the candidates that have seen all folds by their mean scores, the best first.

        Among equals, the one in the middle of their values comes first.
        """
        n_folds = len(self.folds)
        means = {each: self.mean(each) for each in self.results if self.n_seen(each) == n_folds}
        ordered = sorted(means, key=lambda each: (-means[each], each))
        best = middle_of([each for each in ordered if means[each] == means[ordered[0]]])
        return [best, *(each for each in ordered if each != best)]


def middle_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate whose values are in the middle of all: that of gamma, then that of C."""
    for k in range(2):
        values = np.log([each[k] for each in candidates])
        distances = np.abs(values - (values.min() + values.max()) / 2).round(9)
        near = distances == distances.min()
        candidates = [each for each, is_near in zip(candidates, near, strict=True) if is_near]
    return min(candidates)


class Race:
    """The course of a search.

    Parameters
    ----------
    grid : Grid
        The values to begin with.

    folds : sequence of Fold
        The folds.

    run : callable
        Scores candidates on folds.

    most_rows : int
        Small copies of folds have shares of at most so many rows.

    seed : int
        Draws the small copies of folds.

    Attributes
    ----------
    levels : list of Level
        The levels; the last one has the folds themselves.
    """

    def __init__(
        self,
        grid: Grid,
        folds: Sequence[Fold],
        run: Run,
        most_rows: int,
        seed: int,
    ) -> None:
        self.grid, self._run, choices = grid, run, SEARCH_CHOICES
        self.levels = [Level(folds)]
        n_rows = min(len(fold.train) for fold in folds)
        self.carried = 1 + choices.carried_rows // n_rows
        if n_rows < choices.few_rows or len(grid.candidates()) <= self.carried:
            return
        for share in choices.shares:
            least = int(share / choices.shares[0] * choices.few_rows / 2)
            copies = [fold.copy(share, least, most_rows, seed) for fold in first_of(folds)]
            if copies[0].share < 1.0:
                self.levels.insert(-1, Level(copies))

    @property
    def last(self) -> Level:
        """The folds themselves."""
        return self.levels[-1]

    def finish(self, best: Candidate, others: Sequence[Fold]) -> None:
        """Score the winner on folds that had no part in the race, too."""
        if others:
            results = self.last.results[best] + self._found(others, [best])
            self.levels.append(Level([*self.last.folds, *others], {best: results}))

    def decide(self, least: Sequence[float] = ()) -> Candidate:
        """Run the race and return the winner.

        Parameters
        ----------
        least : sequence of float
            The scores of the best candidate of another race on the folds. Without small copies, a
            race whose first candidates are worse goes no further.
        """
        first, last = self.levels[0], self.levels[-1]
        self._score(first, self.grid.candidates())
        best = first.ordered()[0]
        if first is last and least and first.mean(best) < float(np.mean(least)):
            return best
        self._explored(first)
        for smaller, level in itertools.pairwise(self.levels[:-1]):
            self._score(level, self._carried(smaller))
        self._between(self.levels[-2] if first is not last else last)
        if first is not last:
            self._score(last, self.levels[-2].ordered()[: self.carried])
            self._raised(last)
        return last.ordered()[0]

    def _carried(self, level: Level) -> list[Candidate]:
        """Return the best candidates of a level, and the one in the middle of the grid."""
        best = level.ordered()[: self.carried]
        if self.grid.centre in level.results:
            best = list(dict.fromkeys([*best, self.grid.centre]))
        return best

    def _explored(self, level: Level) -> None:
        """Score what lies beyond the grid until the best candidate has all neighbours."""
        while new := self._new_around(level, 1.0):
            self._score(level, new)

    def _raised(self, level: Level) -> None:
        """Score larger values of gamma, or of C, as long as they are better."""
        name, step = self.grid.raised
        best = level.ordered()[0]
        while step != 1.0 and best == level.ordered()[0]:
            best = best.times(name, step)
            if best in level.results or not self.grid.reaches(name, best):
                return
            self._score(level, [best])

    def _between(self, level: Level) -> None:
        """Score values between those of the grid, around the best candidate."""
        if new := self._new_around(level, 0.5):
            self._score(level, new)

    def _new_around(self, level: Level, share: float) -> list[Candidate]:
        """Return the neighbours of the best candidate that were not tried."""
        around = self.grid.around(level.ordered()[0], share)
        return [each for each in around if each not in level.results]

    def _score(self, level: Level, candidates: Sequence[Candidate]) -> None:
        """Score candidates on the folds of a level, as long as they are among the best."""
        remaining, start = list(candidates), 0
        level.results |= {each: [] for each in remaining}
        while remaining and start < len(level.folds):
            end = start + 1 if len(remaining) > self.carried else len(level.folds)
            found = self._found(level.folds[start:end], remaining)
            for k, candidate in enumerate(remaining):
                level.results[candidate] += found[k * (end - start) : (k + 1) * (end - start)]
            remaining = level.best_of(remaining, max(self.carried, math.ceil(len(remaining) / 2)))
            start = end
        if not any(level.mean(each) > -math.inf for each in level.results):
            scores = [result.score for result in level.results[candidates[0]]]
            number = level.folds[int(np.argmin(np.isfinite(scores)))].number + 1
            classifies = level.folds[0].whole.classifies
            raise ValueError(
                f"No candidate has a finite score on fold {number}. Choose another `scoring` or "
                f"another `cv`{' whose held-out rows have all classes' * classifies}."
            )

    def _found(self, folds: Sequence[Fold], candidates: Sequence[Candidate]) -> list[Result]:
        """Return the scores of candidates, each on all of these folds."""
        n, n_folds = len(candidates), len(folds)
        message = (
            f"{n} candidate{'s' * (n > 1)} on {n_folds} fold{'s' * (n_folds > 1)} of "
            f"{len(folds[0].train):,} training rows"
        )
        return self._run(message, [(each, fold) for each in candidates for fold in folds])
