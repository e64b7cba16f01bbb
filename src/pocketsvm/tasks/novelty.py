"""Novelty detection: rows have weights, and neither labels nor values."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..model.model import Model
from ..rows.checked import CheckedRows, Rows
from ..rows.chunk import Chunk, Needs
from ..rows.survey import AtHand
from ..rows.weights import Weights, weighted_rows
from ..solving.class_losses import Hinge
from ..training.regularisation import ASSUMED_STREAM_ROWS, check_alpha
from ..training.settings import Choices, Parameters, Settings
from ..training.targets import Pass, Targets
from .base import Fitted, Task, state_of

# Rows whose kernel values give the mean over all pairs of rows, which is the unit of the scores. In
# any unit, the scores have the same order.
MOST_PAIRED = 1000
# Scores are summed in float32.
WEIGHT_RANGE = (1e-30, 1e30)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTargets(Targets):
    """Rows that are all normal, up to a share nu of them.

    Attributes
    ----------
    n_rows : int
        The number of rows.

    nu : float
        The share of the rows, by weight, that may be outliers.
    """

    task: ClassVar[str] = "novelty"
    n_rows: int
    nu: float

    n_problems = 1

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(self.n_rows, dtype=np.int8)

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        return replace(self, n_rows=len(chosen), sample_weight=self._taken(chosen, factors))

    def standardised(self) -> NDArray[np.float64]:
        """Return one for each row: all rows are alike."""
        return np.ones((len(self.groups()), 1))

    def of(self, chunk: Chunk) -> Self:
        """Return the targets of a chunk of rows that all have a weight."""
        return replace(self, n_rows=chunk.n_rows, sample_weight=chunk.weight, weight_unit=1.0)

    def make_pass(self, one: Pass) -> None:
        """Make a pass over the rows, all of which are of one class, +1."""
        _core.train_pass(
            list(one.trainers),
            one.rows,
            "hinge",
            self.groups(),
            [0],
            np.ones(1),
            self.sample_weight,
            one.settings.n_threads,
            one.most_merges,
        )

    def solver_loss(self, choices: Choices) -> Hinge:
        """Return the loss that the solver minimises."""
        return Hinge(self.groups(), (0,), choices.novelty_width)

    def tilt(self, total_c: float) -> float:
        """Return what the objective grows by with the intercept, besides the losses."""
        return self.nu * total_c

    def solver_settings(self, settings: Settings) -> Settings:
        """Return the settings of the solver: only the passes have no intercept."""
        return replace(settings, fit_intercept=True)


@dataclass(frozen=True)
class Novelty(Task):
    """Most rows are normal.

    Attributes
    ----------
    nu : float
        The share of the rows that are outliers.
    """

    name: ClassVar[str] = "novelty"
    needs: ClassVar[Needs] = Needs(numbers=True, labelled=False)
    unlearnable: ClassVar[str] = "rows without labels do not tell which features matter"
    nu: float = 0.5

    def targets(
        self, found: AtHand, parameters: Parameters, start: Model | None
    ) -> tuple[CheckedRows, NoveltyTargets]:
        """Return the rows at hand that have a weight."""
        weight = found.weight if found.survey is None else found.survey.weights
        state, nothing = state_of(start), np.zeros(found.rows.n_rows)
        rows, _, weights, unit = weighted_rows(found.rows, nothing, weight)
        return rows, NoveltyTargets(
            loss="one_class",
            sample_weight=weights,
            weight_unit=unit,
            offset=0.0 if state is None else float(state.offset),
            n_rows=rows.n_rows,
            nu=self.nu,
        )

    def alpha(
        self,
        rows: Rows,
        targets: Targets,
        n_rows: int,
        parameters: Parameters,
        random: np.random.RandomState,
        previous: float | None,
    ) -> float:
        """Return the lambda with which the passes find scores of about one.

        For uniform coefficients, scores are about n nu times the mean kernel value. Divided by this
        scale, they solve the problem of the hinge loss with C = 1 / scale.
        """
        if parameters.is_stream and previous is not None:
            return previous
        weights, (low, high) = targets.row_weight(), WEIGHT_RANGE
        if not low <= (mean := float(weights.mean())) <= high:
            raise ValueError(
                f"The mean of sample_weight is {mean:.3g}, and the scores are in units of it: it "
                f"must lie between {low:g} and {high:g}. Divide the weights by their mean."
            )
        alpha = self.nu * mean_kernel(rows, weights, random) * mean
        check_alpha(alpha, targets.weight_unit, f"nu={self.nu!r}")
        return alpha

    def adapted(self, settings: Settings) -> Settings:
        """Return the settings with the constants of this task: moving vectors gains nothing."""
        return replace(settings, choices=replace(settings.choices, moves=0))

    def completed(self, model: Model, targets: Targets, fitted: Fitted | None = None) -> Model:
        """Give scores the scale of `sklearn.svm.OneClassSVM`, and set the offset."""
        training = model.training
        assert training is not None
        assert fitted is not None
        state, quantile_of = training.vectors, fitted.quantile_of
        offset = -quantile_of(model.vectors, model.dual_coef, self.nu)
        before = float(targets.offset)
        if fitted.is_stream and before:  # a mean over all batches so far; the later ones count more
            share = min(2 * fitted.n_rows / state.states[0].weight, 1.0)
            offset = before + share * (offset - before)
        # Further passes continue from the last iterate, which has scores of its own.
        is_polished = training.profile.seconds_polish > 0
        kept = offset
        if is_polished:
            kept = -quantile_of(state.vectors, state.dual_coef, self.nu)
        scale = training.alpha * (ASSUMED_STREAM_ROWS if fitted.is_stream else fitted.n_rows)
        with np.errstate(over="ignore", invalid="ignore"):
            dual_coef, intercept = scale * model.dual_coef, np.array([scale * offset])
        if not (np.isfinite(dual_coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"The scores are too large for float64: lambda is {training.alpha:g} and the "
                f"offset of earlier rows is {targets.offset:g}. Fit the model again."
            )
        return replace(
            model,
            dual_coef=dual_coef,
            intercept=intercept,
            training=replace(training, vectors=replace(state, offset=kept)),
        )


def mean_kernel(rows: Rows, weights: Weights, random: np.random.RandomState) -> float:
    """Return the weighted mean of the kernel values of all pairs of rows, each with itself too.

    Of many rows, some that are drawn at random represent all.
    """
    n_rows, n_drawn = rows.n_rows, min(rows.n_rows, MOST_PAIRED)
    if n_drawn < n_rows:
        chosen = np.sort(random.choice(n_rows, n_drawn, replace=False))
        rows, weights = rows.take(chosen), weights[chosen]
    vectors = np.ascontiguousarray(rows.dense(), dtype=rows.core.dtype)
    kernel = _core.kernel_block(vectors, rows.gamma, rows.core, 0, n_drawn, 1)
    shares = weights / weights.sum()
    whole, same = float(shares @ kernel @ shares), float(shares @ shares)
    if n_drawn == n_rows:
        return whole
    other = (whole - same) / (1.0 - same)
    return max(other, 0.0) * (1.0 - 1.0 / n_rows) + 1.0 / n_rows
