"""Passes over the rows: checked rows in, support vectors out.

One native trainer per binary problem, or one for a regression. The trainers make each pass side by
side; between passes the caller is told how far training is, and may stop it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..profile import Profile
from ..rows.checked import Rows
from .regularisation import check_continuation
from .settings import Settings
from .state import PassState, VectorSet
from .targets import Pass, Targets

# A trainer needs two vectors to merge.
LEAST_BUDGET = 2


@dataclass(frozen=True)
class PassReport:
    """What a pass did.

    Attributes
    ----------
    done, n_passes : int
        Passes made so far, and passes to be made.

    profile : Profile
        What this pass did.

    seconds : float
        Its wall-clock time.

    snapshot : callable
        Returns the vectors found so far; it copies them.
    """

    done: int
    n_passes: int
    profile: Profile
    seconds: float
    snapshot: Callable[[], VectorSet]

    def __str__(self) -> str:
        n_vectors = len(self.snapshot().vectors)
        return (
            f"pass {self.done}/{self.n_passes}: {n_vectors} support vectors, "
            f"{self.profile.violations / self.profile.steps:.1%} violations, "
            f"merge frequency {self.profile.merge_frequency:.1%}, {self.seconds:.2f} s"
        )


# Called after each pass; True stops training.
OnPass = Callable[[PassReport], bool]


def passes(
    rows: Rows,
    targets: Targets,
    settings: Settings,
    on_pass: OnPass,
    start: VectorSet | None = None,
    half_life: float = math.inf,
    before: VectorSet | None = None,
) -> VectorSet:
    """Make the passes.

    If the solver follows, a sample of the rows is enough, and the passes may end early.

    Parameters
    ----------
    rows : Rows
        The rows.

    targets : Targets
        Their classes, values or weights.

    settings : Settings
        How to train.

    on_pass : callable
        Called with a `PassReport` after each pass; it returns True to stop.

    start : VectorSet, default=None
        The vectors to continue from; None starts from nothing.

    half_life : float, default=inf
        A row that was seen this many rows before another counts half as much.

    before : VectorSet, default=None
        What the same passes had found when they were interrupted.

    Returns
    -------
    vectors : VectorSet
        The support vectors, their coefficients, and the state to continue from.
    """
    rows, targets = sample_for_passes(rows, targets, settings)
    return passes_over(rows, targets, settings, on_pass, start, half_life, before)


def sample_for_passes(rows: Rows, targets: Targets, settings: Settings) -> tuple[Rows, Targets]:
    """Draw the rows that the passes see: all rows, or a sample if the solver follows."""
    if not settings.polish or rows.n_rows <= settings.most_sampled:
        return rows, targets
    seed = int(settings.random_state.randint(2**63, dtype=np.uint64))
    return sampled(rows, targets, settings, settings.most_sampled, seed)


def sampled(
    rows: Rows,
    targets: Targets,
    settings: Settings,
    n_rows: int,
    seed: int,
    least: int | None = None,
) -> tuple[Rows, Targets]:
    """Draw a sample of rows that represents all of them; return all if there are no more.

    The mean weighted loss of the sample estimates that of all rows. `least` is the least number of
    rows of a class; None means that of the settings.
    """
    if rows.n_rows <= n_rows:
        return rows, targets
    if least is None:
        least = settings.least_of_class(targets.n_problems)
    chosen, factors = targets.draw(n_rows, least, seed, settings.n_threads)
    return rows.take(chosen, settings.n_threads), targets.take(chosen, factors)


def passes_over(
    rows: Rows,
    targets: Targets,
    settings: Settings,
    on_pass: OnPass,
    start: VectorSet | None = None,
    half_life: float = math.inf,
    before: VectorSet | None = None,
) -> VectorSet:
    """Make the passes over all of the rows; the arguments are those of `passes`."""
    trainers = make_trainers(rows, targets, settings, before or start, half_life)
    return run_passes(trainers, rows, targets, settings, on_pass, before)


def make_trainers(
    rows: Rows,
    targets: Targets,
    settings: Settings,
    start: VectorSet | None = None,
    half_life: float = math.inf,
) -> list[_core.Trainer]:
    """Return one trainer per problem, new or continuing from `start`."""
    n_problems = targets.n_problems
    if start is None:
        seeds = settings.random_state.randint(2**63, size=n_problems, dtype=np.uint64).tolist()
        return [
            _trainer(rows, targets, settings, k, 0, seed, half_life) for k, seed in enumerate(seeds)
        ]
    trainers = []
    factor = settings.alpha / targets.weight_unit / start.unit_alpha
    for k, state in enumerate(start.states):
        size = len(state.coefficients)
        trainer = _trainer(rows, targets, settings, k, size, 0, half_life)
        _restore(trainer, state, factor, rows, settings)
        trainers.append(trainer)
    return trainers


def _trainer(
    rows: Rows,
    targets: Targets,
    settings: Settings,
    number: int,
    size: int,
    seed: int,
    half_life: float,
) -> _core.Trainer:
    # The trainer allocates memory for its budget: no more than its passes could ever fill.
    most_vectors = size + rows.n_rows * settings.n_passes
    share, rest = divmod(settings.budget, targets.n_problems)
    share += number < rest
    return _core.Trainer(
        n_features=rows.core.n_features,
        budget=max(LEAST_BUDGET, min(share, most_vectors)),
        gamma=rows.gamma,
        alpha=settings.alpha / targets.weight_unit,
        maintenance=settings.maintenance,
        fit_intercept=settings.fit_intercept,
        intercept_rate=settings.choices.intercept_rate,
        seed=seed,
        dtype=rows.core.dtype,
        half_life=half_life,
        random_steps=settings.choices.random_steps,
    )


def _restore(
    trainer: _core.Trainer, state: PassState, factor: float, rows: Rows, settings: Settings
) -> None:
    """Continue from a state, in the precision of the rows and with another alpha.

    Coefficients are in units of 1 / (alpha weight). Multiplied by the change of alpha, they
    describe the same model.
    """
    coefficients = state.coefficients * factor
    if coefficients.size:
        check_continuation(float(np.abs(coefficients).max()))
    trainer.restore(
        vectors=state.vectors.astype(rows.core.dtype, copy=False),
        coefficients=coefficients,
        births=state.births,
        bias=state.bias * factor if settings.fit_intercept else 0.0,
        steps=state.steps,
        weight=state.weight,
        generator=state.generator,
    )


def run_passes(
    trainers: Sequence[_core.Trainer],
    rows: Rows,
    targets: Targets,
    settings: Settings,
    on_pass: OnPass,
    before: VectorSet | None = None,
) -> VectorSet:
    """Make the passes of these trainers; the rest is as in `passes`.

    If the trainers continue passes that were interrupted, `before` is what these had found.
    """
    unit_alpha = settings.alpha / targets.weight_unit
    done, earlier = (0, Profile()) if before is None else (before.n_passes, before.profile)

    def snapshot() -> VectorSet:
        states = tuple(PassState(**trainer.state()) for trainer in trainers)
        profile = earlier + _profile(trainers)
        return VectorSet(states, rows.gamma, unit_alpha, targets.offset, done, profile)

    if before is not None and is_enough(done, before.profile, rows, targets, settings):
        return snapshot()
    first = done + 1
    found = _profile(trainers)
    for done in range(first, settings.n_passes + 1):
        start, begin = found, time.perf_counter()
        made = earlier.merges + found.merges
        most_merges = _merges_left(made, targets, settings)
        targets.make_pass(Pass(trainers, rows.core, settings, most_merges))
        seconds, found = time.perf_counter() - begin, _profile(trainers)
        report = PassReport(done, settings.n_passes, found - start, seconds, snapshot)
        if on_pass(report) or is_enough(done, earlier + found, rows, targets, settings):
            break
    return snapshot()


def is_enough(
    n_passes: int, profile: Profile, rows: Rows, targets: Targets, settings: Settings
) -> bool:
    """Whether further passes would make the vectors worse, or only add vectors of no use."""
    choices = settings.choices
    # Most rows of a regression become vectors. If all rows fit, a second pass must not merge any.
    full = targets.all_rows_enter and 2 * profile.violations > settings.budget
    few = rows.n_rows <= settings.budget and full
    many = n_passes >= choices.most_passes and not targets.are_classes_weighted
    enough = profile.merges >= settings.most_merges(targets.are_classes_weighted)
    return settings.polish and (few or many or enough)


def _merges_left(made: int, targets: Targets, settings: Settings) -> int | None:
    """Return after how many merges a trainer ends its pass.

    There is no limit if no solver follows, and for several trainers, which do not know of each
    other.
    """
    if not settings.polish or targets.n_problems > 1:
        return None
    return settings.most_merges(targets.are_classes_weighted) - made


def _profile(trainers: Sequence[_core.Trainer]) -> Profile:
    profiles = [trainer.profile() for trainer in trainers]
    return Profile(**{name: sum(each[name] for each in profiles) for name in profiles[0]})
