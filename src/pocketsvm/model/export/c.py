"""Export to C: one C99 header that needs only the standard library's ``expf``."""

import os
import re
import textwrap
import zlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..._replacing import PathLike
from ..container import Array
from ..model import Model
from .common import INT32, Exported, cast, exportable, integer_labels, max_exponent, write

# The maximum length of lines in the header, as in this package.
COLUMNS = 100

HEADER = """\
/* A support vector machine with a Gaussian kernel, written by pocketsvm {version}.
 *
 * {n_vectors} vectors of {n_features} {columns}, {n_outputs} output{s}.
 * Tables: {table_size} bytes, constant. No memory is allocated; {real} throughout.
{features} */
#ifndef {NAME}_H
#define {NAME}_H {checksum}

#include <math.h>
{include}
#define {NAME}_FEATURES {n_inputs}
#define {NAME}_VECTORS {n_vectors}
#define {NAME}_OUTPUTS {n_outputs}
{define_columns}
"""
DECISION = """\
/* The decision values of a row x of {NAME}_FEATURES numbers: {NAME}_OUTPUTS numbers. */
static inline void {name}_decision(const {real} *x, {real} *out)
{{
{scale}    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] = {name}_intercepts[o];
    for (int j = 0; j < {NAME}_VECTORS; ++j) {{
        {real} distance = {zero};
        for (int i = 0; i < {NAME}_{COLUMNS}; ++i) {{
            const {real} difference = {row}[i] - {name}_vectors[j][i];
            distance += difference * difference;
        }}
        const {real} exponent = {gamma} * distance;
        const {real} kernel = {exp}(exponent < {bound} ? -exponent : -{bound});
        for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] += {name}_coefficients[j][o] * kernel;
    }}
}}
"""
SCALE = """\
    {real} scaled[{NAME}_FEATURES];
    for (int i = 0; i < {NAME}_FEATURES; ++i)
        scaled[i] = (x[i] - {name}_offsets[i]) * {name}_factors[i];
"""
PREPARE = """\
    {real} scaled[{NAME}_COLUMNS];
    for (int i = 0; i < {NAME}_COLUMNS; ++i) {{
        const {real} given = x[{name}_sources[i]];
        const {real} value = {name}_indicates[i] ? ({real})(given == {name}_categories[i]) : given;
        const {real} filled = isnan(given) ? {name}_fills[i] : value;
        scaled[i] = (filled - {name}_offsets[i]) * {name}_factors[i];
    }}
"""
CODE = """\
/* The number that stands for a text of a feature in a row: its position in the feature's table of
 * texts, or -1 for any other text. NAN stands for a missing one. */
static inline {real} {name}_code(int feature, const char *text)
{{
    const char *const *texts = 0;
    int n_texts = 0;
    switch (feature) {{
{cases}    }}
    for (int k = 0; k < n_texts; ++k)
        if (strcmp(text, texts[k]) == 0) return ({real})k;
    return {minus_one};
}}

"""
CASE = "    case {i}: texts = {name}_texts_{i}; n_texts = {n}; break;\n"
FOOTER = """
#elif {NAME}_H != {checksum}
#error "Two models have the name {name}: export one of them with another name."
#endif
"""
PREPARATIONS = {"nothing": "", "scaling": SCALE, "preparation": PREPARE}
PREDICT_VALUE = """
/* The value of a row. */
static inline {real} {name}_predict(const {real} *x)
{{
    {real} value;
    {name}_decision(x, &value);
    return value;
}}
"""
PREDICT_TWO = """
/* {answer} */
static inline int {name}_predict(const {real} *x)
{{
    {real} value;
    {name}_decision(x, &value);
    const int best = value {above} {zero};
    return {label};
}}
"""
PREDICT_SEVERAL = """
/* {answer} */
static inline int {name}_predict(const {real} *x)
{{
    {real} values[{NAME}_OUTPUTS];
    {name}_decision(x, values);
    int best = 0;
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > values[best]) best = o;
    return {label};
}}
"""


