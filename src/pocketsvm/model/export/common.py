"""What the exports share: labels, precision, and writing the file."""

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, eye_array

from ..._replacing import PathLike, replacing
from ..calibrated import Calibrated
from ..container import Array
from ..model import Model
from ..steps.operations import Operation, spread
from ..steps.program import Inputs, Program

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
# What novelty detection predicts for outliers and for normal rows, whose value is zero or more.
OUTLIER_LABELS = np.array([-1, 1])
# The library bounds t in kernel values 2^-t, so that they stay normal numbers. Without an
# intercept, this bound decides rows that are far from all vectors, so exports must apply it too.
MAX_EXPONENT_BASE_2 = {"float32": 125.0, "float64": 1021.0}


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes
    ----------
    path : str
        The file.

    file_size : int
        The number of bytes of the file.

    table_size : int
        The number of bytes that the numbers take in the memory of the program that uses them.

    labels : list or None
        The labels that the exported model returns, in the order of ``classes_``, and [-1, 1] for
        novelty detection; None for regression and ranking.

    names : list of str or None
        The texts that these labels stand for, if they are positions of texts.
    """

    path: str
    file_size: int
    table_size: int
    labels: list[Any] | None
    names: list[str] | None = None


@dataclass(frozen=True, eq=False)
class Exportable:
    """What an export writes: one model, or several whose decision values are calibrated.

    Attributes
    ----------
    members : tuple of Model
        The models; their vectors have the same precision.

    operations : list of list of Operation
        What the preparation of each member does to a row.

    inputs : Inputs
        The columns of rows before the preparation, with the texts that are known.

    given : dtype
        The precision of rows before the preparation.

    calibrated : Calibrated or None
        How probabilities follow from the decision values; None for a single model.
    """

    members: tuple[Model, ...]
    operations: list[list[Operation]]
    inputs: Inputs
    given: np.dtype[Any]
    calibrated: Calibrated | None = None

    @property
    def model(self) -> Model:
        """The first model."""
        return self.members[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the kernel."""
        return self.model.vectors.dtype

    @property
    def takes_missing(self) -> NDArray[np.bool_]:
        """Which columns may be missing: the preparation fills in or encodes missing values."""
        every = csr_array(eye_array(self.inputs.n_inputs, dtype=bool))
        return np.asarray(spread(self.operations[0], every).sum(axis=0) == 0)

    @property
    def is_used(self) -> NDArray[np.bool_]:
        """Which columns the model uses."""
        if self.model.preparation is None:
            return np.ones(self.inputs.n_inputs, dtype=bool)
        used = self.inputs.are_numbers.copy()
        used[list(self.inputs.codes)] = True
        return used

    @classmethod
    def of(cls, estimator: Any) -> "Exportable":
        """Return what to write of an estimator; refuse a preparation that exports cannot write."""
        calibrated = estimator if isinstance(estimator, Calibrated) else Calibrated.of(estimator)
        members = calibrated.members if calibrated else (Model.of(estimator),)
        dtype = np.result_type(*(member.vectors.dtype for member in members))
        inputs = Inputs(members[0].n_inputs)
        programs = [
            Program.of(member.n_inputs, inputs)
            if member.preparation is None
            else member.preparation.lowered(inputs)
            for member in members
        ]
        members = tuple(map(_scaled, members, programs))
        inputs.check()
        if refusal := next((each.refusal for each in programs if each.refusal), ""):
            raise ValueError(
                f"This preparation cannot be exported: {refusal}; or export the model without "
                "these steps. `save_model` keeps it as it is."
            )
        if calibrated:
            members = tuple(replace(member, classes=calibrated.classes) for member in members)
        members = tuple(
            exportable(replace(member, vectors=member.vectors.astype(dtype, copy=False)))
            for member in members
        )
        needs_double = any(program.needs_double for program in programs)
        given = np.dtype(np.float64) if needs_double else dtype
        operations = [program.operations for program in programs]
        return cls(members, operations, inputs, given, calibrated)


def _scaled(model: Model, program: Program) -> Model:
    """Add the feature scales to what is done to a row; features that do not count are left out."""
    scales = model.feature_scales
    if scales is None:
        return model
    counted = np.flatnonzero(scales)
    if len(counted) < len(scales):
        program.take(counted.tolist())
    program.compute("Mul", scales[counted])
    vectors = np.ascontiguousarray(model.vectors[:, counted])
    return replace(model, vectors=vectors, feature_scales=None)


def exportable(model: Model) -> Model:
    """Return a model as all formats can hold it.

    No format can hold a model without vectors: such a model gets one, with coefficient zero. The
    labels of novelty detection are -1 and 1.
    """
    if model.task == "novelty":
        model = replace(model, classes=OUTLIER_LABELS)
    if len(model.vectors):
        return model
    vectors = np.zeros((1, model.vectors.shape[1]), dtype=model.vectors.dtype)
    return replace(model, vectors=vectors, dual_coef=np.zeros((len(model.intercept), 1)))


def max_exponent(model: Model) -> float:
    """Return the largest gamma |x - s|^2 of a kernel value; larger ones are replaced by it."""
    return MAX_EXPONENT_BASE_2[model.vectors.dtype.name] * math.log(2)


def write(path: PathLike, content: bytes, table_size: int, labels: list[Any] | None) -> Exported:
    """Write the file in one step and describe it."""
    with replacing(path) as file:
        file.write(content)
    return Exported(os.fspath(path), len(content), table_size, labels)


def integer_labels(classes: Array, limits: tuple[int, int]) -> list[int] | None:
    """Return the labels as integers, or None if they are not all integers within the limits."""
    if classes.dtype.kind not in "biuf":
        return None
    labels = classes.tolist()
    if not all(label == int(label) and limits[0] <= label <= limits[1] for label in labels):
        return None
    return [int(label) for label in labels]


def cast(values: Array, dtype: DTypeLike) -> Array:
    """Cast numbers of a model to the precision of the format; refuse numbers that overflow."""
    with np.errstate(over="ignore"):
        result = np.asarray(values).astype(dtype)
    if not np.isfinite(result).all():
        raise ValueError(f"The numbers of this model are too large for {np.dtype(dtype)}.")
    return result
