"""What moving may cost."""

import math
from dataclasses import dataclass

from ..training.settings import Settings
from .kernel import MOST_KEPT
from .pairs import PairwiseHinge
from .problem import ROWS_PER_VECTOR
from .sample import Sample

# Steps for the coefficients that a step of the vectors usually takes.
SOLVER_STEPS = 10
# The cost of an exponential, and of a row's loss for one output, in multiply-adds.
EXPONENTIAL = 20
LOSS = 300
# Steps for the coefficients after each step of the vectors, on average.
INNER_STEPS = 10
# Moving may cost as many multiply-adds as all passes over the rows, and this many at least:
# regressions gain more. With few rows it may cost less, about as much as the exact SVM: this many
# kernel values for each pair of rows.
LEAST_CLASS_WORK = 1e10
LEAST_VALUE_WORK = 2e10
CLASS_VALUES_PER_PAIR = 3
VALUE_VALUES_PER_PAIR = 16
VALUE_VALUES_PER_PAIR_OF_FEW = 11
# Moving ends if a step gains less than this share of the objective.
CLASS_TOLERANCE = 5e-4
VALUE_TOLERANCE = 3e-5
VALUE_TOLERANCE_OF_FEW = 5e-4
THOROUGH_TOLERANCE = 1e-5
# With fewer rows per vector than this, vectors would fit the noise: then they stay.
LEAST_ROWS = 4
# Fewer steps gain too little.
LEAST_STEPS = 8


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
    """

    tolerance: float
    most_steps: int
    most_rounds: int
    work: float
    n_features: float
    n_rows: int
    keeps: bool

    @classmethod
    def of(cls, settings: Settings, sample: Sample, n_rows: int, *, values: bool) -> "Effort":
        """Return the effort for a model of this many rows, of which the sample is a part."""
        n_features = sample.mean_values() if sample.is_sparse else sample.n_features
        if settings.thorough:
            return cls(THOROUGH_TOLERANCE, 100, 4, math.inf, n_features, n_rows, keeps=False)
        choices, tolerance = settings.choices, CLASS_TOLERANCE
        n_steps = choices.class_moves_of_small if sample.few else choices.class_moves
        # If all rows have a loss, steps take several times as long as the rest of the fit.
        n_steps = 0 if sample.loss.everywhere else n_steps
        least_work, per_pair = LEAST_CLASS_WORK, CLASS_VALUES_PER_PAIR
        if values:
            # With few rows, the calls of a step take longer than its sums.
            tolerance = VALUE_TOLERANCE_OF_FEW if sample.few else VALUE_TOLERANCE
            n_steps = choices.value_moves
            least_work = LEAST_VALUE_WORK
            per_pair = VALUE_VALUES_PER_PAIR_OF_FEW if sample.few else VALUE_VALUES_PER_PAIR
        value = n_features + EXPONENTIAL
        all_passes = settings.n_passes * n_rows * settings.budget * value
        # The exact machine of a ranking has many more kernel values: those of pairs of rows.
        exact = math.inf if isinstance(sample.loss, PairwiseHinge) else per_pair * n_rows**2 * value
        work = min(exact, max(least_work, all_passes))
        return cls(tolerance, n_steps, 1, work, n_features, n_rows, keeps=True)

    def rounds(self) -> list[int]:
        """Return the number of steps of each round."""
        return [self.most_steps] * self.most_rounds

    def most_near(self, n_vectors: int) -> int:
        """Return the largest number of near rows on which vectors move."""
        return MOST_KEPT // (4 * n_vectors) if self.keeps else self.n_rows

    def steps(self, n_near: int, shape: tuple[int, int], n_outputs: int) -> int:
        """Return the number of steps of a round on this many near rows; 0 if vectors stay."""
        n_vectors = shape[0]
        if not n_near or self.n_rows < LEAST_ROWS * n_vectors:
            return 0
        value = self.n_features + EXPONENTIAL + 2 * INNER_STEPS * n_outputs
        n_bent = min(n_near, ROWS_PER_VECTOR * n_vectors)
        step = n_near * (n_vectors * value + INNER_STEPS * LOSS * n_outputs)
        step += n_bent * n_vectors**2 / 2 + n_vectors**3 / 3
        affordable = self.work / step
        return 0 if affordable < LEAST_STEPS else int(min(affordable, self.most_steps))
