"""Export to C in integers: the arithmetic of `pocketsvm.model.integers`, without any library."""

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_consistent_length

from ...rows.preparation import transformed
from ..container import Array
from ..integers import LARGEST_ODDS, LARGEST_T, LOG2_E, LOG2_E_BITS, TABLE, Integers
from ..model import Model
from ..steps.operations import Arithmetic, Operation, Take
from .c_code import Table, braces, literals
from .c_text import checksum_of, comment_of, label_table
from .common import INT32, Exportable, integer_labels

HEADER = """\
/* A support vector machine with a Gaussian kernel in integers, written by pocketsvm {version}.
 *
 * {n_vectors} vectors of {n_columns} features in {dtype}, {n_outputs} output{s}.
 * Flash: {table_size} bytes of constants, besides the code.
 * RAM: {row_size} bytes for a row of integers, {ram} for decision values; no memory is allocated.
 * A prediction makes at most {multiplications:,} multiplications.
{agreement}{features} */
#ifndef {NAME}_H
#define {NAME}_H {checksum}

#include <stdint.h>

#define {NAME}_FEATURES {n_inputs}
#define {NAME}_COLUMNS {n_columns}
#define {NAME}_VECTORS {n_vectors}
#define {NAME}_OUTPUTS {n_outputs}
#define {NAME}_UNIT {unit}

"""
FUNCTIONS = """\
/* 2^-t in units of 2^-16, for t in units of 2^-shift. */
static inline uint32_t {name}_exp2_minus(uint32_t t, int shift)
{{
    if (t >= (uint32_t){largest_t} << shift) return 0;
    const uint32_t at = t >> (shift - 6) & 63u, rest = t >> (shift - 16) & 1023u;
    const uint32_t value = {name}_powers[at], step = value - {name}_powers[at + 1];
    return (value - (step * rest >> 10)) >> (t >> shift);
}}

/* The {NAME}_COLUMNS integers of a row x of {NAME}_FEATURES numbers. */
static inline void {name}_quantise(const float *x, int16_t *row)
{{
    for (int i = 0; i < {n_columns}; ++i) {{
        const float doubled = (x[{feature}] - {name}_offsets[i]) * {name}_factors[i];
        const float below = doubled < 65534.0f ? doubled : 65534.0f;
        const int32_t cut = (int32_t)(doubled > -65534.0f ? below : -65534.0f);
        row[i] = (int16_t)(cut < 0 ? -((1 - cut) >> 1) : (cut + 1) >> 1);
    }}
}}

/* The decision values of a row, in units of {NAME}_UNIT: {n_outputs} numbers. */
static inline void {name}_decision(const int16_t *row, int64_t *out)
{{
    const uint32_t limit = (uint32_t){largest_t} << {shift}; /* from here on, kernels are zero */
    for (int o = 0; o < {n_outputs}; ++o) out[o] = {name}_intercepts[o];
    for (int j = 0; j < {n_vectors}; ++j) {{
        uint32_t sum = 0;
        int i = 0;
        for (; i < {n_columns}; ++i) {{
            const int32_t difference = (int32_t)row[i] - {step}{name}_vectors[j][i];
            const uint32_t square = (uint32_t)difference * (uint32_t)difference;
            if (square >= limit - sum) break;
            sum += square;
        }}
        if (i < {n_columns}) continue;
        const int32_t kernel = (int32_t){name}_exp2_minus(sum, {shift});
        for (int o = 0; o < {n_outputs}; ++o) out[o] += {name}_coefficients[j][o] * kernel;
    }}
}}
"""
PREDICT_VALUE = """
/* The value of a row. */
static inline float {name}_predict(const int16_t *row)
{{
    int64_t value;
    {name}_decision(row, &value);
    return (float)value * {NAME}_UNIT;
}}
"""
PREDICT_VALUES = """
/* The {NAME}_OUTPUTS values of a row. */
static inline void {name}_predict(const int16_t *row, float *out)
{{
    int64_t values[{NAME}_OUTPUTS];
    {name}_decision(row, values);
{sort}    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] = (float)values[o] * {NAME}_UNIT;
}}
"""
SORT = """\
    for (int i = 1; i < {NAME}_OUTPUTS; ++i) /* quantiles do not cross */
        for (int j = i; j > 0 && values[j] < values[j - 1]; --j) {{
            const int64_t larger = values[j - 1];
            values[j - 1] = values[j];
            values[j] = larger;
        }}
"""
PREDICT_TWO = """
/* {answer} */
static inline int {name}_predict(const int16_t *row)
{{
    int64_t value;
    {name}_decision(row, &value);
    const int best = value {above} 0;
    return {label};
}}
"""
PREDICT_SEVERAL = """
/* {answer} */
static inline int {name}_predict(const int16_t *row)
{{
    int64_t values[{NAME}_OUTPUTS];
    {name}_decision(row, values);
    int best = 0;
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > values[best]) best = o;
    return {label};
}}
"""
ODDS = """
/* exp(-x) in units of 2^-16, for a difference of decision values. */
static inline uint32_t {name}_odds(int64_t difference)
{{
    const int64_t most = (int64_t){largest_odds} << 16;
    int64_t x = {scaled};
    if (x > most) x = most;
    return {name}_exp2_minus((uint32_t)x * {log2_e}u >> {log2_e_bits}, 16);
}}
"""
PROBABILITIES_TWO = """
/* The probabilities of both classes in units of 1 / 65535, in the order of {name}_labels. */
static inline void {name}_probabilities(const int16_t *row, uint16_t *out)
{{
    int64_t value;
    {name}_decision(row, &value);
    const uint32_t rare = {name}_odds(value < 0 ? -value : value);
    const uint16_t smaller = (uint16_t)((rare << 16) / (65536u + rare));
    out[0] = value < 0 ? (uint16_t)(65535u - smaller) : smaller;
    out[1] = value < 0 ? smaller : (uint16_t)(65535u - smaller);
}}
"""
PROBABILITIES_SEVERAL = """
/* The probabilities of the classes in units of 1 / 65535, in the order of {name}_labels. */
static inline void {name}_probabilities(const int16_t *row, uint16_t *out)
{{
    int64_t values[{NAME}_OUTPUTS], largest;
    uint32_t sum = 0;
    {name}_decision(row, values);
    largest = values[0];
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > largest) largest = values[o];
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) {{
        values[o] = {name}_odds(largest - values[o]);
        sum += (uint32_t)values[o];
    }}
    for (int o = 0; o < {NAME}_OUTPUTS; ++o)
        out[o] = (uint16_t)((uint32_t)values[o] * 65535u / sum);
}}
"""
FOOTER = """
#elif {NAME}_H != {checksum}
#error "Two models have the name {name}: export one of them with another name."
#endif
"""
KINDS = {"float32": "float", "int32": "int32_t", "int64": "int64_t"}


