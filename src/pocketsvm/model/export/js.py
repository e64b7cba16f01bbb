"""Export to JavaScript: one ES module that predicts from a plain array, and its types."""

import json
import os
import re
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._replacing import PathLike, replacing
from ..calibrated import Calibrated
from ..container import Array
from ..model import Model
from ..steps.operations import SEARCH
from .c_code import Code, Table, braces
from .common import Exportable, Exported, max_exponent, write

HEADER = """\
// A support vector machine with a Gaussian kernel, written by pocketsvm {version}.
// {n_vectors} vectors of {n_features} features, {n_outputs} output{s}.

/** The names of the features of a row, or null. */
export const featureNames = {names};
{labels}
"""
LABELS = """
/** The labels, in the order of several decision values. */
export const labels = {labels};
"""
SEARCH_JS = """\
function {name}_search(sorted, begin, end, x) {{
    while (begin < end) {{
        const middle = begin + ((end - begin + 1) >> 1);
        if (sorted[middle] <= x) begin = middle;
        else end = middle - 1;
    }}
    return begin;
}}

"""
CHECKED = """\
// What columns take: "string", "number or missing" or "any"; the others take "number".
const kinds = {column_kinds};
const texts = {texts};

function checked(row) {{
    if (row.length !== {n_inputs})
        throw new RangeError(`a row has {n_inputs} features, not ${{row.length}}`);
    return Array.from(row, (value, i) => {{
        const kind = kinds[i] ?? "number";
        const isMissing = value === null || value === undefined || Number.isNaN(value);
        if (kind === "any" || (isMissing && kind !== "number")) return NaN;
        if (kind === "string" && typeof value === "string") return texts[i].indexOf(value);
        if (kind !== "string" && Number.isFinite(value)) return value;
        const name = featureNames ? JSON.stringify(featureNames[i]) : i;
        const found = typeof value === "string" ? JSON.stringify(value) : String(value);
        const right = isMissing ? "number: the model fills in no missing value here" : kind;
        throw new TypeError(`column ${{name}} is ${{found}}, but must be a ${{right}}`);
    }});
}}

"""
PREPARE = """\
function prepare(x) {{
{statements}    return {row};
}}

"""
DECISION = """\
/** The decision values of a row of {n_inputs} {kinds}. */
export function decision(row) {{
    const x = {prepared};
    const values = intercepts.slice();
    for (let j = 0; j < {n_vectors}; ++j) {{
        let distance = 0;
        for (let i = 0; i < {n_features}; ++i) {{
            const difference = x[i] - vectors[j * {n_features} + i];
            distance += difference * difference;
        }}
        const kernel = Math.exp(-Math.min({gamma} * distance, {bound}));
        for (let o = 0; o < {n_outputs}; ++o)
            values[o] += coefficients[j * {n_outputs} + o] * kernel;
    }}
    return values;
}}

"""
PREDICT_VALUE = """\
/** The value of a row. */
export function predict(row) {{
    return decision(row)[0];
}}
"""
PREDICT_VALUES = """\
/** The {n_outputs} values of a row. */
export function predict(row) {{
    return decision(row){sort};
}}
"""
PREDICT_TWO = """\
/** The label of a row. */
export function predict(row) {{
    return labels[decision(row)[0] {above} 0 ? 1 : 0];
}}
"""
PREDICT_SEVERAL = """\
/** The label of a row. */
export function predict(row) {{
    const values = decision(row);
    return labels[values.indexOf(Math.max(...values))];
}}
"""
PROBABILITIES_TWO = """
/** The probabilities of both classes, in the order of the labels. */
export function probabilities(row) {{
    const value = decision(row)[0];
    return [1 / (1 + Math.exp(value)), 1 / (1 + Math.exp(-value))];
}}
"""
PROBABILITIES_SEVERAL = """
/** The probabilities of the classes, in the order of the labels. */
export function probabilities(row) {{
    const values = decision(row);
    const largest = Math.max(...values);
    const odds = values.map((value) => Math.exp(value - largest));
    const sum = odds.reduce((one, other) => one + other);
    return odds.map((odd) => odd / sum);
}}
"""
TYPES = """\
// Types of a module that pocketsvm {version} has written.

/** The names of the features of a row, or null. */
export const featureNames: readonly string[] | null;
{labels}/** The decision values of a row of {n_inputs} {kinds}. */
export function decision(row: ReadonlyArray<{given}>): number[];
/** What the model predicts for a row. */
export function predict(row: ReadonlyArray<{given}>): {answer};
{probabilities}"""
TYPES_LABELS = """\
/** The labels, in the order of several decision values. */
export const labels: readonly {label}[];
"""
TYPES_PROBABILITIES = """\
/** The probabilities of the classes, in the order of the labels. */
export function probabilities(row: ReadonlyArray<{given}>): number[];
"""


