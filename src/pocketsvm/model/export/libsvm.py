"""Export to LIBSVM's model format: text, double precision, sparse vectors."""

from typing import Any

import numpy as np

from ..._replacing import PathLike
from ..container import Array
from .common import INT32, Exported, exportable, integer_labels, write

__all__ = ["export_libsvm"]


def export_libsvm(estimator: Any, path: PathLike) -> Exported:
    """Write a model file of LIBSVM, for ``svm-predict`` and all that reads its format.

    With two classes, LIBSVM's decision values are ours: positive means ``classes_[1]``, which
    stands first in its list of labels. LIBSVM decides between several classes by votes for every
    pair of them; there the file holds the differences ``f_i - f_j`` of our decision values, so
    that the class with the largest value wins all its votes, and ties go to the same class.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Model
        The fitted estimator.

    path : str or path-like
        The file.

    Returns
    -------
    exported : Exported
        What was written.

    Notes
    -----
    LIBSVM's labels are integers of 32 bits. Where ``classes_`` are not, the labels in the file are
    their positions in ``classes_``; `Exported.labels` tells.

    In LIBSVM's format a vector counts in the pairs of one class only. One that serves a single
    class is written once, one that serves all K classes K - 1 times.

    Scaling cannot be part of the file: scale data and file alike (LIBSVM's ``svm-scale``).

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
    model = exportable(estimator)
    if model.scaling is not None:
        raise ValueError(
            "LIBSVM's model format cannot hold the scaling of the features. Scale the data before "
            "training, and export the model without it."
        )
    labels = None
    # LIBSVM gives a tie to the later class of a pair, we to the earlier one: so the order turns.
    if model.classes is None:
        coefficients, counts = [model.dual_coef], []
        members, rho = [np.arange(len(model.vectors))], -model.intercept
    else:
        labels = integer_labels(model.classes, INT32) or list(range(len(model.classes)))
        split = _split_two if len(labels) == 2 else _split_several
        members, coefficients, rho = split(model.dual_coef[::-1], model.intercept[::-1])
        counts = [len(block) for block in members]
    lines = [
        f"svm_type {'c_svc' if labels else 'epsilon_svr'}",
        "kernel_type rbf",
        f"gamma {model.gamma!r}",
        f"nr_class {len(labels) if labels else 2}",
        f"total_sv {sum(map(len, members))}",
        f"rho {_joined(rho)}",
        *([f"label {_joined(labels[::-1])}", f"nr_sv {_joined(counts)}"] if labels else []),
        "SV",
    ]
    vectors = [_sparse(vector) for vector in model.vectors]
    for block, numbers in zip(members, coefficients, strict=True):
        for j, column in zip(block.tolist(), numbers.T, strict=True):
            lines.append(f"{_joined(column)} {vectors[j]}")
    # LIBSVM holds a number of a vector as index and value, 16 bytes, and each vector's end.
    nodes = sum(np.count_nonzero(model.vectors[block]) + len(block) for block in members)
    numbers_size = 8 * sum(block.size for block in coefficients)
    content = ("\n".join(lines) + "\n").encode("ascii")
    return write(path, content, int(16 * nodes + numbers_size), labels)


def _joined(numbers: Any) -> str:
    """Spell numbers so that they come back to the last bit."""
    return " ".join(map(repr, np.asarray(numbers).tolist()))


def _sparse(vector: Array) -> str:
    nonzero = np.flatnonzero(vector)
    pairs = zip((nonzero + 1).tolist(), vector[nonzero].tolist(), strict=True)
    return " ".join(f"{index}:{value!r}" for index, value in pairs)


def _split_two(dual_coef: Array, intercept: Array) -> tuple[list[Array], list[Array], Array]:
    """Vectors of either class, their coefficients (1, size), and rho."""
    positive = dual_coef[0] > 0
    members = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    return members, [dual_coef[:, block] for block in members], -intercept


def _split_several(dual_coef: Array, intercept: Array) -> tuple[list[Array], list[Array], Array]:
    """Vectors that stand in each class, their coefficients (K - 1, size), and rho of all pairs.

    A vector contributes ``a_i - a_j`` to the pair (i, j), and can do so where it stands in class i
    or in class j. So it may be missing from any classes in which its coefficients are equal: the
    most of these are left out. Where it stands in both, the earlier one takes it all.
    """
    n_classes = len(dual_coef)
    equal = np.array([(dual_coef == row).sum(axis=0) for row in dual_coef])
    most_frequent = np.take_along_axis(dual_coef, equal.argmax(axis=0)[None], axis=0)
    stands = dual_coef != most_frequent
    members, coefficients = [], []
    for i in range(n_classes):
        block = np.flatnonzero(stands[i])
        differences = dual_coef[i, block] - dual_coef[:, block]
        differences[:i] *= -1  # the pair is (j, i)
        differences[:i][stands[:i, block]] = 0.0
        members.append(block)
        coefficients.append(np.delete(differences, i, axis=0))
    first, second = np.triu_indices(n_classes, 1)
    return members, coefficients, intercept[second] - intercept[first]
