"""Export to ONNX: standard operators of opset 13, for any runtime."""

import json
import math
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..._replacing import PathLike
from ...rows.precision import FLOAT64_SPREAD
from ..column_map import ColumnMap
from ..container import Array
from ..model import Model
from .common import INT64, Exported, cast, exportable, integer_labels, max_exponent, write

OPSET, IR_VERSION = 13, 7
TEXT_DOMAIN, TEXT_OPSET = "ai.onnx.ml", 2  # has the operator that looks up texts
# |x - s|^2 is computed as |x|^2 + |s|^2 - 2 x s of centred vectors; the error of the exponent is
# about gamma |s|^2 times the unit roundoff. Up to this limit, it is at most 32 * 2^-24 = 2e-6 in
# float32, which is about three times as fast as float64. ONNX has an operator for this model,
# SVMRegressor, but it is not more accurate and took 2 to 36 times as long per class (onnxruntime
# 1.31, one thread, 500 vectors of 18 and 784 features).
FLOAT32_SPREAD = 32.0


def export_onnx(estimator: Any, path: PathLike) -> Exported:
    """Write an ONNX model.

    The input "X" has the shape (batch, n_features) and the dtype of the support vectors: float32,
    or float64 if the values of the training rows needed it. A model that encodes text columns has a
    second input, "texts", of strings: "X" has the other columns, both in the order of the training
    rows. NaN stands for a missing number, and an empty string for a missing text.

    The outputs are "label", of shape (batch,), and "decision", shaped like the result of
    `decision_function`: (batch,) for two classes, else (batch, n_classes). A model with the loss
    "log_loss" has "probabilities" between them, of shape (batch, n_classes): the names that
    scikit-learn's converters use. The labels of novelty detection are -1 and 1. A regression or a
    ranking has a single output "value", of shape (batch,), or (batch, n_outputs) for several
    targets or a list of quantiles, which are sorted in each row.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline or Model
        The fitted estimator.

    path : str or path-like
        The file.

    Returns
    -------
    exported : Exported
        What was written.

    Notes
    -----
    Needs the package ``onnx``: ``pip install 'pocketsvm[onnx]'``.

    Labels are int64 if ``classes_`` are integers, booleans or floats with integer values; otherwise
    they are strings.

    Kernel values are at least 2^-125 (2^-1021 in float64), as in the library: rows that are far
    from all vectors get the same class, which depends on the sum of the coefficients if the
    intercept is zero.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model.export import export_onnx
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(clf, os.path.join(folder, "moons.onnx")).labels
    [0, 1]
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs onnx: pip install 'pocketsvm[onnx]'") from error
    model = exportable(estimator)
    graph, labels = _Graph(onnx), None
    if model.classes is None:
        outputs = [_add_value(graph, model)]
    else:
        values, labels = _label_values(model.classes)
        decision = _add_decision(graph, model, "decision")
        outputs = [_add_label(graph, values, model), decision]
        if model.loss == "log_loss":
            outputs.insert(1, _add_probabilities(graph, model))
    inputs = _inputs(graph, model)
    has_texts = inputs[-1].name == "texts"
    domains = [("", OPSET), (TEXT_DOMAIN, TEXT_OPSET)][: 1 + has_texts]
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "pocketsvm", inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid(*each) for each in domains],
        ir_version=IR_VERSION,
        producer_name="pocketsvm",
        producer_version=version("pocketsvm"),
    )
    onnx.helper.set_model_props(proto, _properties(model))
    onnx.checker.check_model(proto, full_check=True)
    return write(path, proto.SerializeToString(), graph.table_size, labels)


def _properties(model: Model) -> dict[str, str]:
    """Return the names of the features, and those of the texts among them."""
    if model.feature_names is None:
        return {}
    names = model.feature_names.tolist()
    found = {"feature_names": json.dumps(names)}
    if model.preparation is not None and model.preparation.columns.texts:
        found["texts"] = json.dumps([names[i] for i in model.preparation.columns.texts])
    return found


class _Graph:
    """The nodes and constants of a graph; the output of a node has the name of the node."""

    def __init__(self, onnx: Any) -> None:
        self.helper = onnx.helper
        self.from_array = onnx.numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.table_size = 0

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        node = self.helper.make_node(operator, inputs, [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, name: str, array: ArrayLike) -> str:
        tensor = self.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        self.table_size += len(tensor.raw_data) or sum(map(len, tensor.string_data))
        return name

    def cast(self, value: str, dtype: DTypeLike, name: str) -> str:
        return self.add("Cast", [value], name, to=self.dtype(dtype))

    def value(self, name: str, dtype: DTypeLike, shape: list[Any]) -> Any:
        return self.helper.make_tensor_value_info(name, self.dtype(dtype), shape)

    def dtype(self, dtype: DTypeLike) -> int:
        return int(self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _add_decision(graph: _Graph, model: Model, name: str) -> Any:
    """Add ``exp(-gamma |x - s|^2) @ dual_coef.T + intercept``; return the output's description."""
    centre = model.vectors.mean(axis=0, dtype=np.float64).astype(model.vectors.dtype)
    real = _precision(model, centre)
    vectors = model.vectors.astype(real) - centre.astype(real)
    gamma = real.type(model.gamma)
    rows = _add_preparation(graph, model)
    if real != model.vectors.dtype:
        rows = graph.cast(rows, real, "rows")
    rows = graph.add("Sub", [rows, graph.constant("centre", centre.astype(real))], "centred")
    # Where a feature is clipped, the row is so far from all vectors that every exponent is bounded
    # below; without clipping, large features could overflow and give NaN.
    reach = real.type(np.abs(vectors).max() + 2 * math.sqrt(max_exponent(model) / model.gamma))
    limits = [graph.constant("lowest", -reach), graph.constant("highest", reach)]
    rows = graph.add("Clip", [rows, *limits], "clipped")
    # The exponent -gamma |x - s|^2 is the sum of three parts.
    squares = graph.add("Mul", [rows, rows], "squares")
    axes = graph.constant("axes", np.array([1], dtype=np.int64))
    norms = graph.add("ReduceSum", [squares, axes], "norms", keepdims=1)
    of_rows = graph.add("Mul", [norms, graph.constant("minus_gamma", -gamma)], "of_rows")
    mixed = graph.constant("vectors", 2 * gamma * vectors.T)
    products = graph.add("MatMul", [rows, mixed], "products")
    of_vectors = graph.constant("of_vectors", -gamma * np.square(vectors).sum(axis=1))
    exponents = graph.add("Add", [products, of_vectors], "partial_exponents")
    exponents = graph.add("Add", [exponents, of_rows], "exponents")
    bound = graph.constant("bound", real.type(-max_exponent(model)))
    zero = graph.constant("zero", real.type(0))
    kernel = graph.add("Exp", [graph.add("Clip", [exponents, bound, zero], "bounded")], "kernel")
    coefficients = graph.constant("coefficients", cast(model.dual_coef.T, real))
    sums = graph.add("MatMul", [kernel, coefficients], "sums")
    values = graph.add("Add", [sums, graph.constant("intercept", cast(model.intercept, real))], "f")
    if real != model.vectors.dtype:
        values = graph.cast(values, model.vectors.dtype, "values")
    if len(model.intercept) > 1:
        graph.add("Identity", [values], name)
        return graph.value(name, model.vectors.dtype, ["batch", len(model.intercept)])
    graph.add("Squeeze", [values, axes], name)
    return graph.value(name, model.vectors.dtype, ["batch"])


