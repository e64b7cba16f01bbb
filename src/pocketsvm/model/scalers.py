"""Scalers of scikit-learn in model files: kinds of steps of a preparation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .column_map import ColumnMap
from .container import Array, Described, Entry, take

# scikit-learn counts rows in int64 and adds to this number when a scaler is continued.
MAX_ROWS = 2**62
PAIR: type[Any] = tuple  # a parameter that is a range of two numbers

Affine = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Scaler:
    """A kind of scaler; a file keeps it with all that it has learnt.

    Attributes
    ----------
    cls : type
        The class of scikit-learn.

    parameters : dict of str to type
        The parameters that change the map. "copy", which only saves memory, is not kept.

    learnt : dict of str to tuple of str
        The fitted arrays, without the underscore. An array exists if one of the parameters named
        beside it is true, or none is named.

    counts_rows : bool
        Whether it counts the rows it has seen.
    """

    cls: type[Any]
    parameters: dict[str, type[Any]] = field(default_factory=dict)
    learnt: dict[str, tuple[str, ...]] = field(default_factory=dict)
    counts_rows: bool = True

    def check(self, scaler: Any) -> None:
        """Refuse a fitted scaler that is not an affine map."""
        if getattr(scaler, "clip", False):
            raise ValueError(f"{scaler!r} is not supported: it clips; clip=False is supported.")
        if scaler.scale_ is not None and not (scaler.scale_ > 0).all():
            raise ValueError("a feature of its scaling has a scale that is not positive.")

    def describe(self, scaler: Any) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the header and the arrays of a fitted scaler."""
        parameters = {name: getattr(scaler, name) for name in self.parameters}
        for name, kind in self.parameters.items():
            value = parameters[name]
            parameters[name] = [float(end) for end in value] if kind is PAIR else bool(value)
        header: dict[str, Any] = {"kind": self.cls.__name__, "parameters": parameters}
        if self.counts_rows:
            header["n_rows"] = int(np.max(scaler.n_samples_seen_))
        return header, {name: getattr(scaler, f"{name}_") for name in self._present(parameters)}

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        self._unfitted(header)
        result: dict[str, Described] = {}
        for name in self._present(header["parameters"]):
            entry = entries.get(prefix + name)
            single = entry is not None and entry.dtype == np.float32
            result[prefix + name] = ("float32" if single else "float64", (n_inputs,))
        return result, n_inputs, 0

    def restore(
        self, header: dict[str, Any], prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Any:
        """Return the fitted scaler of a header and arrays whose shapes have been checked."""
        scaler = self._unfitted(header)
        for name in self.learnt:
            setattr(scaler, f"{name}_", arrays.get(prefix + name))
        scaler.n_features_in_ = n_inputs
        if self.counts_rows:
            scaler.n_samples_seen_ = np.int64(header["n_rows"])
        self.check(scaler)
        return scaler

    def apply(self, scaler: Any, columns: ColumnMap) -> ColumnMap:
        """Return the columns after the scaler."""
        return columns.scaled(*self._affine(scaler, columns.n_outputs))

    def _present(self, parameters: dict[str, Any]) -> list[str]:
        """Return the arrays that a scaler with these parameters has."""
        return [
            name
            for name, needs in self.learnt.items()
            if not needs or any(parameters[need] for need in needs)
        ]

    def _affine(self, scaler: Any, n_inputs: int) -> Affine:
        """Return the offset and factor of ``(x - offset) * factor``."""
        zeros, ones = np.zeros(n_inputs), np.ones(n_inputs)
        scale = ones if scaler.scale_ is None else np.asarray(scaler.scale_, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # forged files
            if self.cls is MinMaxScaler:
                return -np.asarray(scaler.min_, dtype=np.float64) / scale, scale
            centre = None
            if self.cls is StandardScaler and scaler.with_mean:
                centre = scaler.mean_
            elif self.cls is RobustScaler:
                centre = scaler.center_
            return zeros if centre is None else np.asarray(centre, np.float64), 1.0 / scale

    def _unfitted(self, header: Any) -> Any:
        """Check the header of a scaler; return the scaler without what it has learnt."""
        if self.counts_rows and not 1 <= take(header, "n_rows", int) < MAX_ROWS:
            raise ValueError("the number of rows of its scaling is out of range.")
        given = take(header, "parameters", dict)
        if given.keys() != self.parameters.keys():
            raise ValueError(
                f"the parameters of its {self.cls.__name__} are {str(sorted(given))[:100]}."
            )
        parameters = {
            name: _pair(take(given, name, list)) if kind is PAIR else take(given, name, kind)
            for name, kind in self.parameters.items()
        }
        return self.cls(**parameters)


def _pair(values: list[Any]) -> tuple[float, float]:
    if len(values) != 2 or not all(type(value) in (int, float) for value in values):
        raise ValueError("the range of its scaling is not a pair of numbers.")
    low, high = (take({"range": value}, "range", float) for value in values)
    if not low < high:
        raise ValueError("the range of its scaling is empty.")
    return low, high


SCALERS = (
    Scaler(
        StandardScaler,
        {"with_mean": bool, "with_std": bool},
        {"mean": ("with_mean", "with_std"), "var": ("with_std",), "scale": ("with_std",)},
    ),
    Scaler(
        MinMaxScaler,
        {"feature_range": PAIR},
        dict.fromkeys(("min", "scale", "data_min", "data_max", "data_range"), ()),
    ),
    Scaler(MaxAbsScaler, {}, {"scale": (), "max_abs": ()}),
    Scaler(
        RobustScaler,
        {
            "with_centering": bool,
            "with_scaling": bool,
            "quantile_range": PAIR,
            "unit_variance": bool,
        },
        {"center": ("with_centering",), "scale": ("with_scaling",)},
        counts_rows=False,
    ),
)
