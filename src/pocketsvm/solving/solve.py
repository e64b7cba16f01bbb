"""The solver: the vectors of the passes in, the model out."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from .._warnings import warn
from ..backends.base import Penalty
from ..backends.kernel import MOST_KEPT, OUTPUT_VALUES
from ..model.model import Model, Training
from ..rows.checked import Rows
from ..training.passes import sampled
from ..training.settings import Settings
from ..training.state import VectorSet
from ..training.targets import Targets
from .all_rows import AllRows
from .blas import ONE_BLAS_THREAD
from .conjugate import row_products
from .coverage import covering, held_out
from .exact import MOST_ROWS, solve_exactly
from .newton import Solution, best_start, minimise
from .positions import Positions
from .problem import Problem
from .sample import ROWS_TO_COUNT, Sample, sample_of
from .scans import Scans, read, standing_for

Array = NDArray[Any]

# A fit warns if one more step would gain more than half this share of the objective. The number has
# no effect on the model.
NOT_CONVERGED = 2e-3


def solve(
    vectors: VectorSet,
    rows: Rows,
    targets: Targets,
    settings: Settings,
    whole: Scans | None = None,
    start: Array | None = None,
) -> Model:
    """Solve for the coefficients and the intercept, and move the vectors if that pays.

    Parameters
    ----------
    vectors : VectorSet
        The result of the passes.

    rows : Rows
        The rows.

    targets : Targets
        Their classes, values or weights.

    settings : Settings
        How to train; without `polish`, the model is the last iterate of the passes.

    whole : Scans, default=None
        The scans of all rows, if the rows given are only a sample of them.

    start : ndarray of shape (n_vectors, n_features), default=None
        Vectors that are better than those of the passes, if there are any. They have been moved,
        and move further with polish="thorough" alone.

    Returns
    -------
    model : Model
        The model, which keeps the unsolved vectors for further passes.
    """
    model = last_iterate(vectors, targets, settings)
    # A regression may need no vectors at all: then there is nothing to solve for.
    if not settings.polish or not len(model.vectors):
        return model
    begin = time.perf_counter()
    with ONE_BLAS_THREAD, _core.ThreadPool(settings.n_threads):
        random = np.random.default_rng(vectors.states[0].generator)
        solver = Solver.of(rows, targets, settings, random, whole)
        answer = solver.exact()
        if answer is not None:
            before = solver.last_objective(vectors)
            answer = solver.covering(answer)
        elif start is not None:
            points = distinct(start.astype(model.vectors.dtype))
            before = solver.last_objective(vectors)
            nothing = np.zeros((len(vectors.dual_coef), len(points) + 1))
            answer = solver.solve(points, nothing)[1]
            if settings.thorough:
                answer = solver.move(answer)
        else:
            points = distinct(model.vectors)
            # Where vectors were merged, the budget is scarce: all of it is used. So it is if every
            # row has a slope, because the passes left out those close to the model.
            wants_more = vectors.profile.merges or solver.part.loss.everywhere
            if wants_more:
                points = solver.filled(points)
            coefficients = placed(vectors.dual_coef, model.vectors, points)
            last = np.column_stack([coefficients, vectors.biases])
            before, answer = solver.solve(points, last)
            answer = solver.moved_and_covering(answer)
    _check(answer)
    profile = replace(
        vectors.profile,
        seconds_polish=time.perf_counter() - begin,
        solver_steps=answer.steps,
        moves=answer.moves,
        objective_before=before,
        objective_after=answer.objective,
        gradient_norm=answer.gradient_norm,
    )
    return replace(
        model,
        vectors=answer.vectors,
        dual_coef=answer.point[:, :-1].copy(),
        intercept=targets.offset + answer.point[:, -1],
        training=Training(vectors, settings.alpha, profile),
    )


def _check(answer: "Answer") -> None:
    """Warn if the solver has not converged."""
    if not np.isfinite(answer.point).all():
        raise FloatingPointError(
            "Polishing found coefficients that are not finite. Use a larger C, or polish=False."
        )
    if not answer.remaining <= NOT_CONVERGED:
        warn(
            "Polishing stopped before it converged, at its limit of steps or of float32: the "
            "coefficients are not optimal for these support vectors. A smaller C or gamma, or "
            "standardised columns, make the problem easier.",
            ConvergenceWarning,
        )


def last_iterate(vectors: VectorSet, targets: Targets, settings: Settings) -> Model:
    """Return the model that the passes ended with."""
    return Model(
        vectors=vectors.vectors,
        dual_coef=vectors.dual_coef,
        intercept=vectors.offset + vectors.biases,
        gamma=vectors.gamma,
        classes=targets.classes,
        training=Training(vectors, settings.alpha, vectors.profile),
        task=targets.task,
        loss=targets.loss,
    )


def distinct(vectors: Array) -> Array:
    """Return the vectors without repetitions, in their order."""
    # Compared as bytes, which is faster than axis=0; adding zero turns a negative zero into zero.
    rows = np.ascontiguousarray(vectors + vectors.dtype.type(0))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    return vectors if len(first) == len(vectors) else vectors[np.sort(first)]


def placed(coefficients: Array, vectors: Array, points: Array) -> Array:
    """Return the coefficients of vectors as those of points, each of which stands for its equals.

    Vectors that are not among the points are left out.
    """
    n_vectors, found = len(vectors), np.zeros((len(coefficients), len(points)))
    if np.array_equal(points[:n_vectors], vectors):
        found[:, :n_vectors] = coefficients
        return found
    zero = vectors.dtype.type(0)  # added, it turns a negative zero into zero
    indices = {point.tobytes(): k for k, point in enumerate(points + zero)}
    for vector, each in zip(vectors + zero, coefficients.T, strict=True):
        if (k := indices.get(vector.tobytes())) is not None:
            found[:, k] += each
    return found


@dataclass(frozen=True, eq=False)
class Answer:
    """The coefficients of some vectors, and how they were reached."""

    vectors: Array
    point: Array  # (n_outputs, n_vectors + 1), the intercepts last
    objective: float  # of all rows
    gradient_norm: float  # relative to the sum of the row weights c_i
    remaining: float  # the share of the objective that one more step would gain, twice
    steps: int
    near: Sample | None  # the rows on which vectors move; None: too many
    n_near: int = 0  # the number of rows near the margin among them
    is_near: NDArray[np.bool_] | None = None  # which of the rows these are, if all are in memory
    moves: int = 0


class Solver:
    """Solves on all rows: at once, or on those near the margin if there are many.

    Attributes
    ----------
    part : Sample
        As many of the rows as have kernel values that fit into memory. Some of those of quantiles
        are held out when vectors move.

    whole : Scans or None
        All rows; None if the part is all rows.
    """

    def __init__(
        self,
        part: Sample,
        whole: Scans | None,
        settings: Settings,
        random: np.random.Generator,
        *,
        values: bool,
    ) -> None:
        self.part, self.whole = part, whole
        self._settings, self._random = settings, random
        self._held_out: Array | None = None
        self._moving: Sample | None = None
        if part.loss.levels is not None and settings.fit_intercept and part.n_rows > 1:
            self._held_out = held_out(part.n_rows, settings.choices, random)
            moving = part.take(np.flatnonzero(~self._held_out))
            self._moving = moving.weighted(np.array(part.total_c / moving.total_c))
        self._common = settings.fit_intercept, settings.backend
        self._is_regression = values
        self._total_c = part.total_c if whole is None else whole.total_c

    @classmethod
    def of(
        cls,
        rows: Rows,
        targets: Targets,
        settings: Settings,
        random: np.random.Generator,
        whole: Scans | None = None,
    ) -> "Solver":
        """Return the solver of rows, or of more rows of which these are a sample."""
        settings = targets.solver_settings(settings)
        seed, sample = int(random.integers(2**63)), (rows, targets)
        if whole is not None:
            n_rows = sample_size(settings, targets.n_problems)
            sample = sampled(rows, targets, settings, n_rows, seed)
        part = sample_of(*sample, settings)
        if whole is not None:
            whole = replace(whole, part=part)
        return cls(part, whole, settings, random, values=targets.has_values)

    def last_objective(self, vectors: VectorSet) -> float:
        """Return the objective of the last iterate, in which each output has its own vectors."""
        backend, dual_coef = self._settings.backend, vectors.dual_coef
        point = np.column_stack([dual_coef, vectors.biases])
        losses, _, _ = read(vectors.vectors, point, self.part, backend)
        total = float(losses.sum())
        begin = 0
        for coefficients, state in zip(dual_coef, vectors.states, strict=True):
            end = begin + len(state.vectors)
            if end > begin:
                own = coefficients[None, begin:end]
                penalised = backend.penalty(state.vectors, vectors.gamma).product(own)
                total += 0.5 * float(row_products(own, penalised)[0])
            begin = end
        return total

    def exact(self) -> Answer | None:
        """Solve with all rows as vectors, if they fit into the budget."""
        part, settings = self.part, self._settings
        fits = self.whole is None and len(part.c) <= min(settings.budget, MOST_ROWS)
        if not fits or settings.thorough:
            return None
        vectors = self._rows(slice(None), part.rows.core.dtype)
        found = solve_exactly(vectors, part, settings.fit_intercept, settings.n_threads)
        if found is None or not found.has_converged:
            return None
        used = np.flatnonzero(found.point[:, :-1].any(axis=0))
        points = distinct(vectors[used])
        coefficients = placed(found.point[:, used], vectors[used], points)
        point = np.column_stack([coefficients, found.point[:, -1]])
        if not found.is_optimal:
            answer = self._solve_from(points, point)
            return replace(answer, steps=found.steps + answer.steps)
        norm = self._norm(found.gradient)
        return Answer(points, point, found.objective, norm, found.remaining, found.steps, near=None)

    def filled(self, vectors: Array) -> Array:
        """Add rows, drawn at random, up to the budget."""
        budget, n_rows = self._settings.budget, len(self.part.c)
        if n_rows <= budget:  # nothing is better than all rows
            return distinct(self._rows(slice(None), vectors.dtype))
        if len(vectors) >= budget:
            return vectors
        drawn = np.sort(self._random.choice(n_rows, budget - len(vectors), replace=False))
        return distinct(np.concatenate([vectors, self._rows(drawn, vectors.dtype)]))[:budget]

    def _rows(self, chosen: Array | slice, dtype: Any) -> Array:
        """Return some rows as vectors of this type."""
        rows = self.part.rows
        some = rows if isinstance(chosen, slice) else rows.take(chosen)
        return np.ascontiguousarray(some.dense(), dtype=dtype)

    def solve(self, vectors: Array, last: Array) -> tuple[float, Answer]:
        """Solve for the coefficients of these vectors; `last` is the last iterate of the passes.

        Returns the objective of the last iterate, estimated by the sample, and the answer.
        """
        is_part = self.whole is not None
        problem = Problem(vectors, self.part, *self._common, is_part=is_part)
        iterate = problem.iterate(last)
        before = float(problem.objective(iterate).sum())
        choices = self._settings.choices
        start, tolerance = best_start(problem, iterate, choices.start_gain), choices.tolerance
        solution = minimise(problem, start, self._random, tolerance, least_steps=2)
        if self.whole is None:
            return before, self._answer(vectors, solution)
        penalty = problem.penalty
        del problem  # its kernel values take memory
        answer = self._refined(vectors, solution.iterate.point, penalty)
        return before, replace(answer, steps=answer.steps + solution.steps)

    def _solve_from(self, vectors: Array, point: Array) -> Answer:
        """Solve for the coefficients, starting close to the solution."""
        if self.whole is not None:
            return self._refined(vectors, point)
        problem = Problem(vectors, self.part, *self._common)
        tolerance = self._settings.choices.tolerance
        solution = minimise(problem, problem.iterate(point), self._random, tolerance)
        return self._answer(vectors, solution)

    def _answer(self, vectors: Array, solution: Solution) -> Answer:
        point, objective = solution.iterate.point, solution.objective
        norm = self._norm(solution.derivatives.gradient)
        if self._moving is not None:
            found = objective, norm, solution.remaining, solution.steps
            return Answer(vectors, point, *found, self._moving, self._moving.n_rows)
        part, n_threads = self.part, self._settings.n_threads
        is_near = part.loss.near(solution.iterate.decisions, part.reach, n_threads)
        near = standing_for(part, is_near, self._random)
        return Answer(
            vectors,
            point,
            objective,
            norm,
            solution.remaining,
            solution.steps,
            near,
            int(np.count_nonzero(is_near)),
            is_near,
        )

    def _refined(self, vectors: Array, point: Array, penalty: Penalty | None = None) -> Answer:
        assert self.whole is not None
        given = vectors, self.part.rows.gamma, self.whole, *self._common, penalty
        rows = AllRows(*given, self._settings.choices.tolerance)
        n_drawn = self._settings.few_rows
        limits = max(most_rows(len(vectors), len(point)), n_drawn), n_drawn
        found = rows.minimise(point, limits, self._random)
        norm = self._norm(found.gradient)
        near = found.near if self._moving is None else self._moving
        return Answer(
            vectors,
            found.point,
            found.objective,
            norm,
            found.remaining,
            found.steps,
            # A sample of the near rows is good enough if time does not matter.
            near if found.is_complete or self._settings.thorough else None,
            found.n_near,
        )

    def _norm(self, gradient: Array) -> float:
        return float(np.linalg.norm(gradient) / self._total_c)

    def move(self, answer: Answer) -> Answer:
        """Move the vectors, as far as that pays and lowers the objective of all rows."""
        choices, thorough = self._settings.choices, self._settings.thorough
        patience = choices.value_patience if self._is_regression else 1
        n_steps = patience * choices.moves // len(answer.vectors)
        tolerance = choices.move_tolerance / patience
        if thorough:
            n_steps, tolerance = choices.thorough_moves, choices.thorough_tolerance
            if answer.n_near > choices.most_thorough_rows and not self._may_move(answer):
                return answer
        elif not n_steps or not self._may_move(answer):
            return answer
        for _ in range(choices.thorough_rounds if thorough else 1):
            moved = self._moved(answer, n_steps, tolerance)
            if moved is not None and not moved.objective < answer.objective:
                answer = self._wider(answer, moved)
                moved = self._moved(answer, n_steps, tolerance)
            if moved is None or not moved.objective < answer.objective:
                return answer
            gain = 1 - moved.objective / answer.objective
            answer = moved
            if gain < tolerance * moved.moves:
                break
        return answer

    def _may_move(self, answer: Answer) -> bool:
        """Whether the rows near the margin are enough to determine positions, and worth it."""
        choices, near = self._settings.choices, answer.near
        if near is None:
            return False
        n_vectors = len(answer.vectors)
        n_unknowns = n_vectors * (effective_dimension(near) + len(answer.point))
        if self._is_regression:
            return answer.n_near >= choices.values_per_unknown * n_unknowns
        if answer.n_near < n_unknowns:
            return False
        share = answer.objective / self._constant_loss()
        return choices.least_loss <= share <= choices.most_loss / n_vectors

    def _constant_loss(self) -> float:
        """Return the loss of the best model that predicts the same class for every row.

        Its decision values are so large that rows of this class have no loss.
        """
        shape = len(self.part.c), self.part.loss.n_outputs
        losses = [
            self.part.derivatives(np.full(shape, value), self._settings.n_threads)[0]
            for value in (-2.0, 2.0)
        ]
        return float(np.min(losses, axis=0).sum())

    def _wider(self, answer: Answer, moved: Answer) -> Answer:
        """Let the rows that are near after a move take part in the next one, too."""
        if answer.is_near is None or moved.is_near is None:
            return replace(answer, near=None)
        is_near = answer.is_near | moved.is_near
        return replace(answer, near=standing_for(self.part, is_near, self._random), is_near=is_near)

    def _moved(self, answer: Answer, n_steps: int, tolerance: float) -> Answer | None:
        """Make some steps; None if they gain too little."""
        if answer.near is None:
            return None
        positions = Positions(
            answer.vectors,
            answer.point,
            answer.near,
            *self._common,
            self._random,
            self._settings.choices,
            tolerance,
        )
        vectors, point, n_moves = positions.follow(n_steps)
        if not n_moves or positions.gain < tolerance * n_moves:
            return None
        found = self._solve_from(vectors, point)
        steps = answer.steps + positions.steps + found.steps
        return replace(found, steps=steps, moves=answer.moves + n_moves)

    def moved_and_covering(self, answer: Answer) -> Answer:
        """Move the vectors if that pays; quantiles cover the shares asked for."""
        moved = self.move(answer)
        return self.covering(*([answer] if moved is answer else [answer, moved]))

    def covering(self, *answers: Answer) -> Answer:
        """Return the last answer; of quantiles, the best one for the rows held out.

        The intercepts of quantiles are shifted, so that they cover the shares asked for.
        """
        if self._held_out is None:
            return answers[-1]
        found = [
            covering(
                each.vectors,
                each.point,
                self.part,
                self._held_out,
                self._random,
                self._settings.backend,
                self._settings.choices,
                have_moved=each.moves > 0,
                are_folds_solved=self.whole is None,
            )
            for each in answers
        ]
        best = int(np.argmin([loss for _, loss in found]))
        return replace(answers[best], point=found[best][0])


def sample_size(settings: Settings, n_outputs: int) -> int:
    """Return the largest number of rows of the sample that is solved first."""
    return max(settings.few_rows, most_rows(settings.budget, n_outputs))


def most_rows(n_vectors: int, n_outputs: int) -> int:
    """Return the largest number of rows whose kernel values fit into memory."""
    return MOST_KEPT // (4 * (n_vectors + OUTPUT_VALUES * n_outputs))


def effective_dimension(sample: Sample) -> float:
    """Return how many features the rows have, where correlated ones count for less.

    It is tr(S)^2 / tr(S^2) for the covariance S of some rows.
    """
    some = sample.rows.take(np.arange(0, sample.n_rows, max(1, sample.n_rows // ROWS_TO_COUNT)))
    X = some.dense().astype(np.float64)
    X -= X.mean(axis=0)
    products = X.T @ X if X.shape[1] < len(X) else X @ X.T
    square = float(np.square(products).sum())
    return float(np.trace(products)) ** 2 / square if square > 0 else 1.0
