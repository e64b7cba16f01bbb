"""Preparation: the steps that are applied to rows before the kernel.

A model has a chain of steps, `Model.preparation`: fitted transformers of scikit-learn that impute,
encode and scale. In scikit-learn, the same chain is a `Pipeline` that ends with a machine, which
`split` takes apart and `join` puts together. A file keeps each step with all that it has learnt;
`scalers` and `encoders` have the kinds of steps. Exports use `Preparation.columns` instead, what
the whole chain does to each column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from .._cached import cached_property
from .column_map import ColumnMap
from .container import Array, Described, Entry, take
from .encoders import Encoder, Imputer
from .scalers import SCALERS
from .strings import shape_of

Header = dict[str, Any]
Step = Any  # a fitted transformer of scikit-learn

# The names of the steps in a pipeline that comes from a file.
NAMES = {"ColumnTransformer": "columns", "SimpleImputer": "impute", "OneHotEncoder": "one_hot"}
# Longer chains than anybody writes; the number of branches is bounded by their columns.
MAX_STEPS = 16
# The memory of a column while a ColumnTransformer is restored: a value, and where it is used.
COLUMN_SIZE = 256


class Kind(Protocol):
    """A kind of step: how a file keeps it, and what it does to columns."""

    @property
    def cls(self) -> type[Any]:
        """The class of scikit-learn."""

    def check(self, step: Step, /) -> None:
        """Refuse a fitted step that a file cannot keep."""

    def describe(self, step: Step, /) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted step."""

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Step:
        """Return the fitted step of a header and arrays whose shapes have been checked."""

    def apply(self, step: Step, columns: ColumnMap, /) -> ColumnMap:
        """Return the columns after the step."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """A chain of fitted transformers.

    Attributes
    ----------
    steps : tuple of transformers
        Scalers, `SimpleImputer` and `OneHotEncoder` in their order. The first one may be a
        `ColumnTransformer` of such steps.

    n_features : int
        The number of columns of rows before the first step.
    """

    steps: tuple[Step, ...]
    n_features: int

    @classmethod
    def of(cls, steps: Sequence[Step]) -> "Preparation":
        """Return the chain of some fitted transformers; refuse one that a file cannot keep."""
        for position, step in enumerate(steps):
            check_is_fitted(step)
            if type(step) is ColumnTransformer and position:
                raise ValueError("a ColumnTransformer is supported only as the first step.")
            _kind_of(step).check(step)
        found = cls(tuple(steps), int(steps[0].n_features_in_))
        _check_map(found.columns)
        return found

    @cached_property
    def columns(self) -> ColumnMap:
        """What the chain does to each column."""
        columns = ColumnMap.identity(self.n_features)
        for step in self.steps:
            columns = _kind_of(step).apply(step, columns)
        return columns

    def describe(self) -> tuple[Header, dict[str, Array]]:
        """Return the chain as values and arrays of a file."""
        headers, arrays = _describe_steps(self.steps)
        return {"n_features": self.n_features, "steps": headers}, arrays

    @classmethod
    def restore(
        cls, values: Header, prefix: str, arrays: Mapping[str, Array], n_features: int
    ) -> "Preparation":
        """Return the chain of a file; n_features is the default for older files."""
        n_inputs = values.get("n_features", n_features)
        steps = _restore_steps(values["steps"], prefix, arrays, n_inputs)
        return cls.of(steps)

    def set_names(self, names: NDArray[Any] | None) -> None:
        """Set the names of the features in all steps that receive them; None removes them."""
        first = self.steps[0]
        _set_names(first, names)
        if type(first) is ColumnTransformer:
            for _, branch, columns in branches(first):
                if branch:
                    _set_names(branch[0], None if names is None else names[columns])


def expected(
    values: Any, prefix: str, entries: Mapping[str, Entry], n_features: int
) -> tuple[dict[str, Described], int, int]:
    """Check the values of a chain before any array is read.

    Returns the arrays that it needs, the number of columns of rows before it, and the bytes that
    it takes besides. The kernel receives n_features columns.
    """
    steps = take(values, "steps", list)
    n_inputs = take(values, "n_features", int) if "n_features" in values else n_features
    found, n_columns, n_bytes = _expected_steps(steps, prefix, entries, n_inputs)
    if steps and n_columns != n_features:
        raise ValueError(
            f"its preparation makes {n_columns} columns, and its vectors have {n_features}."
        )
    if n_inputs < 1:
        raise ValueError(f"its preparation takes rows of {str(n_inputs)[:100]} columns.")
    return found, n_inputs, n_bytes + (COLUMN_SIZE * n_inputs if steps else 0)


def split(estimator: Any) -> tuple[tuple[Step, ...], Any]:
    """Return the transformers and the machine of an estimator that may be a pipeline."""
    if type(estimator) is not Pipeline:
        return (), estimator
    *transformers, machine = (step for _, step in estimator.steps)
    return tuple(step for step in transformers if step not in (None, "passthrough")), machine


def join(steps: Sequence[Step], machine: Any) -> Any:
    """Return a pipeline of transformers and a machine, or the machine if there are none."""
    if not steps:
        return machine
    names: list[str] = []
    for step in steps:
        name = NAMES.get(type(step).__name__, "scale")
        names.append(f"{name}_{len(names) + 1}" if name in names else name)
    return Pipeline([*zip(names, steps, strict=True), ("svm", machine)])


# --- chains of steps ----------------------------------------------------------------------------


def _describe_steps(steps: Sequence[Step]) -> tuple[list[Header], dict[str, Array]]:
    headers: list[Header] = []
    arrays: dict[str, Array] = {}
    for k, step in enumerate(steps):
        header, learnt = _kind_of(step).describe(step)
        headers.append(header)
        arrays |= {f"{k}.{name}": array for name, array in learnt.items()}
    return headers, arrays


def _expected_steps(
    steps: list[Any], prefix: str, entries: Mapping[str, Entry], n_columns: int
) -> tuple[dict[str, Described], int, int]:
    if len(steps) > MAX_STEPS:
        raise ValueError(f"its preparation has {len(steps)} steps; at most {MAX_STEPS} are known.")
    found: dict[str, Described] = {}
    n_bytes = 0
    for k, header in enumerate(steps):
        kind = KINDS.get(take(header, "kind", str))
        if kind is None or (kind.cls is ColumnTransformer and (k or prefix.count(".") > 1)):
            raise ValueError(
                f"its preparation has a {header['kind'][:100]!r}, which this pocketsvm does not "
                "know."
            )
        more, n_columns, size = kind.expected(header, f"{prefix}{k}.", entries, n_columns)
        found |= more
        n_bytes += size
    return found, n_columns, n_bytes


def _restore_steps(
    headers: list[Header], prefix: str, arrays: Mapping[str, Array], n_columns: int
) -> list[Step]:
    steps = []
    columns = ColumnMap.identity(n_columns)
    for k, header in enumerate(headers):
        kind = KINDS[header["kind"]]
        step = kind.restore(header, f"{prefix}{k}.", arrays, columns.n_outputs)
        columns = kind.apply(step, columns)
        steps.append(step)
    return steps


def _kind_of(step: Step) -> Kind:
    kind = KINDS.get(type(step).__name__)
    if kind is None or kind.cls is not type(step):
        raise ValueError(
            f"a {type(step).__name__} cannot be kept in it. Supported before the estimator are "
            f"{', '.join(KINDS)}. Apply other transformers before training and prediction, and "
            "keep them in a file of their own."
        )
    return kind


def _check_map(columns: ColumnMap) -> None:
    """Refuse a chain whose scaling overflows, or that takes a column as text and as a number."""
    if not (np.isfinite(columns.offset).all() and np.isfinite(columns.factor).all()):
        raise ValueError("a feature of its scaling has a scale out of range.")
    is_text = np.array([isinstance(each, str) for each in columns.category], dtype=bool)
    both = np.intersect1d(columns.source[is_text], columns.source[~is_text])
    if both.size:
        raise ValueError(f"its preparation takes column {both[0]} as text and as a number.")
    if any(isinstance(fill, str) for fill in columns.fill):
        raise ValueError("its preparation fills in texts, but does not encode them.")


def _set_names(step: Step, names: NDArray[Any] | None) -> None:
    if names is not None:
        step.feature_names_in_ = names
    else:
        step.__dict__.pop("feature_names_in_", None)


# --- ColumnTransformer --------------------------------------------------------------------------


class Columns:
    """`ColumnTransformer`: branches, each of which is a chain of steps for some of the columns."""

    cls = ColumnTransformer

    def check(self, step: Any) -> None:
        """Refuse a fitted transformer that a file cannot keep."""
        if step.transformer_weights is not None:
            raise ValueError("a ColumnTransformer with transformer_weights is not supported.")
        for name, branch, columns in branches(step):
            if len(set(columns)) < len(columns):
                raise ValueError(
                    f"a ColumnTransformer whose branch {name!r} takes a column twice is not "
                    "supported."
                )
            for each in branch:
                if type(each) is ColumnTransformer:
                    raise ValueError("a ColumnTransformer inside another one is not supported.")
                _kind_of(each).check(each)

    def describe(self, step: Any) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted transformer."""
        header: Header = {
            "kind": "ColumnTransformer",
            "sparse_threshold": float(step.sparse_threshold),
            "sparse_output": bool(step.sparse_output_),
            "branches": [],
        }
        arrays: dict[str, Array] = {}
        for k, (name, branch, columns) in enumerate(branches(step)):
            headers, learnt = _describe_steps(branch)
            header["branches"].append({"name": name, "steps": headers})
            arrays[f"{k}.columns"] = np.array(columns, dtype=np.int64)
            arrays |= {f"{k}.{name}": array for name, array in learnt.items()}
        return header, arrays

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        take(header, "sparse_threshold", float)
        take(header, "sparse_output", bool)
        found: dict[str, Described] = {}
        n_outputs = n_bytes = 0
        names = [take(branch, "name", str) for branch in take(header, "branches", list)]
        if not names or len(set(names)) < len(names) or any("__" in name for name in names):
            raise ValueError("the branches of its ColumnTransformer have no names of their own.")
        for k, branch in enumerate(header["branches"]):
            at = f"{prefix}{k}."
            (n_columns,) = shape_of(entries, f"{at}columns", 1)
            steps = take(branch, "steps", list)
            more, n_made, size = _expected_steps(steps, at, entries, n_columns)
            found |= more | {f"{at}columns": ("int64", (n_columns,))}
            n_outputs, n_bytes = n_outputs + n_made, n_bytes + size + COLUMN_SIZE * n_columns
        return found, n_outputs, n_bytes

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Any:
        """Return the fitted transformer of a header and arrays whose shapes have been checked."""
        joined: list[tuple[str, Any, list[int]]] = []
        row: list[Any] = [0.0] * n_inputs
        for k, branch in enumerate(header["branches"]):
            at = f"{prefix}{k}."
            columns = arrays[f"{at}columns"].tolist()
            if not columns or not all(0 <= column < n_inputs for column in columns):
                raise ValueError(f"its ColumnTransformer takes columns outside of {n_inputs}.")
            if len(set(columns)) < len(columns):
                raise ValueError("a branch of its ColumnTransformer takes a column twice.")
            steps = _restore_steps(branch["steps"], at, arrays, len(columns))
            for column, value in zip(columns, _sample(steps, len(columns)), strict=True):
                row[column] = value
            joined.append((branch["name"], _joined(steps), columns))
        # With frozen estimators, a fit on one row sets everything but what they have learnt.
        frozen = [
            (name, one if isinstance(one, str) else FrozenEstimator(one), columns)
            for name, one, columns in joined
        ]
        step = ColumnTransformer(frozen, sparse_threshold=header["sparse_threshold"])
        has_text = any(isinstance(value, str) for value in row)
        step.fit(np.array([row], dtype=object if has_text else np.float64))
        step.transformers = joined
        step.transformers_ = [
            (name, one.estimator if type(one) is FrozenEstimator else one, columns)
            for name, one, columns in step.transformers_
        ]
        step.sparse_output_ = header["sparse_output"]
        return step

    def apply(self, step: Any, columns: ColumnMap) -> ColumnMap:
        """Return the columns after the transformer."""
        parts = []
        for _, branch, taken in branches(step):
            part = columns.take(taken)
            for each in branch:
                part = _kind_of(each).apply(each, part)
            parts.append(part)
        return ColumnMap.joined(columns.n_inputs, parts)


