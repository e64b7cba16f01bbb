"""A race of candidates: which values of C and gamma to try next, and which to drop.

A coarse grid is screened on a sample of one fold. Where the best candidate lies at the border, the
grid grows. Then the survivors run fold by fold, and those that cannot win are dropped. At last,
values between those of the grid are tried around the best.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .folds import Fold, Result

Array = NDArray[Any]

# The default grid: powers of two for C, and for gamma in units of "scale".
C_STEP, GAMMA_STEP = 3, 2
C_POWERS = range(-4, 9, C_STEP)
GAMMA_POWERS = range(-6, 5, GAMMA_STEP)
# How far the grid may grow, as powers of two.
C_LIMITS = (-13, 17)
GAMMA_LIMITS = (-12, 12)
# Screening sees this many training rows for each vector, or this many in all. It is skipped if the
# fold has fewer than twice as many. So many candidates survive it at least: the best C and gamma
# for a sample need not be the best for all rows.
SCREENED_PER_VECTOR = 8
LEAST_SCREENED = 2000
LEAST_SURVIVORS = 6
# A candidate is dropped if it is this many standard errors worse than the best one, by its scores
# on at least this many parts of held-out rows.
STANDARD_ERRORS = 2.0
LEAST_PARTS = 4
# The most candidates that go on to the next fold, if folds have this many training rows. With fewer
# rows, one fold tells too little to drop more candidates than are beaten.
SURVIVORS = (8, 4, 3)
LEAST_ROWS = 2000


class Candidate(NamedTuple):
    """A pair of gamma and C."""

    gamma: float
    C: float


@dataclass(frozen=True)
class Grid:
    """The values to begin with, ascending, and whether the search may try others.

    Attributes
    ----------
    gammas, Cs : tuple of float
        The values.

    free_gammas, free_cs : tuple of float or None
        The limits within which the search may try others; None if only those given are tried.
    """

    gammas: tuple[float, ...]
    Cs: tuple[float, ...]
    free_gammas: tuple[float, float] | None
    free_cs: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        gammas: Sequence[float] | None,
        Cs: Sequence[float] | None,
        gamma_unit: float,
        C_unit: float,
    ) -> "Grid":
        """Return the grid of these values; None means the default values, in these units.

        Units are rounded to powers of two.
        """
        gamma_power, C_power = round(math.log2(gamma_unit)), round(math.log2(C_unit))
        found_gammas, free_gammas = _values(gammas, GAMMA_POWERS, GAMMA_LIMITS, gamma_power)
        found_Cs, free_cs = _values(Cs, C_POWERS, C_LIMITS, C_power)
        return cls(found_gammas, found_Cs, free_gammas, free_cs)

    def candidates(self) -> list[Candidate]:
        """Return all candidates of the grid."""
        return [Candidate(gamma, C) for gamma in self.gammas for C in self.Cs]


def _values(
    given: Sequence[float] | None, powers: range, limits: tuple[int, int], unit: int
) -> tuple[tuple[float, ...], tuple[float, float] | None]:
    if given is not None:
        return tuple(sorted({float(value) for value in given})), None
    low, high = (2.0 ** (limit + unit) for limit in limits)
    return tuple(2.0 ** (power + unit) for power in powers), (low, high)


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


# Evaluates candidates on a fold: those of one gamma together.
Evaluate = Callable[[Fold, float, Sequence[float]], list[Result]]


class Race:
    """The course of a search.

    Parameters
    ----------
    grid : Grid
        The values to begin with.

    folds : sequence of Fold
        The folds.

    run : callable
        Called with a fold and candidates, grouped by gamma; returns their results.

    say : callable
        Called with a line of text for each round.

    seed : int
        Draws the sample of the screening.
    """

    def __init__(
        self,
        grid: Grid,
        folds: Sequence[Fold],
        run: Callable[[Fold, dict[float, list[float]]], dict[Candidate, Result]],
        say: Callable[[str], None],
        seed: int,
    ) -> None:
        self.grid, self.folds, self.say, self.seed = grid, folds, say, seed
        self._run = run
        self.board = Board(len(folds))
        # Tasks, one for each gamma of a round: those done, those planned, and the share done.
        self._n_done, self._n_planned, self.progress = 0, 0, 0.0
        self._refining = False

    def decide(self, budget: int) -> Candidate:
        """Run the race and return the winner."""
        alive = self._screened(budget)
        numbers: list[int] = []
        for fold in self.folds:
            numbers.append(fold.number)
            self._score(fold, alive)
            alive = self.board.survivors(alive, numbers, self._most(len(numbers)))
            self._check_scores(alive[0], fold)
        self._refining = True
        return self._refined(alive[0])

    def _most(self, n_folds: int) -> int:
        """Return how many candidates may go on after this many folds."""
        if self.folds[0].rows.n_rows < LEAST_ROWS:
            return sys.maxsize
        return SURVIVORS[min(n_folds, len(SURVIVORS)) - 1]

    def task_ended(self) -> None:
        """Count a task; `progress` is the share of the search that is done, by an estimate."""
        self._n_done += 1
        self.progress = max(self.progress, min(1.0, self._n_done / self._n_planned))

    def run(self, fold: Fold, candidates: Sequence[Candidate]) -> dict[Candidate, Result]:
        """Run candidates on a fold."""
        groups, n_folds = by_gamma(candidates), len(self.folds)
        # About half of the values of gamma survive a fold, and three of them are refined.
        n_refined = 3 * n_folds * (self.grid.free_gammas is not None) * (not self._refining)
        n_later = (n_folds - 1 - fold.number) * -(-len(groups) // 2)
        self._n_planned = self._n_done + len(groups) + n_later + n_refined
        return self._run(fold, groups)

    def _score(self, fold: Fold, candidates: Iterable[Candidate]) -> None:
        """Score the candidates that have no score on the fold yet."""
        board = self.board
        missing = [c for c in candidates if fold.number not in board.results.get(c, {})]
        if missing:
            self.say(
                f"fold {fold.number + 1} of {len(self.folds)}: "
                f"{len(missing)} candidate{'s' * (len(missing) > 1)}"
            )
            for candidate, result in self.run(fold, missing).items():
                board.add(candidate, fold.number, result)

    def _check_scores(self, best: Candidate, fold: Fold) -> None:
        if not math.isfinite(self.board.results[best][fold.number].score):
            raise ValueError(
                f"No candidate has a finite score on fold {fold.number + 1}. Choose another "
                "`scoring`, or another `cv` whose held-out rows have all classes."
            )

    # --- screening -----------------------------------------------------------------------------

    def _screened(self, budget: int) -> list[Candidate]:
        """Return the candidates that are worth all rows."""
        fold, candidates = self.folds[0], self.grid.candidates()
        n_rows = max(SCREENED_PER_VECTOR * budget, LEAST_SCREENED)
        sampled = fold.rows.n_rows >= 2 * n_rows and len(candidates) > 1
        board = Board(1) if sampled else self.board
        few = fold.few(n_rows, self.seed) if sampled else fold
        pending = candidates
        while pending:
            what = f"{few.rows.n_rows:,} rows" if sampled else f"fold 1 of {len(self.folds)}"
            self.say(f"{what}: {len(pending)} candidates")
            for candidate, result in self.run(few, pending).items():
                board.add(candidate, 0, result)
            pending = self._beyond(board)
        if sampled:
            self.board.screened = {c: found[0] for c, found in board.results.items()}
        least = LEAST_SURVIVORS if sampled else 1
        alive = board.survivors(board.results, [0], self._most(1), least)
        self._check_screened(board, alive[0])
        return alive

    def _check_screened(self, board: Board, best: Candidate) -> None:
        if not math.isfinite(board.results[best][0].score):
            raise ValueError(
                "No candidate has a finite score on the first fold. Choose another `scoring`, or "
                "another `cv` whose held-out rows have all classes."
            )

    def _beyond(self, board: Board) -> list[Candidate]:
        """Return candidates beyond the border of the grid, if the best one lies there."""
        best = board.ordered(board.results, [0])[0]
        gammas = sorted({each.gamma for each in board.results})
        Cs = sorted({each.C for each in board.results})
        new = []
        for factor, edge in ((2.0**-GAMMA_STEP, gammas[0]), (2.0**GAMMA_STEP, gammas[-1])):
            gamma = edge * factor
            if best.gamma == edge and _is_free(gamma, self.grid.free_gammas):
                near = [C for C in Cs if 2.0**-7 <= C / best.C <= 2.0**7]
                new += [Candidate(gamma, C) for C in near]
        for factor, edge in ((2.0**-C_STEP, Cs[0]), (2.0**C_STEP, Cs[-1])):
            C = edge * factor
            if edge == best.C and _is_free(C, self.grid.free_cs):
                near = [g for g in gammas if 2.0**-3 <= g / best.gamma <= 2.0**3]
                new += [Candidate(gamma, C) for gamma in near]
        return new

    # --- refinement ----------------------------------------------------------------------------

    def _refined(self, best: Candidate) -> Candidate:
        """Try values between those of the grid, around the best candidate."""
        new = self._between(best)
        alive, numbers = [best, *new], []
        for fold in self.folds:
            if alive == [best]:
                break
            numbers.append(fold.number)
            self._score(fold, alive)
            alive = self.board.survivors(alive, numbers, self._most(len(SURVIVORS)))
            if best not in alive:  # it has its scores on all folds: it costs nothing
                alive.append(best)
        complete = [each for each in {*alive, best} if each in self.board.complete()]
        return self.board.ordered(complete, [fold.number for fold in self.folds])[0]

    def _between(self, best: Candidate) -> list[Candidate]:
        moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        found = [
            Candidate(_times(best.gamma, i * GAMMA_STEP / 2), _times(best.C, j * C_STEP / 2))
            for i, j in moves
        ]
        return [each for each in found if self._is_allowed(each, best)]

    def _is_allowed(self, candidate: Candidate, best: Candidate) -> bool:
        """Tell whether a candidate is new, and not beyond the limits."""
        return (
            candidate not in self.board.complete()
            and (candidate.gamma == best.gamma or _is_free(candidate.gamma, self.grid.free_gammas))
            and (candidate.C == best.C or _is_free(candidate.C, self.grid.free_cs))
        )


def by_gamma(candidates: Iterable[Candidate]) -> dict[float, list[float]]:
    """Group candidates: for each gamma, the ascending values of C."""
    groups: dict[float, list[float]] = {}
    for gamma, C in sorted(candidates):
        groups.setdefault(gamma, []).append(C)
    return groups


def _times(value: float, power: float) -> float:
    """Multiply a value by a power of two; the same product always gets the same bits."""
    return value if not power else 2.0 ** (round(2 * (math.log2(value) + power)) / 2)


def _is_free(value: float, limits: tuple[float, float] | None) -> bool:
    return limits is not None and limits[0] <= value <= limits[1]
