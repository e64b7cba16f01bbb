"""Encoders of categories: OneHotEncoder, OrdinalEncoder.

A file keeps the categories of all columns one after the other. A missing value may be a category of
its own, always the last one of a column: the array "missing" tells whether it is None or NaN. The
array "infrequent" tells which categories are grouped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ..._sklearn import drop_categories, group_categories, infrequent_indices
from .fields import Field, Header, Numbers, Scalar, Values
from .kind import Kind, Step
from .program import Program

# What the last category of a column may be, besides a text or a number.
NO_MISSING, MISSING_NAN, MISSING_NONE = range(3)
GROUPS = {"infrequent_if_exist", "warn"}  # what handles unknown categories as infrequent ones


@dataclass(frozen=True, eq=False)
class Encoder(Kind):
    """What both encoders have in common."""

    def check(self, step: Step) -> None:
        """Refuse a fitted encoder that a file cannot keep."""
        for column, known in enumerate(step.categories_):
            values = [each for each in known.tolist() if not _missing(each)]
            is_text = all(isinstance(each, str) for each in values)
            if len(known) - len(values) > 1 or not (is_text or all(map(_is_number, values))):
                raise ValueError(
                    f"column {column} of its {self.cls.__name__} has the categories "
                    f"{str(known.tolist())[:100]}; all texts, or all numbers, are supported, and "
                    "None or NaN for missing values. Convert the values of the column."
                )

    def values(self, step: Step) -> dict[str, Any]:
        """Return the categories of all columns, and how they are grouped."""
        lists = [known.tolist() for known in step.categories_]
        missing = np.array([_missing(values[-1]) for values in lists])
        infrequent = np.concatenate(_infrequent(step))
        return {
            "counts": [len(values) - (_missing(values[-1]) > 0) for values in lists],
            "categories": [each for values in lists for each in values if not _missing(each)],
            "missing": missing if missing.any() else None,
            "infrequent": infrequent if infrequent.any() else None,
        }

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return an encoder that is fitted to a single row, with its categories and groups."""
        known = _split(values)
        grouping = {"min_frequency", "max_categories", "drop"}
        others = {name: value for name, value in parameters.items() if name not in grouping}
        dtype = object if any(each.dtype == object for each in known) else np.float64
        row = np.array([[each[0] for each in known]], dtype=dtype)
        step = self.cls(categories=known, **others).fit(row)
        step.set_params(categories="auto", **{n: parameters[n] for n in grouping & {*parameters}})
        step.categories_ = known
        infrequent = values.get("infrequent")
        if step.min_frequency is not None or step.max_categories is not None:
            ends = np.cumsum([0, *map(len, known)])
            if infrequent is None:
                infrequent = np.zeros(ends[-1], dtype=bool)
            if len(infrequent) != ends[-1]:
                raise ValueError(f"its encoder groups {len(infrequent)} of {ends[-1]} categories.")
            parts = [infrequent.view(np.uint8)[a:b] != 0 for a, b in pairwise(ends.tolist())]
            group_categories(step, parts, self._never_grouped(known))
        elif infrequent is not None:
            raise ValueError("its encoder groups categories without a limit on their frequency.")
        return step

    def _never_grouped(self, known: list[NDArray[Any]]) -> list[int]:
        """Return the columns whose last category is never grouped."""
        return []


