"""The problem that the solver minimises, for fixed support vectors.

The last iterate of stochastic gradient descent is noisy, but the support vectors that it has found
are good. With them fixed, the SVM's own problem has one unknown per vector and output, and the
intercepts:

    minimise over beta, b    1/2 beta' (K + jitter I) beta + sum_i c_i loss_i(k_i beta + b) + t b,

where K holds the kernel values among the vectors, k_i those of row i, and c_i is C times the weight
of the row. The tilt t is zero, except in novelty detection. The losses round off their kinks. All
outputs share the kernel values. A point is an array (n_outputs, n_vectors + 1) of the coefficients
and intercepts.

The rows of a problem may stand for more rows. Then a linear term corrects the gradient.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._cached import cached_property
from ..backends.base import Backend, HessianFactor, Penalty, RowHessian, WhitenedRows
from ..backends.hessian import INTERCEPT_CURVATURE
from ..backends.kernel import Use
from ..rows.checked import Rows
from ..rows.sampling import draw_members
from .conjugate import conjugate_gradients, row_products
from .pairs import pair_blocks
from .row_loss import Loss
from .sample import Sample
from .value_losses import SquaredError

Array = NDArray[Any]

# All of these only save time: steps end by the tolerance of the solution.
# Where a Hessian is made of a sample of rows or pairs, there are this many for each vector.
ROWS_PER_VECTOR = 32
# The same for a Hessian that need not be precise: a bound, the mean of several outputs, or a
# preconditioner.
ROUGH_ROWS_PER_VECTOR = 8
# Hessians follow the curvatures of rows up to this share of the mean curvature.
SMALL_CHANGE = 0.1
# Hessians with more values than this are not kept from one step to the next.
MOST_HESSIANS = 2**23
# So many outputs share the Hessians of the first steps, which saves time.
MANY_OUTPUTS = 8
# Solving takes about this many products with Hessians: if the rows stand for more rows, and
# otherwise.
PRODUCTS_OF_PART, PRODUCTS = 16, 32


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point, or a direction, and what is linear in it.

    Attributes
    ----------
    point : ndarray of shape (n_outputs, n_vectors + 1)
        The coefficients and intercepts.

    penalised : ndarray of shape (n_outputs, n_vectors)
        The penalty's matrix times the coefficients.

    decisions : ndarray of shape (n_rows, n_outputs)
        The decision values of the rows.
    """

    point: Array
    penalised: Array
    decisions: Array

    def plus(self, length: Array, direction: "Iterate") -> "Iterate":
        """Go some length along a direction: one for every output, or one for all."""
        return Iterate(
            self.point + length[:, None] * direction.point,
            self.penalised + length[:, None] * direction.penalised,
            self.decisions + length * direction.decisions,
        )


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The objective at an iterate, and its derivatives.

    Attributes
    ----------
    objective : ndarray
        One value for every loss of a row.

    gradient : ndarray of shape (n_outputs, n_vectors + 1)
        The gradient in the coefficients and intercepts.

    slopes, curvatures : ndarray of shape (n_rows, n_outputs)
        The weighted slope and curvature of the loss of each row.
    """

    objective: Array
    gradient: Array
    slopes: Array
    curvatures: Array


class Problem:
    """The restricted SVM problem of all outputs.

    Parameters
    ----------
    vectors : ndarray of shape (n_vectors, n_features)
        The support vectors.

    sample : Sample
        The rows.

    fit_intercept : bool
        Whether there is an intercept.

    backend : Backend
        Computes kernel values, and sums over them.

    penalty : Penalty, default=None
        The penalty of these vectors, if it is known.

    is_part : bool, default=False
        Whether the rows stand for many more, so that few steps solve the problem well enough.
    """

    def __init__(
        self,
        vectors: Array,
        sample: Sample,
        fit_intercept: bool,
        backend: Backend,
        penalty: Penalty | None = None,
        is_part: bool = False,
    ) -> None:
        self.penalty = penalty or backend.penalty(vectors, sample.rows.gamma)
        rows, dtype = sample.rows, self.penalty.dtype
        self.is_stiff = sample.is_stiff and not sample.loss.has_pairs
        if self.is_stiff:
            vectors, rows, dtype = vectors.astype(np.float64), rows.precise(), np.float64
        self.rows = backend.kernel_rows(vectors, rows, sample.loss.n_outputs, dtype)
        self.sample, self.fit_intercept, self.backend = sample, fit_intercept, backend
        self.n_threads = backend.n_threads
        self.shape = sample.loss.n_outputs, len(vectors) + 1
        self.linear = np.zeros(self.shape)
        self.linear[:, -1] = sample.tilt
        self._hessians: list[RowHessian] = []
        # Products with the Hessian take less time than a factor of it.
        self.uses_products = (
            dtype == np.float32
            and rows.core.dtype == "float32"
            and sample.n_rows > ROUGH_ROWS_PER_VECTOR * len(vectors)
            and prefers_products(vectors, sample, backend, is_part)
        )

    @cached_property
    def _shares_first(self) -> bool:
        """Whether the outputs share the Hessians of first steps.

        They do until a step is predicted to gain less than half the objective.
        """
        bounds = self.sample.loss.largest_curvatures
        is_equal = bool(np.ptp(bounds) == 0.0) and not (self.has_bound or self.is_stiff)
        return is_equal and self.shape[0] >= MANY_OUTPUTS and not self._shares_hessians

    @property
    def has_bound(self) -> bool:
        """Whether curvatures are only a bound on second derivatives."""
        return has_bound(self.sample.loss)

    @property
    def knows_bends(self) -> bool:
        """Whether second derivatives along a step are known."""
        return not self.sample.loss.has_pairs

    def corrected(self, iterate: Iterate, gradient: Array) -> Derivatives:
        """Add the linear term that gives the objective this gradient at an iterate.

        Returns the objective and its derivatives there.
        """
        derivatives = self.derivatives(iterate)
        change = gradient - derivatives.gradient
        self.linear += change
        objective = derivatives.objective + self.per_loss(row_products(iterate.point, change))
        return replace(derivatives, objective=objective, gradient=gradient)

    def iterate(self, point: Array) -> Iterate:
        """Return the iterate of a point."""
        used = point.any(axis=1)
        if not used.all():  # the outputs of zeros cost nothing
            iterate = self.zero()
            if used.any():
                some = self.iterate(point[used])
                iterate.point[used], iterate.penalised[used] = some.point, some.penalised
                iterate.decisions[:, used] = some.decisions
            return iterate
        if self.uses_products:
            rows = self.sample.rows
            given = np.ascontiguousarray(point[:, :-1]), point[:, -1].copy(), rows.gamma
            decisions = self.backend.decide(self.rows.vectors, *given, rows.checked)
        else:
            (decisions,) = self.rows.decisions_of([point])
        return Iterate(point, self.penalty.product(point[:, :-1]), decisions)

    def zero(self) -> Iterate:
        """Return the iterate of zero, at which no kernel value matters."""
        n_outputs, n_rows = self.shape[0], len(self.sample.c)
        point = np.zeros(self.shape)
        return Iterate(point, point[:, :-1].copy(), np.zeros((n_rows, n_outputs)))

    def objective(self, iterate: Iterate) -> Array:
        """Return the objective at an iterate, one for every loss of a row."""
        losses, _, _ = self.sample.derivatives(iterate.decisions, self.n_threads)
        return self._objective(iterate, losses)

    def derivatives(
        self, iterate: Iterate, before: Derivatives | None = None, moved: Any = None
    ) -> Derivatives:
        """Return the objective at an iterate, and its derivatives.

        Those before the last step are enough for the outputs that it has not moved, if others are.
        """
        losses, slopes, curvatures = self.sample.derivatives(iterate.decisions, self.n_threads)
        if self.uses_products:
            pull = self._pull_at(iterate.point, slopes != 0)
        elif before is None or moved is None or moved.all():
            pull = self.rows.pull_of(slopes, self._changing(curvatures))
        else:
            pull = np.zeros(self.shape)
            some = np.ascontiguousarray(slopes[:, moved])
            pull[moved] = self.rows.pull_of(some, self._changing(curvatures))
        gradient = self._gradient(iterate, pull)
        if before is not None and moved is not None:
            gradient[~moved] = before.gradient[~moved]
        return Derivatives(self._objective(iterate, losses), gradient, slopes, curvatures)

    def _pull_at(self, point: Array, has_slope: Array) -> Array:
        """Return the derivative of the losses at a point; only some rows have a slope."""
        sample = self.sample.take(np.flatnonzero(has_slope), self.n_threads)
        return self._read(point, sample.rows, sample.loss, sample.c)

    def _read(self, point: Array, rows: Rows, loss: Loss, c: Array) -> Array:
        """Return the derivative of the losses of rows; their kernel values are not kept."""
        given = self.rows.vectors, point, rows, loss, c, np.empty(0), 0.0
        pull: Array = self.backend.read(*given)[1]
        return pull

    def _gradient(self, iterate: Iterate, pull: Array) -> Array:
        gradient = pull + self.linear
        gradient[:, :-1] += iterate.penalised
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        return gradient

    def _changing(self, curvatures: Array) -> Use | None:
        """Return what keeps the Hessians of all outputs up to date.

        None if they are not kept, not yet used, or updated only where a system is solved.
        """
        if not self._keeps_hessians or self._whitens or self._shares_first:
            return None
        return self._changes(np.arange(self.shape[0]), curvatures)

    @property
    def _keeps_hessians(self) -> bool:
        """Whether Hessians are kept from one step to the next."""
        n_outputs, n_vectors = self.shape[0], self.shape[1] - 1
        is_large = n_outputs * n_vectors**2 > MOST_HESSIANS
        return not (self.sample.loss.has_pairs or is_large or self.uses_products)

    def _changes(self, outputs: Array, curvatures: Array) -> Use:
        """Return what brings the Hessians of some outputs up to date."""
        if not self._hessians:
            sizes = self.shape[1] - 1, len(curvatures)
            self._hessians = [self.backend.row_hessian(*sizes) for _ in range(self.shape[0])]
        least = SMALL_CHANGE / self.sample.total_c * self.sample.c
        hessians = [self._hessians[o] for o in outputs]
        changes: Use = self.rows.changes(hessians, curvatures[:, outputs], least)
        return changes

    def _objective(self, iterate: Iterate, losses: Array) -> Array:
        quadratic = 0.5 * row_products(iterate.point[:, :-1], iterate.penalised)
        penalty = self.per_loss(quadratic + row_products(iterate.point, self.linear))
        objective: Array = penalty + losses
        return objective

    def slope_along(self, iterate: Iterate, step: Iterate, length: Array) -> tuple[Array, Array]:
        """Return the objective's first and second derivative along a step, at some lengths.

        Those of outputs with a length of NaN are not used, and not computed.
        """
        slope, curvature = self.sample.along(
            iterate.decisions, step.decisions, length, self.n_threads
        )
        coefficients = step.point[:, :-1]
        quadratic = row_products(coefficients, step.penalised)
        slope = slope + row_products(coefficients, iterate.penalised) + length * quadratic
        slope = slope + row_products(self.linear, step.point)
        return self.per_loss(slope), self.per_loss(curvature + quadratic)

    @property
    def n_losses(self) -> int:
        """The number of losses of a row."""
        return 1 if self.sample.loss.coupled else self.shape[0]

    def per_loss(self, sums: Array) -> Array:
        """Add up the sums of all outputs if one loss couples them."""
        return sums.sum(keepdims=True) if self.sample.loss.coupled else sums

    def comparable(self, objectives: Array) -> Array:
        """Return objectives of outputs, or their mean where that is larger, in their own units."""
        units = 1.0 / self.sample.loss.largest_curvatures[: self.n_losses]
        floor = units * np.mean(objectives / units)
        return np.maximum(np.maximum(objectives, floor), np.finfo(float).tiny)

    def newton_direction(
        self,
        iterate: Iterate,
        derivatives: Derivatives,
        random: np.random.Generator,
        active: NDArray[np.bool_] | None = None,
        negligible: float = 0.0,
    ) -> Array:
        """Return Newton's direction; zero for outputs that are not active.

        A direction that gains no more than half of what is negligible need not be precise.
        """
        n_curved = np.count_nonzero(derivatives.curvatures, axis=0)
        if self.uses_products and not (self._whitens and n_curved[0] < self.shape[1]):
            return self._truncated_direction(derivatives, random, negligible)
        outputs = np.arange(self.shape[0]) if active is None else np.flatnonzero(active)
        curvatures, gradient = derivatives.curvatures, derivatives.gradient
        if self._shares_first:
            direction = self._shared_direction(gradient, curvatures, random)
            gain = -float(row_products(gradient, direction).sum())
            self._shares_first = gain > float(np.abs(derivatives.objective).sum())
            return direction
        direction = np.zeros(self.shape)
        is_small = self._whitens & (n_curved[outputs] < self.shape[1])
        few, many = outputs[is_small], outputs[~is_small]
        if len(few):
            least = [self._least_curvature(o) for o in few]
            direction[few] = self._whitened.directions(
                few, curvatures[:, few], gradient[few], least, self.fit_intercept
            )
        if len(many) and self._shares_hessians and self._whitens:
            direction[many] = self._shared_direction(gradient[many], curvatures[:, many], random)
        elif len(many):
            given = curvatures, random, iterate.decisions
            direction[many] = -self._solved(many, gradient[many], *given)
        return direction

    def _shared_direction(
        self, gradient: Array, curvatures: Array, random: np.random.Generator
    ) -> Array:
        """Return the directions of some outputs that share the mean of their Hessians."""
        shared = self._rough_factor(0, curvatures.mean(axis=1), random)
        direction: Array = -shared.solve(gradient)
        return direction

    def _truncated_direction(
        self, derivatives: Derivatives, random: np.random.Generator, negligible: float
    ) -> Array:
        """Return nearly Newton's direction, by preconditioned conjugate gradients."""
        curvatures = derivatives.curvatures[:, 0]
        if self.penalty.preconditioner is None:
            self.penalty.preconditioner = self._rough_factor(0, curvatures, random)
        curved = np.flatnonzero(curvatures)
        rows, weights = self.sample.rows.take(curved, self.n_threads), curvatures[curved]
        direction, has_ended = conjugate_gradients(
            lambda along: self._hessian_product(along, rows, weights),
            self.penalty.preconditioner.solve,
            -derivatives.gradient,
            negligible / 2,
        )
        if not has_ended:
            self.penalty.preconditioner = None
        return direction

    def _hessian_product(self, point: Array, rows: Rows, curvatures: Array) -> Array:
        """Return the Hessian times a point, from the rows of the working set.

        It is the gradient of the squared decision values of these rows, with their curvatures.
        """
        squares = SquaredError.of(np.zeros((rows.n_rows, 1)), [0.0], [1.0])
        product = self._read(point, rows, squares, curvatures)
        product[:, :-1] += self.penalty.product(point[:, :-1])
        missing = max(0.0, self._least_curvature(0) - float(curvatures.sum(dtype=float)))
        product[:, -1] += missing * point[:, -1]  # as in the factor of a Hessian
        if not self.fit_intercept:
            product[:, -1] = 0.0
        return product

    def bounded_direction(self, derivatives: Derivatives, random: np.random.Generator) -> Array:
        """Return Newton's direction for the largest curvatures that the losses can have."""
        direction, bounds = np.zeros(self.shape), self.sample.loss.largest_curvatures
        for o in np.unique(bounds, return_index=True)[1]:  # outputs with the same bound share it
            same = bounds == bounds[o]
            factor = self._rough_factor(int(o), self.sample.c * bounds[o], random)
            direction[same] = -factor.solve(derivatives.gradient[same])
        return direction

    @property
    def _shares_hessians(self) -> bool:
        """Whether outputs whose curvatures are comparable share Hessians, to save time."""
        n_outputs, n_vectors = self.shape
        is_large = n_outputs * n_vectors**2 > MOST_HESSIANS and not self.has_bound
        return is_large and bool(np.ptp(self.sample.loss.largest_curvatures) == 0.0)

    @cached_property
    def _whitens(self) -> bool:
        """Whether Hessians of small working sets are solved in the space of their rows."""
        return not self.sample.loss.has_pairs and self.backend.whitens(self.rows)

    @cached_property
    def _whitened(self) -> WhitenedRows:
        """The rows in coordinates where the penalty is the identity."""
        return self.backend.whitened(self.penalty, self.rows, self.shape[0])

    def newton_point(self, decisions: Array, random: np.random.Generator) -> Array:
        """Return the point where Newton's method goes from decision values, in one step."""
        _, slopes, curvatures = self.sample.derivatives(decisions, self.n_threads)
        curved = self.sample.loss.curvature_products(decisions, curvatures, self.sample.c)
        self._shares_first = False  # the steps that follow need few changes of these Hessians
        right = self.rows.pull_of(curved - slopes, self._changing(curvatures)) - self.linear
        return self._solved(np.arange(len(right)), right, curvatures, random, decisions)

    def _solved(
        self,
        outputs: Array,
        right: Array,
        curvatures: Array,
        random: np.random.Generator,
        decisions: Array | None,
    ) -> Array:
        """Return the solutions of linear systems with the Hessians of some outputs."""
        if self._keeps_hessians:
            if self._whitens or not self._hessians:
                changes = self._changes(outputs, curvatures)
                for at, kernel in self.rows.blocks():
                    changes(at, kernel)
            self.penalty.preconditioner = None
            known = [self._hessians[o] for o in outputs]
            least = [self._least_curvature(o) for o in outputs]
            return self.penalty.solve_each(known, least, self.fit_intercept, right)
        found = np.empty_like(right)
        for k, o in enumerate(outputs):
            hessian = self._factor(o, curvatures[:, o], random, decisions)
            found[k] = hessian.solve(right[k : k + 1])[0]
        return found

    def _factor(
        self, output: int, curvatures: Array, random: np.random.Generator, decisions: Array | None
    ) -> HessianFactor:
        """Factor the Hessian of an output.

        Losses of pairs need the decision values; None gives a bound for any decision values.
        """
        self.penalty.preconditioner = None  # the new factor takes its memory
        if self.sample.loss.has_pairs:
            pairs = self._pair_hessian(curvatures, random, decisions)
            return self.penalty.factor(pairs, 1.0, fit_intercept=False)
        found = self.row_hessian(curvatures)
        return self.penalty.factor(found, self._least_curvature(output), self.fit_intercept)

    def _rough_factor(
        self, output: int, curvatures: Array, random: np.random.Generator
    ) -> HessianFactor:
        """Factor the Hessian of some of the rows, which represent all."""
        n_rows = ROUGH_ROWS_PER_VECTOR * self.shape[1]
        some = thinned(curvatures, n_rows, random, self.n_threads)
        return self._factor(output, some, random, None)

    def _least_curvature(self, output: int) -> float:
        """Return the least curvature of the intercept of an output."""
        largest = float(self.sample.loss.largest_curvatures[output])
        return INTERCEPT_CURVATURE * self.sample.total_c * largest

    def row_hessian(self, curvatures: Array) -> RowHessian:
        """Return the Hessian of rows with these weighted curvatures."""
        hessian = self.backend.row_hessian(self.shape[1] - 1, len(curvatures))
        rows = self.rows
        if self.uses_products:  # only those of the working set
            curved = np.flatnonzero(curvatures)
            curvatures, some = curvatures[curved], self.sample.rows.take(curved, self.n_threads)
            rows = self.backend.kernel_rows(rows.vectors, some, 1, rows.dtype)
        for at, kernel in rows.blocks():
            hessian.add(kernel, curvatures[at])
        return hessian

    def _pair_hessian(
        self, curvatures: Array, random: np.random.Generator, decisions: Array | None
    ) -> RowHessian:
        """Return the Hessian of pairs of rows, of which a random sample represents all."""
        n_rows = ROWS_PER_VECTOR * self.shape[1]
        curvatures = thinned(np.ascontiguousarray(curvatures), n_rows, random, self.n_threads)
        partners = self.sample.loss.partners(np.flatnonzero(curvatures), decisions, random)
        hessian = self.backend.row_hessian(self.shape[1] - 1, 0)
        for kernel, weights in pair_blocks(
            self.rows.vectors, self.sample, curvatures, partners, self.backend
        ):
            hessian.add(kernel, weights)
        return hessian


def has_bound(loss: Loss) -> bool:
    """Whether curvatures of a loss are only a bound on second derivatives."""
    return loss.has_pairs or loss.coupled


def prefers_products(vectors: Array, sample: Sample, backend: Backend, is_part: bool) -> bool:
    """Whether products with the Hessian of many rows take less time than a factor of it."""
    is_one = sample.loss.n_outputs == 1 and not has_bound(sample.loss)
    n_products = PRODUCTS_OF_PART if is_part else PRODUCTS
    return is_one and backend.prefers_products(n_products, len(vectors), sample.mean_values())


def thinned(
    curvatures: Array, n_rows: int, random: np.random.Generator, n_threads: int = 1
) -> Array:
    """Draw rows of the working set; the others get no curvature, the drawn ones more."""
    is_curved = curvatures != 0
    if np.count_nonzero(is_curved) <= n_rows:
        return curvatures
    drawn = draw_members(is_curved, n_rows, int(random.integers(2**63)), n_threads)
    found = curvatures[drawn]
    thin = np.zeros_like(curvatures)
    thin[drawn] = found * (_core.total(curvatures, n_threads) / found.sum(dtype=float))
    return thin