def export_js(estimator: Any, path: PathLike) -> Exported:
    """Write an ES module without dependencies, for web pages and for node, and its types.

    The module exports ``predict(row)``, which returns the label of a plain array, or its value for
    a regression or a ranking, or an array of values if there are several; ``decision(row)``, the
    array of decision values; ``probabilities(row)`` if the model has the loss "log_loss"; and
    ``labels`` and ``featureNames``.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline or Model
        The fitted estimator.

    path : str or path-like
        The file, usually with the ending ``.js`` or ``.mjs``. Its types are written beside it: to
        ``.d.ts`` and ``.d.mts``.

    Returns
    -------
    exported : Exported
        What was written.

    Notes
    -----
    The preparation of a pipeline is part of the module: a row holds the features as they are in
    data files, numbers and strings; ``null``, ``undefined`` and ``NaN`` stand for a missing value.
    Another value in a column, or a missing one that the pipeline does not fill in or encode, is a
    TypeError that names the column. A QuantileTransformer and a CalibratedClassifierCV cannot be
    written.

    The module computes in float64. Decision values differ from those in Python by the rounding
    errors of float32, about 1e-5 times the sum of the sizes of the coefficients.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model.export import export_js
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = export_js(clf, os.path.join(folder, "moons.mjs"))
    ...     sorted(os.listdir(folder))
    ['moons.d.mts', 'moons.mjs']
    """
    if isinstance(estimator, Calibrated) or Calibrated.of(estimator):
        raise ValueError("A JavaScript module cannot hold a CalibratedClassifierCV; use C or ONNX.")
    found = Exportable.of(estimator)
    model = found.model
    words, labels = _words(found), None
    if model.classes is not None:
        labels = model.classes.tolist()
        words["labels"] = LABELS.format(labels=_json(labels))
    code = _JsCode(found.inputs.n_inputs)
    prepare = _prepare(found, code)
    tables = [
        _table("vectors", model.vectors),
        _table("coefficients", model.dual_coef.T),
        _table("intercepts", model.intercept),
        *code.tables,
    ]
    functions = "".join(SEARCH_JS.format(name="js") for _ in code.functions)
    text = HEADER + "".join(table.text for table in tables).replace("{", "{{").replace("}", "}}")
    body = (text + CHECKED + "{functions}{prepare}" + DECISION + _predict(model)).format(
        **words, functions=functions, prepare=prepare
    )
    size = sum(table.size for table in tables)
    name, ending = os.path.splitext(os.fspath(path))
    with replacing(f"{name}.d.{'mts' if ending == '.mjs' else 'ts'}") as file:
        file.write(_types(model, words).encode())
    return write(path, body.encode(), size, labels)


