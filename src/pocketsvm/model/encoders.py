"""Imputation and one-hot encoding in model files: kinds of steps of a preparation.

A fitted transformer is restored by fitting a new one on a single row, which gives the same result:
the statistics of one row are the row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from .._sklearn import validate_parameters
from .column_map import ColumnMap
from .container import Array, Described, Entry, take
from .strings import expected_strings, object_array, pack_strings, shape_of, unpack_strings

Header = dict[str, Any]


class Imputer:
    """`SimpleImputer`: numbers or texts that stand for missing values."""

    cls = SimpleImputer

    def check(self, imputer: Any) -> None:
        """Refuse a fitted imputer that a file cannot keep."""
        missing = imputer.missing_values
        if not (isinstance(missing, float) and np.isnan(missing)) or imputer.add_indicator:
            raise ValueError(
                f"{imputer!r} is not supported; missing_values=nan and add_indicator=False are."
            )
        if callable(imputer.strategy):
            raise ValueError(f"{imputer!r} is not supported: its strategy is a function.")
        empty = [k for k, value in enumerate(imputer.statistics_.tolist()) if value != value]
        if empty:
            raise ValueError(f"column {empty[0]} of its SimpleImputer has no values.")

    def describe(self, imputer: Any) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted imputer."""
        values = imputer.statistics_
        header: Header = {"kind": "SimpleImputer", "parameters": {"strategy": imputer.strategy}}
        if imputer.strategy == "constant":
            header["parameters"]["fill_value"] = _plain(imputer.fill_value)
        if any(isinstance(value, str) for value in values.tolist()):
            header["values"] = "text"
            return header, pack_strings("imputed values", values.tolist())
        header["values"] = "number"
        kept = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
        return header, {"statistics": kept}

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        parameters = take(header, "parameters", dict)
        known = {"strategy", "fill_value"} if "fill_value" in parameters else {"strategy"}
        if parameters.keys() != known:
            raise ValueError(f"the parameters of its imputer are {str(sorted(parameters))[:100]}.")
        if _values(header) == "text":
            expected, n_strings, n_bytes = expected_strings(prefix, entries)
            if n_strings != n_inputs:
                raise ValueError(f"its imputer has {n_strings} values for {n_inputs} columns.")
            return expected, n_inputs, n_bytes
        entry = entries.get(prefix + "statistics")
        single = entry is not None and entry.dtype == np.float32
        dtype = "float32" if single else "float64"
        return {prefix + "statistics": (dtype, (n_inputs,))}, n_inputs, 0

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Any:
        """Return the fitted imputer of a header and arrays whose shapes have been checked."""
        imputer = SimpleImputer(**header["parameters"])
        validate_parameters(imputer)
        row = (
            object_array(unpack_strings("imputed values", prefix, arrays))
            if header["values"] == "text"
            else arrays[prefix + "statistics"]
        )
        return imputer.fit(row.reshape(1, n_inputs))

    def apply(self, imputer: Any, columns: ColumnMap) -> ColumnMap:
        """Return the columns after the imputer."""
        return columns.filled(imputer.statistics_.tolist())


class Encoder:
    """`OneHotEncoder`: one column per category."""

    cls = OneHotEncoder

    def check(self, encoder: Any) -> None:
        """Refuse a fitted encoder that a file cannot keep."""
        for name in ("drop", "min_frequency", "max_categories"):
            if getattr(encoder, name) is not None:
                raise ValueError(f"{encoder!r} is not supported; {name}=None is.")
        if np.dtype(encoder.dtype) not in (np.float32, np.float64):
            raise ValueError(f"{encoder!r} is not supported; dtype float32 and float64 are.")
        for known in encoder.categories_:
            values = known.tolist()
            if not (_all_texts(values) or _all_numbers(values)):
                raise ValueError(
                    f"its OneHotEncoder has the categories {str(values)[:100]}; all texts, or all "
                    "numbers, are supported. Fill in missing values first (SimpleImputer)."
                )
        if len({_all_texts(known.tolist()) for known in encoder.categories_}) > 1:
            raise ValueError(
                "its OneHotEncoder has columns of texts and columns of numbers; use one encoder "
                "for each kind."
            )

    def describe(self, encoder: Any) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted encoder."""
        known = encoder.categories_
        parameters = {
            "handle_unknown": encoder.handle_unknown,
            "sparse_output": bool(encoder.sparse_output),
            "dtype": np.dtype(encoder.dtype).name,
        }
        counts = np.array([len(each) for each in known], dtype=np.int64)
        joined = [value for each in known for value in each.tolist()]
        header = {"kind": "OneHotEncoder", "parameters": parameters}
        if _all_texts(joined):
            return header | {"values": "text"}, {"counts": counts} | pack_strings("texts", joined)
        return header | {"values": "number"}, {
            "counts": counts,
            "categories": np.array(joined, dtype=np.float64),
        }

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        parameters = take(header, "parameters", dict)
        if parameters.keys() != {"handle_unknown", "sparse_output", "dtype"}:
            raise ValueError(f"the parameters of its encoder are {str(sorted(parameters))[:100]}.")
        if take(parameters, "dtype", str) not in ("float32", "float64"):
            raise ValueError(f"its encoder makes numbers of dtype {parameters['dtype'][:100]!r}.")
        expected: dict[str, Described] = {prefix + "counts": ("int64", (n_inputs,))}
        if _values(header) == "text":
            texts, n_outputs, n_bytes = expected_strings(prefix, entries)
            return expected | texts, n_outputs, n_bytes
        (n_outputs,) = shape_of(entries, prefix + "categories", 1)
        return expected | {prefix + "categories": ("float64", (n_outputs,))}, n_outputs, 0

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Any:
        """Return the fitted encoder of a header and arrays whose shapes have been checked."""
        joined: NDArray[Any] = (
            object_array(unpack_strings("categories", prefix, arrays))
            if header["values"] == "text"
            else arrays[prefix + "categories"]
        )
        counts = arrays[prefix + "counts"]
        if not ((counts >= 1) & (counts <= len(joined))).all() or sum(counts.tolist()) != len(
            joined
        ):
            raise ValueError(f"its numbers of categories do not sum up to {len(joined)}.")
        known = np.split(joined, np.cumsum(counts)[:-1])
        for values in known:
            is_sorted = header["values"] == "text" or (values[1:] > values[:-1]).all()
            if not is_sorted or len(set(values.tolist())) < len(values):
                raise ValueError("the categories of a column are not sorted, or not unique.")
        encoder = OneHotEncoder(categories=known, **header["parameters"])
        encoder.dtype = np.dtype(encoder.dtype).type
        validate_parameters(encoder)
        encoder.fit(np.array([[values[0] for values in known]], dtype=joined.dtype))
        return encoder.set_params(categories="auto")

    def apply(self, encoder: Any, columns: ColumnMap) -> ColumnMap:
        """Return the columns after the encoder."""
        return columns.encoded([known.tolist() for known in encoder.categories_])


def _all_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _all_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and np.isfinite(value) for value in values)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _values(header: Any) -> str:
    values = take(header, "values", str)
    if values not in ("text", "number"):
        raise ValueError(f"a step of its preparation has values of the kind {values[:100]!r}.")
    return values
