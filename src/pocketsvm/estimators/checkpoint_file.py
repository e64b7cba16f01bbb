"""Checkpoint files: how far a fit is, as an array file.

The container is that of model files: it appears in one step, and its checksum is verified. A file
holds numbers, texts, lists, arrays and the few dataclasses below, and no other class. It is checked
to be complete, so that damage is an error; what its numbers say is trusted, as that of a file which
the same user wrote.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._replacing import PathLike
from ..model.container import read_array, read_head, take, write_arrays
from ..model.file import MAX_BYTES, errors_naming
from ..profile import Profile
from ..rows.chunk import Chunk
from ..rows.source import Trace
from ..solving.scans import PartOfFirst
from ..training.state import PassState, VectorSet

Array = NDArray[Any]

KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (VectorSet, PassState, Profile, PartOfFirst, Chunk, Trace)
}


@dataclass(eq=False)
class Progress:
    """How far a fit is.

    Attributes
    ----------
    vectors : VectorSet or None
        What the passes have found.

    passes_done : bool
        Whether these were the last passes.

    sums : list
        The results of the solver's scans of all rows, in their order.

    part : object
        What the current scan has found so far.

    part_rows : int
        The number of rows that it has read.

    results : list
        What a search has found so far.
    """

    vectors: VectorSet | None = None
    passes_done: bool = False
    sums: list[Any] = field(default_factory=list)
    part: Any = None
    part_rows: int = 0
    results: list[Any] = field(default_factory=list)


def write_checkpoint(path: PathLike, identity: Mapping[str, str], progress: Progress) -> None:
    """Write a checkpoint, which replaces an earlier one in one step."""
    arrays: dict[str, Array] = {}
    values = {f.name: _pack(getattr(progress, f.name), arrays) for f in fields(progress)}
    write_arrays(path, {"checkpoint": {"identity": dict(identity), "progress": values}}, arrays)


def read_checkpoint(path: PathLike) -> tuple[dict[str, str], Progress]:
    """Read a checkpoint; return the identity of its fit, and how far that is."""
    with open(path, "rb") as file, errors_naming(path):
        head = read_head(file, os.fstat(file.fileno()).st_size, MAX_BYTES)
        if "checkpoint" not in head.header:
            raise ValueError("it is a model file, not a checkpoint.")
        found = take(head.header, "checkpoint", dict)
        arrays = {name: read_array(file, head.start, e) for name, e in head.entries.items()}
        values = take(found, "progress", dict)
        try:
            known = {f.name: _unpack(take_any(values, f.name), arrays) for f in fields(Progress)}
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(f"its values do not belong together: {error}") from error
        progress = Progress(**known)
        _check(progress)
        return take(found, "identity", dict), progress


def _check(progress: Progress) -> None:
    """Refuse values of other types, and passes whose arrays do not fit each other."""
    kinds = {"passes_done": bool, "sums": list, "part_rows": int, "results": list}
    wrong = [name for name, kind in kinds.items() if type(getattr(progress, name)) is not kind]
    if wrong or progress.part_rows < 0:
        raise ValueError(f"its {(wrong or ['part_rows'])[0]} is not what a fit writes.")
    vectors = progress.vectors
    if vectors is None:
        if progress.passes_done:
            raise ValueError("its passes are complete, but have no result.")
        return
    states = vectors.states if isinstance(vectors, VectorSet) else None
    if not states or not all(isinstance(state, PassState) for state in states):
        raise ValueError("its passes have another result than vectors.")
    assert isinstance(vectors, VectorSet)
    for state in vectors.states:
        shape = np.shape(state.vectors)
        fits = len(shape) == 2 and shape[1] == np.shape(vectors.states[0].vectors)[1]
        fits = fits and np.shape(state.coefficients) == np.shape(state.births) == shape[:1]
        if not fits or np.shape(state.generator) != (4,):
            raise ValueError("the arrays of its passes do not fit each other.")


def take_any(values: dict[str, Any], name: str) -> Any:
    """Return a value of any type, which must exist."""
    if name not in values:
        raise ValueError(f"its header lacks {name!r}.")
    return values[name]


def _pack(value: Any, arrays: dict[str, Array]) -> Any:
    """Return a value as JSON; arrays are set aside under a number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return {"list": [_pack(each, arrays) for each in value], "tuple": isinstance(value, tuple)}
    is_sparse: bool = sp.issparse(value)
    if is_sparse:
        parts = (value.data, value.indices, value.indptr)
        return {"sparse": [_pack(part, arrays) for part in parts], "shape": list(value.shape)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": _pack(_parts_of(value), arrays), "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    name = type(value).__name__
    if KINDS.get(name) is not type(value):
        raise TypeError(f"a checkpoint cannot keep {name}.")
    found = {f.name: _pack(getattr(value, f.name), arrays) for f in fields(value)}
    return {"kind": name, "fields": found}


def _parts_of(values: Array) -> tuple[Array, Array, Array]:
    """Return numbers, where texts have codes; which of them are texts; and the texts."""
    flat = values.ravel()
    is_text = np.array([isinstance(value, str) for value in flat.tolist()], dtype=bool)
    texts, codes = np.unique(flat[is_text].astype(str), return_inverse=True)
    numbers = np.zeros(len(flat))
    numbers[is_text], numbers[~is_text] = codes, flat[~is_text]
    return numbers, is_text, texts


def _objects(numbers: Array, is_text: Array, texts: Array) -> Array:
    """Return the numbers and texts of which these are the parts."""
    flat = numbers.astype(object)
    flat[is_text] = texts.astype(object)[numbers[is_text].astype(np.intp)]
    return flat


def _pack_array(value: Array, arrays: dict[str, Array]) -> dict[str, Any]:
    key, packed = str(len(arrays)), {"array": str(len(arrays))}
    if value.dtype.kind == "U":  # a text is an array of its code points
        width = value.dtype.itemsize // 4
        arrays[key] = np.ascontiguousarray(value).view(np.uint32).reshape(len(value), width)
        return {**packed, "texts": True}
    arrays[key] = value
    return packed


def _unpack(value: Any, arrays: Mapping[str, Array]) -> Any:
    if not isinstance(value, dict):
        return value
    if "list" in value:
        found = [_unpack(each, arrays) for each in take(value, "list", list)]
        return tuple(found) if take(value, "tuple", bool) else found
    if "sparse" in value:
        parts = [_unpack(each, arrays) for each in take(value, "sparse", list)]
        return sp.csr_array(tuple(parts), shape=tuple(take(value, "shape", list)))
    if "objects" in value:
        parts = _unpack(value["objects"], arrays)
        return _objects(*parts).reshape(take(value, "shape", list))
    if "array" in value:
        array = arrays[take(value, "array", str)]
        if not value.get("texts"):
            return array
        return array.view(f"U{array.shape[1]}").ravel() if array.size else np.empty(0, "U1")
    kind = KINDS.get(take(value, "kind", str))
    if kind is None:
        raise ValueError(f"it holds {value['kind'][:100]!r}, which is unknown.")
    known = {name: _unpack(each, arrays) for name, each in take(value, "fields", dict).items()}
    return kind(**known)
