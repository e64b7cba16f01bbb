"""The road of a fit, from a source of rows to a model.

    source ─► survey ─► rows at hand ─► passes ─► vectors ─► solver ─► model

`fit` is this line. The rows at hand are all rows, or a sample of rows that a source reads several
times: in memory, on disk, on a cluster. A `Task` says what y means, a `Watch` is told how far the
fit is. Every step gets one typed object from the step before, and none is called back.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .files.memory import check_memory
from .model.model import Model
from .model.preparation import Preparation
from .rows.checked import CheckedRows, Dtype, Rows
from .rows.drawing import Plan
from .rows.feature_scales import check_number, check_products, scaled_rows, scaling_steps
from .rows.precision import check_size, surveyed_rows, training_rows
from .rows.preparation import Preparing, Steps, prepared_summary
from .rows.scales import warn_about_scales
from .rows.source import Source
from .rows.survey import AtHand, Survey, survey
from .solving.batches import refined
from .solving.feature_scales import learned_scales, rounded_scales
from .solving.sample import sample_of
from .solving.scans import Recipe, Scans, in_memory
from .solving.scores import score_quantile
from .solving.solve import last_iterate, solve
from .tasks.base import Fitted, Task, state_of
from .training.passes import PassReport, passes_over, sample_for_passes
from .training.settings import Parameters, Settings
from .training.state import VectorSet
from .training.targets import Targets


class Course(Protocol):
    """What a fit does again if it is interrupted."""

    def passes(self, make: Any, /) -> VectorSet:
        """Make the passes; `make` continues from what it is given."""

    def followed(self, source: Source, /) -> Source:
        """Return rows whose scans are kept."""


class Watch(Protocol):
    """Is told how far a fit is."""

    def begin(self, settings: Settings, model_of: Any, data: tuple[Any, ...], /) -> Course:
        """Take note of the settings, of what makes a model of vectors, and of what rows there are.

        Returns the course of the fit.
        """

    def note(self, message: str, /) -> None:
        """Take note of what a user may want to know."""

    def on_pass(self, report: PassReport, /) -> bool:
        """Take note of a pass; return True to stop."""


def fit(
    task: Task,
    source: Source,
    parameters: Parameters,
    watch: Watch,
    *,
    start: Model | None = None,
    preparing: Preparing | None = None,
) -> Model:
    """Fit a model.

    Parameters
    ----------
    task : Task
        What y means.

    source : Source
        The rows.

    parameters : Parameters
        How to train.

    watch : Watch
        Is told how far the fit is.

    start : Model, default=None
        The model to continue from; None starts from nothing.

    preparing : Preparing, default=None
        What is done to rows before the kernel sees them; a continued model has its own.

    Returns
    -------
    model : Model
        The model, with the state that further training continues from.
    """
    begun = _begin(task, source, parameters, watch, start, preparing)
    found, ready, targets, settings = begun.found, begun.ready, begun.targets, begun.settings
    state, known = state_of(start), found.survey

    def completed(model: Model, everything: Scans | None, **times: Any) -> Model:
        training = model.training
        assert training is not None
        profile = replace(training.profile, **begun.learning, **times)
        model = replace(
            model,
            training=replace(training, profile=profile),
            feature_names=_names(found),
            preparation=_preparation(found),
            feature_scales=begun.feature_scales,
        )

        def quantile_of(*given: Any) -> float:
            scans = everything
            if scans is None:
                scans = in_memory(sample_of(ready, targets, settings), settings.backend)
            return score_quantile(scans, *given)

        fitted = Fitted(quantile_of, begun.n_rows, parameters.is_stream)
        return task.completed(model, targets, fitted)

    course = watch.begin(
        settings,
        lambda vectors: completed(last_iterate(vectors, targets, settings), None),
        (ready.checked.X, targets, known and known.summary, state and state.states),
    )
    sample = (ready, targets) if known else sample_for_passes(ready, targets, settings)
    half_life = parameters.half_life if parameters.is_stream else math.inf
    vectors = course.passes(
        lambda before: passes_over(*sample, settings, watch.on_pass, state, half_life, before)
    )
    everything = None
    if known is not None:
        everything = _scans(begun, known, course)
    else:
        sample, targets, everything = _with_everything(sample, ready, targets, settings)
    begin, times = time.perf_counter(), {}
    model = solve(vectors, *sample, settings, everything, begun.vectors)
    has_moved = model.training is None or model.training.profile.moves > 0
    if begun.batch_seed is not None and not has_moved:
        better = _refined(ready, begun.targets, settings, begun.batch_seed, scales=False)
        if better is not None:
            model = solve(vectors, *sample, settings, everything, better[1])
        times["seconds_polish"] = time.perf_counter() - begin
    return completed(model, everything, **times)


def _with_everything(
    sample: tuple[Rows, Targets], ready: Rows, targets: Targets, settings: Settings
) -> tuple[tuple[Rows, Targets], Targets, Scans | None]:
    """Return a sample of rows in memory, all targets, and the scans of all rows.

    They know what is learnt from the sample, as for rows elsewhere, of which only a sample is at
    hand. There are no scans if the sample has all rows.
    """
    rows, some = sample
    if rows is ready:
        return sample, targets, None
    drawn = some.learnt_from(some)
    targets = targets.learnt_from(drawn)
    everything = in_memory(sample_of(ready, targets, settings), settings.backend)
    return (rows, drawn), targets, everything


def polished(
    task: Task, source: Source, parameters: Parameters, watch: Watch, start: Model
) -> Model:
    """Return a model of a stream whose coefficients are solved for on some rows."""
    begun = _begin(task, source, parameters, watch, start)
    state, training = state_of(start), start.training
    assert state is not None
    assert training is not None
    model = solve(state, begun.ready, begun.targets, replace(begun.settings, polish=True))
    assert model.training is not None
    return replace(
        start,
        vectors=model.vectors,
        dual_coef=model.dual_coef,
        intercept=model.intercept,
        training=replace(model.training, reservoir=training.reservoir),
        integers=None,
    )


@dataclass(frozen=True, eq=False)
class _Begun:
    """What a fit knows before it begins: the rows at hand, their targets, how to train."""

    found: AtHand
    ready: Rows
    targets: Targets
    settings: Settings
    n_rows: int
    feature_scales: NDArray[np.float64] | None
    learning: dict[str, Any]  # what the profile tells about the scales
    vectors: NDArray[np.float64] | None  # that mini-batches have found
    batch_seed: int | None  # of mini-batches that may move vectors that L-BFGS does not

    @property
    def steps(self) -> Steps:
        """What is done to rows before the kernel sees them."""
        return scaling_steps(self.found.steps, self.feature_scales)


def _begin(
    task: Task,
    source: Source,
    parameters: Parameters,
    watch: Watch,
    start: Model | None,
    preparing: Preparing | None = None,
) -> _Begun:
    """Survey the rows, and settle targets, feature scales, precision, gamma and lambda."""
    check_scales(task, parameters, start)
    if start is not None:
        preparing = Preparing(known=start.preparation.steps if start.preparation else ())
    random = parameters.random_state
    before = random.get_state()
    plan, preparing = plan_of(parameters), preparing or Preparing()
    found = survey(source, task.needs, plan, preparing, samples=parameters.polishes)
    if found.survey is None or not task.needs.labelled:
        random.set_state(before)  # the plan has drawn a number for a sample
    else:
        _check_polish(parameters, found)
    if found.note:
        watch.note(found.note)
    rows, targets = task.targets(found, parameters, start)
    if not parameters.is_stream:
        task.warn(targets, parameters)
    n_rows = rows.n_rows if found.survey is None else found.survey.n_rows
    most = parameters.budget if start is not None else n_rows * parameters.max_iter
    check_memory(min(parameters.budget, most), rows.X)
    begin = time.perf_counter()
    scales, note = _feature_scales(rows, targets, parameters, start)
    seconds = time.perf_counter() - begin
    if start is not None and start.training is not None:
        seconds = start.training.profile.seconds_scales
    ready = _ready(found, rows, scales, parameters, start, source.scaling)
    previous = start.training.alpha if start is not None and start.training is not None else None
    alpha = task.alpha(ready, targets, n_rows, parameters, random, previous)
    settings = task.adapted(parameters.settings(alpha))
    vectors = None
    has_batches = settings.polish and settings.thorough and start is None and task.needs.labelled
    if has_batches and scales is not None and isinstance(parameters.feature_scales, str):
        better = _refined(ready, targets, settings, int(random.randint(2**31)), scales=True)
        if better is not None:
            factors, vectors = better
            scales = rounded_scales(scales * factors)
            ready = _ready(found, rows, scales, parameters, start, source.scaling)
            note, seconds = f"{note}; refined", time.perf_counter() - begin
    has_batches &= vectors is None and ready.n_rows > settings.choices.most_thorough_rows
    # Drawn before the passes, which draw nothing where a checkpoint has their result.
    seed = int(random.randint(2**31)) if has_batches else None
    learning = {"seconds_scales": seconds, "scales": note} if note else {}
    return _Begun(found, ready, targets, settings, n_rows, scales, learning, vectors, seed)


def _refined(
    ready: Rows, targets: Targets, settings: Settings, seed: int, *, scales: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return factors of the feature scales, and vectors, that predict other rows better.

    They are found without some of the rows, which are then predicted by two models. The losses must
    be smaller by more than a standard error. Without `scales`, all factors are one.
    """
    random = np.random.default_rng(seed)
    settings = replace(settings, random_state=np.random.RandomState(seed))
    order = random.permutation(ready.n_rows)
    n_held = round(settings.choices.held_share * ready.n_rows)
    held, train = np.sort(order[:n_held]), np.sort(order[n_held:])
    rows, some = ready.take(train), targets.take(train, np.ones(len(train)))
    others = sample_of(ready.take(held), targets.take(held, np.ones(n_held)), settings)
    n_parts = min(settings.choices.held_parts, n_held)
    parts = [np.arange(k, n_held, n_parts) for k in range(n_parts)]

    better = refined(sample_of(rows, some, settings), settings, random, scales=scales)
    if better is None:
        return None
    settings, losses = replace(settings, thorough=False), []
    for factors, vectors in ((np.ones(len(better[0])), None), better):
        scaled = scaled_rows(rows.checked, factors)
        part = training_rows(scaled, ready.gamma, least_dtype=ready.core.dtype)
        model = _tried(part, some, settings, vectors)
        X, n_threads = scaled_rows(others.rows.checked, factors), settings.n_threads
        decisions = settings.backend.decide(
            model.vectors, model.dual_coef, model.intercept, model.gamma, X
        )
        decisions = decisions - targets.offset
        losses.append([others.take(k).derivatives(decisions[k], n_threads)[0].sum() for k in parts])
    gains = np.subtract(losses[0], losses[1])
    return better if gains.mean() * math.sqrt(len(gains)) > gains.std(ddof=1) else None


