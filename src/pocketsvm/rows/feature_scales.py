"""Feature scales: numbers that multiply the features, one each, before the kernel sees them.

The kernel is ``exp(-gamma sum_k s_k^2 (x_k - v_k)^2)``. `FeatureScales` is the last step of what is
done to a row, after the preparation, in training and in prediction, wherever the rows are. The
vectors of a model are multiplied already.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from .checked import CheckedRows, checked_rows
from .preparation import Steps

# Values of dense rows that are multiplied at once.
VALUES_AT_ONCE = 1 << 16
# The square of a smaller product vanishes in float32.
LEAST_PRODUCT = 1e-18


@dataclass(frozen=True, eq=False)
class FeatureScales:
    """A step, as scikit-learn's transformers are, that multiplies the features.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        The scales, float64.
    """

    values: NDArray[np.float64]

    def __sklearn_tags__(self) -> Tags:
        return Tags(None, TargetTags(required=False), input_tags=InputTags(sparse=True))

    def transform(self, X: Any) -> Any:
        """Return rows whose features are multiplied; sparse ones stay sparse.

        Products are rounded once, to the precision of the rows.
        """
        # A product beyond the precision becomes infinite, and then the squared norm is infinite.
        with np.errstate(over="ignore", under="ignore"):
            is_sparse: bool = sp.issparse(X)
            if is_sparse:
                data = (X.data * self.values[X.indices]).astype(X.dtype, copy=False)
                return type(X)((data, X.indices, X.indptr), shape=X.shape)
            if X.dtype == object:
                X = X.astype(np.float64)
            return self._multiplied(X)

    def _multiplied(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return dense rows whose features are multiplied, some rows at a time."""
        values, n_features = self.values, X.shape[1]
        if X.dtype == np.float32 and (values == values.astype(np.float32)).all():
            values = values.astype(np.float32)  # the same products, and faster
        n_each = max(VALUES_AT_ONCE // n_features, 1) * n_features
        values = np.tile(values, min(n_each // n_features, len(X)))
        rows, found = np.ascontiguousarray(X).reshape(-1), np.empty(X.shape, dtype=X.dtype)
        products = found.reshape(-1)
        for begin in range(0, len(rows), n_each):
            part = rows[begin : begin + n_each]
            out = products[begin : begin + n_each]
            np.multiply(part, values[: len(part)], out=out, casting="same_kind")
        return found

    def restored(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return vectors in the units of the rows; zero where a scale is zero."""
        divisors = np.where(self.values > 0, self.values, np.inf)
        with np.errstate(over="ignore"):
            return (vectors / divisors).astype(vectors.dtype)


def scaled_rows(rows: CheckedRows, values: NDArray[np.float64]) -> CheckedRows:
    """Return prepared rows as the kernel sees them."""
    return checked_rows(FeatureScales(values).transform(rows.X))


def scaling_steps(steps: Steps, values: NDArray[np.float64] | None) -> Steps:
    """Return the steps of a preparation, and the one that multiplies, if there are scales."""
    return steps if values is None else (*steps, FeatureScales(values))


def check_number(values: NDArray[np.float64], n_features: int) -> None:
    """Refuse scales of another number of features."""
    if len(values) != n_features:
        raise ValueError(
            f"feature_scales has {len(values)} numbers, but the kernel sees {n_features} "
            "features: give one number for each."
        )


def check_products(rows: CheckedRows, values: NDArray[np.float64]) -> None:
    """Refuse scales so small that the squares of all products vanish in float32."""
    data = rows.X if rows.structure is None else rows.X.data
    largest = float(max(data.max(), -data.min())) if data.size else 0.0
    if not values.any() or largest >= LEAST_PRODUCT:
        return
    scale = float(values.max())
    if scale < LEAST_PRODUCT:
        raise ValueError(
            f"The largest of feature_scales is {scale:.3g}, and the features times them are at "
            f"most {largest:.3g}, so that all rows would look alike in float32. These products "
            f"must reach {LEAST_PRODUCT:.0e}: use larger scales. With gamma='scale', only their "
            "ratios matter."
        )


def checked_feature_scales(given: Any) -> NDArray[np.float64]:
    """Return the scales that a user gives as float64, checked."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not values.size:
        raise ValueError(
            "feature_scales must be None, 'learn', 'auto' or a list of numbers, one for each "
            f"feature, got {given!r}."
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        k = int(wrong[0])
        raise ValueError(
            "feature_scales must be finite numbers that are not negative, but the one of feature "
            f"{k} (counted from 0) is {values[k]}."
        )
    if not values.any():
        raise ValueError(
            "All feature_scales are zero, so that all rows would be equal: at least one must be "
            "positive."
        )
    return values
