"""The contract of a task: what y means, from checked rows to a completed model.

A task is made of the parameters of an estimator. `fit` asks it for the targets of the rows at hand,
for the regularisation, and to complete the model. What passes and solver have to know is in the
targets (`pocketsvm.training.targets`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..rows.checked import CheckedRows, Rows
from ..rows.chunk import Needs
from ..rows.survey import AtHand
from ..training.regularisation import check_weight_ratio, regularisation
from ..training.settings import Parameters, Settings
from ..training.state import VectorSet
from ..training.targets import Targets


@dataclass(frozen=True, eq=False)
class Fitted:
    """What completes a model after a fit.

    Attributes
    ----------
    quantile_of : callable
        Returns a quantile of the scores of all rows, for vectors, coefficients and a share.

    n_rows : int
        The number of all rows.

    is_stream : bool
        Whether this is a call of `partial_fit`.
    """

    quantile_of: Callable[[NDArray[Any], NDArray[np.float64], float], float]
    n_rows: int
    is_stream: bool


@dataclass(frozen=True)
class Task(ABC):
    """What y means, and what depends on it.

    Attributes
    ----------
    name : str
        What the model is for, as `pocketsvm.model.Model.task`.

    sees_queries : bool
        Whether chunks must hold whole queries.

    unlearnable : str
        Why feature scales cannot be learnt; empty if they can.
    """

    name: ClassVar[str]
    sees_queries: ClassVar[bool] = False
    unlearnable: ClassVar[str] = ""

    @property
    @abstractmethod
    def needs(self) -> Needs:
        """What it needs to know of rows besides their features."""

    @abstractmethod
    def targets(
        self, found: AtHand, parameters: Parameters, start: Model | None
    ) -> tuple[CheckedRows, Targets]:
        """Return the rows at hand that have a weight, and their targets, both checked.

        If there are more rows, those at hand are a sample, and its targets stand for all.
        """

    def alpha(
        self,
        rows: Rows,
        targets: Targets,
        n_rows: int,
        parameters: Parameters,
        random: np.random.RandomState,
        previous: float | None,
    ) -> float:
        """Return the regularisation lambda for this many rows, of which some are given."""
        alpha = regularisation(
            parameters.C,
            parameters.alpha,
            None if parameters.is_stream else n_rows,
            weight_unit=targets.weight_unit,
            previous=previous,
            half_life=parameters.half_life if parameters.is_stream else math.inf,
        )
        weight = targets.sample_weight
        if weight is not None and not parameters.is_stream:
            groups = targets.group_weight * targets.weight_unit
            least, most = groups.min() * weight.min(), groups.max() * weight.max()
            check_weight_ratio(float(least), float(most), 1 / alpha / n_rows)
        return alpha

    def adapted(self, settings: Settings) -> Settings:
        """Return the settings with the constants of this task."""
        return settings

    def completed(self, model: Model, targets: Targets, fitted: Fitted | None = None) -> Model:
        """Return the model of the passes, or of the solver, with what the task adds to it.

        Novelty detection needs to know the fit; None is for tasks that do not.
        """
        return model

    def warn(self, targets: Targets, parameters: Parameters) -> None:  # noqa: B027  # optional
        """Warn about targets that do not go with the parameters."""


def state_of(model: Model | None) -> VectorSet | None:
    """Return the state that further passes continue from; None starts from nothing."""
    if model is None:
        return None
    assert model.training is not None
    return model.training.vectors
