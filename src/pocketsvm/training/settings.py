"""The settings of one call of `fit` or `partial_fit`."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.devices import backend_of


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Constants of the method; the study (``make study``) shows what others would give.

    Attributes
    ----------
    intercept_rate : float
        In the passes the intercept multiplies one more feature, and this is the square of its
        value. With one, the intercept changes so much that the vectors get worse; close to zero,
        it takes many of them to move it.

    random_steps : int
        For so many steps for each vector, the strategy "merge" chooses one of equally small vectors
        at random, which settles how many vectors each sign has. Later it chooses the newest, which
        saves time.

    rows_per_vector : int
        If the solver follows, passes see at most this many rows for each vector.

    most_pass_rows : int
        At most this many rows, but at least `class_rows_per_vector` for each vector.

    class_rows_per_vector : int
        A sample has at least this many rows of a class for each of its vectors, if there are as
        many. In the solver, a sample of this size for each vector represents very many rows.

    merges_per_vector, merges_of_weighted : int
        If the solver follows, passes end after this many merges for each vector. The second number
        is for classes of different weights: a rare class that is heavy needs many of its rows.

    most_passes : int
        If the solver follows, the largest number of passes, unless classes differ in weight.

    hinge_width : float
        How far the solver rounds off the kink of a hinge, in units of the margin.

    novelty_width : float
        The same in novelty detection, where the scores of normal rows differ by little from each
        other.

    relative_width : float
        The same for losses on target values, as a share of the spread of the targets. If the solver
        follows, passes use the epsilon-insensitive loss: for other losses, this is its epsilon.

    near_reach : float
        Vectors move on the rows that have a loss, or would have one closer by so many widths of its
        rounded kink. With the log loss, which has no kink, these are the rows up to a margin of so
        many widths. As many other rows stand for all others.

    moves : int
        Vectors make at most as many steps as this number divided by the number of vectors: a row
        near the margin is compared with so many vectors in all. The more vectors there are, the
        less a step gains, and the longer it takes.

    move_tolerance : float
        They move until steps gain less than this share of the objective.

    move_window : int
        Steps are judged by the gain of this many in a row: a single one may gain little. The
        first, which gains most, must gain as much alone.

    value_patience : int
        Vectors of a regression make at most so many times as many steps, until their gain is so
        many times smaller: values say more than classes.

    values_per_unknown : float
        They move if there are this many rows for each unknown.

    least_loss : float
        Vectors of a classifier move if the objective is at least this share of the loss of a model
        that predicts the same class for every row: with a smaller one no label changes, whatever
        time moves take.

    most_loss : float
        They move if this share times the number of vectors is not larger than this: if many vectors
        leave a large loss, it is noise.

    move_damping : float
        Vectors with small coefficients make longer steps. This share of the mean square coefficient
        bounds their length.

    thorough_moves, thorough_rounds : int
        With polish="thorough", the largest number of steps of a round, and of rounds. A round
        chooses the rows near the margin anew.

    thorough_tolerance : float
        The tolerance of polish="thorough", and that of the coefficients after each step.

    most_scale_rows, most_scale_features : int
        Feature scales are learnt from at most this many rows, and for at most this many features.

    least_scale_rows : int
        feature_scales="auto" learns nothing from fewer rows.

    held_share : float
        The share of the rows that are held out: of those that feature scales are learnt from, and
        of those that vectors of quantiles move on.

    held_rows : int
        At least so many rows are held out while vectors of quantiles move, but at most a third: the
        coverage of fewer rows varies much.

    held_parts : int
        Losses of rows that are held out have the standard error of so many parts of them. Quantiles
        are calibrated on so many folds.

    start_gain : float
        The solver starts from the passes if their best multiple gains this share of the objective
        of zero. With a tiny gamma all models are nearly optimal, and only a start from zero
        predicts more than one class.

    tolerance : float
        The coefficients are solved for until a step is predicted to gain less than half this share
        of the objective.

    scale_vectors : tuple of (int, float)
        The numbers of vectors and the C of the small models that feature scales are learnt with;
        each model starts from the scales of the one before.

    scale_gain : float
        A larger small model is preferred if the held-out error is smaller by this share.

    scale_widths : tuple of float
        The first small model starts from the best of these gammas, over the number of features.

    scale_steps : int
        The steps of L-BFGS for a small model.

    scale_memory : int
        The pairs of steps and gradients that L-BFGS keeps for a small model.

    scale_range : tuple of two float
        Logarithms of scales change by at most this much, down and up.

    scale_reach : float
        Vectors of small models stay within this many times the largest values of the rows.

    scale_penalty : float
        The penalty on the mean square of the deviations of logarithms of scales, for classes. It
        keeps features of one meaning, such as pixels, together.

    batches, batch_rows : int
        With polish="thorough", vectors and learnt scales are refined by this many mini-batches of
        so many rows.

    batch_looks : int
        So many times, rows that are held out judge the iterates.

    batch_start : float
        Mini-batches start from this many times the learnt scales.

    batch_growing : float
        The share of the mini-batches in which steps grow; then they fall to zero.

    batch_scales, batch_vectors, batch_coefficients : float
        The largest steps of a mini-batch: of logarithms of scales, of vectors in kernel widths, and
        of coefficients, in units of their mean size.
    """

    intercept_rate: float = 0.1
    random_steps: int = 20
    rows_per_vector: int = 512
    most_pass_rows: int = 2**18
    class_rows_per_vector: int = 64
    merges_per_vector: int = 50
    merges_of_weighted: int = 400
    most_passes: int = 5
    hinge_width: float = 0.5
    novelty_width: float = 0.003
    relative_width: float = 0.1
    near_reach: float = 2.0
    moves: int = 3000
    move_tolerance: float = 7e-4
    move_window: int = 5
    value_patience: int = 10
    values_per_unknown: float = 0.5
    least_loss: float = 0.01
    most_loss: float = 160.0
    move_damping: float = 0.1
    thorough_moves: int = 100
    thorough_rounds: int = 4
    thorough_tolerance: float = 1e-5
    most_scale_rows: int = 20_000
    most_scale_features: int = 1024
    least_scale_rows: int = 1000
    held_share: float = 0.15
    held_rows: int = 200
    held_parts: int = 20
    start_gain: float = 0.1
    tolerance: float = 2e-4
    scale_vectors: tuple[tuple[int, float], ...] = ((100, 1.0), (300, 1.0))
    scale_gain: float = 0.01
    scale_widths: tuple[float, ...] = (0.125, 0.5, 2.0)
    scale_steps: int = 40
    scale_memory: int = 20
    scale_range: tuple[float, float] = (-7.0, 4.0)
    scale_reach: float = 3.0
    scale_penalty: float = 0.001
    batches: int = 4000
    batch_rows: int = 4096
    batch_start: float = 2.0
    batch_looks: int = 20
    batch_growing: float = 0.2
    batch_scales: float = 0.1
    batch_vectors: float = 0.03
    batch_coefficients: float = 0.1

    @property
    def most_thorough_rows(self) -> int:
        """The most rows near the margin on which polish="thorough" always tries L-BFGS.

        With more rows, it would compute more kernel values than the mini-batches, and is tried only
        where a fit without it would move its vectors, too.
        """
        return self.batches * self.batch_rows // (self.thorough_rounds * self.thorough_moves)

    def most_sampled(self, budget: int) -> int:
        """Return the largest number of rows that the passes see if the solver follows."""
        most = min(self.rows_per_vector * budget, self.most_pass_rows)
        return max(most, self.class_rows_per_vector * budget)

    def for_share(self, share: float) -> "Choices":
        """Return the choices for a share of the rows and of the budget.

        Its vectors make as many moves as those of the whole budget would.
        """
        return replace(self, moves=round(share * self.moves), most_loss=share * self.most_loss)

    def for_folds(self) -> "Choices":
        """Return the choices for scales that only compare candidates: they are learnt faster."""
        return replace(self, scale_vectors=self.scale_vectors[:1])


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of an estimator, checked, as a call of `fit` or `partial_fit` uses them.

    Attributes
    ----------
    budget, C, gamma, max_iter, maintenance, polish, fit_intercept, alpha, half_life
        As in `pocketsvm.BudgetedSVC`; a `half_life` of None is infinite.

    feature_scales : ndarray of shape (n_features,), "learn", "auto" or None
        As in `pocketsvm.BudgetedSVC`; an array is float64, and checked.

    n_threads : int
        Threads; the result does not depend on them.

    device : str
        The device of the solver, one of this machine.

    random_state : RandomState
        Draws the sample, and the seeds of new trainers.

    is_stream : bool
        Whether this is a call of `partial_fit`: one pass, which no solver follows.

    choices : Choices
        Constants of the method.
    """

    budget: int
    max_iter: int
    maintenance: str
    polish: bool | str
    n_threads: int
    random_state: np.random.RandomState
    gamma: str | float = "scale"
    feature_scales: NDArray[np.float64] | str | None = None
    C: float = 1.0
    alpha: float | None = None
    fit_intercept: bool = False
    half_life: float = math.inf
    is_stream: bool = False
    device: str = "cpu"
    choices: Choices = field(default_factory=Choices)

    @property
    def polishes(self) -> bool:
        """Whether the solver follows the passes."""
        return bool(self.polish) and not self.is_stream

    @property
    def backend(self) -> Backend:
        """What computes kernel values where feature scales are learnt."""
        return backend_of(self.device, self.n_threads)

    def settings(self, alpha: float) -> "Settings":
        """Return the settings of this call, with its lambda."""
        return Settings(
            budget=self.budget,
            alpha=alpha,
            n_passes=1 if self.is_stream else self.max_iter,
            maintenance=self.maintenance,
            fit_intercept=self.fit_intercept,
            polish=self.polishes,
            thorough=self.polish == "thorough",
            n_threads=self.n_threads,
            random_state=self.random_state,
            device=self.device,
            choices=self.choices,
        )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model is trained; the estimators' parameters, checked and resolved.

    Attributes
    ----------
    budget : int
        The maximum number of support vectors in the whole model.

    alpha : float
        The regularisation lambda.

    n_passes : int
        Passes over the rows.

    maintenance : str
        The strategy that keeps the budget.

    fit_intercept : bool
        Whether the model has an intercept.

    polish : bool
        Whether the solver follows the passes.

    thorough : bool
        Whether it moves the vectors until that gains nothing.

    n_threads : int
        Threads; the result does not depend on them.

    device : str
        The device of the solver, one of this machine.

    random_state : RandomState
        Draws the seeds of new trainers.

    choices : Choices
        Constants of the method.
    """

    budget: int
    alpha: float
    n_passes: int
    maintenance: str
    fit_intercept: bool
    polish: bool
    thorough: bool
    n_threads: int
    random_state: np.random.RandomState
    device: str = "cpu"
    choices: Choices = field(default_factory=Choices)

    @property
    def backend(self) -> Backend:
        """What computes kernel values in the solver."""
        return backend_of(self.device, self.n_threads)

    @property
    def most_sampled(self) -> int:
        """The largest number of rows that the passes see if the solver follows."""
        return self.choices.most_sampled(self.budget)

    @property
    def few_rows(self) -> int:
        """The number of rows that represent very many in the solver."""
        return self.choices.class_rows_per_vector * self.budget

    def most_merges(self, weighted: bool) -> int:
        """Return the number of merges after which passes end if the solver follows.

        `weighted` says that the classes have different weights.
        """
        choices = self.choices
        return (choices.merges_of_weighted if weighted else choices.merges_per_vector) * self.budget

    def least_of_class(self, n_problems: int) -> int:
        """Return the least number of rows of a class in a sample, if it has as many."""
        return self.choices.class_rows_per_vector * self.budget // n_problems


