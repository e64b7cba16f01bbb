"""What rows are trained on: the base of the targets of all tasks.

`pocketsvm.tasks` has one kind of targets for each task. Everything that passes and solver have to
know of a task is a method here, so that neither of them asks which task it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..rows.chunk import Chunk
from ..rows.sampling import draw
from .settings import Choices, Settings

Array = NDArray[Any]
Weights = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over rows.

    Attributes
    ----------
    trainers : sequence of _core.Trainer
        One for each problem.

    rows : _core.Rows
        The rows.

    settings : Settings
        How to train.

    most_merges : int or None
        After how many merges a trainer ends the pass; None is no limit.
    """

    trainers: Sequence[_core.Trainer]
    rows: _core.Rows
    settings: Settings
    most_merges: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets(ABC):
    """What the rows are trained on: rows of positive weight only.

    Attributes
    ----------
    task : str
        What the model is for, as `pocketsvm.model.Model.task`.

    loss : str
        The name of the loss.

    sample_weight : ndarray of shape (n_rows,) or None
        The weights of the rows, in units of `weight_unit`; None means one.

    weight_unit : float
        The unit of the weights, a power of two.

    offset : float or ndarray of shape (n_outputs,)
        The values that decision values start from.

    classes : ndarray of shape (n_classes,) or None
        The sorted labels; None for other tasks than classification.

    all_rows_enter : bool
        Whether most rows become vectors in the first pass, so that a second one is of no use.

    has_values : bool
        Whether the model predicts numbers, and small steps of its vectors still gain something.

    are_classes_weighted : bool
        Whether groups of rows differ in weight.
    """

    task: ClassVar[str]
    all_rows_enter: ClassVar[bool] = False
    has_values: ClassVar[bool] = False
    loss: str
    sample_weight: Weights | None
    weight_unit: float
    offset: float | NDArray[np.float64] = 0.0
    classes: Array | None = None

    @property
    @abstractmethod
    def n_problems(self) -> int:
        """The number of outputs, each of which has a trainer of its own."""

    @property
    def group_weight(self) -> Weights:
        """The weight of each group, in units of `weight_unit`."""
        return np.ones(1)

    @property
    def are_classes_weighted(self) -> bool:
        """Whether groups of rows differ in weight."""
        return bool(np.ptp(self.group_weight) > 0)

    @property
    def unit_of_c(self) -> float:
        """The unit of C: that of the targets, if the slope of the loss is bounded."""
        return 1.0

    @abstractmethod
    def groups(self) -> NDArray[np.int8] | NDArray[np.int32]:
        """Return the group of each row; a sample represents all groups."""

    def draw(
        self, n_rows: int, least: int, seed: int, n_threads: int
    ) -> tuple[NDArray[np.intp], Weights]:
        """Draw rows that represent all of them, and at least some of each group.

        Returns their positions, and what their weights are multiplied by.
        """
        # The weight of a class does not matter among its rows.
        return draw(self.groups(), self.sample_weight, n_rows, least, seed, n_threads)

    @abstractmethod
    def take(self, chosen: Array, factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""

    @abstractmethod
    def of(self, chunk: Chunk) -> Self:
        """Return the targets of a chunk of rows that all have a weight."""

    @abstractmethod
    def make_pass(self, one: Pass) -> None:
        """Make a pass over the rows."""

    @abstractmethod
    def solver_loss(self, choices: Choices) -> Any:
        """Return the loss that the solver minimises, a `pocketsvm.solving.row_loss.Loss`."""

    @abstractmethod
    def standardised(self) -> NDArray[np.float64]:
        """Return what a squared loss fits, (n_rows, n_outputs): values of mean 0, or +1 and -1."""

    def spreads(self) -> NDArray[np.float64]:
        """Return the spread of the targets of each output; one if they have none."""
        return np.ones(self.n_problems)

    def learnt_from(self, others: Self) -> Self:
        """Return the targets, with what is learnt from all of them taken from those of others."""
        return self

    def whole_weights(self) -> Weights:
        """Return the weights of the groups, with which the solver weighs all rows."""
        return np.ones(1)

    def tilt(self, total_c: float) -> float:
        """Return what the objective grows by with the intercept, besides the losses."""
        return 0.0

    def solver_settings(self, settings: Settings) -> Settings:
        """Return the settings of the solver."""
        return settings

    def row_weight(self, divisor: float = 1.0, n_threads: int = 1) -> Weights:
        """Return the whole weight of each row, over a divisor."""
        weights = self.group_weight * self.weight_unit
        return _core.row_weights(self.groups(), weights, self.sample_weight, divisor, n_threads)

    def _taken(self, chosen: Array, factors: Weights) -> Weights:
        """Return the weights of the chosen rows, times some factors."""
        return factors if self.sample_weight is None else self.sample_weight[chosen] * factors


def standardised(values: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
    """Return values less their weighted means, over their weighted standard deviations."""
    centred = values - np.average(values, axis=0, weights=weights)
    spreads = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
    found: NDArray[np.float64] = centred / np.where(spreads > 0, spreads, 1.0)
    return found
