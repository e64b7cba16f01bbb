"""The private and experimental names of scikit-learn that pocketsvm uses.

They may change in any release of scikit-learn. No other module uses a private name of it, so
only this module needs a fix. scikit-learn has no type annotations: the functions below add them.
"""

from collections.abc import Callable
from importlib.metadata import metadata
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import _fit_context, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._array_api import _is_numpy_namespace, get_namespace_and_device, move_to
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

__all__ = [
    "CallbackSupportMixin",
    "DocLink",
    "Interval",
    "StrOptions",
    "arrive_at",
    "available_if",
    "callback_context",
    "callbacks_of",
    "check_partial_fit_first_call",
    "check_weights",
    "drop_categories",
    "fit_context",
    "fitted_calibration",
    "group_categories",
    "has_callbacks",
    "home_of",
    "infrequent_indices",
    "is_calibration",
    "num_samples",
    "parameter_names",
    "power_scaler",
    "safe_indexing",
    "set_power_scaler",
    "takes_weights",
    "validate_data",
    "validate_parameters",
]

Method = TypeVar("Method", bound=Callable[..., Any])


class DocLink:
    """What the HTML representation of an estimator links to: its place in our documentation.

    The address of the documentation is that of the installed package, if it names one.
    """

    _doc_link_module = "pocketsvm"

    @property
    def _doc_link_template(self) -> str:
        urls = metadata("pocketsvm").get_all("Project-URL") or []
        pages = dict(url.split(", ", 1) for url in urls).get("Documentation")
        return "" if pages is None else pages.rstrip("/") + "/api/{page}/#{name}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        room = "pocketsvm.dask" if ".dask." in type(self).__module__ else "pocketsvm"
        page = room.rpartition(".")[2]
        return {"page": page, "name": f"{room}.{type(self).__name__}"}


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Check the parameters of an estimator before its decorated fit method runs."""
    decorate: Callable[[Method], Method] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Let an estimator have the decorated method only if the check allows it."""
    decorate: Callable[[Method], Method] = _available_if(check)
    return decorate


def home_of(array: Any) -> tuple[Any, Any] | None:
    """Return the namespace and the device of an array; None for NumPy, and for other objects."""
    # These have no such attribute.
    is_known = type(array).__module__.partition(".")[0] in ("torch", "cupy")
    if isinstance(array, np.ndarray) or not (is_known or hasattr(array, "__array_namespace__")):
        return None
    with config_context(array_api_dispatch=True):
        namespace, _, device = get_namespace_and_device(array)
    return None if _is_numpy_namespace(namespace) else (namespace, device)


def arrive_at(array: Any, home: tuple[Any, Any] | None) -> Any:
    """Return an array in another namespace and on another device, in NumPy for None."""
    namespace, device = home or (np, "cpu")
    with config_context(array_api_dispatch=True):
        return move_to(array, xp=namespace, device=device)


def check_partial_fit_first_call(estimator: Any, classes: Any = None) -> bool:
    """Whether this is the first call of partial_fit; sets ``classes_`` if it is."""
    return bool(_check_partial_fit_first_call(estimator, classes))


def check_weights(sample_weight: Any, X: Any, **options: Any) -> NDArray[Any]:
    """Return one checked weight per row."""
    weights: NDArray[Any] = _check_sample_weight(sample_weight, X, **options)
    return weights


def validate_parameters(estimator: Any) -> None:
    """Raise ValueError if a parameter of the estimator violates its constraints."""
    estimator._validate_params()


def parameter_names(estimator: type) -> list[str]:
    """Return the names of the parameters of an estimator's class."""
    names: list[str] = estimator._get_param_names()  # type: ignore[attr-defined]
    return names


def callback_context(estimator: Any, task_name: str, max_subtasks: int | None) -> Any:
    """Return the task of a fit, for the callbacks of the estimator."""
    return estimator._init_callback_context(task_name=task_name, max_subtasks=max_subtasks)


