"""What moving may cost."""

import math
from dataclasses import dataclass

from ..training.settings import Settings
from .kernel import MOST_KEPT
from .problem import ROWS_PER_VECTOR
from .sample import Sample

# The cost of an exponential, and of a row's loss for one output, in multiply-adds.
EXPONENTIAL = 20
LOSS = 300
# The expected number of steps for the coefficients for each step of the vectors, with one output
# and with several. Moves end after this many times the expected number.
INNER_STEPS, INNER_STEPS_OF_SEVERAL = 5, 10
MOST_INNER = 4
# Moving may cost as many multiply-adds as all passes over the rows, and this many at least:
# regressions gain more. With few rows it may cost less, about as much as the exact SVM: this many
# kernel values for each pair of rows.
LEAST_CLASS_WORK = 1.3e10
LEAST_VALUE_WORK = 2e10
CLASS_VALUES_PER_PAIR = 4
VALUE_VALUES_PER_PAIR = 16
VALUE_VALUES_PER_PAIR_OF_FEW = 8
# Moving ends if a step gains less than this share of the objective.
CLASS_TOLERANCE = 5e-4
VALUE_TOLERANCE = 3e-5
VALUE_TOLERANCE_OF_FEW = 5e-4
THOROUGH_TOLERANCE = 1e-5
# With fewer rows per vector than this, vectors would fit the noise: then they stay.
LEAST_ROWS = 4
# Fewer steps gain too little.
LEAST_STEPS = 8
# Classifiers have nothing to gain if the objective is smaller than this share of the loss of a
# model that predicts the same class for every row.
LEAST_LOSS = 0.01


@dataclass(frozen=True)
class Effort:
    """What moving may cost.

    Attributes
    ----------
    tolerance : float
        Steps end if one gains less than this share of the objective.

    most_steps, most_rounds : int
        The largest number of steps of a round, and of rounds. A round chooses the near rows anew.

    work : float
        The largest number of multiply-adds.

    n_features : float
        The number of features, or the mean number of values of a row if rows are sparse.

    n_rows : int
        The number of rows.

    keeps : bool
        Whether the kernel values of the near rows must fit into memory.

    least_loss : float
        Vectors stay if the objective is smaller than this share of the loss of a constant model.
    """

    tolerance: float
    most_steps: int
    most_rounds: int
    work: float
    n_features: float
    n_rows: int
    keeps: bool
    least_loss: float = 0.0

    @classmethod
    def of(cls, settings: Settings, sample: Sample, n_rows: int, *, values: bool) -> "Effort":
        """Return the effort for a model of this many rows, of which the sample is a part."""
        n_features = sample.mean_values() if sample.is_sparse else sample.n_features
        if settings.thorough:
            return cls(THOROUGH_TOLERANCE, 100, 4, math.inf, n_features, n_rows, keeps=False)
        choices, tolerance = settings.choices, CLASS_TOLERANCE
        few = n_rows <= choices.small
        n_steps = choices.class_moves_of_small if few else choices.class_moves
        # If all rows have a loss, steps take several times as long as the rest of the fit.
        n_steps = 0 if sample.loss.everywhere else n_steps
        least_work, per_pair = LEAST_CLASS_WORK, CLASS_VALUES_PER_PAIR
        if values:
            # With few rows, the calls of a step take longer than its sums.
            tolerance = VALUE_TOLERANCE_OF_FEW if few else VALUE_TOLERANCE
            n_steps = choices.value_moves
            least_work = LEAST_VALUE_WORK
            per_pair = VALUE_VALUES_PER_PAIR_OF_FEW if few else VALUE_VALUES_PER_PAIR
        value = n_features + EXPONENTIAL
        all_passes = settings.n_passes * n_rows * settings.budget * value
        # The exact machine of a ranking has many more kernel values: those of pairs of rows.
        exact = math.inf if sample.loss.has_pairs else per_pair * n_rows**2 * value
        work = min(exact, max(least_work, all_passes))
        least_loss = 0.0 if values else LEAST_LOSS
        return cls(
            tolerance, n_steps, 1, work, n_features, n_rows, keeps=True, least_loss=least_loss
        )

    def rounds(self) -> list[int]:
        """Return the number of steps of each round."""
        return [self.most_steps] * self.most_rounds

    def most_near(self, n_vectors: int) -> int:
        """Return the largest number of near rows on which vectors move."""
        if not self.most_steps:  # vectors stay
            return 0
        return MOST_KEPT // (4 * n_vectors) if self.keeps else self.n_rows

    def most_inner(self, n_steps: int, n_outputs: int) -> float:
        """Return the largest number of steps for the coefficients while vectors move."""
        most = MOST_INNER * n_steps * _inner_steps(n_outputs)
        return most if math.isfinite(self.work) else math.inf

    def steps(self, n_near: int, shape: tuple[int, int], n_outputs: int) -> int:
        """Return the number of steps of a round on this many near rows; 0 if vectors stay."""
        n_vectors = shape[0]
        if not n_near or self.n_rows < LEAST_ROWS * n_vectors:
            return 0
        n_inner = _inner_steps(n_outputs) * n_outputs
        value = self.n_features + EXPONENTIAL + 2 * n_inner
        n_bent = min(n_near, ROWS_PER_VECTOR * n_vectors)
        step = n_near * (n_vectors * value + LOSS * n_inner)
        step += n_bent * n_vectors**2 / 2 + n_vectors**3 / 3
        affordable = self.work / step
        return 0 if affordable < LEAST_STEPS else int(min(affordable, self.most_steps))


def _inner_steps(n_outputs: int) -> int:
    return INNER_STEPS if n_outputs == 1 else INNER_STEPS_OF_SEVERAL
