"""The plane in which a decision boundary is drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

# A pipeline is inverted if its rows come back within this relative error: float32 steps round.
INVERSE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Plane:
    """A plane with two coordinates.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, 2)
        The rows in the plane.

    vectors : ndarray of shape (n_sv, 2)
        The support vectors in the plane.

    labels : tuple of two str
        The names of the coordinates.

    decide : callable
        The decision function of points in the plane.
    """

    rows: NDArray[np.float64]
    vectors: NDArray[np.float64]
    labels: tuple[str, str]
    decide: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def find_plane(estimator: Any, svm: Any, X: Any) -> Plane:
    """Return the plane of two features or of the two leading principal components.

    `svm` is the estimator, or the last step of a pipeline.
    """
    steps = None if estimator is svm else estimator[:-1]
    n_features = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    if n_features == 2 and (steps is None or _is_invertible(steps, X)):
        return _plane_of_features(estimator, svm, steps, X)
    return _plane_of_components(svm, _dense(X if steps is None else steps.transform(X)))


def _dense(X: Any) -> NDArray[Any]:
    """Return rows as a dense array; sparse rows keep their precision."""
    array: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    return array


def _plane_of_features(estimator: Any, svm: Any, steps: Any, X: Any) -> Plane:
    names = getattr(X, "columns", None)
    vectors = svm.support_vectors_
    first, second = ("feature 0", "feature 1") if names is None else map(str, names)
    return Plane(
        rows=_dense(X),
        vectors=_dense(vectors if steps is None else steps.inverse_transform(vectors)),
        labels=(first, second),
        decide=lambda points: estimator.decision_function(_named(points, names)),
    )


def _plane_of_components(svm: Any, rows: NDArray[Any]) -> Plane:
    if rows.shape[1] < 2:
        raise ValueError("A boundary needs rows of at least two features, got one.")
    components = PCA(2, random_state=0).fit(rows)
    first, second = components.explained_variance_ratio_
    names = getattr(svm, "feature_names_in_", None)
    return Plane(
        rows=components.transform(rows),
        vectors=components.transform(svm.support_vectors_.astype(float)),
        labels=(
            f"principal component 1 ({first:.0%} of the variance)",
            f"principal component 2 ({second:.0%})",
        ),
        decide=lambda points: svm.decision_function(
            _named(components.inverse_transform(points), names)
        ),
    )


def _is_invertible(steps: Any, X: Any) -> bool:
    """Whether the inverse of the steps returns the rows."""
    if not hasattr(steps, "inverse_transform"):
        return False
    returned = steps.inverse_transform(steps.transform(X))
    return np.allclose(_dense(returned), _dense(X), rtol=INVERSE_TOLERANCE)


def _named(points: NDArray[Any], names: Any) -> Any:
    """Return points as the data frame that an estimator fitted with feature names expects."""
    if names is None:
        return points
    import pandas as pd

    return pd.DataFrame(points, columns=names)
