"""Regression: one or several targets, or quantiles of one."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..model.model import Model
from ..rows.checked import CheckedRows
from ..rows.chunk import Chunk, Needs
from ..rows.scales import warn_about_epsilon, warn_about_targets
from ..rows.survey import AtHand
from ..rows.weights import Weights, weighted_rows
from ..solving.value_losses import VALUE_LOSSES, ValueLoss
from ..training.settings import Choices, Parameters, Settings
from ..training.targets import Pass, Targets, standardised
from .base import Fitted, Task, state_of

# Decision values are summed in float32, and vectors move by the squares of coefficients.
TARGET_RANGE = (1e-15, 1e15)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueTargets(Targets):
    """Numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_outputs)
        The target values, less the offsets. Outputs for several quantiles have the same targets.

    parameters : tuple of float
        The parameter of the loss for each output: epsilon, or the quantile.

    known_spreads : ndarray of shape (n_outputs,) or None
        The spreads of all targets, if these are only some of them.
    """

    task: ClassVar[str] = "regression"
    all_rows_enter: ClassVar[bool] = True
    has_values: ClassVar[bool] = True
    values: NDArray[np.float64]
    parameters: tuple[float, ...]
    known_spreads: NDArray[np.float64] | None = None

    @property
    def n_problems(self) -> int:
        """The number of outputs."""
        return len(self.parameters)

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(len(self.values), dtype=np.int8)

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, values=self.values[chosen], sample_weight=weights)

    @property
    def unit_of_c(self) -> float:
        """The unit of C: that of the targets, if the slope of the loss is bounded."""
        is_bounded = self.loss not in ("squared_error", "huber")
        return float(self.spreads().mean()) if is_bounded else 1.0

    def of(self, chunk: Chunk) -> Self:
        """Return the targets of a chunk of rows that all have a weight."""
        values = chunk.y.reshape(chunk.n_rows, -1) - self.offset
        values = np.broadcast_to(values, (chunk.n_rows, self.n_problems))
        return replace(self, values=values, sample_weight=chunk.weight, weight_unit=1.0)

    def make_pass(self, one: Pass) -> None:
        """Make a pass over the rows for every output."""
        for k, trainer in enumerate(one.trainers):
            _core.train_pass_on_targets(
                trainer,
                one.rows,
                *self._slopes(one.settings, k),
                np.ascontiguousarray(self.values[:, k]),
                self.sample_weight,
                one.most_merges,
            )

    def _slopes(self, settings: Settings, output: int) -> tuple[str, float]:
        """Return the loss whose slopes the passes use for an output, and its parameter.

        If the solver follows, the passes only find vectors. With a tube, rows close to the model do
        not enter it, and fewer vectors are merged.
        """
        parameter = self.parameters[output]
        if self.loss == "epsilon_insensitive" or not settings.polish:
            if self.loss != "squared_error":
                return self.loss, parameter
            # The learning rate starts at 1 / lambda, and slopes without a bound would overflow.
            largest = float(np.abs(self.values[:, output]).max())
            return "huber", largest or 1.0
        return "epsilon_insensitive", settings.choices.relative_width * float(
            self.spreads()[output]
        )

    def solver_loss(self, choices: Choices) -> ValueLoss:
        """Return the loss that the solver minimises."""
        widths = choices.relative_width * self.spreads()
        return VALUE_LOSSES[self.loss].of(self.values, self.parameters, widths)

    def standardised(self) -> NDArray[np.float64]:
        """Return the values of each output, of mean zero and standard deviation one."""
        return standardised(self.values / self.spreads(), self.row_weight())

    def learnt_from(self, others: Self) -> Self:
        """Return the targets with the spreads of others."""
        return replace(self, known_spreads=others.spreads())

    def spreads(self) -> NDArray[np.float64]:
        """Return the median distances from the offsets, or the means where these are zero."""
        if self.known_spreads is not None:
            return self.known_spreads
        distances = np.abs(self.values)
        medians, means = np.median(distances, axis=0), distances.mean(axis=0)
        spreads: NDArray[np.float64] = np.where(medians > 0, medians, means)
        return np.where(spreads > 0, spreads, 1.0)


def value_targets(
    rows: CheckedRows,
    y: NDArray[Any],
    sample_weight: Any,
    loss: str,
    parameters: tuple[float, ...],
    offset: float | NDArray[np.float64] | None = None,
) -> tuple[CheckedRows, ValueTargets]:
    """Take checked numbers, of shape (n_rows,) or (n_rows, n_outputs).

    There is one parameter of the loss for each output, and outputs share a target of shape
    (n_rows,). Rows of zero weight are dropped. If `offset` is None, it is the median of the
    remaining targets, or their quantiles if these are predicted.
    """
    rows, y, sample_weight, unit = weighted_rows(rows, y, sample_weight)
    columns = y.astype(np.float64, copy=False).reshape(len(y), -1)
    check_targets(float(np.abs(columns).max()))
    columns = np.broadcast_to(columns, (len(y), len(parameters)))
    if offset is None:
        shares = parameters if loss == "quantile" else (0.5,) * len(parameters)
        offset = np.array(
            [
                np.quantile(column, share, weights=sample_weight, method="inverted_cdf")
                for column, share in zip(columns.T, shares, strict=True)
            ]
        )
        offset = offset if len(offset) > 1 else float(offset[0])
    return rows, ValueTargets(
        loss=loss,
        sample_weight=sample_weight,
        weight_unit=unit,
        offset=offset,
        values=columns - offset,
        parameters=parameters,
    )


def check_outputs(n_outputs: int, budget: int, n_before: int | None) -> None:
    """Refuse fewer than two vectors an output, and other outputs than a continued model has."""
    if n_before is not None and n_before != n_outputs:
        raise ValueError(
            f"This call continues a model with n_outputs={n_before}, but the targets y and "
            f"quantile give {n_outputs}. Fit with warm_start=False to start anew."
        )
    if n_outputs > 1 and budget < 2 * n_outputs:
        raise ValueError(
            f"budget={budget} is too small for {n_outputs} outputs: the support vectors are shared "
            f"out evenly and an output needs two, so budget must be at least {2 * n_outputs}."
        )


def check_targets(largest: float) -> None:
    """Refuse targets for which float32 has not the range; all of them may be zero."""
    low, high = TARGET_RANGE
    if largest > high or 0 < largest < low:
        raise ValueError(
            f"The largest of the targets y is {largest:.3g}; it must lie between {low:g} and "
            f"{high:g}. Scale the targets."
        )


@dataclass(frozen=True)
class Regression(Task):
    """Rows have numbers.

    Attributes
    ----------
    loss : str
        The name of the loss.

    epsilon : float
        The parameter of losses that have one.

    quantile : float or tuple of float
        The quantiles to predict with the loss "quantile".
    """

    name: ClassVar[str] = "regression"
    needs: ClassVar[Needs] = Needs(numbers=True, many=True)
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    quantile: float | tuple[float, ...] = 0.5

    def targets(
        self, found: AtHand, parameters: Parameters, start: Model | None
    ) -> tuple[CheckedRows, ValueTargets]:
        """Return the rows at hand that have a weight, and their numbers."""
        y, weight, survey = found.y, found.weight, found.survey
        if survey is not None:
            check_targets(survey.summary.largest_target)
            weight = survey.factors if weight is None else survey.factors * weight
        of_losses = self._parameters_of_losses(1 if y.ndim == 1 else y.shape[1])
        state = state_of(start)
        n_before = None if state is None else len(state.states)
        check_outputs(len(of_losses), parameters.budget, n_before)
        offset: float | NDArray[np.float64] | None = 0.0
        if parameters.fit_intercept:
            offset = None if state is None else state.offset
        rows, targets = value_targets(found.rows, y, weight, self.loss, of_losses, offset)
        return rows, targets if survey is None else targets.learnt_from(targets)

    def _parameters_of_losses(self, n_targets: int) -> tuple[float, ...]:
        """Return the parameter of the loss for each output."""
        if self.loss == "huber" and not self.epsilon:
            raise ValueError("epsilon must be positive with the Huber loss, got 0.")
        if self.loss != "quantile":
            return (float(self.epsilon),) * n_targets
        quantiles = tuple(np.ravel(self.quantile).tolist())
        if n_targets > 1 and len(quantiles) > 1:
            raise ValueError(
                f"{len(quantiles)} quantiles need one target, but y has {n_targets} columns. "
                "Fit one model for each target, for example with MultiOutputRegressor."
            )
        return quantiles * n_targets

    def warn(self, targets: Targets, parameters: Parameters) -> None:
        """Warn if C limits the model, or if epsilon hides all targets."""
        assert isinstance(targets, ValueTargets)
        if self.loss == "epsilon_insensitive":
            fit_intercept = parameters.fit_intercept
            warn_about_epsilon(targets.values, self.epsilon, fit_intercept=fit_intercept)
        # The slope of a squared error has no limit.
        if parameters.alpha is not None or self.loss == "squared_error":
            return
        name, slope = ("C * epsilon", self.epsilon) if self.loss == "huber" else ("C", 1.0)
        weight = float(targets.row_weight().mean())
        assert isinstance(targets, ValueTargets)
        values = targets.values
        origin = "zero"
        if parameters.fit_intercept:
            values, origin = values - np.median(values, axis=0), "their median"
        spread = float(np.median(np.abs(values), axis=0).max())
        warn_about_targets(spread, origin, parameters.C * slope * weight, name)

    def completed(self, model: Model, targets: Targets, fitted: Fitted | None = None) -> Model:
        """Return the model with the quantiles that it predicts."""
        return replace(model, quantile=self.quantile if self.loss == "quantile" else None)