def branches(step: Any) -> list[tuple[str, list[Step], list[int]]]:
    """Return the names, steps and columns of the branches of a fitted ColumnTransformer."""
    found = []
    names = {name for name, _, _ in step.transformers_}
    for name, branch, columns in step.transformers_:
        if isinstance(branch, str) and branch == "drop":
            continue
        if name == "remainder":  # scikit-learn refuses its own name for a branch
            name = min({"rest", "rest_"} - names)
        if taken := _positions(step, columns):
            found.append((name, _chain(branch), taken))
    if not found:
        raise ValueError("a ColumnTransformer that drops all columns is not supported.")
    return found


def _chain(branch: Any) -> list[Step]:
    """Return the steps of a branch; scikit-learn fits "passthrough" as an empty function."""
    steps = [step for _, step in branch.steps] if type(branch) is Pipeline else [branch]
    return [
        step
        for step in steps
        if not (step is None or isinstance(step, str))
        and not (type(step) is FunctionTransformer and step.func is None)
    ]


def _positions(step: Any, columns: Any) -> list[int]:
    """Return the positions of the columns of a branch, which may be given in several ways."""
    if isinstance(columns, str | int):
        raise ValueError(
            f"a ColumnTransformer that takes the column {columns!r} as 1-D is not supported; give "
            f"the list [{columns!r}]."
        )
    n_inputs = step.n_features_in_
    if isinstance(columns, slice):
        names = list(getattr(step, "feature_names_in_", []))
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):  # by name, the last column included
            ends = [None if end is None else names.index(end) + k for k, end in enumerate(ends)]
        return [*range(n_inputs)][slice(ends[0], ends[1], columns.step)]
    given = np.asarray(columns)
    if given.dtype == bool:
        return [int(k) for k in np.flatnonzero(given)]
    if given.dtype.kind in "iu":
        return [int(k) % n_inputs for k in given]
    places = {name: k for k, name in enumerate(getattr(step, "feature_names_in_", []))}
    return [places[name] for name in given.tolist()]


def _joined(steps: list[Step]) -> Any:
    """Return the steps of a branch as one transformer."""
    if not steps:
        return "passthrough"
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def _sample(steps: list[Step], n_columns: int) -> list[Any]:
    """Return a row that a branch accepts."""
    for step in steps:
        if type(step) is OneHotEncoder:
            return [known[0] for known in step.categories_]
        if type(step) is SimpleImputer:
            return list(step.statistics_.tolist())
    return [0.0] * n_columns


KINDS: dict[str, Kind] = {
    kind.cls.__name__: kind for kind in (*SCALERS, Imputer(), Encoder(), Columns())
}