@dataclass(frozen=True, eq=False)
class OneHot(Encoder):
    """`OneHotEncoder`: one column per category or group of categories."""

    def values(self, step: Step) -> dict[str, Any]:
        """Return the number of columns, too, if it is not that of the categories."""
        found = super().values(step)
        n_outputs = sum(width for _, _, width in map(_Groups(step), range(len(step.categories_))))
        return found | {"n_outputs": None if n_outputs == len(found["categories"]) else n_outputs}

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return the encoder, with dropped categories."""
        step = super().restored(parameters, values, n_inputs)
        drop_categories(step)
        n_outputs = values.get("n_outputs")
        if self.values(step)["n_outputs"] != n_outputs:
            raise ValueError("its OneHotEncoder does not make as many columns as the file says.")
        return step

    def n_outputs(self, header: Header, sizes: Mapping[str, int]) -> int:
        """Return the number of categories, unless the header has another number."""
        return int(header.get("n_outputs", sizes["categories"]))

    def lower(self, step: Step, program: Program) -> None:
        """Compare with each category; look up the groups first, if there are any."""
        groups = [*map(_Groups(step), range(len(step.categories_)))]
        lists = [known.tolist() for known in step.categories_]
        sources = [k for k, (_, _, width) in enumerate(groups) for _ in range(width)]
        # Without groups, each column is one category, in their order.
        if not any(map(np.any, _infrequent(step))) and not any(_missing(v[-1]) for v in lists):
            kept = [
                category
                for values, (codes, _, _) in zip(lists, groups, strict=True)
                for category, code in zip(values, codes, strict=True)
                if code >= 0
            ]
            program.indicate(sources, kept)
            return
        tables = [
            dict(zip(v, codes, strict=True)) for v, (codes, _, _) in zip(lists, groups, strict=True)
        ]
        unknown = [code for _, code, _ in groups]
        missing = [_pop_missing(table, code) for table, code in zip(tables, unknown, strict=True)]
        program.look_up(tables, unknown, missing)
        program.indicate(sources, [code for _, _, width in groups for code in range(width)])


@dataclass(frozen=True, eq=False)
class Ordinal(Encoder):
    """`OrdinalEncoder`: the position of the category, or of its group."""

    def _never_grouped(self, known: list[NDArray[Any]]) -> list[int]:
        return [k for k, each in enumerate(known) if _missing(each[-1]) == MISSING_NAN]

    def lower(self, step: Step, program: Program) -> None:
        """Look up the positions; without a value for unknown categories, they are -1."""
        unknown = -1.0 if step.unknown_value is None else float(step.unknown_value)
        groups, never = _Groups(step), self._never_grouped(step.categories_)
        tables, missing = [], []
        for k, known in enumerate(step.categories_):
            n_grouped = len(known) - (k in never)
            codes, _, _ = groups(k, n_grouped)
            table = dict(zip(known.tolist()[:n_grouped], codes, strict=True))
            value = step.encoded_missing_value if k in never else unknown
            missing.append(_pop_missing(table, value))
            tables.append(table)
        program.look_up(tables, [unknown] * len(tables), missing)


class _Groups:
    """The groups of the categories of a fitted encoder, as a function of the column.

    Returns the group of each category, or of the first n, that of unknown ones, and the number of
    groups. Infrequent categories are the last group. A dropped category and, mostly, an unknown one
    have none: -1.
    """

    def __init__(self, step: Step) -> None:
        self.infrequent = _infrequent(step)
        drop = getattr(step, "drop_idx_", None)
        self.drop = [None] * len(self.infrequent) if drop is None else list(drop)
        self.groups_unknown = step.handle_unknown in GROUPS

    def __call__(self, column: int, n: int | None = None) -> tuple[list[int], int, int]:
        infrequent, dropped = self.infrequent[column][:n], self.drop[column]
        last = int(np.count_nonzero(~infrequent))
        codes = np.where(infrequent, last, np.cumsum(~infrequent) - 1)
        unknown = last if infrequent.any() and self.groups_unknown else -1
        width = last + int(infrequent.any())
        if dropped is not None:
            # Those after the dropped group move up by one.
            group = codes[dropped]
            codes = np.where(codes == group, -1, codes - (codes > group))
            unknown = -1 if unknown == group else unknown - int(unknown > group)
            width -= 1
        return codes.tolist(), unknown, width


def _infrequent(step: Step) -> list[NDArray[np.bool_]]:
    """Return, for each column, which categories are infrequent."""
    found = []
    for known, indices in zip(step.categories_, infrequent_indices(step), strict=True):
        is_infrequent = np.zeros(len(known), dtype=bool)
        is_infrequent[[] if indices is None else indices] = True
        found.append(is_infrequent)
    return found


def _split(values: dict[str, Any]) -> list[NDArray[Any]]:
    """Return the categories of each column, checked."""
    counts, joined, missing = values["counts"], values["categories"], values.get("missing")
    kinds = np.zeros(len(counts), dtype=int) if missing is None else missing.astype(int)
    least = np.where(kinds == NO_MISSING, 1, 0)
    if not ((counts >= least) & (counts <= len(joined))).all() or sum(counts.tolist()) != len(
        joined
    ):
        raise ValueError(f"its numbers of categories do not sum up to {len(joined)}.")
    if not (kinds <= MISSING_NONE).all():
        raise ValueError("its encoder has missing values of an unknown kind.")
    known = []
    for part, kind in zip(np.split(joined, np.cumsum(counts)[:-1]), kinds.tolist(), strict=True):
        category = part.tolist()
        is_text = any(isinstance(each, str) for each in category)
        if is_text and not all(isinstance(each, str) for each in category):
            raise ValueError("the categories of a column are both texts and numbers.")
        if len({*category}) < len(category) or not (is_text or category == sorted(category)):
            raise ValueError("the categories of a column are not sorted, or not unique.")
        category += [[], [np.nan], [None]][kind]
        is_object = is_text or kind == MISSING_NONE
        known.append(np.array(category, dtype=object if is_object else np.float64))
    return known


def _missing(value: Any) -> int:
    """Tell what kind of missing value a category stands for, if any."""
    if value is None:
        return MISSING_NONE
    return MISSING_NAN if isinstance(value, float) and value != value else NO_MISSING


def _pop_missing(table: dict[Any, float], default: float) -> float:
    """Remove the category of missing values; return its value."""
    found = [table.pop(key) for key in [*table] if _missing(key)]
    return found[0] if found else default


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


LEARNT: dict[str, Field] = {
    "counts": Numbers(dtypes=("int64",)),
    "categories": Values("categories"),
    "missing": Numbers(dtypes=("uint8",), optional=True),
    "infrequent": Numbers(("all",), ("bool",), optional=True),
}
ENCODERS = (
    OneHot(
        OneHotEncoder,
        ("handle_unknown", "sparse_output", "dtype"),
        ("drop", "min_frequency", "max_categories"),
        LEARNT | {"n_outputs": Scalar(int, 0, 2**31, optional=True)},
    ),
    Ordinal(
        OrdinalEncoder,
        ("handle_unknown", "dtype"),
        ("unknown_value", "encoded_missing_value", "min_frequency", "max_categories"),
        LEARNT,
    ),
)
