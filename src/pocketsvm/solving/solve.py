"""The solver: the vectors of the passes in, the model out."""

import time
import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.rows import Rows
from ..data.targets import ClassTargets, ValueTargets
from ..model.model import Model, Training
from ..profile import Profile
from ..training.settings import Settings
from ..training.state import VectorSet
from .losses import losses_of
from .moving import Effort, move
from .newton import Solution, distinct, polish
from .sample import Sample, sample_size

# A Newton step costs the cube of the number of vectors: with more than this, the model is the last
# iterate of the passes.
MOST_VECTORS = 5000


def solve(
    vectors: VectorSet, rows: Rows, targets: ClassTargets | ValueTargets, settings: Settings
) -> Model:
    """Solve for the coefficients and the intercept, and move the vectors if that pays.

    Parameters
    ----------
    vectors : VectorSet
        The result of the passes.

    rows : Rows
        The rows; large data sets are subsampled.

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
    n_vectors = len(model.vectors)
    if not settings.polish or min(settings.budget, rows.n_rows) > MOST_VECTORS or not n_vectors:
        return model
    begin = time.perf_counter()
    points, coefficients = distinct(model.vectors, model.dual_coef)
    random = np.random.default_rng(vectors.states[0].generator)
    c = targets.row_weight() / (rows.n_rows * settings.alpha)
    sample = Sample(rows, c, losses_of(targets))
    sample = sample.thin(sample_size(rows.n_rows, len(points)), random)
    start = list(zip(coefficients, vectors.biases.tolist(), strict=True))
    common = (sample, settings.fit_intercept, settings.n_threads)
    solutions = polish(points, start, *common)
    effort = Effort.of(targets, settings, rows.n_rows)
    points, solutions = move(points, solutions, *common, random, effort)
    if not all(solution.converged for solution in solutions):
        warnings.warn(
            "Polishing stopped before it converged, at its limit of Newton steps or of float32: "
            "the coefficients are not optimal for these support vectors. A smaller C or gamma, or "
            "standardised columns, make the problem easier.",
            ConvergenceWarning,
            stacklevel=5,
        )
    profile = _profile(vectors.profile, solutions, time.perf_counter() - begin)
    return replace(
        model,
        vectors=points,
        dual_coef=np.stack([solution.coefficients for solution in solutions]),
        intercept=targets.offset + np.array([solution.intercept for solution in solutions]),
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


def _profile(passes: Profile, solutions: list[Solution], seconds: float) -> Profile:
    return replace(
        passes,
        seconds_polish=seconds,
        newton_steps=sum(solution.steps for solution in solutions),
        moves=max(solution.moves for solution in solutions),
        objective_before=sum(solution.objective_before for solution in solutions),
        objective_after=sum(solution.objective_after for solution in solutions),
        gradient_norm=max(solution.gradient_norm for solution in solutions),
    )
