"""Rows of the benchmark of novelty detection: normal rows to train on, normal and odd ones to test.

Ring and shuttle are generated; digits come with scikit-learn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

Rows = NDArray[np.float64]

DIGIT_TRAINING_ROWS = 120  # of 178 zeros
SHUTTLE_FEATURES = 9


@dataclass(frozen=True, eq=False)
class Novelties:
    """Normal rows to train on, and rows to test with whether they are normal."""

    X: Rows
    X_test: Rows
    normal: NDArray[np.bool_]


def digits(n_rows: int, n_test: int, seed: int) -> Novelties:
    """Return images of the digit zero; all other digits are odd. There are no more rows."""
    X, digit = load_digits(return_X_y=True)
    zeros = np.random.default_rng(seed).permutation(np.flatnonzero(digit == 0))
    train, rest = np.split(zeros, [min(n_rows, DIGIT_TRAINING_ROWS)])
    return _tested(X[train] / 16, X[rest] / 16, X[digit != 0] / 16)


def ring(n_rows: int, n_test: int, seed: int) -> Novelties:
    """Return points of a noisy circle; points of the square around it are odd."""
    random = np.random.default_rng(seed)
    odd = random.uniform(-5, 5, (n_test // 2, 2))
    return _tested(_ring(n_rows, random), _ring(n_test // 2, random), odd)


def shuttle(n_rows: int, n_test: int, seed: int) -> Novelties:
    """Return nine sensors that depend on three hidden quantities, as in Shuttle.

    There are three modes of operation, and noise with heavy tails. In an odd row, each sensor has
    a normal value, but that of another time, so that the sensors do not fit together.
    """
    random = np.random.default_rng(seed)
    odd = np.column_stack([random.permutation(sensor) for sensor in _shuttle(n_test, random).T])
    return _tested(_shuttle(n_rows, random), _shuttle(n_test // 2, random), odd[: n_test // 2])


NOVELTIES: dict[str, Callable[[int, int, int], Novelties]] = {
    "digits, 0 against rest": digits,
    "ring": ring,
    "shuttle-like": shuttle,
}


def _tested(X: Rows, normal: Rows, odd: Rows) -> Novelties:
    is_normal = np.repeat([True, False], [len(normal), len(odd)])
    return Novelties(X, np.concatenate([normal, odd]), is_normal)


def _ring(n_rows: int, random: np.random.Generator) -> Rows:
    angle, radius = random.uniform(0, 2 * np.pi, n_rows), random.normal(3, 0.25, n_rows)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _shuttle(n_rows: int, random: np.random.Generator) -> Rows:
    modes = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [-1.0, 2.0, 1.0]])
    hidden = random.normal(scale=[1.0, 0.7, 0.4], size=(n_rows, 3))
    hidden += modes[random.integers(len(modes), size=n_rows)]
    sensors = np.random.default_rng(0).normal(size=(3, SHUTTLE_FEATURES))  # always the same
    noise = random.standard_t(4, size=(n_rows, SHUTTLE_FEATURES))
    return np.asarray(2 * np.tanh(hidden @ sensors / 2) + 0.1 * noise)
