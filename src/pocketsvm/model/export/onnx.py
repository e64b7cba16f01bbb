"""Export to ONNX: standard operators of opset 13, for any runtime."""

import json
import math
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..._replacing import PathLike
from ...rows.precision import FLOAT64_SPREAD
from ..container import Array
from ..model import Model
from ..steps.operations import Operation
from .common import INT64, Exportable, Exported, cast, integer_labels, max_exponent, write

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
    or float64 if the values of the training rows needed it. A pipeline with a QuantileTransformer,
    or with categories that are equal in float32, takes float64. A model that encodes text columns
    has a second input, "texts", of strings: "X" has the other columns, both in the order of the
    training rows. NaN stands for a missing number, and an empty string for a missing text.

    The outputs are "label", of shape (batch,), and "decision", shaped like the result of
    `decision_function`: (batch,) for two classes, else (batch, n_classes). A model with the loss
    "log_loss" has "probabilities" between them, of shape (batch, n_classes): the names that
    scikit-learn's converters use. A CalibratedClassifierCV has "label" and "probabilities". The
    labels of novelty detection are -1 and 1. A regression or a ranking has a single output "value",
    of shape (batch,), or (batch, n_outputs) for several targets or a list of quantiles, which are
    sorted in each row.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline, CalibratedClassifierCV or Model
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
    found = Exportable.of(estimator)
    graph, outputs, labels = written(onnx, found)
    inputs = _inputs(graph, found)
    domains = [("", OPSET), (TEXT_DOMAIN, TEXT_OPSET)][: 1 + bool(found.inputs.texts)]
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "pocketsvm", inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid(*each) for each in domains],
        ir_version=IR_VERSION,
        producer_name="pocketsvm",
        producer_version=version("pocketsvm"),
    )
    onnx.helper.set_model_props(proto, _properties(found))
    onnx.checker.check_model(proto, full_check=True)
    return write(path, proto.SerializeToString(), graph.table_size, labels)


def written(onnx: Any, found: Exportable) -> "tuple[Graph, list[Any], list[Any] | None]":
    """Return the graph of a model, the descriptions of its outputs, and its labels."""
    model, labels = found.model, None
    graph = Graph(onnx, found.given)
    graph.rows = _add_inputs(graph, found)
    if model.classes is None:
        return graph, [_add_value(graph, found)], None
    values, labels = _label_values(model.classes)
    if found.calibrated:
        outputs = [_add_calibrated(graph, found)]
    else:
        outputs = [_add_decision(graph, found, 0, "decision")]
        if model.loss == "log_loss":
            outputs.insert(0, _add_probabilities(graph, model))
    return graph, [_add_label(graph, values, found), *outputs], labels


def _properties(exported: Exportable) -> dict[str, str]:
    """Return the names of the features, and those of the texts among them."""
    model = exported.model
    if model.feature_names is None:
        return {}
    names = model.feature_names.tolist()
    found = {"feature_names": json.dumps(names)}
    if texts := exported.inputs.texts:
        found["texts"] = json.dumps([names[i] for i in texts])
    return found


