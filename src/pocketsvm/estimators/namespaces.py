"""Arrays of other libraries, with scikit-learn's array API dispatch: answers follow X.

Rows on a GPU are fitted and predicted there. Arrays of other libraries in the memory of the CPU are
the same as those of NumPy.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config

from .._sklearn import arrive_at, home_of
from ..backends.torch_rows import as_tensor, device_name

Method = TypeVar("Method", bound=Callable[..., Any])
FITS = ("fit", "partial_fit")


@dataclass(frozen=True, eq=False)
class OnDevice:
    """Rows that are on a GPU, and stay there.

    Attributes
    ----------
    rows : tensor of shape (n_rows, n_features)
        The rows.

    device : str
        The name of the GPU.
    """

    rows: Any
    device: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of features."""
        return tuple(self.rows.shape)


def follows_arrays(method: Method) -> Method:
    """Let a method take arrays of other libraries, and return such arrays."""

    @wraps(method)
    def follow(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not get_config()["array_api_dispatch"]:
            return method(self, X, *args, **kwargs)
        home, device = home_of(X), device_name(X)
        args = tuple(_in_numpy(each) for each in args)
        kwargs = {name: _in_numpy(each) for name, each in kwargs.items()}
        with config_context(array_api_dispatch=False):
            if home is None:
                return method(self, X, *args, **kwargs)
            if method.__name__ in FITS:
                return _fit(method, self, device, _in_numpy(X), *args, **kwargs)
            rows = _in_numpy(X) if device is None else OnDevice(as_tensor(X), device)
            found = method(self, rows, *args, **kwargs)
        if isinstance(found, np.ndarray) and found.dtype.kind in "biuf":
            return arrive_at(found, home)
        return found

    return follow  # type: ignore[return-value]


def _in_numpy(given: Any) -> Any:
    """Return arrays of other libraries as those of NumPy, and all else as it is."""
    return given if home_of(given) is None else arrive_at(given, None)


def _fit(
    method: Callable[..., Any], estimator: Any, device: str | None, *args: Any, **kwargs: Any
) -> Any:
    """Fit an estimator on the device of the rows, unless it has one itself."""
    if device is None or estimator.device != "cpu":
        return method(estimator, *args, **kwargs)
    twin = copy.copy(estimator)
    twin.device = device
    method(twin, *args, **kwargs)
    estimator.__dict__ = vars(twin) | {"device": estimator.device}
    return estimator
