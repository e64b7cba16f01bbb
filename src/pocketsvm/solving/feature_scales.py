"""Feature scales, learnt on a sample of the rows before the fit.

A Gaussian kernel with one gamma weighs all features alike. With a scale for each feature it is

    k(x, v) = exp(-sum_k s_k^2 (x_k - v_k)^2).

The scales are those of a small model with a squared loss, whose few vectors are free to move:

    minimise over s, v, beta, b    1/2 beta' K beta + C/2 sum_i w_i |y_i - k_i beta - b|^2.

For given scales and vectors, the coefficients are the solution of a linear system. What remains is
a smooth function of log s and v, which L-BFGS minimises. Rows that are held out choose among its
iterates.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from ..backends.base import Backend
from ..rows.checked import CheckedRows
from ..training.settings import Choices, Parameters
from ..training.targets import Targets
from .blas import ONE_BLAS_THREAD

Array = NDArray[Any]

# With fewer rows, an error says that they tell nothing about features.
LEAST_ROWS = 10
# A feature is constant, up to rounding, if its variance is below this share of its mean square.
CONSTANT = 1e-22


class Learnt(NamedTuple):
    """What was learnt: the scale of each feature, or None for one gamma; and a line about it."""

    scales: NDArray[np.float64] | None
    note: str


def learned_scales(
    rows: CheckedRows, targets: Targets, parameters: Parameters, *, auto: bool
) -> Learnt:
    """Return the scale of each feature.

    Parameters
    ----------
    rows : CheckedRows
        The rows at hand, prepared: all, or a sample that stands for all.

    targets : Targets
        Their targets.

    parameters : Parameters
        How to train.

    auto : bool
        Whether one gamma for all features may be better: then None is returned.

    Returns
    -------
    learnt : Learnt
        The scales, with which gamma is one; None if one gamma for all features is better. Those of
        constant features are zero.
    """
    choices = parameters.choices
    if auto and rows.n_rows < choices.least_scale_rows:
        return Learnt(None, f"one gamma: fewer than {choices.least_scale_rows:,} rows")
    if rows.n_rows < LEAST_ROWS:
        raise ValueError(
            f"feature_scales='learn' needs {LEAST_ROWS} rows or more, some of which are held out, "
            f"but there are {rows.n_rows}. Use None or an array."
        )
    random = np.random.default_rng(parameters.random_state.randint(2**31))
    rows, targets = _drawn(rows, targets, choices, random)
    X, used = _dense(rows, choices.most_scale_features)
    if X is None and auto:
        return Learnt(None, f"one gamma: more than {choices.most_scale_features:,} features")
    if X is None:
        raise ValueError(
            f"feature_scales='learn' takes at most {choices.most_scale_features:,} features that "
            f"are not zero in all rows, but X has {len(used):,}. Use None, an array, or fewer "
            "features."
        )
    X, spreads = _standardised(X)
    varies = spreads > 0
    if not varies.any():
        return Learnt(None if auto else np.ones(rows.n_features), "one gamma: no feature varies")
    split = _split(X[:, varies], targets, choices, random, parameters.backend)
    with ONE_BLAS_THREAD:
        best = _learned(split, choices, random)
        note = f"squared error of rows that are held out {best.error:.4f}"
        if auto:
            alike = _learned(split, choices, random, alike=True)
            if not best.beats(alike, split.held_weights):
                reason = f"not less by a standard error than {alike.error:.4f}"
                return Learnt(None, f"one gamma: with scales, {note}, {reason}")
            note += f", with one gamma {alike.error:.4f}"
    scales = np.zeros(rows.n_features)
    scales[used[varies]] = np.exp(best.log_scales) / spreads[varies]
    return Learnt(rounded_scales(scales), f"learnt: {note}")


def rounded_scales(scales: Array) -> Array:
    """Return scales with the digits of float32: rows are multiplied fast, and as exactly."""
    mantissas, exponents = np.frexp(scales)
    rounded: Array = np.ldexp(mantissas.astype(np.float32).astype(np.float64), exponents)
    return rounded


@dataclass(frozen=True, eq=False)
class _Split:
    """Standardised rows that train, rows that are held out, and the values to be fitted.

    Attributes
    ----------
    X, held_rows : ndarray of shape (n_rows, n_features), float32
        The rows.

    values, held_values : ndarray of shape (n_rows, n_outputs)
        Values of mean zero and standard deviation one, or +1 and -1.

    weights, held_weights : ndarray of shape (n_rows,)
        Weights whose mean is one.

    penalty : float
        The penalty on logarithms of scales that differ.

    backend : Backend
        Computes kernel values.
    """

    X: Array
    values: Array
    weights: Array
    held_rows: Array
    held_values: Array
    held_weights: Array
    penalty: float
    backend: Backend

    def model(self, C: float) -> Any:
        """Return the small model of the rows that train."""
        return self.backend.small_model(self.X, self.values, C * self.weights, self.penalty)

    def held_errors(self, model: Any, point: Array) -> Array:
        """Return the mean squared error of each row that is held out."""
        residuals = model.decisions(self.held_rows, point) - self.held_values
        errors: Array = np.square(residuals).mean(axis=1)
        return errors


def _drawn(
    rows: CheckedRows, targets: Targets, choices: Choices, random: np.random.Generator
) -> tuple[CheckedRows, Targets]:
    """Return the rows that scales are learnt from, and their targets."""
    most = choices.most_scale_rows
    seed = int(random.integers(2**63))
    if rows.n_rows <= most:
        return rows, targets
    least = most // (4 * len(targets.group_weight))
    chosen, factors = targets.draw(most, least, seed, 1)
    return rows.take(chosen), targets.take(chosen, factors)


def _dense(rows: CheckedRows, most: int) -> tuple[Array | None, Array]:
    """Return the columns that have values, and their positions; None if there are too many."""
    if rows.structure is None:
        used = np.arange(rows.n_features)
        return (rows.X if len(used) <= most else None), used
    used = np.unique(rows.X.indices[rows.X.data != 0])
    return (rows.X[:, used].toarray() if len(used) <= most else None), used


def _standardised(X: Array) -> tuple[Array, Array]:
    """Return columns of mean zero and standard deviation one, and what they were divided by.

    A constant column is left zero, and its standard deviation is given as zero.
    """
    X = X.astype(np.float64)
    largest = np.abs(X).max(axis=0)
    unit = np.ldexp(1.0, np.frexp(largest)[1])  # squares must not overflow; powers of two are exact
    X /= unit
    squares = np.square(X).mean(axis=0)
    X -= X.mean(axis=0)
    spreads = X.std(axis=0)
    spreads[np.square(spreads) <= CONSTANT * squares] = 0.0
    X /= np.where(spreads > 0, spreads, 1.0)
    return X, spreads * unit


def _split(
    X: Array, targets: Targets, choices: Choices, random: np.random.Generator, backend: Backend
) -> _Split:
    """Hold some rows out at random."""
    order = random.permutation(len(X))
    n_held = round(choices.held_share * len(X))
    held, train = order[:n_held], order[n_held:]
    values, weights = targets.standardised(), targets.row_weight()
    weights = weights / weights.mean()
    single = X.astype(np.float32)
    penalty = 0.0 if targets.has_values else choices.scale_penalty
    return _Split(
        single[train],
        values[train],
        weights[train],
        single[held],
        values[held],
        weights[held],
        penalty,
        backend,
    )


@dataclass(frozen=True, eq=False)
class _Result:
    """The scales of one run of L-BFGS.

    Attributes
    ----------
    log_scales : ndarray of shape (n_features,)
        The logarithms of the scales of standardised features.

    errors : ndarray
        The squared errors of the rows that are held out.

    error : float
        Their weighted mean.
    """

    log_scales: Array
    errors: Array
    error: float

    def beats(self, other: "_Result", weights: Array) -> bool:
        """Return whether errors are smaller than others by more than a standard error."""
        gains = weights * (other.errors - self.errors)
        return bool(gains.mean() * np.sqrt(len(gains)) > gains.std())


def _learned(
    split: _Split, choices: Choices, random: np.random.Generator, *, alike: bool = False
) -> _Result:
    """Learn scales with few vectors, then with more of them if that predicts better."""
    best = _run(split, *choices.scale_vectors[0], choices, random, alike=alike)
    for n_vectors, C in choices.scale_vectors[1:]:
        start = best.log_scales
        found = _run(split, n_vectors, C, choices, random, start=start, alike=alike)
        if found.error < (1 - choices.scale_gain) * best.error:
            best = found
    return best


def _run(
    split: _Split,
    n_vectors: int,
    C: float,
    choices: Choices,
    random: np.random.Generator,
    *,
    start: Array | None = None,
    alike: bool = False,
) -> _Result:
    """Minimise from random rows as vectors, and keep the iterate with the least held-out error.

    Without scales to start from, it starts from the best of a few kernel widths. `alike` gives all
    features one scale.
    """
    model = split.model(C)
    n_features = split.X.shape[1]
    chosen = random.permutation(len(split.X))[:n_vectors]
    vectors = split.X[chosen].astype(np.float64).ravel()
    limits = choices.scale_reach * np.abs(split.X).max(axis=0)
    far = list(zip((-limits).tolist(), limits.tolist(), strict=True))
    if start is None:
        starts = [np.full(n_features, 0.5 * np.log(w / n_features)) for w in choices.scale_widths]
    else:
        starts = [start]
    best: _Result | None = None
    origin = np.empty(0)

    def look(point: Array) -> None:
        """Compare an iterate, whose coefficients the model has."""
        nonlocal best, origin
        errors = split.held_errors(model, point)
        error = float((split.held_weights * errors).mean())
        if best is None or error < best.error:
            best = _Result(point[:n_features].copy(), errors, error)
            origin = point

    for log_scales in starts:
        point = np.append(log_scales, vectors)
        model.solve(point)
        look(point)
    first = origin[: 1 if alike else n_features]
    bounds = [(low + choices.scale_range[0], low + choices.scale_range[1]) for low in first]

    def whole(unknowns: Array) -> Array:
        return np.append(np.full(n_features, unknowns[0]), unknowns[1:]) if alike else unknowns

    def objective(unknowns: Array) -> tuple[float, Array]:
        value, gradient = model.objective(whole(unknowns))
        if alike:
            gradient = np.append(gradient[:n_features].sum(), gradient[n_features:])
        return value, gradient

    def after_step(intermediate_result: OptimizeResult) -> None:
        point = whole(intermediate_result.x)
        if not np.array_equal(point, model.point):
            model.solve(point)
        look(point)

    steps, memory = choices.scale_steps, choices.scale_memory
    minimize(
        objective,
        np.append(first, origin[n_features:]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds + far * len(chosen),
        callback=after_step,
        options={"maxiter": steps, "maxcor": memory, "ftol": 0.0, "gtol": 0.0},
    )
    assert best is not None
    return best