class Graph:
    """The nodes and constants of a graph; the output of a node has the name of the node.

    Parameters
    ----------
    onnx : module
        The package.

    given : dtype
        The precision of rows.
    """

    def __init__(self, onnx: Any, given: np.dtype[Any]) -> None:
        self.given, self.rows = given, ""
        self.helper = onnx.helper
        self.from_array = onnx.numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.table_size = 0

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Add a node, and return its name."""
        node = self.helper.make_node(operator, inputs, [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, name: str, array: ArrayLike) -> str:
        """Add a constant, and return its name."""
        # ascontiguousarray makes a vector of a number.
        tensor = self.from_array(np.asarray(array, order="C"), name)
        self.constants.append(tensor)
        self.table_size += len(tensor.raw_data) or sum(map(len, tensor.string_data))
        return name

    def cast(self, value: str, dtype: DTypeLike) -> str:
        """Add a cast of a value, and return its name."""
        return self.node("Cast", value, to=self.dtype(dtype))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with a name of its own."""
        return self.add(operator, [*inputs], f"{operator}_{len(self.nodes)}", **attributes)

    def table(self, array: Any) -> str:
        """Add a constant with a name of its own."""
        return self.constant(f"table_{len(self.constants)}", array)

    def rounded(self, numbers: Array) -> Array:
        """Round numbers that are compared with those of rows."""
        return numbers.astype(self.given).astype(np.float64)

    def write(self, operations: Sequence[Operation], rows: str) -> str:
        """Add operations on rows; return the last output."""
        for operation in operations:
            rows = operation.onnx(self, rows)
        return rows

    def value(self, name: str, dtype: DTypeLike, shape: list[Any]) -> Any:
        """Describe an input or an output."""
        return self.helper.make_tensor_value_info(name, self.dtype(dtype), shape)

    def dtype(self, dtype: DTypeLike) -> int:
        """Return ONNX's number of a dtype."""
        return int(self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _add_decision(graph: Graph, exported: Exportable, k: int, name: str) -> Any:
    """Add ``exp(-gamma |x - s|^2) @ dual_coef.T + intercept`` of a model; describe the output."""
    model = exported.members[k]
    dtype = model.vectors.dtype
    centre = model.vectors.mean(axis=0, dtype=np.float64).astype(dtype)
    real = _precision(model, centre)
    vectors = model.vectors.astype(real) - centre.astype(real)
    gamma = real.type(model.gamma)
    rows = _add_preparation(graph, exported, k)
    if real != dtype:
        rows = graph.cast(rows, real)
    rows = graph.node("Sub", rows, graph.table(centre.astype(real)))
    # Where a feature is clipped, the row is so far from all vectors that every exponent is bounded
    # below; without clipping, large features could overflow and give NaN.
    reach = real.type(np.abs(vectors).max() + 2 * math.sqrt(max_exponent(model) / model.gamma))
    rows = graph.node("Clip", rows, graph.table(-reach), graph.table(reach))
    # The exponent -gamma |x - s|^2 is the sum of three parts.
    axes = graph.table(np.array([1], dtype=np.int64))
    norms = graph.node("ReduceSum", graph.node("Mul", rows, rows), axes, keepdims=1)
    of_rows = graph.node("Mul", norms, graph.table(-gamma))
    products = graph.node("MatMul", rows, graph.table(2 * gamma * vectors.T))
    of_vectors = graph.table(-gamma * np.square(vectors).sum(axis=1))
    exponents = graph.node("Add", graph.node("Add", products, of_vectors), of_rows)
    bound, zero = graph.table(real.type(-max_exponent(model))), graph.table(real.type(0))
    kernel = graph.node("Exp", graph.node("Clip", exponents, bound, zero))
    sums = graph.node("MatMul", kernel, graph.table(cast(model.dual_coef.T, real)))
    values = graph.node("Add", sums, graph.table(cast(model.intercept, real)))
    if real != dtype:
        values = graph.cast(values, dtype)
    if len(model.intercept) > 1:
        graph.add("Identity", [values], name)
        return graph.value(name, dtype, ["batch", len(model.intercept)])
    graph.add("Squeeze", [values, axes], name)
    return graph.value(name, dtype, ["batch"])


def _add_value(graph: Graph, exported: Exportable) -> Any:
    """Add the predicted numbers; several quantiles are sorted."""
    model = exported.model
    if not isinstance(model.quantile, tuple):
        return _add_decision(graph, exported, 0, "value")
    n_outputs, dtype = len(model.intercept), model.vectors.dtype
    _add_decision(graph, exported, 0, "unsorted")
    columns = graph.node("Reshape", "unsorted", graph.table(np.array([-1, n_outputs])))
    count = graph.table(np.array([n_outputs]))
    outputs = {"largest": 0, "sorted": 1, "axis": 1}
    node = graph.helper.make_node("TopK", [columns, count], ["value", "order"], **outputs)
    graph.nodes.append(node)
    return graph.value("value", dtype, ["batch", n_outputs])


def _add_probabilities(graph: Graph, model: Model) -> Any:
    """Add the probabilities of the classes, under the name that scikit-learn's converters use."""
    assert model.classes is not None
    if len(model.intercept) > 1:
        graph.add("Softmax", ["decision"], "probabilities", axis=1)
    else:
        odds = graph.node("Unsqueeze", "decision", graph.table(np.array([1])))
        both = graph.node("Concat", graph.node("Neg", odds), odds, axis=1)
        graph.add("Sigmoid", [both], "probabilities")
    return graph.value("probabilities", model.vectors.dtype, ["batch", len(model.classes)])


def _add_calibrated(graph: Graph, exported: Exportable) -> Any:
    """Add the calibrated probabilities: the mean of those of all members."""
    calibrated, dtype = exported.calibrated, exported.dtype
    assert calibrated is not None
    assert exported.model.classes is not None
    n_classes, shares = len(exported.model.classes), []
    for k in range(len(exported.members)):
        name = f"decision_{k}"
        _add_decision(graph, exported, k, name)
        values = name
        if n_classes == 2:
            values = graph.node("Unsqueeze", name, graph.table(np.array([1])))
        slopes = graph.table(cast(calibrated.slopes[k], dtype))
        values = graph.node("Mul", values, slopes)
        if calibrated.method == "temperature":
            if n_classes == 2:
                values = graph.node("Concat", graph.node("Neg", values), values, axis=1)
            shares.append(graph.node("Softmax", values, axis=1))
            continue
        offsets = graph.table(cast(calibrated.offsets[k], dtype))
        share = graph.node("Sigmoid", graph.node("Neg", graph.node("Add", values, offsets)))
        one = graph.table(dtype.type(1))
        if n_classes == 2:
            shares.append(graph.node("Concat", graph.node("Sub", one, share), share, axis=1))
            continue
        total = graph.node("ReduceSum", share, graph.table(np.array([1])), keepdims=1)
        is_positive = graph.node("Greater", total, graph.table(dtype.type(0)))
        ratio = graph.node("Div", share, graph.node("Where", is_positive, total, one))
        uniform = graph.table(dtype.type(1 / n_classes))
        shares.append(graph.node("Where", is_positive, ratio, uniform))
    total = graph.node("Sum", *shares)
    graph.add("Div", [total, graph.table(dtype.type(len(shares)))], "probabilities")
    return graph.value("probabilities", dtype, ["batch", n_classes])


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


def _add_preparation(graph: Graph, exported: Exportable, k: int) -> str:
    """Add the steps before the kernel, in float64; return the name of the prepared rows."""
    operations, dtype = exported.operations[k], exported.dtype
    if operations:
        return graph.cast(graph.write(operations, graph.rows), dtype)
    return "X" if exported.given == dtype else graph.cast("X", dtype)


def _add_inputs(graph: Graph, exported: Exportable) -> str:
    """Add the numbers of texts; return the name of the rows with all columns in their order."""
    texts, n_inputs = exported.inputs.texts, exported.inputs.n_inputs
    if not any(exported.operations):
        return "X"
    parts = [graph.cast("X", np.float64)] if len(texts) < n_inputs else []
    for k, known in enumerate(texts.values()):
        column = graph.node("Gather", "texts", graph.table(np.array([k])), axis=1)
        keys = known if "" in known else [*known, ""]
        codes = [float(code) for code in range(len(known))] + [math.nan] * (len(keys) - len(known))
        attributes = {"keys_strings": keys, "values_floats": codes, "default_float": -1.0}
        code = graph.node("LabelEncoder", column, domain=TEXT_DOMAIN, **attributes)
        parts.append(graph.cast(code, np.float64))
    if not texts:
        return parts[0]
    rows = graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    order = [i for i in range(n_inputs) if i not in texts] + list(texts)
    return graph.node("Gather", rows, graph.table(np.argsort(order)), axis=1)


def _inputs(graph: Graph, exported: Exportable) -> list[Any]:
    """Return the descriptions of the inputs: numbers and, if there are any, texts."""
    n_texts = len(exported.inputs.texts)
    n_numbers = exported.inputs.n_inputs - n_texts
    numbers = graph.value("X", exported.given, ["batch", n_numbers])
    texts = graph.value("texts", np.dtype(object), ["batch", n_texts])
    return [numbers] * (n_numbers > 0) + [texts] * (n_texts > 0)


def _label_values(classes: Array) -> tuple[Array, list[Any]]:
    labels = integer_labels(classes, INT64)
    if labels is not None:
        return np.array(labels, dtype=np.int64), labels
    if classes.dtype.kind in "OU":
        return classes.astype(object), classes.tolist()
    raise ValueError(f"ONNX has no labels like {classes!r}: they must fit int64 or be strings.")


def _add_label(graph: Graph, labels: Array, exported: Exportable) -> Any:
    model = exported.model
    if exported.calibrated:
        codes = graph.node("ArgMax", "probabilities", axis=1, keepdims=0)
    elif len(model.intercept) == 1:
        nothing = graph.table(model.vectors.dtype.type(0))
        above = "GreaterOrEqual" if model.task == "novelty" else "Greater"
        codes = graph.cast(graph.node(above, "decision", nothing), np.int64)
    else:
        codes = graph.node("ArgMax", "decision", axis=1, keepdims=0)
    graph.add("Gather", [graph.table(labels), codes], "label")
    return graph.value("label", labels.dtype, ["batch"])