def integer_header(
    found: Exportable, given: Model, name: str, X: Any = None, y: Any = None
) -> tuple[str, int, list[int] | None]:
    """Return the header of a model in integers, the size of its tables, and its labels.

    The comment tells what rounding does to rows X, and to their score if y is given.
    """
    integers, model = folded(found), found.model
    tables = _tables(integers, name)
    labels = None
    words = _words(found, integers, name)
    if model.classes is not None:
        table, labels = label_table(model.classes, words)
        tables.append(table)
    table_size = sum(table.size for table in tables)
    words["table_size"] = f"{table_size:,}"
    words["agreement"] = _agreement(given, integers, X, y)
    parts = "".join(table.text for table in tables) + FUNCTIONS.format(**words)
    words["checksum"] = checksum_of(parts)
    content = HEADER.format(**words) + parts + (_predict(model, words) + FOOTER).format(**words)
    return content, table_size, labels


def folded(found: Exportable) -> Integers:
    """Return the integers of a model with the preparation folded into offsets and factors.

    A prepared number is slope x + constant for a number x of the row.
    """
    integers = found.model.integers
    assert integers is not None
    sources = np.arange(found.inputs.n_inputs)
    slopes, constants = np.ones(len(sources)), np.zeros(len(sources))
    for operation in found.operations[0]:
        if isinstance(operation, Take):
            chosen = operation.columns
            sources, slopes, constants = sources[chosen], slopes[chosen], constants[chosen]
        else:
            slopes, constants = _through(operation, slopes, constants)
    if found.inputs.texts or not slopes.all():
        raise ValueError("A model in integers takes rows of numbers, each scaled.")
    with np.errstate(over="ignore"):
        offsets = ((integers.offsets - constants) / slopes).astype(np.float32)
        factors = (integers.factors * slopes).astype(np.float32)
    if not (np.isfinite(offsets).all() and np.isfinite(factors).all()):
        raise ValueError("The numbers of this preparation are too large for float32.")
    return replace(integers, features=sources.astype(np.int32), offsets=offsets, factors=factors)


