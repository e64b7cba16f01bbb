"""Small data sets: real ones of scikit-learn, and generated ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets

Rows = tuple[Any, Any]
Load = Callable[[], Rows]

DIGITS = 600  # rows of digits: all of them would take most of the time


def classifications() -> dict[str, Load]:
    """Return ten data sets with classes by name."""
    classes = {"n_samples": 600, "n_features": 10, "n_informative": 5}
    return {
        "iris": _real(datasets.load_iris),
        "wine": _real(datasets.load_wine),
        "breast cancer": _real(datasets.load_breast_cancer),
        "digits": _digits,
        "moons": _made(datasets.make_moons, n_samples=600, noise=0.25),
        "circles": _made(datasets.make_circles, n_samples=600, noise=0.15, factor=0.6),
        "shells": _made(datasets.make_gaussian_quantiles, n_samples=600, n_features=4, n_classes=3),
        "ten normal variables": _made(datasets.make_hastie_10_2, n_samples=600),
        "two classes": _made(datasets.make_classification, **classes),
        "four classes": _made(
            datasets.make_classification, **classes, n_classes=4, class_sep=0.8, flip_y=0.05
        ),
    }


def regressions() -> dict[str, Load]:
    """Return ten data sets with target values by name."""
    friedman = {"n_samples": 500}
    return {
        "diabetes": _real(datasets.load_diabetes),
        "Friedman 1": _made(datasets.make_friedman1, **friedman, noise=0.1),
        "Friedman 1, noisy": _made(datasets.make_friedman1, **friedman, noise=2.0),
        "Friedman 1, d = 20": _made(datasets.make_friedman1, **friedman, n_features=20, noise=0.5),
        "Friedman 2": _made(datasets.make_friedman2, **friedman, noise=50.0),
        "Friedman 3": _made(datasets.make_friedman3, **friedman, noise=0.1),
        "linear, sparse": _made(datasets.make_sparse_uncorrelated, **friedman),
        "Swiss roll": _made(datasets.make_swiss_roll, **friedman, noise=0.5),
        "S curve": _made(datasets.make_s_curve, **friedman, noise=0.1),
        "waves": _waves,
    }


def _real(load: Any) -> Load:
    return lambda: load(return_X_y=True)


def _made(function: Any, **parameters: Any) -> Load:
    return lambda: function(random_state=0, **parameters)


def _digits() -> Rows:
    X, y = datasets.load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:DIGITS]
    return X[chosen], y[chosen]


def _waves() -> Rows:
    """Return a sum of waves of two variables, with noise."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(500, 2))
    return X, np.sin(6 * X[:, 0]) + np.cos(9 * X[:, 1]) + random.normal(0, 0.2, 500)