def export_c(estimator: Any, path: PathLike, name: str | None = None) -> Exported:
    """Write a C99 header with the whole model: constant tables and two functions.

    With the name "model", ``void model_decision(const float *x, float *out)`` writes the
    ``MODEL_OUTPUTS`` decision values of a row of ``MODEL_FEATURES`` numbers.
    ``int model_predict(const float *x)`` returns the label of the row, which is 1 or -1 in novelty
    detection; for a regression or a ranking, it returns the value, a float. Link with ``-lm`` if
    ``expf`` needs it.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline or Model
        The fitted estimator.

    path : str or path-like
        The file.

    name : str, default=None
        The prefix of the include guard, functions, tables and macros. None means the name of the
        file without its last suffix, made an identifier: ``tumours-v2.h`` gives ``tumours_v2``.

    Returns
    -------
    exported : Exported
        What was written; `Exported.table_size` is the size of the tables in the program.

    Notes
    -----
    If the labels are not 32-bit integers, ``model_labels`` holds them as strings, and
    ``model_predict`` returns a position in it. If the support vectors are float64, because the
    values of the training rows needed it, everything in the header is ``double``, including rows.

    The preparation of a pipeline is part of the header: a row holds the features as they are in
    data files. ``NAN`` stands for a missing number. A text is given as a number, which
    ``model_code(feature, text)`` returns; texts that were not in the training rows are unknown
    categories.

    Kernel values are at least 2^-125 (2^-1021 in float64), as in the library: rows that are far
    from all vectors get the same class, which depends on the sum of the coefficients if the
    intercept is zero.

    A program can include several models if their names differ in more than upper and lower case.
    If two different models have the same name, the program does not compile.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model.export import export_c
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_c(clf, os.path.join(folder, "moons.h")).table_size
    132
    """
    if name is None:
        name = _name_of(path)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name must be an identifier of C that starts with a letter, got {name!r}."
        )
    model = exportable(estimator)
    words = _words(model, name)
    tables = _number_tables(model, words) + _text_tables(model, words)
    predict, labels = PREDICT_VALUE, None
    if model.classes is not None:
        predict = PREDICT_TWO if len(model.classes) == 2 else PREDICT_SEVERAL
        table, labels = _label_table(model.classes, words)
        tables.append(table)
    table_size = sum(table.size for table in tables)
    words["table_size"] = f"{table_size:,}"
    words["tables"] = "".join(table.text for table in tables)
    words["code"] = CODE.format(**words) if words["cases"] else ""
    words["scale"] = PREPARATIONS[_preparing(model)].format(**words)
    words["checksum"] = _checksum("{tables}{scale}{gamma}".format(**words))
    content = (HEADER + "{tables}{code}" + DECISION + predict + FOOTER).format(**words)
    return write(path, content.encode("ascii"), table_size, labels)


def _name_of(path: PathLike) -> str:
    """Return the stem of a file as an identifier that starts with a letter."""
    name = re.sub("[^A-Za-z0-9_]+", "_", Path(os.fsdecode(path)).stem).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")


def _checksum(text: str) -> str:
    """Return a number in C that tells models of the same name apart."""
    return f"0x{zlib.crc32(text.encode('ascii')):08x}"


def _preparing(model: Model) -> str:
    """Tell what a row goes through: "nothing", "scaling", or any "preparation"."""
    if model.preparation is None:
        return "nothing"
    return "scaling" if model.preparation.columns.is_scaling else "preparation"


@dataclass(frozen=True)
class _Table:
    text: str
    size: int


def _words(model: Model, name: str) -> dict[str, Any]:
    """Return the words that fill the templates."""
    n_vectors, n_features = model.vectors.shape
    is_float = model.vectors.dtype == np.float32
    answers_labels = model.classes is None or integer_labels(model.classes, INT32) is not None
    numbers = np.array([model.gamma, max_exponent(model)])
    gamma, bound = _literals(cast(numbers, model.vectors.dtype))
    position = f"The position of a row's label in {name}_labels."
    preparing = _preparing(model)
    columns = "columns" if preparing == "preparation" else "features"
    texts = {} if model.preparation is None else model.preparation.columns.texts
    return {
        "name": name,
        "NAME": name.upper(),
        "version": version("pocketsvm"),
        "n_vectors": n_vectors,
        "n_features": n_features,
        "n_inputs": model.n_inputs,
        "columns": columns,
        "COLUMNS": columns.upper(),
        "define_columns": f"#define {name.upper()}_COLUMNS {n_features}\n" * (columns == "columns"),
        "include": "#include <string.h>\n" if texts else "",
        "cases": "".join(CASE.format(i=i, name=name, n=len(each)) for i, each in texts.items()),
        "n_outputs": len(model.intercept),
        "s": "" if len(model.intercept) == 1 else "s",
        "features": _comment(model.feature_names),
        "real": "float" if is_float else "double",
        "exp": "expf" if is_float else "exp",
        "zero": "0.0f" if is_float else "0.0",
        "above": ">=" if model.task == "novelty" else ">",
        "minus_one": "-1.0f" if is_float else "-1.0",
        "gamma": gamma,
        "bound": bound,
        "row": "x" if preparing == "nothing" else "scaled",
        "answer": "The label of a row." if answers_labels else position,
        "label": f"{name}_labels[best]" if answers_labels else "best",
    }


