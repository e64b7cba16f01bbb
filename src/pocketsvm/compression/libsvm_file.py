"""Model files of LIBSVM: text, as its ``svm-train`` and our `export_libsvm` write."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._replacing import PathLike

Array = NDArray[Any]

CLASSIFIERS, REGRESSIONS, NOVELTY = ("c_svc", "nu_svc"), ("epsilon_svr", "nu_svr"), "one_class"
TEXTS = ("svm_type", "kernel_type")
NUMBERS = ("gamma", "total_sv", "rho", "label", "nr_sv", "nr_class")
# A vector may name a feature with a large index, and all features before it take memory.
MOST_VALUES = 2**28


@dataclass(frozen=True, eq=False)
class LibsvmModel:
    """What a model file of LIBSVM holds.

    Attributes
    ----------
    svm_type : str
        "c_svc", "nu_svc", "epsilon_svr", "nu_svr" or "one_class".

    gamma : float
        The kernel coefficient.

    rho : ndarray
        Minus the intercepts: one for each pair of classes, or one.

    labels : ndarray or None
        The labels of a classifier, in the order of the file.

    counts : ndarray
        The number of vectors of each label, or of all.

    coefficients : ndarray of shape (n_outputs, n_vectors)
        For several classes, the coefficients of a vector in the pairs of its class, as in
        ``sklearn.svm.SVC.dual_coef_``.

    vectors : ndarray of shape (n_vectors, n_features)
        The support vectors.
    """

    svm_type: str
    gamma: float
    rho: Array
    labels: Array | None
    counts: Array
    coefficients: Array
    vectors: Array


def read_libsvm(path: PathLike) -> LibsvmModel:
    """Read a model file; raise ValueError, which names the file, if it cannot be used."""
    name = os.fspath(path)
    with open(path, encoding="ascii", errors="replace") as lines:
        try:
            header = _header(lines)
            return _model(header, *_vectors(lines, header))
        except (ValueError, KeyError, OverflowError) as error:
            missing = isinstance(error, KeyError)
            what = f"its header has no line {error}" if missing else error
            raise ValueError(f"{name} is not a model file that can be compressed: {what}") from None


def _header(lines: Iterator[str]) -> dict[str, list[str]]:
    """Return the words of each line before the vectors."""
    header: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words == ["SV"]:
            return header
        if not words or len(header) > len(NUMBERS) + 8:
            break
        if len(words) == 1 and words[0] in TEXTS + NUMBERS:
            raise ValueError(f"line {number}, {words[0]!r}, has no value.")
        header[words[0]] = words[1:]
    raise ValueError("it is neither a model of pocketsvm nor a text file of LIBSVM.")


def _vectors(lines: Iterator[str], header: dict[str, list[str]]) -> tuple[Array, Array]:
    """Return the coefficients and the vectors."""
    n_vectors, n_each = int(header["total_sv"][0]), max(1, int(header["nr_class"][0]) - 1)
    coefficients, entries, n_features = [], [], 1
    for number, line in enumerate(lines, 1):
        words = line.split()
        pairs = [word.split(":") for word in words[n_each:]]
        if len(words) < n_each or any(len(pair) != 2 for pair in pairs):
            raise ValueError(f"vector {number} is not written as coefficients and index:value.")
        coefficients.append([float(word) for word in words[:n_each]])
        entries.append([(int(index), float(value)) for index, value in pairs])
        n_features = max(n_features, *(index for index, _ in entries[-1]), 1)
        if any(index < 1 for index, _ in entries[-1]):
            raise ValueError(f"vector {number} has a feature below 1.")
    if len(entries) != n_vectors or not n_vectors:
        raise ValueError(f"it has {len(entries)} vectors, and its header says {n_vectors}.")
    if n_vectors * n_features > MOST_VALUES:
        raise ValueError(f"{n_vectors:,} vectors of {n_features:,} features are too many.")
    vectors = np.zeros((n_vectors, n_features))
    for vector, found in zip(vectors, entries, strict=True):
        for index, value in found:
            vector[index - 1] = value
    return np.array(coefficients).T, vectors


def _model(header: dict[str, list[str]], coefficients: Array, vectors: Array) -> LibsvmModel:
    kernel, svm_type = header["kernel_type"], header["svm_type"][0]
    if kernel != ["rbf"]:
        raise ValueError(f"its kernel is {' '.join(kernel)}; only rbf can be compressed.")
    if svm_type not in (*CLASSIFIERS, *REGRESSIONS, NOVELTY):
        raise ValueError(f"its svm_type {svm_type} is not known.")
    rho, gamma = np.array(header["rho"], dtype=float), float(header["gamma"][0])
    labels, counts = None, np.array([len(vectors)])
    if svm_type in CLASSIFIERS:
        labels = np.array(header["label"], dtype=int)
        counts = np.array(header["nr_sv"], dtype=int)
    elif len(coefficients) != 1:
        raise ValueError(f"a {svm_type} has two classes in its header, not several.")
    n_classes = 2 if labels is None else len(labels)
    fits = (
        len(rho) == (1 if labels is None else n_classes * (n_classes - 1) // 2)
        and n_classes == len(coefficients) + 1
        and counts.sum() == len(vectors)
        and (counts >= 0).all()
        and len(set([] if labels is None else labels.tolist())) == (labels is not None) * n_classes
    )
    numbers = (rho, coefficients, vectors)
    if not fits:
        raise ValueError("the numbers of its classes, vectors and intercepts do not go together.")
    if not (gamma > 0 and np.isfinite(gamma) and all(np.isfinite(each).all() for each in numbers)):
        raise ValueError("gamma must be positive, and all numbers finite.")
    return LibsvmModel(svm_type, gamma, rho, labels, counts, coefficients, vectors)
