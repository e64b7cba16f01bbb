"""Model files: a model with the state of its training, without pickle.

A model file is an array file (`container`) whose header has these sections (`sections`):

===============  ==================================================================================
"decision"       The decision function: gamma; arrays vectors, dual_coef, intercept.
"feature_scales" The array values: what the features are multiplied by, after the preparation; the
                 vectors are multiplied already. Only a model that has some has this section.
"training"       The estimator's name and parameters, budget, alpha, n_iter, profile; and the state
                 that further passes continue from: unit_alpha, offset; arrays sizes, coefficients,
                 births, bias, steps, generator, weight unless it equals steps, and vectors unless
                 they are the support vectors.
                 The problems stand one after the other; sizes has the vectors of each.
"classes"        The labels: kind "number" with the array numbers, or kind "str" (with a width) or
                 "object" with the arrays ends and bytes: the strings in UTF-8, and where each ends.
                 Only a classification has this section.
"task"           "name" and "loss", as `Model.task` and `Model.loss`; "quantile", a number or a
                 list, if the loss has it. Without this section, a model with classes is a
                 classification with the hinge loss, others are regressions with the
                 epsilon-insensitive loss.
"feature_names"  Arrays ends and bytes.
"preparation"    "n_features", the features of rows before it, and "steps", a list in the order of
                 use. A step has a kind, the name of a transformer of scikit-learn, parameters, and
                 arrays "preparation.<position>.<name>"; `steps` lists the kinds. A step made of
                 others has "branches", each with "steps", and arrays
                 "preparation.<position>.<branch>.columns" and
                 "preparation.<position>.<branch>.<position>.<name>".
"reservoir"      The rows that `partial_fit` has kept: seed, n_seen, and dropped, a number or null;
                 arrays positions, priorities, weight unless all are one; codes of the classes, or
                 targets; and rows, or, if they are sparse, data, indices and ends, where each row
                 ends. They are prepared, and not yet multiplied by the feature scales.
"integers"       The same model in integers (`integers`): shift and coefficient_shift; arrays
                 features, offsets, factors, steps, vectors, coefficients and intercepts.
"calibration"    Models whose decision values are calibrated: see `calibrated_file`. A file
                 with this section has no other one but "classes" and "extra".
"extra"          The `extra` of `write_model`: "values", and arrays of any name.
===============  ==================================================================================

A single model always has "decision" and "training". Nothing in a file is ever executed, and nothing
is trusted: shapes are checked against each other before anything is allocated, values before
anything uses them (`check`).
"""

import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from .._replacing import PathLike
from . import calibrated_file
from .calibrated import Calibrated
from .check import check_shapes, check_values
from .container import Array, Entry, Head, read_array, read_head, write_arrays
from .decode import decode
from .encode import encode
from .model import Model
from .sections import open_sections, pack

# Larger files are refused by default: a model of this size has outgrown its budget.
MAX_BYTES = 2**31


def write_model(model: Model | Calibrated, path: PathLike, extra: Mapping[str, Any]) -> None:
    """Write a model to a file that appears in one step, once it is complete.

    Parameters
    ----------
    model : Model or Calibrated
        The model, with its training.

    path : str or path-like
        The file.

    extra : mapping of str to object
        More to keep with the model: numeric arrays, and values of JSON.
    """
    if isinstance(model, Model):
        sections, arrays = pack(encode(model, extra))
    else:
        sections, arrays = pack(calibrated_file.encode(model, extra))
    header = {"written_by": f"pocketsvm {version('pocketsvm')}", "sections": sections}
    entries = {name: Entry(array.dtype, array.shape) for name, array in arrays.items()}
    # The checks of the reader ensure that the file can be read.
    _read(Head(header, entries, 0), lambda name, _: arrays[name])
    write_arrays(path, header, arrays)


def read_model(
    path: PathLike, *, max_bytes: int = MAX_BYTES
) -> tuple[Model | Calibrated, dict[str, Any]]:
    """Read a model file.

    Parameters
    ----------
    path : str or path-like
        The file.

    max_bytes : int, default=2**31
        The maximum number of bytes of the file, and of the model in memory.

    Returns
    -------
    model : Model or Calibrated
        The model, with the state of its training.

    extra : dict
        The `extra` of `write_model`.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe blocks, a device may never end
        raise ValueError(f"{os.fspath(path)} cannot be loaded: it is not a regular file.")
    with open(path, "rb") as file, errors_naming(path):
        length = os.fstat(file.fileno()).st_size
        head = read_head(file, length, max_bytes)
        return _read(head, lambda _, entry: read_array(file, head.start, entry), max_bytes - length)


@contextmanager
def errors_naming(path: PathLike) -> Iterator[None]:
    """Raise a ValueError that names the file if its content is refused."""
    try:
        yield
    # All checks raise ValueError. Python raises the others for a header that is nested too deep, or
    # for an integer that is too large for a float.
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be loaded: {error}") from error


def _read(
    head: Head, read: Callable[[str, Entry], Array], free_bytes: float = math.inf
) -> tuple[Model | Calibrated, dict[str, Any]]:
    """Check everything, sizes first, before anything is read; return the model and the extra."""
    sections, entries = open_sections(head)
    is_calibrated = calibrated_file.SECTION in sections
    check = calibrated_file.check_shapes if is_calibrated else check_shapes
    more = check(sections, entries)
    if more > free_bytes:
        raise ValueError(
            f"with its names and its state it takes {more:,} bytes more in memory, "
            f"{more - free_bytes:,} more than max_bytes allows."
        )
    arrays = {name: read(name, entry) for name, entry in entries.items()}
    if is_calibrated:
        calibrated_file.check_values(arrays, len(sections[calibrated_file.SECTION]["members"]))
        return calibrated_file.decode(sections, arrays)
    check_values(arrays)
    return decode(sections, arrays)