def _through(operation: Operation, slopes: Array, constants: Array) -> tuple[Array, Array]:
    """Return slopes and constants after an operation."""
    if not isinstance(operation, Arithmetic):
        raise ValueError(
            f"This preparation cannot be folded into integers ({type(operation).__name__}): only "
            "scalers can, such as StandardScaler. Export the model with dtype='float32', or "
            "prepare the rows before."
        )
    values = operation.values
    if operation.operator in ("Add", "Sub"):
        sign = 1.0 if operation.operator == "Add" else -1.0
        return slopes, constants + sign * values
    factor = values if operation.operator == "Mul" else 1.0 / values
    return slopes * factor, constants * factor


def _tables(integers: Integers, name: str) -> list[Table]:
    arrays: dict[str, Array] = {}
    if _picks(integers):
        arrays["features"] = integers.features.astype(np.uint16)
    arrays |= {"offsets": integers.offsets, "factors": integers.factors}
    if integers.dtype == "int8":
        arrays["steps"] = integers.steps
    arrays |= {
        "vectors": integers.vectors,
        "coefficients": integers.coefficients,
        "intercepts": integers.intercepts,
        "powers": TABLE.astype(np.uint16),
    }
    return [integer_table(f"{name}_{key}", array) for key, array in arrays.items()]


def integer_table(name: str, array: Array) -> Table:
    """Return a table whose type says how many bits a number has."""
    kind = KINDS.get(array.dtype.name, f"{array.dtype.name}_t")
    declaration = f"static const {kind} {name}" + "".join(f"[{size}]" for size in array.shape)
    rows = []
    for row in np.atleast_2d(array):
        numbers = literals(row) if row.dtype.kind == "f" else list(map(str, row.tolist()))
        rows.append(braces([f"INT64_C({n})" for n in numbers] if kind == "int64_t" else numbers))
    text = rows[0] if array.ndim == 1 else "{\n" + ",\n".join(rows) + "}"
    return Table(f"{declaration} = {text};\n\n", array.nbytes)


def _picks(integers: Integers) -> bool:
    """Tell whether some features are left out, or in another order."""
    return not np.array_equal(integers.features, np.arange(len(integers.features)))