def _comment(names: Array | None) -> str:
    """List the features in a comment; characters that could end it are replaced."""
    if names is None:
        return ""
    safe = [re.sub("[^A-Za-z0-9 .,:()%+_-]", "_", name) for name in names.tolist()]
    listed = ", ".join(f"{i}: {name}" for i, name in enumerate(safe))
    lines = textwrap.wrap(f"Features: {listed}.", COLUMNS - len(" * "))
    return " *\n" + "".join(f" * {line}\n" for line in lines)


def _number_tables(model: Model, words: dict[str, Any]) -> list[_Table]:
    dtype = model.vectors.dtype
    arrays = {
        "vectors[{NAME}_VECTORS][{NAME}_{COLUMNS}]": model.vectors,
        "coefficients[{NAME}_VECTORS][{NAME}_OUTPUTS]": cast(model.dual_coef.T, dtype),
        "intercepts[{NAME}_OUTPUTS]": cast(model.intercept, dtype),
    }
    if model.preparation is not None:
        columns = model.preparation.columns
        arrays["offsets[{NAME}_{COLUMNS}]"] = cast(columns.offset, dtype)
        arrays["factors[{NAME}_{COLUMNS}]"] = cast(columns.factor, dtype)
        if not columns.is_scaling:
            arrays["sources[{NAME}_COLUMNS]"] = columns.source.astype(np.int32)
            arrays["indicates[{NAME}_COLUMNS]"] = columns.indicates.astype(np.uint8)
            arrays["categories[{NAME}_COLUMNS]"] = cast(columns.codes(), dtype)
            arrays["fills[{NAME}_COLUMNS]"] = columns.fills().astype(dtype)
    tables = []
    for declared, array in arrays.items():
        kind = {"i": "int", "u": "unsigned char"}.get(array.dtype.kind, words["real"])
        declaration = f"static const {kind} " + ("{name}_" + declared).format(**words)
        rows = [_braces(_literals(row)) for row in np.atleast_2d(array)]
        text = rows[0] if array.ndim == 1 else "{\n" + ",\n".join(rows) + "}"
        tables.append(_Table(f"{declaration} = {text};\n\n", array.nbytes))
    return tables


def _text_tables(model: Model, words: dict[str, Any]) -> list[_Table]:
    """Return a table of the known texts of each feature that is text."""
    if model.preparation is None:
        return []
    tables = []
    for i, texts in model.preparation.columns.texts.items():
        declaration = f"static const char *const {words['name']}_texts_{i}[{len(texts)}]"
        tables.append(_string_table(declaration, texts))
    return tables


def _string_table(declaration: str, texts: list[str]) -> _Table:
    """Return a table of texts; pointers are not counted: their size depends on the machine."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = sum(len(text) + 1 for text in encoded)
    return _Table(f"{declaration} = {_braces(list(map(_string, encoded)))};\n\n", size)


def _label_table(classes: Array, words: dict[str, Any]) -> tuple[_Table, list[int]]:
    """Return a table of the labels, and what predict returns for each of them."""
    integers = integer_labels(classes, INT32)
    declaration = f"{words['name']}_labels[{len(classes)}]"
    if integers is not None:
        text = f"static const int {declaration} = {_braces(list(map(str, integers)))};\n\n"
        return _Table(text, 4 * len(integers)), integers
    texts = [str(label) for label in classes.tolist()]
    table = _string_table(f"static const char *const {declaration}", texts)
    return table, list(range(len(classes)))


def _literals(numbers: Array) -> list[str]:
    """Write numbers with the fewest digits that keep all bits: 0.1f, 1e-05f."""
    suffix = "f" if numbers.dtype == np.float32 else ""
    return ["NAN" if number != number else f"{number!s}{suffix}" for number in numbers]


def _braces(items: list[str]) -> str:
    lines, line = [], "{"
    for item in items:
        if len(line) > 1 and len(line) + len(item) + 2 > COLUMNS:
            lines.append(line.rstrip())
            line = " "
        line += f"{item}, "
    return "\n".join([*lines, line.removesuffix(", ") + "}"])


def _string(text: bytes) -> str:
    """Write a string literal; characters that are not plain ASCII become octal escapes."""
    plain = (32 <= byte < 127 and byte not in b'"\\?' for byte in text)
    characters = zip(text, plain, strict=True)
    return '"' + "".join(chr(b) if is_plain else f"\\{b:03o}" for b, is_plain in characters) + '"'