@dataclass(frozen=True, kw_only=True)
class SearchChoices:
    """Constants of the search of C and gamma.

    Attributes
    ----------
    first_Cs, first_gammas : tuple of int
        The values to begin with, as powers of two in units of the targets and of "scale"; others
        are as far apart.

    reach : int
        No value is tried beyond this power of two.

    rows_per_vector : int
        Small copies of folds have shares of at most this many rows for each vector of the budget,
        or of `budget`.

    sampled_times : int
        A sample of rows that are not in memory has this many times as many rows. The scores of a
        rare class depend on how many rows of the others are held out.

    budget : int
        The largest budget that ``budget="auto"`` chooses.

    few_rows : int
        Folds with fewer training rows have no small copies, and losses are compared.

    shares : tuple of two float
        The shares of rows and budget of small copies of folds. Those with the first share have half
        of `few_rows` at least, those with the second as many times more as it is larger.

    carried_rows : int
        As many candidates are carried on to larger copies of folds, and to the folds themselves, as
        have this many training rows in all, and one more. So many stay at least when the worse half
        is dropped after a fold.

    least_gain : float
        Learnt feature scales must reduce the error by this share, and by a standard error of the
        differences of folds. If they increase it by as much on the first folds, the search ends.
    """

    first_Cs: tuple[int, ...] = (-3, 0, 3)  # noqa: N815
    first_gammas: tuple[int, ...] = (-6, -4, -2, 0, 2, 4)
    reach: int = 15
    rows_per_vector: int = 64
    sampled_times: int = 4
    budget: int = 500
    few_rows: int = 1000
    shares: tuple[float, float] = (0.1, 0.3)
    carried_rows: int = 2000
    least_gain: float = 0.02


