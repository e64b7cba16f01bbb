"""The solver: the vectors of the passes in, the model out."""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..data.rows import Rows
from ..data.sampling import sampled
from ..data.targets import ClassTargets, ValueTargets
from ..model.model import Model, Training
from ..training.settings import Settings
from ..training.state import VectorSet
from .all_rows import AllRows
from .blas import ONE_BLAS_THREAD
from .descent import Solution, minimise, resume
from .effort import Effort
from .kernel import MOST_KEPT, OUTPUT_VALUES
from .losses import REACH, loss_of
from .moving import Path
from .problem import Problem
from .sample import Sample

Array = NDArray[Any]

# Large data sets are solved on a sample first: as many rows as have their kernel values kept, but
# at least this many for each vector, and at most as many as the passes see.
LEAST_ROWS_PER_VECTOR = 64
# Not converged if one more step would gain more than this share of the objective.
NOT_CONVERGED = 0.5


def solve(
    vectors: VectorSet, rows: Rows, targets: ClassTargets | ValueTargets, settings: Settings
) -> Model:
    """Solve for the coefficients and the intercept, and move the vectors if that pays.

    Parameters
    ----------
    vectors : VectorSet
        The result of the passes.

    rows : Rows
        The rows.

    targets : ClassTargets or ValueTargets
        Their classes or values.

    settings : Settings
        How to train; without `polish`, the model is the last iterate of the passes.

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
    with ONE_BLAS_THREAD:
        solver = Solver(rows, targets, settings, np.random.default_rng(vectors.states[0].generator))
        before = solver.objective(model.vectors, vectors.dual_coef, vectors.biases)
        points = distinct(model.vectors)
        # Where vectors were merged, the budget is scarce: all of it is used.
        if vectors.profile.merges and settings.choices.fills:
            points = solver.filled(points)
        answer = solver.solve(points)
        answer = solver.move(answer)
    if answer.remaining > NOT_CONVERGED:
        warnings.warn(
            "Polishing stopped before it converged, at its limit of steps or of float32: the "
            "coefficients are not optimal for these support vectors. A smaller C or gamma, or "
            "standardised columns, make the problem easier.",
            ConvergenceWarning,
            stacklevel=5,
        )
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


def last_iterate(
    vectors: VectorSet, targets: ClassTargets | ValueTargets, settings: Settings
) -> Model:
    """Return the model that the passes ended with."""
    return Model(
        vectors=vectors.vectors,
        dual_coef=vectors.dual_coef,
        intercept=vectors.offset + vectors.biases,
        gamma=vectors.gamma,
        classes=targets.classes if isinstance(targets, ClassTargets) else None,
        training=Training(vectors, settings.alpha, vectors.profile),
    )


def distinct(vectors: Array) -> Array:
    """Return the vectors without repetitions, in their order."""
    # Compared as bytes, which is faster than axis=0; adding zero turns a negative zero into zero.
    rows = np.ascontiguousarray(vectors + vectors.dtype.type(0))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    return vectors if len(first) == len(vectors) else vectors[np.sort(first)]


@dataclass(frozen=True, eq=False)
class Answer:
    """The coefficients of some vectors, and how they were reached."""

    vectors: Array
    point: Array  # (n_outputs, n_vectors + 1), the intercepts last
    objective: float  # of all rows
    gradient_norm: float  # relative to the sum of the row weights c_i
    remaining: float  # the share of the objective that one more step would gain
    steps: int
    near: NDArray[np.bool_]  # the rows that have a loss, or nearly have one
    moves: int = 0


class Solver:
    """Solves on all rows: at once, or on a sample first if there are many."""

    def __init__(
        self,
        rows: Rows,
        targets: ClassTargets | ValueTargets,
        settings: Settings,
        random: np.random.Generator,
    ) -> None:
        self._settings, self._random = settings, random
        self._common = settings.fit_intercept, settings.n_threads
        self.whole = self._sample(rows, targets)
        few = sampled(
            rows,
            targets,
            sample_size(settings, targets.n_problems),
            settings.least_of_class(targets.n_problems),
            int(random.integers(2**63)),
        )
        self.part = self.whole if few[0] is rows else self._sample(*few)
        self._is_value = isinstance(targets, ValueTargets)

    def _sample(self, rows: Rows, targets: ClassTargets | ValueTargets) -> Sample:
        c = targets.row_weight() / (rows.n_rows * self._settings.alpha)
        return Sample(rows, c, loss_of(targets, self._settings.choices))

    def objective(self, vectors: Array, coefficients: Array, intercepts: Array) -> float:
        """Return the objective of some coefficients, estimated by the sample."""
        problem = Problem(vectors, self.part, *self._common)
        point = np.column_stack([coefficients, intercepts])
        return float(problem.slopes(problem.place(point)).objective.sum())

    def filled(self, vectors: Array) -> Array:
        """Add rows, drawn at random, up to the budget."""
        n_free = min(self._settings.budget - len(vectors), len(self.part.c))
        if n_free <= 0:
            return vectors
        drawn = np.sort(self._random.choice(len(self.part.c), n_free, replace=False))
        rows = self.part.rows.take(drawn).dense().astype(vectors.dtype, copy=False)
        return distinct(np.concatenate([vectors, rows]))

    def solve(self, vectors: Array) -> Answer:
        """Solve for the coefficients of these vectors."""
        solution = minimise(Problem(vectors, self.part, *self._common), self._random)
        if self.part is self.whole:
            return self._answer(vectors, solution)
        answer = self._refined(vectors, solution.place.point)
        return replace(answer, steps=answer.steps + solution.steps)

    def _solve_from(self, vectors: Array, point: Array) -> Answer:
        """Solve for the coefficients, starting close to the solution."""
        if self.part is not self.whole:
            return self._refined(vectors, point)
        problem = Problem(vectors, self.whole, *self._common)
        return self._answer(vectors, resume(problem, problem.place(point).decisions, self._random))

    def _answer(self, vectors: Array, solution: Solution) -> Answer:
        norm = float(np.linalg.norm(solution.slopes.gradient) / self.whole.c.sum())
        point, objective = solution.place.point, solution.objective
        near = self.whole.loss.near(solution.place.decisions, REACH)
        return Answer(vectors, point, objective, norm, solution.remaining, solution.steps, near)

    def _refined(self, vectors: Array, point: Array) -> Answer:
        found = AllRows(vectors, self.whole, *self._common).refine(
            point, self._settings.choices.steps_on_all_rows, self._random
        )
        norm = float(np.linalg.norm(found.gradient) / self.whole.c.sum())
        return Answer(
            vectors, found.point, found.objective, norm, found.remaining, found.steps, found.near
        )

    def move(self, answer: Answer) -> Answer:
        """Move the vectors, as far as that pays and lowers the objective of all rows."""
        effort = Effort.of(self._settings, self.whole, values=self._is_value)
        for n_steps in effort.rounds():
            moved = self._moved(answer, effort, n_steps)
            if moved is None or not moved.objective < answer.objective:
                return answer
            gain = 1 - moved.objective / answer.objective
            answer = moved
            if gain < effort.tolerance * moved.moves:
                break
        return answer

    def _moved(self, answer: Answer, effort: Effort, n_steps: int) -> Answer | None:
        """Make some steps; None if they cost too much or gain too little."""
        near = np.flatnonzero(answer.near)
        n_steps = min(n_steps, effort.steps(len(near), answer.vectors.shape, len(answer.point)))
        if not n_steps:
            return None
        sample = self.whole.take(near)
        path = Path(answer.vectors, answer.point, sample, *self._common, self._random)
        vectors, point, n_moves = path.follow(n_steps, effort.tolerance)
        if path.gain < effort.tolerance * n_moves:
            return None
        found = self._solve_from(vectors, point)
        steps = answer.steps + path.steps + found.steps
        return replace(found, steps=steps, moves=answer.moves + n_moves)


def sample_size(settings: Settings, n_outputs: int) -> int:
    """Return the number of rows that are solved on first."""
    kept = MOST_KEPT // (4 * (settings.budget + OUTPUT_VALUES * n_outputs))
    return min(max(kept, LEAST_ROWS_PER_VECTOR * settings.budget), settings.most_sampled)
