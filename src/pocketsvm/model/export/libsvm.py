"""Export to LIBSVM's model format: text, double precision, sparse vectors."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._replacing import PathLike
from ..calibrated import Calibrated
from ..container import Array
from ..model import Model
from .common import INT32, Exported, exportable, integer_labels, write

# The memory that LIBSVM uses: an index and a double, with padding; and a double per coefficient.
NODE_SIZE, COEFFICIENT_SIZE = 16, 8


def export_libsvm(estimator: Any, path: PathLike) -> Exported:
    """Write a model file of LIBSVM, for ``svm-predict`` and all programs that read its format.

    With two classes, LIBSVM's decision values are the same: positive means ``classes_[1]``, which
    comes first in its list of labels. With more classes, LIBSVM lets each pair of classes vote; the
    file holds the differences ``f_i - f_j`` of the decision values, so that the class with the
    largest value wins all its votes, and ties go to the same class.

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
    A model with the loss "log_loss" has LIBSVM's probabilities, too (``svm-predict -b 1``). With
    more than two classes, LIBSVM couples the probabilities of pairs, which are exact, by an
    iteration that ends at a precision of 0.005. A regression with several outputs has no place in
    the format.

    Novelty detection has the type ``one_class``; LIBSVM counts a value of zero as an outlier. Its
    format has no type for ranking.

    LIBSVM's labels are 32-bit integers. If ``classes_`` are not, the labels in the file are their
    positions in ``classes_``; see `Exported.labels`.

    In LIBSVM's format, a vector contributes to the pairs of one class only. A vector that serves a
    single class is written once; a vector that serves all K classes is written K - 1 times.

    LIBSVM does not bound kernel values below, as the library does at 2^-125 (2^-1021 in float64).
    Without an intercept, rows that are so far from all vectors can get another class.

    The file cannot hold the preparation of a pipeline: scale the data with LIBSVM's ``svm-scale``.
    It cannot hold feature scales either.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model.export import export_libsvm
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = export_libsvm(clf, Path(folder) / "moons.model")
    ...     Path(exported.path).read_text().splitlines()[:2]
    ['svm_type c_svc', 'kernel_type rbf']
    >>> exported.labels
    [0, 1]
    """
    if isinstance(estimator, Calibrated) or Calibrated.of(estimator):
        raise ValueError(
            "LIBSVM's model format cannot hold a CalibratedClassifierCV. Export it to C or ONNX."
        )
    model = exportable(Model.of(estimator))
    if model.preparation is not None:
        steps = ", ".join(type(step).__name__ for step in model.preparation.steps)
        raise ValueError(
            f"LIBSVM's model format cannot hold the preparation of the rows ({steps}). Prepare the "
            "data before training, and export the model without it; or export to C or ONNX."
        )
    if model.feature_scales is not None:
        raise ValueError(
            "LIBSVM's model format cannot hold feature scales. Export the model to C or ONNX; or "
            "multiply the features by feature_scales_ before training, and leave out "
            "feature_scales."
        )
    if model.task == "ranking":
        raise ValueError(
            "LIBSVM's model format has no type for ranking. Export the model to C or ONNX."
        )
    if model.task == "regression" and len(model.intercept) > 1:
        raise ValueError(
            f"LIBSVM's model format has one output for a regression, and this model has "
            f"{len(model.intercept)}. Export it to C or ONNX, or fit one model for each."
        )
    labels = None
    if model.classes is not None:
        labels = integer_labels(model.classes, INT32) or list(range(len(model.classes)))
    blocks = _blocks(model)
    if model.task == "novelty":
        header = _header("one_class", model, None, blocks)
    else:
        header = _header("c_svc" if labels else "epsilon_svr", model, labels, blocks)
    content = "\n".join([*header, *_vector_lines(model, blocks)]) + "\n"
    # LIBSVM holds each value of a vector with its index, and an end mark per vector.
    nodes = sum(
        np.count_nonzero(model.vectors[members]) + len(members) for members in blocks.members
    )
    numbers_size = COEFFICIENT_SIZE * sum(block.size for block in blocks.coefficients)
    return write(path, content.encode("ascii"), int(NODE_SIZE * nodes + numbers_size), labels)


class _Blocks(NamedTuple):
    """The vectors in LIBSVM's order: one block per class, or a single one for a regression."""

    members: list[Array]  # positions in the model
    coefficients: list[Array]  # one row per pair of classes that the vector contributes to
    rho: Array


