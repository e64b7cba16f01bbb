"""Saving fitted estimators."""

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._replacing import PathLike
from ..model.file import write_model
from ..model.model import Model
from ..model.preparation import split

__all__ = ["save_model"]


def save_model(
    estimator: Any, path: PathLike, *, extra: Mapping[str, Any] | None = None
) -> None:
    """TODO docstring: move from old_file.py."""
    scaler, machine = split(estimator)
    if not type(machine).__module__.startswith(__package__):
        raise TypeError(
            f"Only the estimators of pocketsvm themselves can be saved, got {type(estimator)!r}."
        )
    for step in (scaler, machine):
        if step is not None:
            check_is_fitted(step)
    try:
        machine._validate_params()
        write_model(Model.of(estimator), path, extra or {})
    except ValueError as error:
        raise ValueError(f"This {type(estimator).__name__} cannot be saved: {error}") from error
