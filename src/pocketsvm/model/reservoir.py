"""The section "reservoir": the rows of a stream that `polish_stream` solves on."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..rows.checked import checked_rows
from ..rows.chunk import Chunk
from ..rows.labels import encode_labels
from ..rows.stream import StreamReservoir
from .container import Array, Described, Entry, take
from .sections import Section
from .strings import shape_of

PREFIX = "reservoir."
LARGEST_SEED = 2**64


def describe(reservoir: StreamReservoir, rows: Chunk, classes: Array | None) -> Section:
    """Return the section of a reservoir, which holds these rows."""
    dropped = reservoir.dropped
    values = {
        "seed": reservoir.seed,
        "n_seen": reservoir.n_seen,
        "dropped": dropped if math.isfinite(dropped) else None,
    }
    # The logarithm of a priority of zero, which hardly ever occurs, is infinite.
    least = np.finfo(np.float64).min
    arrays = {
        "positions": reservoir.positions,
        "priorities": np.maximum(reservoir.priorities, least),
    }
    if classes is None:
        arrays["targets"] = rows.y.astype(np.float64)
    else:
        arrays["codes"] = encode_labels(rows.y, classes).astype(np.int32)
    if rows.weight is not None:
        arrays["weight"] = rows.weight
    is_sparse: bool = sp.issparse(rows.X)
    if is_sparse:
        arrays["data"] = rows.X.data
        arrays["indices"] = rows.X.indices.astype(np.int64)
        arrays["ends"] = rows.X.indptr[1:].astype(np.int64)
    else:
        arrays["rows"] = rows.X
    return Section(values, arrays)


def expected(
    section: dict[str, Any],
    entries: Mapping[str, Entry],
    n_features: int,
    n_outputs: int,
    regression: bool,
) -> tuple[dict[str, Described], int]:
    """Check the values of the section; return the arrays that it needs, and its number of rows."""
    if not 0 <= take(section, "seed", int) < LARGEST_SEED:
        raise ValueError("the seed of its reservoir is out of range.")
    if section.get("dropped") is not None:
        take(section, "dropped", float)
    (n_rows,) = shape_of(entries, f"{PREFIX}positions", 1)
    found: dict[str, Described] = {
        "positions": ("int64", (n_rows,)),
        "priorities": ("float64", (n_rows,)),
    }
    if f"{PREFIX}weight" in entries:
        found["weight"] = ("float64", (n_rows,))
    if not regression:
        found["codes"] = ("int32", (n_rows,))
    else:
        targets = entries.get(f"{PREFIX}targets")
        several = targets is not None and len(targets.shape) == 2
        found["targets"] = ("float64", (n_rows, n_outputs) if several else (n_rows,))
    if f"{PREFIX}ends" in entries:
        (n_values,) = shape_of(entries, f"{PREFIX}data", 1)
        found["data"] = (_precision(entries, "data"), (n_values,))
        found["indices"] = ("int64", (n_values,))
        found["ends"] = ("int64", (n_rows,))
    else:
        found["rows"] = (_precision(entries, "rows"), (n_rows, n_features))
    return {PREFIX + name: described for name, described in found.items()}, n_rows


def _precision(entries: Mapping[str, Entry], name: str) -> str:
    is_single = PREFIX + name in entries and entries[PREFIX + name].dtype == np.float32
    return "float32" if is_single else "float64"


def restore(
    section: dict[str, Any],
    arrays: Mapping[str, Array],
    classes: Array | None,
    n_features: int,
) -> StreamReservoir:
    """Return the reservoir; the shapes of its arrays have been checked."""
    found = {k.removeprefix(PREFIX): v for k, v in arrays.items() if k.startswith(PREFIX)}
    positions, weight = found["positions"], found.get("weight")
    if not (_increase(positions) and (positions >= 0).all() and len(positions)):
        raise ValueError("the positions of the rows of its stream do not increase.")
    if positions[-1] >= section["n_seen"]:
        raise ValueError("its stream has kept rows that it has not seen.")
    if weight is not None and not (weight > 0).all():
        raise ValueError("a row of its stream has no weight.")
    y = found["targets"] if classes is None else _labels(found["codes"], classes)
    X = _sparse(found, n_features) if "ends" in found else found["rows"]
    dropped = section.get("dropped")
    return StreamReservoir(
        seed=section["seed"],
        n_seen=section["n_seen"],
        rows=Chunk(X, y, weight, "the stream"),
        positions=positions,
        priorities=found["priorities"],
        dropped=math.inf if dropped is None else float(dropped),
    )


def _increase(numbers: Array) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _labels(codes: Array, classes: Array) -> Array:
    if not ((codes >= 0) & (codes < len(classes))).all():
        raise ValueError("a row of its stream has an unknown class.")
    labels: Array = classes[codes]
    return labels


def _sparse(found: Mapping[str, Array], n_features: int) -> Any:
    ends, indices = np.append(0, found["ends"]), found["indices"]
    if not ((ends[1:] >= ends[:-1]).all() and ends[-1] == len(indices)):
        raise ValueError("the values of the rows of its stream do not fit their ends.")
    if not ((indices >= 0) & (indices < n_features)).all():
        raise ValueError("a row of its stream has an unknown feature.")
    shape = (len(ends) - 1, n_features)
    return checked_rows(sp.csr_array((found["data"], indices, ends), shape=shape)).X
