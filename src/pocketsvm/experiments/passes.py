"""Passes of the native trainer, for experiments that look inside a training run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.rows import canonical, training_rows
from ..data.targets import labelled_rows


@dataclass(frozen=True)
class TwoClasses:
    """Checked rows of two classes, with the kernel and the regularisation to train with."""

    X: Any
    rows: _core.Rows
    classes: NDArray[Any]
    codes: NDArray[np.int8]
    gamma: float
    alpha: float


def two_classes(X: Any, y: Any, C: float, gamma: float) -> TwoClasses:
    """Check rows and labels; raise ValueError if there are not two classes."""
    data = labelled_rows(canonical(X), np.asarray(y), None, None)
    if len(data.classes) != 2:
        raise ValueError(f"y must have two classes, got {len(data.classes)}")
    rows, kernel = training_rows(data.X, gamma)
    return TwoClasses(data.X, rows, data.classes, data.codes, kernel, 1 / (len(data.codes) * C))


def new_trainer(
    data: TwoClasses,
    *,
    budget: int,
    maintenance: str,
    seed: int,
    intercept_rate: float = 0.0,
    observed: Iterable[str] = (),
) -> _core.Trainer:
    """Return a trainer for the rows.

    An intercept rate of zero means no intercept. The `observed` strategies are asked for their
    decisions at every maintenance event (`Trainer.audit`), which does not change the training.
    """
    return _core.Trainer(
        n_features=data.rows.n_features,
        budget=budget,
        gamma=data.gamma,
        alpha=data.alpha,
        maintenance=maintenance,
        fit_intercept=intercept_rate > 0,
        intercept_rate=intercept_rate,
        seed=seed,
        dtype=data.rows.dtype,
        audit=list(observed),
    )


def run_passes(trainer: _core.Trainer, data: TwoClasses, n_passes: int) -> None:
    """Make passes over the rows on one thread."""
    for _ in range(n_passes):
        _core.train_pass([trainer], data.rows, data.codes, [1], np.ones(2), None, 1)
