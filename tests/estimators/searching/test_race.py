"""The race: which candidates are tried, dropped and added."""

import math

import numpy as np
import pytest

from pocketsvm.estimators.searching import race
from pocketsvm.estimators.searching.candidates import Result
from pocketsvm.estimators.searching.grid import Candidate, Grid
from pocketsvm.estimators.searching.race import Race, by_gamma


class Targets:
    n_problems = 1


class FakeGroup:
    """Folds of 5000 rows, whose score is a known function of the candidate."""

    n_rows = 5000
    has_few_rows = False
    targets = Targets()

    def __init__(self, numbers, shared=False):
        self.numbers, self.held = numbers, [None] * len(numbers)
        self.training = () if shared else None

    def single(self, place):
        return FakeGroup(self.numbers[place : place + 1])


def run_on(surface, noise=0.0, n_parts=8):
    """Return what scores candidates by a function of log2 gamma and log2 C, and what it ran."""
    ran = []

    def run(group, cs_of):
        found = {}
        for fold in group.numbers:
            for gamma, cs in cs_of.items():
                for c in cs:
                    random = np.random.default_rng([fold, hash((gamma, c)) % 2**32])
                    parts = surface(math.log2(gamma), math.log2(c)) + noise * random.normal(
                        size=n_parts
                    )
                    result = Result(float(parts.mean()), parts, 0.0, 0.0)
                    found[Candidate(gamma, c), fold] = result
                    ran.append((fold, gamma, c))
        return found

    return run, ran


def decide(surface, grid, noise=0.0, shared=False):
    run, ran = run_on(surface, noise)
    groups = [FakeGroup([fold]) for fold in range(5)]
    if shared:
        groups = [FakeGroup([0, 1], shared=True), FakeGroup([2, 3, 4], shared=True)]
    found = Race(grid, groups, run, lambda _: None, 0)
    return found.decide(4000), found, ran


DEFAULT = Grid.of(None, None, 1.0, 1.0)
ZERO = np.zeros(1)


def test_the_default_grid_has_thirty_candidates_in_units_of_the_data():
    assert len(DEFAULT.candidates()) == 30
    other = Grid.of(None, None, 0.26, 1000.0)
    assert other.gammas == tuple(gamma / 4 for gamma in DEFAULT.gammas)
    assert other.Cs == tuple(1024 * c for c in DEFAULT.Cs)


@pytest.mark.parametrize("shared", [False, True])
def test_values_between_those_of_the_grid_are_found(shared):
    best, *_ = decide(lambda g, c: -((g + 1.1) ** 2) - (c - 3.4) ** 2, DEFAULT, shared=shared)
    assert abs(math.log2(best.gamma) + 1.1) <= 0.5
    assert abs(math.log2(best.C) - 3.4) <= 0.75


@pytest.mark.parametrize(("gamma", "c"), [(-10.0, 2.0), (8.0, 2.0), (0.0, 13.0), (-9.0, 14.0)])
def test_the_grid_grows_where_the_best_lies_at_its_border(gamma, c):
    best, *_ = decide(lambda g, k: -((g - gamma) ** 2) - (k - c) ** 2, DEFAULT)
    assert abs(math.log2(best.gamma) - gamma) <= 1
    assert abs(math.log2(best.C) - c) <= 1.5


def test_the_grid_grows_where_all_folds_together_prefer_its_border():
    """One fold of few rows may prefer a smaller C by chance."""

    def run(group, cs_of):
        (fold,) = group.numbers
        return {
            (Candidate(gamma, c), fold): Result(
                -abs(math.log2(c) - (5 if fold == 0 else 13)), ZERO, 0, 0
            )
            for gamma, cs in cs_of.items()
            for c in cs
        }

    groups = [FakeGroup([fold]) for fold in range(5)]
    for group in groups:
        group.n_rows, group.has_few_rows = 500, True
    best = Race(DEFAULT, groups, run, lambda _: None, 0).decide(4000)
    assert abs(math.log2(best.C) - 13) <= 1.5


def test_folds_that_share_vectors_are_refined_before_the_last_ones_run():
    """The last folds, which cost most, see few candidates, and the winner is among them."""
    best, found, ran = decide(lambda g, c: -((g + 1.1) ** 2) - (c - 3.4) ** 2, DEFAULT, shared=True)
    in_last = [(gamma, c) for fold, gamma, c in ran if fold == 4]
    assert best in in_last
    assert len(set(in_last)) <= 3 + 2  # the survivors, and two with a smaller C whose vectors move
    assert len(found.board.results[best]) == 5


def test_the_grid_does_not_grow_beyond_its_limits():
    best, *_ = decide(lambda g, c: g + c, DEFAULT)
    assert best.C <= 2.0**17
    assert best.gamma <= 2.0**12


def test_only_the_given_values_are_tried():
    grid = Grid.of([1.0, 0.1], [10.0], 1.0, 1.0)
    best, _, ran = decide(lambda g, c: g, grid)
    assert best == (1.0, 10.0)
    assert {(gamma, c) for _, gamma, c in ran} == {(0.1, 10.0), (1.0, 10.0)}


