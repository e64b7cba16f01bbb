"""Tuning: the best C, gamma and budget by cross-validation.

`tune` runs one of scikit-learn's searches over a default grid, with a plan for successive halving,
and returns the fitted search. `ScoreMap` holds the scores that displays and the command line show.

    search.py       tune: the grid and the search
    halving.py      rounds: how many candidates and rows each round of successive halving has
    score_map.py    ScoreMap: the scores over C and gamma
    pipeline.py     an estimator of pocketsvm inside a pipeline
"""

from .halving import Round, rounds
from .pipeline import last_step, parameter_name
from .score_map import ScoreMap, written
from .search import DEFAULT_CS, SEARCHES, default_gammas, tune

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
