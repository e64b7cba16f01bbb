"""What passes find: the support vectors, and the state that further passes continue from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..profile import Profile


@dataclass(frozen=True, eq=False)
class PassState:
    """The state of one binary problem, or of a regression, after some steps.

    Attributes
    ----------
    vectors : ndarray of shape (n_sv, n_features)
        The support vectors, float32 or float64.

    coefficients : ndarray of shape (n_sv,)
        Their coefficients, in units of 1 / (unit_alpha weight); see `VectorSet`.

    births : ndarray of shape (n_sv,)
        The step in which each vector entered.

    bias : float
        The intercept, in the same units.

    steps : int
        Steps made so far.

    weight : float
        The weight of all rows so far, in units of the last one. It is the number of steps, or less
        if rows lose weight with time.

    generator : ndarray of shape (4,), uint64
        The state of the random number generator.
    """

    vectors: NDArray[Any]
    coefficients: NDArray[np.float64]
    births: NDArray[np.int64]
    bias: float
    steps: int
    weight: float
    generator: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class VectorSet:
    """The result of the passes: one state per problem, and the units of their coefficients.

    Attributes
    ----------
    states : tuple of PassState
        One per problem: one for two classes, else one per class; one per output of a regression.

    gamma : float
        The kernel coefficient.

    unit_alpha : float
        The regularisation lambda divided by the unit of the row weights.

    offset : float or ndarray of shape (n_outputs,)
        The values that decision values start from.

    n_passes : int
        Passes made by the last call.

    profile : Profile
        What the last call did.
    """

    states: tuple[PassState, ...]
    gamma: float
    unit_alpha: float
    offset: float | NDArray[np.float64]
    n_passes: int
    profile: Profile

    @property
    def vectors(self) -> NDArray[Any]:
        """The support vectors of all problems."""
        return np.concatenate([state.vectors for state in self.states])

    @property
    def dual_coef(self) -> NDArray[np.float64]:
        """The coefficients, one row per problem; a problem uses only its own vectors."""
        ends = np.cumsum([len(state.coefficients) for state in self.states])
        dual_coef = np.zeros((len(self.states), ends[-1]))
        for k, (state, end) in enumerate(zip(self.states, ends, strict=True)):
            begin = end - len(state.coefficients)
            dual_coef[k, begin:end] = state.coefficients / self._unit(state)
        return dual_coef

    @property
    def biases(self) -> NDArray[np.float64]:
        """The intercepts, without the offset."""
        return np.array([state.bias / self._unit(state) for state in self.states])

    def _unit(self, state: PassState) -> float:
        return self.unit_alpha * state.weight
