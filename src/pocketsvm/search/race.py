"""The search: which values of C and gamma to try next, and which to drop.

With many rows, candidates are compared on small copies of folds first. A small copy has a share of
the rows and of the budget, so that each vector stands for as many rows as in the last fit. The grid
runs on the smallest copies, what lies between its values on larger ones, and the best candidates on
all folds: the fewer rows, the more of them. Every score is that of a fit.

Learnt feature scales are raced on a few folds, because each fold has to learn its own. Only the
best candidate of such a race is scored on the others, and only if it is better than one gamma.
"""

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

    def mean(self, candidate: Candidate) -> float:
        """Return the mean score; minus infinity if it is not a finite number."""
        mean = float(np.mean([result.score for result in self.results[candidate]]))
        return mean if math.isfinite(mean) else -math.inf

    def ordered(self) -> list[Candidate]:
        """Sort the candidates by their mean scores, the best first.

        Among equals, the one in the middle of their values comes first.
        """
        means = {each: self.mean(each) for each in self.results}
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
        copied = first_of(folds)
        for share, of_many in zip(choices.shares, choices.shares_of_many, strict=True):
            # The larger copies are larger at the least, too.
            least = max(choices.few_rows / (2 * choices.shares[0]), min(n_rows, choices.many_rows))
            copies = [fold.copy(of_many, int(share * least), most_rows, seed) for fold in copied]
            self.levels.insert(-1, Level(copies))

    @property
    def last(self) -> Level:
        """The folds themselves."""
        return self.levels[-1]

    def finish(self, best: Candidate, others: Sequence[Fold]) -> None:
        """Score the winner on folds that had no part in the race, too."""
        folds, results = [*self.last.folds, *others], self.last.results[best]
        if others:
            results = results + self._found(others, [best])
        self.levels.append(Level(folds, {best: results}))

    def decide(self) -> Candidate:
        """Run the race and return the winner."""
        if len(self.levels) == 1:
            self._explored(self.last)
            self._between(self.last)
            self._widened(self.last)
            return self.last.ordered()[0]
        first, second, last = self.levels
        self._explored(first)
        carried = first.ordered()[: self.carried]
        if self.grid.centre in first.results:
            carried = list(dict.fromkeys([*carried, self.grid.centre]))
        self._score(second, carried)
        self._between(second)
        self._score(last, second.ordered()[: self.carried])
        self._widened(last)
        return last.ordered()[0]

    def _widened(self, level: Level) -> None:
        """Score other gammas and C as long as they are better, if copies had only one gamma."""
        for name, step in self.grid.last_steps:
            for factor in (1 / step, step):
                best = level.ordered()[0]
                while level.ordered()[0] == best:
                    best = best.times(name, factor)
                    if best in level.results or not self.grid.reaches(name, best):
                        break
                    self._score(level, [best])

    def _explored(self, level: Level) -> None:
        """Score the grid, and what lies beyond it until the best candidate has all neighbours."""
        new = self.grid.candidates()
        while new:
            self._score(level, new)
            new = self._new_around(level, 1.0)

    def _between(self, level: Level) -> None:
        """Score values between those of the grid, around the best candidate."""
        if new := self._new_around(level, 0.5):
            self._score(level, new)

    def _new_around(self, level: Level, share: float) -> list[Candidate]:
        """Return the neighbours of the best candidate that were not tried."""
        around = self.grid.around(level.ordered()[0], share)
        return [each for each in around if each not in level.results]

    def _score(self, level: Level, candidates: Sequence[Candidate]) -> None:
        """Score candidates on the folds of a level."""
        found = self._found(level.folds, candidates)
        n_folds = len(level.folds)
        for k, candidate in enumerate(candidates):
            level.results[candidate] = found[k * n_folds : (k + 1) * n_folds]
        if not any(level.mean(each) > -math.inf for each in level.results):
            number = next(
                fold.number + 1
                for k, fold in enumerate(level.folds)
                if not math.isfinite(found[k].score)
            )
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
