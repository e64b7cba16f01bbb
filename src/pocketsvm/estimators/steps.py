"""Estimators, alone or at the end of a pipeline."""

from typing import Any

from .base import BudgetedMachine


def last_step(estimator: Any) -> Any:
    """Return the estimator of pocketsvm: the one given, or the last step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    machine = steps[-1][1] if steps else estimator
    if not isinstance(machine, BudgetedMachine):
        raise TypeError(
            "Expected an estimator of pocketsvm, or a pipeline that ends in one, got "
            f"{type(machine).__name__}."
        )
    return machine


def parameter_name(estimator: Any, name: str) -> str:
    """Return the name that a parameter of `last_step` has in the estimator given."""
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__{name}" if steps else name
