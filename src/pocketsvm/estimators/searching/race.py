"""A race of candidates: which values of C and gamma to try next, and which to drop.

A coarse grid is screened on a sample of one fold. Where the best candidate lies at the border, the
grid grows. Then the survivors run fold by fold, and those that cannot win are dropped. Values
between those of the grid are tried around the best: after the first folds if there are many rows,
else at last, where the grid may grow once more.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .board import Board
from .candidates import Result
from .folds import FoldGroup
from .grid import C_STEP, GAMMA_STEP, Candidate, Grid

# Screening sees this many training rows for each vector, or this many in all. With many outputs,
# which take more time, it sees fewer, and candidates have half the vectors. It is skipped if the
# fold has fewer than a multiple of these rows. So many candidates survive it at least: the best C
# and gamma for a sample need not be the best for all rows.
SCREENED_PER_VECTOR = 8
MANY_OUTPUTS, SCREENED_WITH_MANY = 5, 4
LEAST_SCREENED = 2000
WORTH_SCREENING = 1.5
LEAST_SURVIVORS = 5
# The stages of a search after the first one, for an estimate of the time left.
SCREENING, REFINING, MOVING = range(3)
# The most candidates that go on to the next fold. With few rows, one fold tells too little to drop
# more candidates than are beaten.
SURVIVORS = (6, 3, 2)


# The results of candidates on folds.
Found = dict[tuple[Candidate, int], Result]


class Race:
    """The course of a search.

    Parameters
    ----------
    grid : Grid
        The values to begin with.

    groups : sequence of FoldGroup
        The folds.

    run : callable
        Called with a group of folds and candidates, grouped by gamma; returns their results.

    say : callable
        Called with a line of text for each round.

    seed : int
        Draws the sample of the screening.
    """

    def __init__(
        self,
        grid: Grid,
        groups: Sequence[FoldGroup],
        run: Callable[[FoldGroup, dict[float, list[float]]], Found],
        say: Callable[[str], None],
        seed: int,
    ) -> None:
        self.grid, self.groups, self.say, self.seed = grid, groups, say, seed
        self._run = run
        self.board = Board(sum(len(group.held) for group in groups))
        # Tasks, one for each gamma and fold: those done, those planned, and the share done. One on
        # a sample counts less.
        self._n_done, self._n_planned, self._size, self.progress = 0.0, 0.0, 1.0, 0.0
        self._stage = SCREENING
        # Folds that share vectors leave them where they are. With many outputs, the final fit does.
        few_outputs = groups[0].targets.n_problems < MANY_OUTPUTS
        self._is_shared = groups[0].training is not None
        self._moves = self._is_shared and few_outputs

    def decide(self, budget: int) -> Candidate:
        """Run the race and return the winner."""
        alive = self._screened(budget)
        numbers: list[int] = []
        for group in self.groups:
            numbers += group.numbers
            self._score(group, alive)
            if self._is_shared and numbers == group.numbers:
                # The first folds have many held-out rows: they tell where to look.
                self._stage = REFINING
                best = self.board.ordered(alive, numbers)[0]
                alive += self._around(best, group, numbers)
            alive = self.board.survivors(alive, numbers, self._most(len(numbers)))
            self._check_scores(self.board, alive[0], group.numbers)
        best = self.board.best(self.board.complete(), numbers)
        if not self._is_shared:
            self._stage = REFINING
            best = self._refined(best)
        self._stage = MOVING
        return self._moved(best) if self._moves else best

    def _most(self, n_folds: int) -> int:
        """Return how many candidates may go on after this many folds."""
        if self.groups[0].has_few_rows:
            return sys.maxsize
        return SURVIVORS[min(n_folds, len(SURVIVORS)) - 1]

    def task_ended(self) -> None:
        """Count a task; `progress` is the share of the search that is done, by an estimate."""
        self._n_done += self._size
        self.progress = max(self.progress, min(1.0, self._n_done / self._n_planned))

    def run(self, group: FoldGroup, candidates: Sequence[Candidate]) -> Found:
        """Run candidates on a group of folds."""
        Cs_of, n_folds = by_gamma(candidates), self.board.n_folds
        self._size = len(group.held) * group.n_rows / self.groups[0].n_rows
        # About half of the values of gamma survive a fold, and three of them are refined.
        n_later = (n_folds - 1 - group.numbers[-1]) * -(-len(Cs_of) // 2)
        if self._stage < REFINING and self.grid.free_gammas is not None:
            n_later += 3 * n_folds
        if self._stage < MOVING and self._moves:
            n_later += n_folds
        self._n_planned = self._n_done + len(Cs_of) * self._size + n_later
        return self._run(group, Cs_of)

    def _score(self, group: FoldGroup, candidates: Iterable[Candidate]) -> None:
        """Score the candidates that have no score on the folds yet."""
        board, last = self.board, group.numbers[-1]
        missing = [c for c in candidates if last not in board.results.get(c, {})]
        if missing:
            self.say(f"{self._what(group)}: {_counted(len(missing), 'candidate')}")
            for (candidate, fold), result in self.run(group, missing).items():
                board.add(candidate, fold, result)

    def _what(self, group: FoldGroup) -> str:
        first, last = group.numbers[0] + 1, group.numbers[-1] + 1
        what = f"fold {first}" if first == last else f"folds {first} to {last}"
        return f"{what} of {self.board.n_folds}"

    def _check_scores(self, board: Board, best: Candidate, folds: Iterable[int]) -> None:
        """Refuse a score that is not a finite number for any candidate."""
        for fold in folds:
            if not math.isfinite(board.results[best][fold].score):
                classifies = getattr(self.groups[0].targets, "classes", None) is not None
                raise ValueError(
                    f"No candidate has a finite score on fold {fold + 1}. Choose another `scoring` "
                    f"or another `cv`{' whose held-out rows have all classes' * classifies}."
                )

    # --- screening -----------------------------------------------------------------------------

    def _screened(self, budget: int) -> list[Candidate]:
        """Return the candidates that are worth all rows."""
        first, candidates = self.groups[0], self.grid.candidates()
        many = first.targets.n_problems >= MANY_OUTPUTS
        per_vector = SCREENED_WITH_MANY if many else SCREENED_PER_VECTOR
        n_rows = max(per_vector * budget, LEAST_SCREENED)
        sampled = first.n_rows >= WORTH_SCREENING * n_rows and len(candidates) > 1
        board = Board(1) if sampled else self.board
        few = first.few(n_rows, self.seed, budget // 2 if many else budget) if sampled else first
        pending = candidates
        while pending:
            what = f"{few.rows.n_rows:,} rows" if sampled else self._what(first)
            self.say(f"{what}: {_counted(len(pending), 'candidate')}")
            for (candidate, fold), result in self.run(few, pending).items():
                board.add(candidate, fold, result)
            pending = self._beyond(board, [0])
        if sampled:
            self.board.screened = {c: found[0] for c, found in board.results.items()}
        least = LEAST_SURVIVORS if sampled else 1
        alive = board.survivors(board.results, [0], self._most(1), least)
        self._check_scores(board, alive[0], [0])
        return alive

    def _beyond(self, board: Board, folds: Sequence[int]) -> list[Candidate]:
        """Return candidates beyond the border of the grid, if the best one lies there."""
        scored = [each for each, found in board.results.items() if set(folds) <= set(found)]
        best = board.best(scored, folds)
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
        """Try candidates between those of the grid, around the best one."""
        folds = range(self.board.n_folds)
        while beyond := self._beyond(self.board, folds):
            best = self._challenged(best, beyond)
        if not self.groups[0].has_few_rows:
            return self._challenged(best, self._between(best), refines=True)
        while others := self._neighbours(best) or self._beyond(self.board, folds):
            best = self._challenged(best, others)
        return best

    def _neighbours(self, best: Candidate) -> list[Candidate]:
        """Return the candidates at most half a step away that were not tried yet."""
        gammas, Cs = (
            [_times(value, i * step / 2) for i in (-1, 0, 1)]
            for value, step in zip(best, (GAMMA_STEP, C_STEP), strict=True)
        )
        found = [Candidate(gamma, C) for gamma in gammas for C in Cs]
        return [
            each
            for each in found
            if each not in self.board.results and self._is_allowed(each, best)
        ]

    def _challenged(
        self, best: Candidate, others: Sequence[Candidate], *, refines: bool = False
    ) -> Candidate:
        """Run other candidates fold by fold against the best one, and return the winner."""
        alive = [best, *others]
        numbers: list[int] = []
        for group in self.groups:
            if alive == [best]:
                break
            first, numbers = not numbers, numbers + group.numbers
            self._score(group, alive)
            if first and refines and (corner := self._corner(best, alive, numbers)):
                self._score(group, corner)
                alive += corner
            alive = self.board.survivors(alive, numbers, self._most(len(SURVIVORS)))
            if best not in alive:  # it has its scores on all folds: it costs nothing
                alive.append(best)
        return self.board.best(self.board.complete(), range(self.board.n_folds))

    def _around(self, best: Candidate, group: FoldGroup, folds: Sequence[int]) -> list[Candidate]:
        """Score candidates around the best one on a group of folds, and return them."""
        found = self._between(best)
        self._score(group, found)
        corner = self._corner(best, [best, *found], folds)
        self._score(group, corner)
        return found + corner

    def _between(self, best: Candidate) -> list[Candidate]:
        """Return candidates with another gamma or another C, half a step away."""
        found = [best._replace(gamma=_times(best.gamma, i * GAMMA_STEP / 2)) for i in (-1, 1)]
        found += [best._replace(C=_times(best.C, i * C_STEP / 2)) for i in (-1, 1)]
        return [each for each in found if self._is_allowed(each, best)]

    def _corner(
        self, best: Candidate, tried: Sequence[Candidate], folds: Sequence[int]
    ) -> list[Candidate]:
        """Return the candidate with another gamma and another C, if both are better alone."""
        better = self.board.ordered(tried, folds)
        better = better[: better.index(best)]
        gammas = [each.gamma for each in better if each.gamma != best.gamma]
        Cs = [each.C for each in better if each.C != best.C]
        return [Candidate(gammas[0], Cs[0])] if gammas and Cs else []

    def _moved(self, best: Candidate) -> Candidate:
        """Score the best candidate as the final fit trains it, with vectors that move.

        Such vectors fit better, most of all with a narrow kernel: on the first fold, gamma grows as
        long as that is better by a standard error. A smaller C may be better, too: two are tried.
        """
        folds = [group.single(k) for group in self.groups for k in range(len(group.held))]
        tried = self._with_smaller_C(best)
        results = self._run_moving(folds[0], tried)
        while narrower := self._with_larger_gamma(tried[0]):
            others = self._with_smaller_C(narrower)
            found = self._run_moving(folds[0], others)
            if not _is_better(found, results):
                self._list(found)
                break
            self._list(results)
            tried, results = others, found
        for fold in folds[1:]:
            results |= self._run_moving(fold, tried)
        for (candidate, number), result in results.items():
            self.board.add(candidate, number, result)
        return self.board.ordered(self.board.complete(), range(self.board.n_folds))[0]

    def _list(self, found: Found) -> None:
        """Add the results of candidates that have no other ones."""
        for (candidate, fold), result in found.items():
            if candidate not in self.board.results:
                self.board.add(candidate, fold, result)

    def _run_moving(self, fold: FoldGroup, candidates: Sequence[Candidate]) -> Found:
        what = _counted(len(candidates), "candidate")
        self.say(f"{self._what(fold)}, vectors move: {what}")
        return self.run(fold, candidates)

    def _with_smaller_C(self, best: Candidate) -> list[Candidate]:  # noqa: N802
        """Return a candidate, and two with a smaller C."""
        if self.grid.free_cs is None:
            smaller = [C for C in self.grid.Cs if C < best.C][-2:]
        else:
            smaller = [_times(best.C, -C_STEP / 2), _times(best.C, -C_STEP)]
        return [best, *(best._replace(C=C) for C in smaller)]

    def _with_larger_gamma(self, best: Candidate) -> Candidate | None:
        """Return the candidate with the next larger gamma; None if there is none."""
        if self.grid.free_gammas is None:
            larger = [gamma for gamma in self.grid.gammas if gamma > best.gamma][:1]
        else:
            larger = [_times(best.gamma, GAMMA_STEP / 2)]
            larger = [gamma for gamma in larger if _is_free(gamma, self.grid.free_gammas)]
        return best._replace(gamma=larger[0]) if larger else None

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


def _is_better(found: Found, other: Found) -> bool:
    """Tell whether the best of some results is better than that of others by a standard error."""
    best, last = (max(each.values(), key=lambda result: result.score) for each in (found, other))
    lead = best.parts - last.parts
    lead = lead[np.isfinite(lead)]
    error = lead.std(ddof=1) / math.sqrt(len(lead)) if len(lead) > 1 else 0.0
    return bool(len(lead) and lead.mean() > error)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n > 1)}"


def _times(value: float, power: float) -> float:
    """Multiply a value by a power of two; the same product always gets the same bits."""
    return value if not power else 2.0 ** (round(2 * (math.log2(value) + power)) / 2)


def _is_free(value: float, limits: tuple[float, float] | None) -> bool:
    return limits is not None and limits[0] <= value <= limits[1]