def _add_value(graph: _Graph, model: Model) -> Any:
    """Add the predicted numbers; several quantiles are sorted."""
    if not isinstance(model.quantile, tuple):
        return _add_decision(graph, model, "value")
    n_outputs, dtype = len(model.intercept), model.vectors.dtype
    _add_decision(graph, model, "unsorted")
    shape = graph.constant("shape", np.array([-1, n_outputs], dtype=np.int64))
    columns = graph.add("Reshape", ["unsorted", shape], "quantiles")
    count = graph.constant("count", np.array([n_outputs], dtype=np.int64))
    outputs = {"largest": 0, "sorted": 1, "axis": 1}
    node = graph.helper.make_node("TopK", [columns, count], ["value", "order"], **outputs)
    graph.nodes.append(node)
    return graph.value("value", dtype, ["batch", n_outputs])


def _add_probabilities(graph: _Graph, model: Model) -> Any:
    """Add the probabilities of the classes, under the name that scikit-learn's converters use."""
    assert model.classes is not None
    if len(model.intercept) > 1:
        graph.add("Softmax", ["decision"], "probabilities", axis=1)
    else:
        axes = graph.constant("last", np.array([1], dtype=np.int64))
        odds = graph.add("Unsqueeze", ["decision", axes], "log_odds")
        both = [graph.add("Neg", [odds], "negative_log_odds"), odds]
        graph.add("Sigmoid", [graph.add("Concat", both, "both", axis=1)], "probabilities")
    return graph.value("probabilities", model.vectors.dtype, ["batch", len(model.classes)])


