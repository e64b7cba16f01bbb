"""The model to compress: what it computes for a row, and what becomes of it."""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from ..backends.base import Backend
from ..estimators.loading import read_estimator
from ..model.container import MAGIC
from ..model.integers import ROWS_AT_ONCE
from ..model.model import Model, SupportsModel
from ..model.prediction import decision_values
from ..model.preparation import Preparation, split
from ..rows.checked import CheckedRows, checked_rows
from ..rows.precision import training_rows
from .libsvm_file import CLASSIFIERS, NOVELTY, LibsvmModel, read_libsvm

Array = NDArray[Any]

MACHINES = "SVC, NuSVC, SVR, NuSVR and OneClassSVM of scikit-learn"


@dataclass(frozen=True, eq=False)
class Given:
    """A model to compress.

    Attributes
    ----------
    model : Model
        Its decision function, one output per class if there are several, and its preparation.

    estimator, parameters : str and dict
        The matching estimator of pocketsvm, and its parameters.

    pairs : Model or None
        The decision function of each pair of classes, which vote; None if values of classes decide.

    winners : ndarray of shape (n_pairs, 2)
        The class that a positive value votes for, and that of a negative one.

    pipeline : Pipeline or None
        The pipeline that the model was the last step of.

    from_libsvm : bool
        Whether it is a file of LIBSVM, which does not name features that are zero in all vectors.
    """

    model: Model
    estimator: str
    parameters: dict[str, Any]
    pairs: Model | None = None
    winners: Array = field(default_factory=lambda: np.empty((0, 2), dtype=int))
    pipeline: Pipeline | None = None
    from_libsvm: bool = False

    def widened(self, n_features: int) -> "Given":
        """Return the model with more features, which are zero in all vectors."""
        more = n_features - self.model.vectors.shape[1]
        vectors = np.pad(self.model.vectors, [(0, 0), (0, more)])
        pairs = None if self.pairs is None else replace(self.pairs, vectors=vectors)
        return replace(self, model=replace(self.model, vectors=vectors), pairs=pairs)

    def values(self, rows: CheckedRows, backend: Backend) -> Array:
        """Return the decision values (n_rows, n_outputs) of rows after the preparation.

        If pairs of classes vote, they are those of the pairs.
        """
        return values_of(self.pairs or self.model, rows, backend)

    def codes(self, values: Array) -> Array:
        """Return the positions of the predicted classes; for outliers 0, for normal rows 1."""
        if self.pairs is None:
            return codes_of(self.model, values)
        assert self.model.classes is not None
        votes = np.zeros((len(values), len(self.model.classes)))
        rows = np.arange(len(values))
        for column, (first, second) in zip(values.T, self.winners, strict=True):
            votes[rows, np.where(column > 0, first, second)] += 1
        codes: Array = votes.argmax(axis=1)
        return codes


def values_of(model: Model, rows: CheckedRows, backend: Backend) -> Array:
    """Return the decision values (n_rows, n_outputs) of rows after the preparation."""
    numbers = model.vectors, model.dual_coef, model.intercept, model.gamma
    return decision_values(*numbers, rows, backend)


def exact_values(model: Model, rows: CheckedRows, backend: Backend) -> Array:
    """Return the decision values of a model, by its integers if it has any."""
    if model.integers is None:
        return values_of(model, rows, backend)
    found = np.empty((rows.n_rows, len(model.intercept)))
    for begin in range(0, rows.n_rows, ROWS_AT_ONCE):
        at = slice(begin, begin + ROWS_AT_ONCE)
        some: Any = rows.X[at]
        X = some.toarray() if rows.structure is not None else some
        found[at] = model.integers.decisions(model.integers.rows(X)) * model.integers.unit
    return found


def codes_of(model: Model, values: Array) -> Array:
    """Return the positions of the classes that decision values predict."""
    if values.shape[1] > 1:
        codes: Array = values.argmax(axis=1)
        return codes
    is_second: Array = values[:, 0] >= 0 if model.task == "novelty" else values[:, 0] > 0
    return is_second.astype(int)


def labels_of(model: Model) -> Array | None:
    """Return the labels that a model predicts; None if it computes numbers."""
    return np.array([-1, 1]) if model.task == "novelty" else model.classes


def given(model: Any) -> Given:
    """Take a fitted model, or the file of one."""
    if isinstance(model, str | os.PathLike):
        return _of_file(model)
    if isinstance(model, Pipeline):
        steps, machine = split(model)
        preparation = Preparation.of(steps) if steps else None  # refuses what a file cannot keep
        found = given(machine)
        names = getattr((*steps, machine)[0], "feature_names_in_", None)
        inner = replace(found.model, preparation=preparation, feature_names=names)
        return replace(found, model=inner, pipeline=model)
    if isinstance(model, SupportsModel):
        return _of_pocketsvm(model)
    if isinstance(model, SVC | NuSVC | SVR | NuSVR | OneClassSVM):
        return _of_scikit_learn(model)
    raise TypeError(
        f"compress takes {MACHINES}, a pipeline that ends with one, an estimator of pocketsvm, or "
        f"the path of a model file of LIBSVM or pocketsvm, got {type(model).__name__}."
    )


def _of_file(path: Any) -> Given:
    with open(path, "rb") as file:
        is_ours = file.read(len(MAGIC)) == MAGIC
    if is_ours:
        return given(read_estimator(path)[0])
    return replace(_of_libsvm(read_libsvm(path)), from_libsvm=True)


def _of_pocketsvm(estimator: Any) -> Given:
    model = estimator.to_model()
    _check_vectors(model.dual_coef)
    training = model.training
    return Given(model, training.estimator, dict(training.parameters))