def callbacks_of(estimator: Any) -> tuple[Any, ...]:
    """Return the callbacks that `set_callbacks` has given to the estimator."""
    return tuple(getattr(estimator, "_skl_callbacks", ()))


def has_callbacks(estimator: Any) -> bool:
    """Whether `set_callbacks` has given callbacks to the estimator."""
    return bool(callbacks_of(estimator))


def num_samples(X: Any) -> int:
    """Return the number of rows of anything array-like."""
    return int(_num_samples(X))


def safe_indexing(X: Any, indices: Any) -> Any:
    """Return the rows at the indices, of an array, a sparse matrix or a data frame."""
    return _safe_indexing(X, indices)


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn takes sample weights; others are not asked to."""
    accepts = getattr(scorer, "_accept_sample_weight", None)
    return bool(accepts()) if accepts is not None else False


def group_categories(encoder: Any, is_infrequent: list[NDArray[Any]], missing: list[int]) -> None:
    """Make a fitted encoder group the infrequent categories of each column.

    `missing` has the columns whose last category stands for missing values that are never grouped.
    """
    counts = [(~one).astype(int) for one in is_infrequent]
    limits = {"min_frequency": encoder.min_frequency, "max_categories": encoder.max_categories}
    encoder.set_params(min_frequency=1, max_categories=None)  # all that are counted are frequent
    encoder._infrequent_enabled = True
    ends = {column: len(counts[column]) - 1 for column in missing}
    encoder._fit_infrequent_category_mapping(1, counts, ends)
    encoder.set_params(**limits)


def drop_categories(encoder: Any) -> None:
    """Make a fitted one-hot encoder drop the categories that its parameter `drop` names."""
    encoder._set_drop_idx()
    encoder._n_features_outs = encoder._compute_n_features_outs()


def power_scaler(transformer: Any) -> Any:
    """Return the scaler of a fitted PowerTransformer that standardizes."""
    return transformer._scaler


def set_power_scaler(transformer: Any, scaler: Any) -> None:
    """Set the scaler of a PowerTransformer."""
    transformer._scaler = scaler


def infrequent_indices(encoder: Any) -> list[Any]:
    """Return the positions of the infrequent categories of each column; None if there are none."""
    columns: list[None] = [None] * len(encoder.categories_)
    return getattr(encoder, "_infrequent_indices", columns)


def is_calibration(estimator: Any) -> bool:
    """Whether an estimator is a CalibratedClassifierCV, without the import of that class."""
    cls = type(estimator)
    return (cls.__module__, cls.__name__) == ("sklearn.calibration", "CalibratedClassifierCV")


def fitted_calibration(
    parameters: dict[str, Any],
    classes: NDArray[Any],
    members: list[Any],
    slopes: NDArray[Any],
    offsets: NDArray[Any],
) -> Any:
    """Return a fitted CalibratedClassifierCV of fitted members and their calibrators."""
    # This module takes long to import, and few models need it.
    from sklearn.calibration import (
        CalibratedClassifierCV,
        _CalibratedClassifier,
        _SigmoidCalibration,
        _TemperatureScaling,
    )

    machine = CalibratedClassifierCV(clone(members[0]), **parameters)
    machine._validate_params()
    machine.classes_ = classes
    machine.calibrated_classifiers_ = []
    for member, member_slopes, member_offsets in zip(members, slopes, offsets, strict=True):
        calibrators = []
        for slope, offset in zip(member_slopes, member_offsets, strict=True):
            is_sigmoid = machine.method == "sigmoid"
            calibrator = _SigmoidCalibration() if is_sigmoid else _TemperatureScaling()
            if is_sigmoid:
                calibrator.a_, calibrator.b_ = slope, offset
            else:
                calibrator.beta_ = slope
            calibrators.append(calibrator)
        machine.calibrated_classifiers_.append(
            _CalibratedClassifier(
                member, calibrators, classes=machine.classes_, method=machine.method
            )
        )
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(members[0], name):
            setattr(machine, name, getattr(members[0], name))
    return machine