def test_losers_are_dropped_and_the_winner_has_all_folds():
    best, found, ran = decide(lambda g, c: -0.01 * abs(g) - 0.01 * abs(c), DEFAULT, noise=1e-4)
    assert len(found.board.results[best]) == 5
    in_last = {(gamma, c) for fold, gamma, c in ran if fold == 4}
    assert len(in_last) < 10


def test_folds_that_share_vectors_are_scored_again_with_vectors_that_move():
    """Only then a smaller C is better: the last stage finds it, with scores on every fold."""
    moved = []

    def run(group, cs_of):
        moves = group.training is None
        moved.append(moves)
        return {
            (Candidate(gamma, c), fold): Result(
                -abs(math.log2(c) - 5 + 3 * moves), np.ones(8), 0, 0
            )
            for fold in group.numbers
            for gamma, cs in cs_of.items()
            for c in cs
        }

    groups = [FakeGroup([0, 1], shared=True), FakeGroup([2, 3, 4], shared=True)]
    race_of_given = Race(Grid.of([1.0], [1.0, 4.0, 32.0], 1.0, 1.0), groups, run, print, 0)
    assert race_of_given.decide(4000) == (1.0, 4.0)
    assert moved[-5:] == [True] * 5
    assert race_of_given.progress == 0.0  # whoever runs tasks tells when they end


def test_progress_counts_rows():
    """Screening 30 candidates on a tenth of the rows is a small part of the search."""

    class Large(FakeGroup):
        n_rows = 20_000

        def few(self, n_rows, seed, budget):
            few = FakeGroup(self.numbers[:1])
            few.n_rows, few.rows = n_rows, few
            return few

    def run(group, cs_of):
        found, _ = run_on(lambda g, c: -abs(g) - abs(c - 2))
        results = found(group, cs_of)
        for _ in cs_of:
            race_of_many.task_ended()
        shares.append(race_of_many.progress)
        return results

    shares = []
    groups = [Large([0, 1], shared=True), Large([2, 3, 4], shared=True)]
    race_of_many = Race(DEFAULT, groups, run, lambda _: None, 0)
    race_of_many.decide(100)
    assert 0 < shares[0] < 0.1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_smoother_model_wins_among_equals():
    best, *_ = decide(lambda g, c: 1.0, Grid.of([0.5, 2.0], [1.0, 4.0], 1.0, 1.0))
    assert best == (0.5, 1.0)


def test_candidates_without_a_score_lose():
    best, *_ = decide(
        lambda g, c: math.nan if c > 0 else -abs(g), Grid.of([1.0, 4.0], [0.5, 2.0], 1.0, 1.0)
    )
    assert best == (1.0, 0.5)
    with pytest.raises(ValueError, match="No candidate has a finite score"):
        decide(lambda g, c: math.nan, DEFAULT)


def test_with_few_rows_all_neighbours_of_the_best_are_tried():
    def run(group, cs_of):
        found, _ = run_on(lambda g, c: -((g + 1.1) ** 2) - (c - 3.4) ** 2 + 1.2 * g * c)
        return found(group, cs_of)

    groups = [FakeGroup([fold]) for fold in range(5)]
    for group in groups:
        group.n_rows, group.has_few_rows = 500, True
    found = Race(DEFAULT, groups, run, lambda _: None, 0)
    best = found.decide(4000)
    gammas = [race._times(best.gamma, k) for k in (-1, 0, 1)]
    Cs = [race._times(best.C, 1.5 * k) for k in (-1, 0, 1)]
    assert {Candidate(g, c) for g in gammas for c in Cs} <= set(found.board.results)


def test_vectors_that_move_may_prefer_a_larger_gamma():
    """Vectors that stay prefer gamma = 1, and those that move gamma = 4."""
    ran = []

    def run(group, cs_of):
        moves = group.training is None
        ran.append((moves, group.numbers[0], *cs_of))
        found = {}
        for fold in group.numbers:
            for gamma, cs in cs_of.items():
                for c in cs:
                    best = 2 if moves else 0
                    score = moves - abs(math.log2(gamma) - best) - 0.1 * abs(math.log2(c))
                    found[Candidate(gamma, c), fold] = Result(score, np.full(8, score), 0, 0)
        return found

    groups = [FakeGroup([0, 1], shared=True), FakeGroup([2, 3, 4], shared=True)]
    best = Race(DEFAULT, groups, run, lambda _: None, 0).decide(4000)
    assert best.gamma == 4.0
    moved = [(fold, gamma) for moves, fold, gamma in (each for each in ran if each[0])]
    # The first fold tells which gamma is the best, the other folds see this one.
    assert moved == [(0, 1.0), (0, 2.0), (0, 4.0), (0, 8.0), (1, 4.0), (2, 4.0), (3, 4.0), (4, 4.0)]


def test_candidates_are_grouped_by_gamma():
    groups = by_gamma([Candidate(2, 4), Candidate(1, 3), Candidate(2, 1)])
    assert groups == {1: [3], 2: [1, 4]}


def test_the_same_value_has_the_same_bits():
    up = race._times(race._times(0.25, 1.5), 1.5)
    assert up == 2.0
    assert race._times(up, -1.5) == race._times(0.25, 1.5)
    assert race._times(0.1, 0) == 0.1
