"""The candidates of a search: pairs of gamma and C, and the values to begin with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# The default grid: powers of two for C, and for gamma in units of "scale".
C_STEP, GAMMA_STEP = 3, 2
C_POWERS = range(-4, 9, C_STEP)
GAMMA_POWERS = range(-6, 5, GAMMA_STEP)
# How far the grid may grow, as powers of two.
C_LIMITS = (-13, 17)
GAMMA_LIMITS = (-12, 12)


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
