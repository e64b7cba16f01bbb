"""Tuning: the best C, gamma and budget by cross-validation.

`tune` runs a race of candidates that share work, or one of scikit-learn's searches over a default
grid, with a plan for successive halving (`rounds`), and returns the fitted search. `ScoreMap` holds
the scores that displays and the command line show.
"""

from .halving import Round, rounds
from .scores import ScoreMap, written
from .search import DEFAULT_CS, SEARCHES, default_gammas, tune
from .steps import last_step, parameter_name

__all__ = [
    "DEFAULT_CS",
    "SEARCHES",
    "Round",
    "ScoreMap",
    "default_gammas",
    "last_step",
    "parameter_name",
    "rounds",
    "tune",
    "written",
]