def _blocks(model: Model) -> _Blocks:
    if model.classes is None or model.task == "novelty":
        return _Blocks([np.arange(len(model.vectors))], [model.dual_coef], -model.intercept)
    # LIBSVM gives a tie to the later class of a pair, `predict` to the earlier one: the order of
    # the classes is reversed.
    split = _split_two if len(model.classes) == 2 else _split_several
    return split(model.dual_coef[::-1], model.intercept[::-1])


def _header(svm_type: str, model: Model, labels: list[int] | None, blocks: _Blocks) -> list[str]:
    lines = [
        f"svm_type {svm_type}",
        "kernel_type rbf",
        f"gamma {model.gamma!r}",
        f"nr_class {len(labels) if labels else 2}",
        f"total_sv {sum(map(len, blocks.members))}",
        f"rho {_joined(blocks.rho)}",
    ]
    if labels:
        counts = [len(members) for members in blocks.members]
        lines.append(f"label {_joined(labels[::-1])}")
        if model.loss == "log_loss":
            # The probability of the first class of a pair is 1 / (1 + exp(A f + B)).
            n_pairs = len(blocks.rho)
            lines += [f"probA {_joined([-1.0] * n_pairs)}", f"probB {_joined([0.0] * n_pairs)}"]
        lines.append(f"nr_sv {_joined(counts)}")
    return [*lines, "SV"]


def _vector_lines(model: Model, blocks: _Blocks) -> Iterator[str]:
    vectors = [_sparse(vector) for vector in model.vectors]
    for members, coefficients in zip(blocks.members, blocks.coefficients, strict=True):
        for j, column in zip(members.tolist(), coefficients.T, strict=True):
            yield f"{_joined(column)} {vectors[j]}"


def _joined(numbers: Any) -> str:
    """Write numbers with all the digits that their bits need."""
    return " ".join(map(repr, np.asarray(numbers).tolist()))


def _sparse(vector: Array) -> str:
    nonzero = np.flatnonzero(vector)
    pairs = zip((nonzero + 1).tolist(), vector[nonzero].tolist(), strict=True)
    return " ".join(f"{index}:{value!r}" for index, value in pairs)


def _split_two(dual_coef: Array, intercept: Array) -> _Blocks:
    """Return the vectors of both classes, with coefficients of shape (1, size)."""
    positive = dual_coef[0] > 0
    members = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    return _Blocks(members, [dual_coef[:, block] for block in members], -intercept)


def _split_several(dual_coef: Array, intercept: Array) -> _Blocks:
    """Return the vectors that each class lists, with coefficients of shape (K - 1, size).

    A vector contributes ``a_i - a_j`` to the pair (i, j) if class i or class j lists it. So a
    vector can be left out of a group of classes in which its coefficients are equal; the largest
    such group is left out. If both classes list it, the earlier one has the whole coefficient.
    """
    n_classes = len(dual_coef)
    equal = np.array([(dual_coef == row).sum(axis=0) for row in dual_coef])
    most_frequent = np.take_along_axis(dual_coef, equal.argmax(axis=0)[None], axis=0)
    listed = dual_coef != most_frequent
    members, coefficients = [], []
    for i in range(n_classes):
        block = np.flatnonzero(listed[i])
        differences = dual_coef[i, block] - dual_coef[:, block]
        differences[:i] *= -1  # the pair is (j, i)
        differences[:i][listed[:i, block]] = 0.0
        members.append(block)
        coefficients.append(np.delete(differences, i, axis=0))
    first, second = np.triu_indices(n_classes, 1)
    return _Blocks(members, coefficients, intercept[second] - intercept[first])
