"""The results of candidates: which are the best, and which are beaten."""

import numpy as np
import pytest

from pocketsvm.estimators.searching.board import Board
from pocketsvm.estimators.searching.candidates import Result
from pocketsvm.estimators.searching.grid import Candidate


def test_nothing_is_dropped_by_chance_alone():
    """Candidates that are equal up to noise are dropped only because there are too many."""
    board, random = Board(5), np.random.default_rng(0)
    candidates = [Candidate(1.0, float(k)) for k in range(1, 41)]
    for candidate in candidates:
        for fold in range(5):
            parts = random.normal(size=8)
            board.add(candidate, fold, Result(float(parts.mean()), parts, 0.0, 0.0))
    ordered = board.ordered(candidates, range(5))
    middle = ordered[len(ordered) // 2]
    dropped = [board.is_beaten(each, middle, range(5)) for each in candidates]
    assert sum(dropped) <= 4  # 2.3 % of 40, one-sided


def test_a_clear_lead_drops_a_candidate():
    board = Board(1)
    parts = np.array([0.9, 0.8, 0.7, 0.9])
    board.add(Candidate(1, 1), 0, Result(0.825, parts, 0, 0))
    board.add(Candidate(1, 2), 0, Result(0.725, parts - [0.1, 0.11, 0.1, 0.09], 0, 0))
    assert board.is_beaten(Candidate(1, 2), Candidate(1, 1), [0])
    assert not board.is_beaten(Candidate(1, 1), Candidate(1, 1), [0])


def scored(board, candidate, accuracies, loss):
    """Give a candidate an accuracy on each fold, and a log loss for two slopes."""
    losses = np.array([loss + 1.0, loss])
    for fold, accuracy in enumerate(accuracies):
        board.add(candidate, fold, Result(accuracy, np.array([accuracy]), 0, 0, losses))


def test_the_log_loss_decides_among_candidates_that_differ_by_chance():
    board = Board(5)
    high = np.array([0.9, 0.95, 0.9, 0.95, 0.9])
    scored(board, Candidate(1.0, 1.0), high, 0.3)
    by_chance = np.array([-0.05, 0.05, -0.05, 0.05, -0.05])
    clearly = np.array([0.05, 0.06, 0.05, 0.06, 0.05])
    scored(board, Candidate(1.0, 2.0**9), high + by_chance, 0.2)
    scored(board, Candidate(1.0, 2.0**18), high - clearly, 0.1)
    tried = list(board.results)
    assert board.ordered(tried, range(5))[0] == (1.0, 1.0)
    assert board.best(tried, range(5)) == (1.0, 2.0**9)
    assert board.log_loss(tried[0], range(5)) == pytest.approx(0.3)  # of the better slope


def test_the_log_loss_is_smoothed_over_neighbours():
    """One candidate among bad ones is low by chance, others are low together."""
    board, accuracies = Board(5), np.full(5, 0.9)
    for gamma in (-1, 0, 1):
        for C in (-1.5, 0, 1.5):
            lucky = 0.25 if gamma == C == 0 else 0.5
            scored(board, Candidate(2.0**gamma, 2.0**C), accuracies, lucky)
            scored(board, Candidate(2.0 ** (gamma + 8), 2.0**C), accuracies, 0.3)
    assert board.best(board.results, range(5)).gamma >= 2.0**7
