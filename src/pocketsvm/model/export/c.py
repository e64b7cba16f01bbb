"""Export to C: one C99 header that needs only the standard library's ``expf``.

In float16, it does not even need that.
"""

import re
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from ..._replacing import PathLike
from ..container import Array
from ..model import Model
from ..steps.operations import Arithmetic, Clip, Take
from .c_code import Code, Table, braces, literals, real_name
from .c_integers import integer_header, integer_table
from .c_text import checksum_of, comment_of, label_table, name_of, string_table
from .common import INT32, Exportable, Exported, cast, integer_labels, max_exponent, write

TYPES = ("float32", "float16", "int16", "int8")
HEADER = """\
/* A support vector machine with a Gaussian kernel, written by pocketsvm {version}.
 *
 * {n_vectors} vectors of {n_features} {columns}, {n_outputs} output{s}.
 * Tables: {table_size} bytes, constant. No memory is allocated; {precision}.
{features} */
#ifndef {NAME}_H
#define {NAME}_H {checksum}

{include}
#define {NAME}_FEATURES {n_inputs}
#define {NAME}_VECTORS {n_vectors}
#define {NAME}_OUTPUTS {n_outputs}

"""
HALF = """\
/* A number of float16, from its bits. */
static inline float {name}_half(uint16_t bits)
{{
    union {{ uint32_t bits; float value; }} found;
    const uint32_t exponent = bits >> 10 & 31u, fraction = bits & 1023u;
    if (exponent == 0) {{
        const float tiny = (float)fraction * 5.9604645e-08f;
        return bits >> 15 ? -tiny : tiny;
    }}
    found.bits = (uint32_t)(bits >> 15) << 31 | (exponent + 112u) << 23 | fraction << 13;
    return found.value;
}}

"""
# exp(x) = 2^n exp(r) with r between -ln(2) / 2 and ln(2) / 2; ln(2) has two parts, so that r is
# exact. The polynomial ends where a term is 1.2e-7.
EXP = """\
/* exp(x), limited to 2^-126 and 2^127. */
static inline float {name}_exp(float x)
{{
    union {{ uint32_t bits; float value; }} power;
    const float above = x > -87.3f ? x : -87.3f, inside = above < 88.0f ? above : 88.0f;
    const int32_t n = (int32_t)(inside * 1.442695f + (inside < 0.0f ? -0.5f : 0.5f));
    const float r = inside - (float)n * 0.693359375f + (float)n * 2.1219444e-04f;
    const float fourth = 0.041666668f + r * (0.008333334f + r * 0.0013888889f);
    power.bits = (uint32_t)(n + 127) << 23;
    return power.value * (1.0f + r * (1.0f + r * (0.5f + r * (0.16666667f + r * fourth))));
}}

"""
PREPARE = """\
/* What the kernel receives of a row x. */
static inline void {member}_prepare(const {given} *x, {real} *out)
{{
{statements}}}

"""
DECISION = """\
/* The decision values of a row x of {NAME}_FEATURES numbers: {n_values} numbers. */
static inline void {member}_decision(const {given} *x, {real} *out)
{{
{prepare}    for (int o = 0; o < {n_values}; ++o) out[o] = {member}_intercepts[o];
    for (int j = 0; j < {n_vectors}; ++j) {{
        {real} distance = {zero};
        for (int i = 0; i < {n_features}; ++i) {{
            const {real} difference = {row}[i] - {vector};
            distance += difference * difference;
        }}
        const {real} exponent = {gamma} * distance;
        const {real} kernel = {exp}(exponent < {bound} ? -exponent : -{bound});
        for (int o = 0; o < {n_values}; ++o) out[o] += {coefficient} * kernel;
    }}
}}
"""
CALL_PREPARE = """\
    {real} prepared[{n_features}];
    {member}_prepare(x, prepared);
"""
CODE = """\
/* The number that stands for a text of a feature in a row: its position in the feature's table of
 * texts, or -1 for a text that is not in the table: an unknown one, which has no category.
 *
 * A null pointer stands for a missing text and gives NAN, which the model fills in or encodes as it
 * does in Python. A missing text and an unknown one are different rows. An empty text is not
 * missing: pass a null pointer if it is missing in your data. */
static inline {given} {name}_code(int feature, const char *text)
{{
    if (text == 0) return NAN;
    const char *const *texts = 0;
    int n_texts = 0;
    switch (feature) {{
{cases}    }}
    for (int k = 0; k < n_texts; ++k)
        if (strcmp(text, texts[k]) == 0) return ({given})k;
    return {minus_one};
}}

"""
CASE = "    case {i}: texts = {name}_texts_{i}; n_texts = {n}; break;\n"
FOOTER = """
#elif {NAME}_H != {checksum}
#error "Two models have the name {name}: export one of them with another name."
#endif
"""
PREDICT_VALUE = """
/* The value of a row. */
static inline {real} {name}_predict(const {given} *x)
{{
    {real} value;
    {name}_decision(x, &value);
    return value;
}}
"""
PREDICT_VALUES = """
/* The {NAME}_OUTPUTS values of a row. */
static inline void {name}_predict(const {given} *x, {real} *out)
{{
    {name}_decision(x, out);
{sort}}}
"""
SORT = """\
    for (int i = 1; i < {NAME}_OUTPUTS; ++i) /* quantiles do not cross */
        for (int j = i; j > 0 && out[j] < out[j - 1]; --j) {{
            const {real} larger = out[j - 1];
            out[j - 1] = out[j];
            out[j] = larger;
        }}
"""
PREDICT_TWO = """
/* {answer} */
static inline int {name}_predict(const {given} *x)
{{
    {real} value;
    {name}_decision(x, &value);
    const int best = value {above} {zero};
    return {label};
}}
"""
PREDICT_SEVERAL = """
/* {answer} */
static inline int {name}_predict(const {given} *x)
{{
    {real} values[{NAME}_OUTPUTS];
    {name}_decision(x, values);
    int best = 0;
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > values[best]) best = o;
    return {label};
}}
"""
PROBABILITIES_TWO = """
/* The probabilities of both classes, in the order of {name}_labels. */
static inline void {name}_probabilities(const {given} *x, {real} *out)
{{
    {real} value;
    {name}_decision(x, &value);
    const {real} rare = {exp}(value < {zero} ? value : -value);
    const {real} smaller = rare / ({one} + rare);
    out[0] = value < {zero} ? {one} - smaller : smaller;
    out[1] = value < {zero} ? smaller : {one} - smaller;
}}
"""
PROBABILITIES_SEVERAL = """
/* The probabilities of the {NAME}_OUTPUTS classes, in the order of {name}_labels. */
static inline void {name}_probabilities(const {given} *x, {real} *out)
{{
    {name}_decision(x, out);
    {real} largest = out[0], sum = {zero};
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (out[o] > largest) largest = out[o];
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) {{
        out[o] = {exp}(out[o] - largest);
        sum += out[o];
    }}
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] /= sum;
}}
"""
CALIBRATED = """
/* The probabilities of the {NAME}_OUTPUTS classes, in the order of {name}_labels. */
static inline void {name}_probabilities(const {given} *x, {real} *out)
{{
    {real} values[{NAME}_OUTPUTS];
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] = {zero};
{members}    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] /= {n_members};
}}

/* {answer} */
static inline int {name}_predict(const {given} *x)
{{
    {real} values[{NAME}_OUTPUTS];
    {name}_probabilities(x, values);
    int best = 0;
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > values[best]) best = o;
    return {label};
}}
"""
CALIBRATE = """\
    {name}_{k}_decision(x, values);
    {name}_calibrate(values, {name}_slopes[{k}], {name}_offsets[{k}], out);
"""
SIGMOID_TWO = """
/* Add the calibrated probabilities of decision values. */
static inline void {name}_calibrate(
    const {real} *values, const {real} *slopes, const {real} *offsets, {real} *out)
{{
    const {real} share = {one} / ({one} + {exp}(slopes[0] * values[0] + offsets[0]));
    out[0] += {one} - share;
    out[1] += share;
}}
"""
SIGMOID_SEVERAL = """
/* Add the calibrated probabilities of decision values. */
static inline void {name}_calibrate(
    {real} *values, const {real} *slopes, const {real} *offsets, {real} *out)
{{
    {real} sum = {zero};
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) {{
        values[o] = {one} / ({one} + {exp}(slopes[o] * values[o] + offsets[o]));
        sum += values[o];
    }}
    for (int o = 0; o < {NAME}_OUTPUTS; ++o)
        out[o] += sum > {zero} ? values[o] / sum : {one} / {NAME}_OUTPUTS;
}}
"""
TEMPERATURE_SEVERAL = """
/* Add the calibrated probabilities of decision values. */
static inline void {name}_calibrate(
    {real} *values, const {real} *slopes, const {real} *offsets, {real} *out)
{{
    (void)offsets;
    {real} largest = values[0], sum = {zero};
    for (int o = 1; o < {NAME}_OUTPUTS; ++o)
        if (values[o] > largest) largest = values[o];
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) {{
        values[o] = {exp}(slopes[0] * (values[o] - largest));
        sum += values[o];
    }}
    for (int o = 0; o < {NAME}_OUTPUTS; ++o) out[o] += values[o] / sum;
}}
"""