def _precision(model: Model, centre: Array) -> np.dtype[Any]:
    """Return float32 if it is accurate enough for the sum of the three parts, else float64.

    Raises ValueError if float64 is not accurate enough.
    """
    centred = model.vectors.astype(np.float64) - centre
    spread = model.gamma * float(np.square(centred).sum(axis=1).max())
    if spread > FLOAT64_SPREAD:
        raise ValueError(
            f"The vectors of this model are too far apart for ONNX: gamma={model.gamma:.3g} times "
            f"their largest squared distance from the mean is {spread:.3g}, above 2**40, where "
            "kernel values are lost to rounding even in float64. Standardise X, or choose a "
            "smaller gamma."
        )
    enough = model.vectors.dtype == np.float32 and spread <= FLOAT32_SPREAD
    return np.dtype(np.float32 if enough else np.float64)


def _add_preparation(graph: _Graph, model: Model) -> str:
    """Add the steps before the kernel, in float64; return the name of the prepared rows."""
    if model.preparation is None:
        return "X"
    columns = model.preparation.columns
    rows = "" if len(columns.texts) == columns.n_inputs else graph.cast("X", np.float64, "unscaled")
    if not columns.is_scaling:
        rows = _add_columns(graph, columns, rows, model.vectors.dtype)
    offset = graph.constant("offset", cast(columns.offset, np.float64))
    factor = graph.constant("factor", cast(columns.factor, np.float64))
    rows = graph.add("Mul", [graph.add("Sub", [rows, offset], "shifted"), factor], "scaled")
    return graph.cast(rows, model.vectors.dtype, "rounded")


def _add_columns(graph: _Graph, columns: ColumnMap, rows: str, dtype: DTypeLike) -> str:
    """Add imputation and one-hot encoding: see `ColumnMap`."""
    texts = columns.texts
    parts = [rows] if rows else []
    for k, (source, known) in enumerate(texts.items()):
        position = graph.constant(f"text_{k}", np.array([k], dtype=np.int64))
        column = graph.add("Gather", ["texts", position], f"text_of_{source}", axis=1)
        keys = known if "" in known else [*known, ""]
        codes = [float(code) for code in range(len(known))] + [math.nan] * (len(keys) - len(known))
        attributes = {"keys_strings": keys, "values_floats": codes, "default_float": -1.0}
        name = f"code_of_{source}"
        code = graph.add("LabelEncoder", [column], name, domain=TEXT_DOMAIN, **attributes)
        parts.append(graph.cast(code, np.float64, f"number_of_{source}"))
    rows = graph.add("Concat", parts, "inputs", axis=1) if len(parts) > 1 else parts[0]
    order = [i for i in range(columns.n_inputs) if i not in texts] + list(texts)
    places = np.argsort(order)[columns.source].astype(np.int64)
    given = graph.add("Gather", [rows, graph.constant("sources", places)], "given", axis=1)
    categories = graph.constant("categories", columns.codes().astype(dtype).astype(np.float64))
    equal = graph.cast(graph.add("Equal", [given, categories], "equal"), np.float64, "indicators")
    indicates = graph.constant("indicates", columns.indicates)
    value = graph.add("Where", [indicates, equal, given], "encoded")
    fills = graph.constant("fills", columns.fills())
    return graph.add("Where", [graph.add("IsNaN", [given], "missing"), fills, value], "filled")


def _inputs(graph: _Graph, model: Model) -> list[Any]:
    """Return the descriptions of the inputs: numbers and, if there are any, texts."""
    n_texts = 0 if model.preparation is None else len(model.preparation.columns.texts)
    n_numbers = model.n_inputs - n_texts
    numbers = graph.value("X", model.vectors.dtype, ["batch", n_numbers])
    texts = graph.value("texts", np.dtype(object), ["batch", n_texts])
    return [numbers] * (n_numbers > 0) + [texts] * (n_texts > 0)


def _label_values(classes: Array) -> tuple[Array, list[Any]]:
    labels = integer_labels(classes, INT64)
    if labels is not None:
        return np.array(labels, dtype=np.int64), labels
    if classes.dtype.kind in "OU":
        return classes.astype(object), classes.tolist()
    raise ValueError(f"ONNX has no labels like {classes!r}: they must fit int64 or be strings.")


def _add_label(graph: _Graph, labels: Array, model: Model) -> Any:
    if len(model.intercept) == 1:
        nothing = graph.constant("nothing", model.vectors.dtype.type(0))
        above = "GreaterOrEqual" if model.task == "novelty" else "Greater"
        positive = graph.add(above, ["decision", nothing], "positive")
        codes = graph.cast(positive, np.int64, "codes")
    else:
        codes = graph.add("ArgMax", ["decision"], "codes", axis=1, keepdims=0)
    graph.add("Gather", [graph.constant("labels", labels), codes], "label")
    return graph.value("label", labels.dtype, ["batch"])