def _of_scikit_learn(machine: Any) -> Given:
    check_is_fitted(machine)
    if machine.kernel != "rbf":
        raise ValueError(
            f"Only SVMs with a Gaussian kernel can be compressed (kernel='rbf'); this "
            f"{type(machine).__name__} has kernel={machine.kernel!r}."
        )
    coefficients, vectors = _dense(machine.dual_coef_), _dense(machine.support_vectors_)
    gamma = float(getattr(machine, "_gamma", machine.gamma))
    C = float(machine.C) or _largest(coefficients)  # zero stands for none
    parameters: dict[str, Any] = {"gamma": gamma}
    classes = getattr(machine, "classes_", None)
    intercept = np.ravel(machine.intercept_).astype(float)
    if isinstance(machine, OneClassSVM):
        parameters["nu"] = float(machine.nu)
        names = "BudgetedOneClassSVM", "novelty", "one_class"
    elif isinstance(machine, SVR | NuSVR):
        parameters |= {"C": C, "epsilon": float(getattr(machine, "epsilon", 0.1))}
        names = "BudgetedSVR", "regression", "epsilon_insensitive"
    else:
        assert classes is not None
        parameters |= {"C": C, "class_weight": machine.class_weight}
        if len(classes) > 2:
            counts = np.asarray(machine.n_support_)
            found = _of_pairs(classes, coefficients, intercept, counts, vectors, gamma)
            return replace(_named(found, machine), parameters=parameters)
        names = "BudgetedSVC", "classification", "hinge"
    classes = classes if names[1] == "classification" else None
    model = _model(vectors, coefficients, intercept, gamma, classes, *names[1:])
    return _named(Given(model, names[0], parameters), machine)


def _named(found: Given, machine: Any) -> Given:
    names = getattr(machine, "feature_names_in_", None)
    return replace(found, model=replace(found.model, feature_names=names))


def _of_libsvm(file: LibsvmModel) -> Given:
    parameters: dict[str, Any] = {"gamma": file.gamma, "C": _largest(file.coefficients)}
    if file.svm_type in CLASSIFIERS:
        assert file.labels is not None
        order = np.argsort(file.labels)
        if len(order) > 2:
            found = _of_pairs(
                file.labels, file.coefficients, -file.rho, file.counts, file.vectors, file.gamma
            )
            return replace(found, parameters=parameters)
        # A positive value means the first label of the file, in pocketsvm the larger one.
        sign = 1.0 if order[0] == 1 else -1.0
        names = "BudgetedSVC", "classification", "hinge"
        numbers = sign * file.coefficients, -sign * file.rho
        model = _model(file.vectors, *numbers, file.gamma, file.labels[order], *names[1:])
        return Given(model, names[0], parameters)
    names = "BudgetedSVR", "regression", "epsilon_insensitive"
    if file.svm_type == NOVELTY:
        names, parameters = ("BudgetedOneClassSVM", "novelty", "one_class"), {"gamma": file.gamma}
    model = _model(file.vectors, file.coefficients, -file.rho, file.gamma, None, *names[1:])
    return Given(model, names[0], parameters)


def _of_pairs(
    labels: Array,
    coefficients: Array,
    intercept: Array,
    counts: Array,
    vectors: Array,
    gamma: float,
) -> Given:
    """Take an SVM of several classes, whose pairs vote: f_k is the sum of f_kj over j.

    A positive value of a pair means the earlier label. The vectors of a class follow each other.
    """
    n_classes, order = len(labels), np.argsort(labels)
    place = np.argsort(order)  # of each label among the sorted ones
    ends = np.cumsum(counts)
    of = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.zeros((len(first), len(vectors)))
    for pair, i, j in zip(pairs, first, second, strict=True):
        pair[of[i]], pair[of[j]] = coefficients[j - 1, of[i]], coefficients[i, of[j]]
    winners = np.column_stack([place[first], place[second]])
    sums, offsets = np.zeros((n_classes, len(vectors))), np.zeros(n_classes)
    for pair, offset, (winner, loser) in zip(pairs, intercept, winners, strict=True):
        sums[winner] += pair
        sums[loser] -= pair
        offsets[winner] += offset
        offsets[loser] -= offset
    classes, kind = labels[order], ("classification", "hinge")
    model = _model(vectors, sums, offsets, gamma, classes, *kind)
    return Given(
        model,
        "BudgetedSVC",
        {},
        replace(model, dual_coef=pairs, intercept=np.asarray(intercept, dtype=float)),
        winners,
    )


def _model(
    vectors: Array,
    coefficients: Array,
    intercept: Array,
    gamma: float,
    classes: Array | None,
    task: str,
    loss: str,
) -> Model:
    """Return a model with its vectors in the precision that their kernel values need."""
    _check_vectors(coefficients)
    ready = training_rows(checked_rows(np.ascontiguousarray(vectors)), gamma)
    return Model(
        np.ascontiguousarray(vectors, dtype=ready.core.dtype),
        np.ascontiguousarray(coefficients, dtype=float),
        np.ravel(intercept).astype(float),
        gamma,
        classes,
        task=task,
        loss=loss,
    )


def _check_vectors(coefficients: Array) -> None:
    if not coefficients.any():
        raise ValueError("This model has no support vectors: there is nothing to compress.")


def _largest(coefficients: Array) -> float:
    """Return the C of a model: coefficients are bounded by it, and the largest ones reach it."""
    return float(np.abs(coefficients).max(initial=0.0)) or 1.0


def _dense(array: Any) -> Array:
    is_sparse: bool = sp.issparse(array)
    return np.asarray(array.toarray() if is_sparse else array, dtype=float)