class _JsCode(Code):
    """The body of a function that prepares a row, in JavaScript."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__("js", "js", np.dtype(np.float64), n_inputs)

    def line(self, text: str) -> None:
        """Add a line of C, translated."""
        text = re.sub(r"\bint (?=\w+ = )", "let ", text).replace("const let", "const")
        super().line(text.replace("isnan(", "Number.isNaN("))

    def table(self, array: NDArray[Any]) -> str:
        """Add a table; return its name."""
        name = f"table{len(self.tables)}"
        self.tables.append(_table(name, array))
        return name

    def math(self, function: str) -> str:
        """Return the name of a function."""
        return {"fabs": "Math.abs"}.get(function, f"Math.{function}")

    def number(self, value: float) -> str:
        """Return a number as a literal."""
        return _number(value)

    def function(self, template: str) -> None:
        """Add a function before this one; only the search is known."""
        if template != SEARCH:
            raise ValueError(
                "A JavaScript module cannot hold a QuantileTransformer. Export the model to C or "
                "ONNX, or without this step."
            )
        super().function(template)

    def _array(self, size: int) -> str:
        name = f"v{len(self.sizes)}"
        self.sizes[name] = size
        super().line(f"const {name} = new Array({size}).fill(0);")
        return name


def _prepare(found: Exportable, code: _JsCode) -> str:
    """Return the function that prepares a row; empty if nothing is done to it."""
    operations = found.operations[0]
    if not operations:
        return ""
    row = code.write(operations, "x")
    lines = "".join(f"{line}\n" for line in code.lines)
    return PREPARE.format(statements=lines, row=row)


def _words(found: Exportable) -> dict[str, Any]:
    model, names, texts = found.model, found.model.feature_names, found.inputs.texts
    kinds = _kinds(found)
    given = ["number"]
    given += ["string"] if {"string", "any"} & {*kinds.values()} else []
    given += ["null", "undefined"] if kinds else []
    return {
        "version": version("pocketsvm"),
        "n_vectors": len(model.vectors),
        "n_features": model.vectors.shape[1],
        "n_inputs": found.inputs.n_inputs,
        "n_outputs": len(model.intercept),
        "s": "" if len(model.intercept) == 1 else "s",
        "names": _json(None if names is None else list(map(str, names))),
        "labels": "",
        "kinds": "numbers and strings" if texts else "numbers",
        "column_kinds": _json(kinds),
        "texts": _json({str(i): each for i, each in texts.items()}),
        "given": " | ".join(given),
        "prepared": "prepare(checked(row))" if found.operations[0] else "checked(row)",
        "gamma": _number(model.gamma),
        "bound": _number(max_exponent(model)),
        "above": ">=" if model.task == "novelty" else ">",
        "sort": ".sort((a, b) => a - b)" if isinstance(model.quantile, tuple) else "",
    }


def _kinds(found: Exportable) -> dict[str, str]:
    """Return what columns take, by their positions; columns that take only numbers are left out."""
    kinds = {}
    columns = zip(found.is_used.tolist(), found.takes_missing.tolist(), strict=True)
    for i, (is_used, takes_missing) in enumerate(columns):
        if i in found.inputs.texts:
            kinds[str(i)] = "string"
        elif not is_used:
            kinds[str(i)] = "any"
        elif takes_missing:
            kinds[str(i)] = "number or missing"
    return kinds


def _predict(model: Model) -> str:
    """Return the templates of the functions that predict."""
    is_one = len(model.intercept) == 1
    if model.classes is None:
        return PREDICT_VALUE if is_one else PREDICT_VALUES
    predict = PREDICT_TWO if is_one else PREDICT_SEVERAL
    if model.loss != "log_loss":
        return predict
    return predict + (PROBABILITIES_TWO if is_one else PROBABILITIES_SEVERAL)


def _types(model: Model, words: dict[str, Any]) -> str:
    """Return the file of the types."""
    answer, labels, probabilities = "number", "", ""
    if model.classes is not None:
        kinds = {bool: "boolean", str: "string"}
        found = {kinds.get(type(label), "number") for label in model.classes.tolist()}
        answer = " | ".join(sorted(found))
        labels = TYPES_LABELS.format(label=f"({answer})" if len(found) > 1 else answer)
        if model.loss == "log_loss":
            probabilities = TYPES_PROBABILITIES.format(**words)
    elif len(model.intercept) > 1:
        answer = "number[]"
    more = {"labels": labels, "answer": answer, "probabilities": probabilities}
    return TYPES.format(**(words | more))


def _table(name: str, array: Array) -> Table:
    """Return a constant array, row after row."""
    numbers = braces([_number(x) for x in np.ravel(array)])
    return Table(f"const {name} = [{numbers[1:-1]}];\n\n", 8 * array.size)


def _number(value: Any) -> str:
    """Write a number with the fewest digits that keep all bits of its type."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return special.get(str(value), str(value))


def _json(value: Any) -> str:
    """Write a value; no character can end a script of a web page."""
    return json.dumps(value).replace("<", "\\u003c")
