"""Smooth functions of some variables, with noise: targets of regressions.

Borehole, piston and Ishigami are test functions of computer experiments (Surjanovic and Bingham,
Virtual Library of Simulation Experiments).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = tuple[Array, Array]

# The limits of the variables. Borehole: radius of the hole, radius of influence, transmissivity and
# head of the upper aquifer, those of the lower one, length and conductivity of the hole. Piston:
# weight, surface, initial volume, spring, pressure, ambient and filling temperature.
BOREHOLE = (
    (0.05, 0.15),
    (100, 50_000),
    (63_070, 115_600),
    (990, 1110),
    (63.1, 116),
    (700, 820),
    (1120, 1680),
    (9855, 12_045),
)
PISTON = (
    (30, 60),
    (0.005, 0.02),
    (0.002, 0.01),
    (1000, 5000),
    (90_000, 110_000),
    (290, 296),
    (340, 360),
)
ISHIGAMI = ((-np.pi, np.pi),) * 3
SQUARE = ((-1, 1),) * 2


def borehole(n_samples: int, noise: float, random_state: int) -> Rows:
    """Return the flow of water through a hole between two aquifers."""
    return _rows(_borehole, BOREHOLE, n_samples, noise, random_state)


def piston(n_samples: int, noise: float, random_state: int) -> Rows:
    """Return the cycle time of a piston in a cylinder."""
    return _rows(_piston, PISTON, n_samples, noise, random_state)


def ishigami(n_samples: int, noise: float, random_state: int) -> Rows:
    """Return a function of three angles that is not monotonic in any of them."""
    return _rows(_ishigami, ISHIGAMI, n_samples, noise, random_state)


def waves(n_samples: int, noise: float, random_state: int) -> Rows:
    """Return a sum of waves of two variables."""
    return _rows(_waves, SQUARE, n_samples, noise, random_state)


def _rows(
    function: Callable[[Array], Array],
    limits: tuple[tuple[float, float], ...],
    n_samples: int,
    noise: float,
    random_state: int,
) -> Rows:
    """Return uniform rows, and values with noise in units of their standard deviation."""
    random = np.random.default_rng(random_state)
    low, high = np.array(limits, dtype=np.float64).T
    X = random.uniform(low, high, (n_samples, len(limits)))
    values = function(X)
    return X, values + noise * values.std() * random.standard_normal(n_samples)


def _borehole(X: Array) -> Array:
    radius, influence, upper, upper_head, lower, lower_head, length, conductivity = X.T
    log = np.log(influence / radius)
    resistance = 1 + 2 * length * upper / (log * radius**2 * conductivity) + upper / lower
    return np.asarray(2 * np.pi * upper * (upper_head - lower_head) / (log * resistance))


def _piston(X: Array) -> Array:
    weight, surface, volume, spring, pressure, ambient, filling = X.T
    force = pressure * surface + 19.62 * weight - spring * volume / surface
    gas = spring * pressure * volume / filling * ambient
    reached = surface / (2 * spring) * (np.sqrt(force**2 + 4 * gas) - force)
    stiffness = spring + surface**2 * pressure * volume / filling * ambient / reached**2
    return np.asarray(2 * np.pi * np.sqrt(weight / stiffness))


def _ishigami(X: Array) -> Array:
    a, b, c = X.T
    return np.asarray(np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a))


def _waves(X: Array) -> Array:
    return np.asarray(np.sin(6 * X[:, 0]) + np.cos(9 * X[:, 1]))