SEARCH_CHOICES = SearchChoices()


@dataclass(frozen=True, kw_only=True)
class CompressionChoices:
    """Constants of the compression of a given model.

    Attributes
    ----------
    C : float
        The C of a model that imitates decision values, in units of their spread: large, because
        these values have no noise.

    most_margin, most_odds : float
        Decision values to imitate are clipped to this size: far from the boundary, their size does
        not matter. The second number is for the loss "log_loss", whose values are log odds.

    near : float
        In novelty detection, a row with the value zero counts one over this, one with a value of
        mean size about one.

    held_out, most_held_out : float and int
        The share of the rows that the report is measured on, and their largest number.

    most_labels_held_out : int
        The same for models that are solved on labels: labels say little, and each row counts.

    rows_per_vector, least_learnt : int
        Decision values are imitated on at most so many rows for each vector, or on so many in all.

    moves, window, tolerance : int, int and float
        Without rows, vectors make at most so many steps, until so many in a row reduce the squared
        distance, relative to the given function, by less than this each.

    refinements, refined_tolerance : int and float
        In a regression, vectors make at most so many steps after they were solved for, until steps
        reduce the objective by less than this.

    distance : float
        The weight of the squared distance from the given function beside squared errors on rows.

    refined_values : int
        The rows of these steps have at most so many kernel values, and so many features.

    rounded_rows : int
        The number of rows on which coefficients are solved for after rounding.

    ranges : tuple of float
        The ranges of integers: from this quantile of the positions of the vectors, in each feature,
        to the opposite one. The range with the smallest error on rows is taken.

    rounding : float
        The error of a kernel value in integers that coefficients are penalised for.

    precision : float
        A budget for a tolerance is the smallest one up to this factor.
    """

    C: float = 1000.0
    most_margin: float = 3.0
    most_odds: float = 8.0
    near: float = 0.02
    held_out: float = 0.1
    most_held_out: int = 2000
    most_labels_held_out: int = 500
    rows_per_vector: int = 128
    least_learnt: int = 10_000
    moves: int = 200
    window: int = 5
    tolerance: float = 1e-4
    refinements: int = 60
    refined_tolerance: float = 1e-5
    distance: float = 0.1
    refined_values: int = 2**24
    rounded_rows: int = 10_000
    ranges: tuple[float, ...] = (0.0, 0.005, 0.02, 0.05)
    rounding: float = 2.0**-17
    precision: float = 1.1


COMPRESSION_CHOICES = CompressionChoices()
