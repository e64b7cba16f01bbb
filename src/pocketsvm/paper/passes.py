"""Passes of the native trainer, for experiments that look inside a training run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..rows.checked import Rows, checked_rows
from ..rows.precision import training_rows
from ..tasks.classification import ClassTargets, class_targets
from ..training.settings import Choices


@dataclass(frozen=True)
class TwoClasses:
    """Checked rows of two classes, with the kernel and the regularisation to train with."""

    rows: Rows
    targets: ClassTargets
    alpha: float


def two_classes(X: Any, y: Any, C: float, gamma: float) -> TwoClasses:
    """Check rows and labels; raise ValueError if there are not two classes."""
    rows, targets = class_targets(checked_rows(X), np.asarray(y), None, None, "hinge")
    if len(targets.classes) != 2:
        raise ValueError(f"y must have two classes, got {len(targets.classes)}")
    return TwoClasses(training_rows(rows, gamma), targets, 1 / (rows.n_rows * C))


def new_trainer(
    data: TwoClasses,
    *,
    budget: int,
    maintenance: str,
    seed: int,
    observed: Iterable[str] = (),
) -> _core.Trainer:
    """Return a trainer for the rows, without intercept.

    The `observed` strategies are asked for their decisions at every maintenance event
    (`Trainer.audit`), which does not change the training.
    """
    trainer = _core.Trainer(
        n_features=data.rows.core.n_features,
        budget=budget,
        gamma=data.rows.gamma,
        alpha=data.alpha,
        maintenance=maintenance,
        fit_intercept=False,
        seed=seed,
        dtype=data.rows.core.dtype,
        random_steps=Choices.random_steps,
    )
    if names := list(observed):
        trainer.observe(names)
    return trainer


def run_passes(trainer: _core.Trainer, data: TwoClasses, n_passes: int) -> None:
    """Make passes over the rows on one thread."""
    for _ in range(n_passes):
        codes = data.targets.codes
        _core.train_pass([trainer], data.rows.core, "hinge", codes, [1], np.ones(2), None, 1)
