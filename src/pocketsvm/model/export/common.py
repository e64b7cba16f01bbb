"""What the exports share: how labels are spelled, how text is written, what is said about it."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._replacing import PathLike, replacing
from ..container import Array
from ..model import Model

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes
    ----------
    path : str
        The file.

    file_size : int
        Its bytes.

    table_size : int
        The bytes of the numbers in it, as the program that uses them holds them.

    labels : list or None
        What the exported model answers for each of ``classes_``; None for regression.
    """

    path: str
    file_size: int
    table_size: int
    labels: list[Any] | None


def exportable(estimator: Any) -> Model:
    """Take the decision function out of an estimator.

    No format has a place for a model without vectors: it gets one, of coefficient zero.
    """
    model = Model.of(estimator)
    if len(model.vectors):
        return model
    vectors = np.zeros((1, model.vectors.shape[1]), dtype=model.vectors.dtype)
    return replace(model, vectors=vectors, dual_coef=np.zeros((len(model.intercept), 1)))


def write(path: PathLike, content: bytes, table_size: int, labels: list[Any] | None) -> Exported:
    """Write the file in one step and describe it."""
    with replacing(path) as file:
        file.write(content)
    return Exported(os.fspath(path), len(content), table_size, labels)


def integer_labels(classes: Array, limits: tuple[int, int]) -> list[int] | None:
    """Return the labels as integers between the limits, or None where they are something else."""
    if classes.dtype.kind not in "biuf":
        return None
    labels = classes.tolist()
    if not all(label == int(label) and limits[0] <= label <= limits[1] for label in labels):
        return None
    return [int(label) for label in labels]


def cast(values: Array, dtype: Any) -> Array:
    """Cast numbers of a model to the precision of the target, which must be able to hold them."""
    with np.errstate(over="ignore"):
        result = np.asarray(values).astype(dtype)
    if not np.isfinite(result).all():
        raise ValueError(f"The numbers of this model are too large for {np.dtype(dtype)}.")
    return result