def _words(found: Exportable, integers: Integers, name: str) -> dict[str, Any]:
    """Return the words that fill the templates."""
    model, shift = found.model, integers.coefficient_shift
    n_vectors, n_columns = integers.vectors.shape
    n_outputs, is_int8 = len(model.intercept), integers.dtype == "int8"
    each = n_columns * (2 if is_int8 else 1) + n_outputs + 1
    has_labels = model.classes is None or integer_labels(model.classes, INT32) is not None
    position = f"The position of a row's label in {name}_labels."
    return {
        "name": name,
        "NAME": name.upper(),
        "version": version("pocketsvm"),
        "n_vectors": n_vectors,
        "n_columns": n_columns,
        "n_inputs": found.inputs.n_inputs,
        "n_outputs": n_outputs,
        "s": "" if n_outputs == 1 else "s",
        "dtype": integers.dtype,
        "row_size": f"{2 * n_columns:,}",
        "ram": f"{8 * n_outputs:,}",
        "multiplications": n_vectors * each,
        "features": comment_of(model.feature_names),
        "unit": literals(np.array([integers.unit], dtype=np.float32))[0],
        "shift": integers.shift,
        "largest_t": LARGEST_T,
        "feature": f"{name}_features[i]" if _picks(integers) else "i",
        "step": f"(int32_t){name}_steps[i] * " if is_int8 else "",
        "scaled": f"difference >> {shift}"
        if shift >= 0
        else f"(difference < most ? difference : most) << {-shift}",
        "largest_odds": LARGEST_ODDS,
        "log2_e": LOG2_E,
        "log2_e_bits": LOG2_E_BITS,
        "above": ">=" if model.task == "novelty" else ">",
        "answer": "The label of a row." if has_labels else position,
        "label": f"{name}_labels[best]" if has_labels else "best",
    }


def _predict(model: Model, words: dict[str, Any]) -> str:
    """Return the templates of the functions that predict."""
    is_one = len(model.intercept) == 1
    if model.classes is None:
        words["sort"] = SORT.format(**words) if isinstance(model.quantile, tuple) else ""
        return PREDICT_VALUE if is_one else PREDICT_VALUES
    predict = PREDICT_TWO if is_one else PREDICT_SEVERAL
    if model.loss != "log_loss":
        return predict
    return predict + ODDS + (PROBABILITIES_TWO if is_one else PROBABILITIES_SEVERAL)


def _agreement(given: Model, integers: Integers, X: Any, y: Any) -> str:
    """Say how many rows get the label, or the value, of the model in floating point."""
    if X is None:
        return ""
    X = np.asarray(X, dtype=float)
    rows = transformed(given.steps, X).astype(float)
    kernel = np.exp(-given.gamma * _distances(rows, given.vectors.astype(float)))
    exact = kernel @ given.dual_coef.T + given.intercept
    rough = integers.decisions(integers.rows(X)) * integers.unit
    if given.classes is None and given.task != "novelty":
        error = float(np.sqrt(np.mean(np.square(rough - exact))))
        text = f" * Root mean square of the rounding errors on {len(X):,} rows: {error:.3g}.\n"
        return text + _scores("R2", r2_score, y, exact, rough)
    labels = [_labels(given, values) for values in (exact, rough)]
    same = 100 * np.mean(labels[0] == labels[1])
    text = f" * {same:.2f} % of {len(X):,} rows get the label of the model in floating point.\n"
    return text + _scores("Accuracy", accuracy_score, y, *labels)


def _labels(given: Model, decisions: Array) -> Array:
    """Return the labels of decision values; 1 and -1 in novelty detection."""
    codes = decisions.argmax(axis=1) if decisions.shape[1] > 1 else (decisions[:, 0] > 0) * 1
    labels: Array = 2 * codes - 1 if given.classes is None else given.classes[codes]
    return labels


def _scores(name: str, score: Callable[..., float], y: Any, exact: Array, rough: Array) -> str:
    """Say what the score of the rows is, in integers and in floating point.

    Nothing is said of several quantiles, which have no score together.
    """
    if y is None or (np.ndim(y) == 1 and rough.ndim == 2 and rough.shape[1] > 1):
        return ""
    check_consistent_length(y, rough)
    in_integers, in_floats = (score(y, values) for values in (rough, exact))
    return f" * {name} on them: {in_integers:.4f}; in floating point {in_floats:.4f}.\n"


def _distances(rows: Array, vectors: Array) -> Array:
    squares = np.square(rows).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1)
    distances: Array = np.maximum(squares - 2 * rows @ vectors.T, 0.0)
    return distances