def export_c(
    estimator: Any,
    path: PathLike,
    name: str | None = None,
    *,
    dtype: str | None = None,
    X: Any = None,
    y: Any = None,
) -> Exported:
    """Write a C99 header with the whole model: constant tables and two functions.

    With the name "model", ``void model_decision(const float *x, float *out)`` writes the
    ``MODEL_OUTPUTS`` decision values of a row of ``MODEL_FEATURES`` numbers.
    ``int model_predict(const float *x)`` returns the label of the row, which is 1 or -1 in novelty
    detection; for a regression or a ranking, it returns the value, a float. If a regression has
    several outputs, ``void model_predict(const float *x, float *out)`` writes them; quantiles are
    sorted. If the model has probabilities (the loss "log_loss", or CalibratedClassifierCV),
    ``void model_probabilities(const float *x, float *out)`` writes one for each class. Link with
    ``-lm`` if ``expf`` needs it.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline, CalibratedClassifierCV or Model
        The fitted estimator.

    path : str or path-like
        The file.

    name : str, default=None
        The prefix of the include guard, functions, tables and macros. None means the name of the
        file without its last suffix, made an identifier: ``tumours-v2.h`` gives ``tumours_v2``.

    dtype : {"float32", "float16", "int16", "int8"}, default=None
        The type of the tables. None means the one that the model was made for. Types but "float32"
        need a model that `pocketsvm.compress` has made for them. With "float16", the tables are
        half as large; the computation is in floating point, with an exponential of its own. With
        "int16" and "int8", it is in integers: see the notes.

    X : array-like of shape (n_samples, n_features), default=None
        Rows, of which the comment of a header in integers says how many get the label of the model
        in floating point.

    y : array-like of shape (n_samples,), default=None
        Their labels or target values: then the comment says the accuracy or R², too, in integers
        and in floating point.

    Returns
    -------
    exported : Exported
        What was written; `Exported.table_size` is the size of the tables in the program.

    Notes
    -----
    If the labels are not 32-bit integers, ``model_labels`` holds them as strings, and
    ``model_predict`` returns a position in it. If the support vectors are float64, because the
    values of the training rows needed it, everything in the header is ``double``, including rows.

    A CalibratedClassifierCV has no ``model_decision``. Rows are ``double`` if a pipeline has a
    QuantileTransformer, or encodes numbers that are equal in float.

    The preparation of a pipeline is part of the header: a row holds the features as they are in
    data files. ``NAN`` stands for a missing number. A text is given as a number, which
    ``model_code(feature, text)`` returns. As in Python, missing and unknown texts differ: a null
    pointer stands for a missing text and gives ``NAN``, which the pipeline fills in or encodes; a
    text that was not in the training rows, and an empty one, is an unknown category and gives -1.

    Kernel values are at least 2^-125 (2^-1021 in float64), as in the library: rows that are far
    from all vectors get the same class, which depends on the sum of the coefficients if the
    intercept is zero.

    In float16, the header includes only ``<stdint.h>`` and calls no function, unless a pipeline
    has steps besides scalers: those that look for missing numbers or take logarithms include
    ``<math.h>``.

    In integers, ``void model_quantise(const float *x, int16_t *row)`` makes a row of
    ``MODEL_COLUMNS`` integers, with the scaler of a pipeline folded in; a device can store such
    rows. ``model_predict`` and ``void model_decision(const int16_t *row, int64_t *out)`` take it.
    Decision values are in units of ``MODEL_UNIT``, and probabilities, of type ``uint16_t``, in
    units of 1 / 65535. The header includes only ``<stdint.h>`` and calls no function.
    `pocketsvm.model.integers` is the same arithmetic in NumPy.

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
        name = name_of(path)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name must be an identifier of C that starts with a letter, got {name!r}."
        )
    found = Exportable.of(estimator)
    kind = _kind(found, dtype)
    if kind in ("int8", "int16"):
        content, table_size, labels = integer_header(found, Model.of(estimator), name, X, y)
        return write(path, content.encode("ascii"), table_size, labels)
    words = _words(found, name, kind) | _access(name, kind)
    bodies = [_body(found, k, words) for k in range(len(found.members))]
    predict, labels = _predict(found, words), None
    tables = [table for body in bodies for table in body.tables] + _text_tables(found, words)
    names = None
    if (classes := found.model.classes) is not None:
        table, labels = label_table(classes, words)
        tables.append(table)
        if integer_labels(classes, INT32) is None:
            names = [str(label) for label in classes.tolist()]
    if found.calibrated:
        tables += _calibration_tables(found, words)
    words["table_size"] = f"{sum(table.size for table in tables):,}"
    shared = {template: None for body in bodies for template in body.functions}
    parts = ["".join(table.text for table in tables)]
    parts += [template.format(**words) + "\n" for template in shared]
    parts += [CODE.format(**words)] if words["cases"] else []
    parts += [(HALF + EXP).format(**words)] if words["kind"] == "float16" else []
    parts += [body.text for body in bodies]
    words["checksum"] = checksum_of("".join(parts))
    content = HEADER.format(**words) + "".join(parts) + (predict + FOOTER).format(**words)
    table_size = sum(table.size for table in tables)
    return replace(write(path, content.encode("ascii"), table_size, labels), names=names)


def _kind(found: Exportable, dtype: str | None) -> str:
    """Return the type of the tables; refuse one that the model was not made for."""
    made = found.model.dtype if not found.calibrated else found.dtype.name
    if dtype is None or dtype == made:
        return made
    if dtype not in TYPES:
        raise ValueError(f"dtype must be one of {', '.join(TYPES)}, got {dtype!r}.")
    if dtype != "float32":
        call = f"pocketsvm.compress(model, X, budget={len(found.model.vectors)}, dtype={dtype!r})"
        raise ValueError(
            f"This model was not made for {dtype}. Make one that is solved for its rounding "
            f"errors: {call}."
        )
    return found.dtype.name


def _access(name: str, kind: str) -> dict[str, str]:
    """Return how the code reads numbers of the tables."""
    words = {"kind": kind, "vector": "{member}_vectors[j][i]"}
    words["coefficient"] = "{member}_coefficients[j][o]"
    if kind == "float16":
        words = {key: f"{name}_half({text})" for key, text in words.items()} | {"kind": kind}
    return words


@dataclass(frozen=True)
class _Body:
    """The tables and functions of a model, up to its decision values."""

    tables: list[Table]
    functions: dict[str, None]
    text: str


def _body(found: Exportable, k: int, words: dict[str, Any]) -> _Body:
    """Write the tables and functions of a model."""
    model, operations = found.members[k], found.operations[k]
    member = f"{words['name']}_{k}" if found.calibrated else words["name"]
    gamma, bound = literals(cast(np.array([model.gamma, max_exponent(model)]), found.dtype))
    n_vectors, n_features = model.vectors.shape
    own = words | {
        "member": member,
        "gamma": gamma,
        "bound": bound,
        "n_vectors": n_vectors,
        "n_features": n_features,
        "n_values": len(model.intercept),
        "row": "prepared" if operations else "x",
        "prepare": "",
    }
    code = Code(words["name"], member, found.given, found.inputs.n_inputs)
    text = ""
    if operations:
        row = code.write(operations, "x")
        code.line(f"for (int i = 0; i < {n_features}; ++i) out[i] = ({words['real']}){row}[i];")
        text = PREPARE.format(**own, statements="".join(f"{line}\n" for line in code.lines))
        own["prepare"] = CALL_PREPARE.format(**own)
    for access in ("vector", "coefficient"):
        own[access] = words[access].format(member=member)
    tables = _number_tables(model, member, found.dtype, words["kind"]) + code.tables
    return _Body(tables, code.functions, text + DECISION.format(**own))


def _predict(found: Exportable, words: dict[str, Any]) -> str:
    """Return the templates of the functions that predict."""
    model = found.model
    if not found.calibrated:
        return _predict_values(model, words) if model.classes is None else _predict_labels(model)
    members = range(len(found.members))
    words["n_members"] = len(members)
    words["members"] = "".join(CALIBRATE.format(**words, k=k) for k in members)
    if len(model.intercept) == 1:
        return SIGMOID_TWO + CALIBRATED
    is_sigmoid = found.calibrated.method == "sigmoid"
    return (SIGMOID_SEVERAL if is_sigmoid else TEMPERATURE_SEVERAL) + CALIBRATED


def _predict_values(model: Model, words: dict[str, Any]) -> str:
    """Return the template of the function that predicts numbers."""
    words["sort"] = SORT.format(**words) if isinstance(model.quantile, tuple) else ""
    several = len(model.intercept) > 1 or isinstance(model.quantile, tuple)
    return PREDICT_VALUES if several else PREDICT_VALUE


def _predict_labels(model: Model) -> str:
    """Return the templates of the functions that predict labels and probabilities."""
    two = len(model.intercept) == 1
    predict = PREDICT_TWO if two else PREDICT_SEVERAL
    if model.loss != "log_loss":
        return predict
    return predict + (PROBABILITIES_TWO if two else PROBABILITIES_SEVERAL)


def _words(found: Exportable, name: str, kind: str) -> dict[str, Any]:
    """Return the words that fill the templates."""
    model, texts = found.model, found.inputs.texts
    is_float = found.dtype == np.float32
    answers_labels = model.classes is None or integer_labels(model.classes, INT32) is not None
    position = f"The position of a row's label in {name}_labels."
    n_outputs = len(model.intercept)
    if found.calibrated:
        n_outputs = len(found.calibrated.classes)
    real, given = real_name(found.dtype), real_name(found.given)
    return {
        "name": name,
        "NAME": name.upper(),
        "version": version("pocketsvm"),
        "n_vectors": sum(len(member.vectors) for member in found.members),
        "n_features": model.vectors.shape[1],
        "n_inputs": found.inputs.n_inputs,
        "columns": "columns" if found.operations[0] else "features",
        "include": _includes(found, kind),
        "cases": "".join(CASE.format(i=i, name=name, n=len(each)) for i, each in texts.items()),
        "n_outputs": n_outputs,
        "s": "" if n_outputs == 1 else "s",
        "features": comment_of(model.feature_names),
        "real": real,
        "given": given,
        "precision": f"{real} throughout" if real == given else f"{given} up to the kernel",
        "exp": f"{name}_exp" if kind == "float16" else "expf" if is_float else "exp",
        "zero": "0.0f" if is_float else "0.0",
        "above": ">=" if model.task == "novelty" else ">",
        "one": "1.0f" if is_float else "1.0",
        "minus_one": "-1.0f" if found.given == np.float32 else "-1.0",
        "answer": "The label of a row." if answers_labels else position,
        "label": f"{name}_labels[best]" if answers_labels else "best",
    }


def _includes(found: Exportable, kind: str) -> str:
    """Return the lines that include headers of the standard library."""
    is_plain = all(isinstance(each, Arithmetic | Clip | Take) for each in found.operations[0])
    headers = ["math"] if kind != "float16" or not is_plain else []
    headers += ["stdint"] if kind == "float16" else []
    headers += ["string"] if found.inputs.texts else []
    return "".join(f"#include <{header}.h>\n" for header in headers)


def _number_tables(model: Model, member: str, dtype: np.dtype[Any], kind: str) -> list[Table]:
    """Return the tables of the kernel and its coefficients."""
    arrays = {"vectors": model.vectors, "coefficients": cast(model.dual_coef.T, dtype)}
    tables = [
        integer_table(f"{member}_{name}", array.astype(np.float16).view(np.uint16))
        if kind == "float16"
        else _number_table(f"{member}_{name}", array)
        for name, array in arrays.items()
    ]
    return [*tables, _number_table(f"{member}_intercepts", cast(model.intercept, dtype))]


def _number_table(name: str, array: Array) -> Table:
    declaration = f"static const {real_name(array.dtype)} {name}"
    declaration += "".join(f"[{size}]" for size in array.shape)
    rows = [braces(literals(row)) for row in np.atleast_2d(array)]
    text = rows[0] if array.ndim == 1 else "{\n" + ",\n".join(rows) + "}"
    return Table(f"{declaration} = {text};\n\n", array.nbytes)


def _calibration_tables(found: Exportable, words: dict[str, Any]) -> list[Table]:
    """Return the calibration of each model."""
    calibrated = found.calibrated
    assert calibrated is not None
    slopes = calibrated.slopes
    if calibrated.method == "temperature" and len(found.model.intercept) == 1:
        slopes = -2 * slopes  # the softmax of (-f, f)
    arrays = {"slopes": slopes, "offsets": calibrated.offsets}
    return [_number_table(f"{words['name']}_{n}", cast(a, found.dtype)) for n, a in arrays.items()]


def _text_tables(found: Exportable, words: dict[str, Any]) -> list[Table]:
    """Return a table of the known texts of each feature that is text."""
    tables = []
    for i, texts in found.inputs.texts.items():
        declaration = f"static const char *const {words['name']}_texts_{i}[{len(texts)}]"
        tables.append(string_table(declaration, texts))
    return tables
