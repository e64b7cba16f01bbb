"""Converters for skl2onnx, so that its `to_onnx` takes pipelines that end in our estimators.

`pocketsvm.model.export.export_onnx` needs no skl2onnx, and keeps steps that encode texts. Use
skl2onnx for pipelines with steps that only it can convert.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from .estimators import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR
from .model.export.common import INT64, Exportable, exportable, integer_labels
from .model.export.onnx import OPSET, Graph, written
from .model.model import Model
from .search import BudgetedSVCCV, BudgetedSVRCV

__all__ = ["register_converters"]

ESTIMATORS = (
    BudgetedSVC,
    BudgetedSVR,
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVCCV,
    BudgetedSVRCV,
)
CLASSIFIER_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
    "nocl": [True, False],
}


def register_converters() -> None:
    """Tell skl2onnx how to convert the estimators of pocketsvm.

    After one call, ``skl2onnx.to_onnx`` takes our estimators alone, in pipelines, in a
    CalibratedClassifierCV and in every meta-estimator that skl2onnx knows.

    Classifiers have the outputs "label" and "probabilities". Without ``loss="log_loss"``, or with
    the option ``raw_scores``, the second has decision values: one column per class, or
    ``(-value, value)`` for two classes. Novelty detection has "label" and "scores", regression and
    ranking "variable". Numbers have the precision of the input: convert with float64 rows to get
    the labels that the estimator gives for them.

    Raises
    ------
    ImportError
        If skl2onnx is missing.

    Examples
    --------
    Needs the package ``skl2onnx``:

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    >>> from pocketsvm import BudgetedSVC
    >>> import pocketsvm.onnx
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(), BudgetedSVC(budget=10))
    >>> _ = pipeline.fit(X, y)
    >>> pocketsvm.onnx.register_converters()  # doctest: +SKIP
    >>> onnx_model = skl2onnx.to_onnx(pipeline, X[:1])  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError("register_converters needs skl2onnx: pip install skl2onnx") from error
    for estimator in ESTIMATORS:
        options = CLASSIFIER_OPTIONS if issubclass(estimator, ClassifierMixin) else None
        alias = f"Pocketsvm{estimator.__name__}"
        update_registered_converter(estimator, alias, _set_shapes, _convert, options=options)


def _set_shapes(operator: Any) -> None:
    """Set the types and the shapes of the outputs."""
    from skl2onnx.common import data_types

    estimator, outputs = operator.raw_operator, operator.outputs
    model = exportable(Model.of(estimator))
    if _option(estimator, operator.scope_inst, "nocl"):
        model = _without_classes(model)
    n_rows = operator.inputs[0].get_first_dimension()
    numbers = type(data_types.guess_tensor_type(operator.inputs[0].type))
    if model.task in ("classification", "novelty"):
        assert model.classes is not None
        is_integer = integer_labels(model.classes, INT64) is not None
        labels = data_types.Int64TensorType if is_integer else data_types.StringTensorType
        outputs[0].type = labels([n_rows])
    n_columns = len(model.intercept)
    if model.task == "classification" and model.classes is not None:
        n_columns = len(model.classes)
    outputs[-1].type = numbers([n_rows, n_columns])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph that `export_onnx` writes, and outputs as those of skl2onnx."""
    import onnx
    from skl2onnx.common.data_types import guess_numpy_type

    estimator, outputs = operator.raw_operator, operator.outputs
    name, found = type(estimator).__name__, Exportable.of(estimator)
    if _option(estimator, container, "nocl"):  # labels are the positions of the classes
        found = replace(found, members=tuple(map(_without_classes, found.members)))
    if found.inputs.texts:
        raise ValueError(
            f"This {name} encodes texts itself, but skl2onnx passes numbers: encode texts in a "
            "step of the pipeline, or use pocketsvm.model.export.export_onnx."
        )
    if container.target_opset < OPSET:
        raise ValueError(f"{name} needs target_opset={OPSET} or newer.")
    graph, described, _ = written(onnx, found)
    values = described[-1].name
    if found.model.loss == "log_loss" and not _option(estimator, container, "raw_scores"):
        values = "probabilities"
    elif len(found.model.intercept) == 1:
        values = graph.node("Reshape", values, graph.table(np.array([-1, 1])))
        if found.model.task == "classification":
            values = graph.node("Concat", graph.node("Neg", values), values, axis=1)
    values = graph.cast(values, guess_numpy_type(outputs[-1].type))
    rows = scope.get_unique_variable_name("rows")
    given = operator.inputs[0].full_name
    container.add_node("Cast", given, rows, name=rows, to=graph.dtype(found.given))
    ends = {"label": outputs[0].full_name} if len(outputs) > 1 else {}
    _add(graph, scope, container, {"X": rows, values: outputs[-1].full_name, **ends})


def _option(estimator: Any, holder: Any, name: str) -> bool:
    options = holder.get_options(estimator, {name: False}, fail=False) or {}  # regressors: None
    return bool(options.get(name))


def _without_classes(model: Model) -> Model:
    return model if model.classes is None else replace(model, classes=np.arange(len(model.classes)))


def _add(graph: Graph, scope: Any, container: Any, names: dict[str, str]) -> None:
    """Add the nodes and the constants of a graph, of which these have names already."""
    helper = graph.helper

    def name(given: str) -> str:
        if given not in names:
            names[given] = scope.get_unique_variable_name(given)
        return names[given]

    for tensor in graph.constants:
        content = list(tensor.string_data) or tensor  # skl2onnx copies no texts of a tensor
        container.add_initializer(name(tensor.name), tensor.data_type, [*tensor.dims], content)
    for node in graph.nodes:
        inputs, outputs = [name(each) for each in node.input], [name(each) for each in node.output]
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        container.add_node(
            node.op_type, inputs, outputs, node.domain, name=outputs[0], **attributes
        )