def _tried(
    ready: Rows, targets: Targets, settings: Settings, vectors: NDArray[np.float64] | None
) -> Model:
    """Return a model of rows in memory, for a comparison."""
    sample = sample_for_passes(ready, targets, settings)
    passes = passes_over(*sample, settings, lambda _: False)
    sample, _, everything = _with_everything(sample, ready, targets, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(passes, *sample, settings, everything, vectors)


def plan_of(parameters: Parameters) -> Plan:
    """Return how large the sample of a fit is; a random number is its seed."""
    choices, budget = parameters.choices, parameters.budget
    seed = int(parameters.random_state.randint(2**63, dtype=np.uint64))
    return Plan(choices.most_sampled(budget), choices.class_rows_per_vector * budget, seed)


def _check_polish(parameters: Parameters, found: AtHand) -> None:
    """Refuse passes over rows that are not in memory."""
    if not parameters.polishes:
        assert found.survey is not None
        raise ValueError(
            f"polish=False makes all passes over all {found.survey.summary.n_rows:,} rows in "
            "random order, which are not in memory; this is possible up to "
            f"{found.rows.n_rows:,} rows. Use polish=True, or partial_fit for each batch."
        )


def check_scales(task: Task, parameters: Parameters, start: Model | None) -> None:
    """Refuse feature scales that cannot be learnt, or that differ from those to be continued."""
    wanted = parameters.feature_scales
    if start is not None:
        known = start.feature_scales
        if not _keeps(wanted, known):
            raise ValueError(
                f"feature_scales={wanted!r} differs from the feature scales of the model to be "
                f"continued, which has {'none' if known is None else 'others'}. Its support "
                "vectors were found with them: keep feature_scales, or fit with warm_start=False."
            )
    elif isinstance(wanted, str):
        if task.unlearnable:
            raise ValueError(
                f"feature_scales={wanted!r} is not possible here: {task.unlearnable}. Give an "
                "array, or None."
            )
        if not (parameters.polish or parameters.is_stream):
            raise ValueError(
                f"polish=False is the setting of the paper, whose kernel weighs all features "
                f"alike: feature_scales={wanted!r} is not possible with it. Use polish=True, or "
                "give an array, such as feature_scales_ of another model."
            )


def _keeps(wanted: NDArray[np.float64] | str | None, known: NDArray[np.float64] | None) -> bool:
    """Tell whether a parameter lets a continued model keep its feature scales."""
    if isinstance(wanted, np.ndarray):
        return known is not None and np.array_equal(wanted, known)
    return wanted != "learn" or known is not None


def _feature_scales(
    rows: CheckedRows, targets: Targets, parameters: Parameters, start: Model | None
) -> tuple[NDArray[np.float64] | None, str]:
    """Return the scales of the features: given, learnt, or those of a continued model.

    If they are learnt, a line tells about it.
    """
    wanted = parameters.feature_scales
    if start is not None:
        known = start.training.profile.scales if start.training is not None else ""
        return start.feature_scales, known
    if isinstance(wanted, str):
        return learned_scales(rows, targets, parameters, auto=wanted == "auto")
    if wanted is not None:
        check_number(wanted, rows.n_features)
    return wanted, ""


def _ready(
    found: AtHand,
    rows: CheckedRows,
    scales: NDArray[np.float64] | None,
    parameters: Parameters,
    start: Model | None,
    scaling: str,
) -> Rows:
    """Fix precision and gamma; a continued model keeps its gamma and never loses precision."""
    gamma, known, steps = parameters.gamma, found.survey, found.steps
    if scales is not None:
        steps = scaling_steps(steps, scales)
        rows = scaled_rows(rows, scales)
        if start is None:
            check_products(rows, scales)
        if known is not None:
            known = replace(known, summary=prepared_summary(known.summary, steps[-1:]))
        if isinstance(parameters.feature_scales, str) and isinstance(gamma, str):
            gamma = 1.0  # the scales that were learnt carry the width
    least_dtype: Dtype = "float32"
    if start is not None:
        wanted = 1.0 / rows.n_features if gamma == "auto" else gamma
        if wanted not in ("scale", start.gamma):
            raise ValueError(
                f"gamma={gamma!r} differs from the gamma_={start.gamma} of the model to be "
                "continued. Its support vectors were found with that kernel: keep gamma, or fit "
                "with warm_start=False."
            )
        gamma = start.gamma
        least_dtype = "float32" if start.vectors.dtype == np.float32 else "float64"
    else:
        check_size(rows, known)
    if known is not None:
        ready = surveyed_rows(rows, known, steps, gamma, least_dtype)
    else:
        n_threads = parameters.n_threads
        ready = training_rows(rows, gamma, least_dtype=least_dtype, n_threads=n_threads)
    if start is None and scales is None:  # scales say how wide the columns are to be
        summary = None if known is None else known.summary
        warn_about_scales(rows.X, gamma, summary, scaling)
    return ready


def _scans(begun: _Begun, known: Survey, course: Course) -> Scans | None:
    """Return the scans of all rows; None if the sample has to represent them."""
    if known.scanner is None:
        return None
    ready, targets, settings = begun.ready, begun.targets, begun.settings
    scanner = replace(known.scanner, source=course.followed(known.scanner.source))
    nothing = targets.take(np.arange(0), np.empty(0))
    dtype = ready.core.dtype
    recipe = Recipe(nothing, ready.gamma, dtype, known.n_rows, settings, begun.steps)
    weight = float(targets.whole_weights() @ known.summary.weights)
    total_c = weight / (known.n_rows * settings.alpha)
    backend = settings.backend
    if scanner.source.n_threads:
        backend = replace(backend, n_threads=scanner.source.n_threads)
    return Scans(scanner, recipe, known.n_rows, total_c, backend, is_one_chunk=False)


def _names(found: AtHand) -> Any:
    return None if found.names is None else np.array(found.names, dtype=object)


def _preparation(found: AtHand) -> Preparation | None:
    return Preparation.of(found.steps) if found.steps else None
