"""Steps made of other steps: ColumnTransformer and FeatureUnion, whose branches are chains."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ..container import Array, Described, Entry, take
from ..strings import shape_of
from .fields import Header
from .kind import (
    Kind,
    Step,
    describe_steps,
    expected_steps,
    kind_of,
    lower_steps,
    restore_steps,
)
from .program import Program

# The memory of a column while a branch is restored: a value, and where it is used.
COLUMN_SIZE = 256

Branch = tuple[str, list[Step], list[int]]  # a name, a chain, and the columns it takes


@dataclass(frozen=True, eq=False)
class Composite(Kind):
    """Branches, each of which is a chain of steps for some of the columns."""

    def branches(self, step: Step) -> list[Branch]:
        """Return the branches of a fitted step."""
        raise NotImplementedError

    def joined(self, header: Header, branches: list[Branch], widths: list[int], n: int) -> Step:
        """Return the fitted step of branches that make so many columns, of n columns."""
        raise NotImplementedError

    def check(self, step: Step) -> None:
        """Refuse weights, and a branch that takes a column twice."""
        if step.transformer_weights is not None:
            raise ValueError(
                f"a {self.cls.__name__} with transformer_weights is not supported. Leave them out, "
                "or end each branch with a scaler."
            )
        for name, _, columns in self.branches(step):
            if len(set(columns)) < len(columns):
                raise ValueError(
                    f"a {self.cls.__name__} whose branch {name!r} takes a column twice is not "
                    "supported. Use two branches."
                )

    def describe(self, step: Any) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted step."""
        header: Header = {"kind": self.cls.__name__, "branches": []}
        arrays: dict[str, Array] = {}
        for k, (name, branch, columns) in enumerate(self.branches(step)):
            headers, learnt = describe_steps(branch)
            header["branches"].append({"name": name, "steps": headers})
            arrays[f"{k}.columns"] = np.array(columns, dtype=np.int64)
            arrays |= {f"{k}.{name}": array for name, array in learnt.items()}
        return header, arrays

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        found: dict[str, Described] = {}
        n_outputs = n_bytes = 0
        names = [take(branch, "name", str) for branch in take(header, "branches", list)]
        if not names or len(set(names)) < len(names) or any("__" in name for name in names):
            raise ValueError(f"the branches of its {self.cls.__name__} have no names of their own.")
        for k, branch in enumerate(header["branches"]):
            at = f"{prefix}{k}."
            (n_columns,) = shape_of(entries, f"{at}columns", 1)
            steps = take(branch, "steps", list)
            more, n_made, size = expected_steps(steps, at, entries, n_columns)
            found |= more | {f"{at}columns": ("int64", (n_columns,))}
            n_outputs, n_bytes = n_outputs + n_made, n_bytes + size + COLUMN_SIZE * n_columns
        return found, n_outputs, n_bytes

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Any:
        """Return the fitted step of a header and arrays whose shapes have been checked."""
        branches: list[Branch] = []
        widths = []
        for k, branch in enumerate(header["branches"]):
            at = f"{prefix}{k}."
            columns = arrays[f"{at}columns"].tolist()
            if not columns or not all(0 <= column < n_inputs for column in columns):
                raise ValueError(f"its {self.cls.__name__} takes columns outside of {n_inputs}.")
            if len(set(columns)) < len(columns):
                raise ValueError(f"a branch of its {self.cls.__name__} takes a column twice.")
            steps, width = restore_steps(branch["steps"], at, arrays, len(columns))
            branches.append((branch["name"], steps, columns))
            widths.append(width)
        return self.joined(header, branches, widths, n_inputs)

    def lower(self, step: Any, program: Program) -> None:
        """Add the branches."""

        def of(branch: list[Step]) -> Callable[[Program], None]:
            return lambda part: lower_steps(branch, part)

        program.join([(columns, of(branch)) for _, branch, columns in self.branches(step)])


@dataclass(frozen=True, eq=False)
class Columns(Composite):
    """`ColumnTransformer`."""

    def branches(self, step: Step) -> list[Branch]:
        """Return the branches that take any columns; what remains is a branch, too."""
        found = []
        names = {name for name, _, _ in step.transformers_}
        for name, branch, columns in step.transformers_:
            if isinstance(branch, str) and branch == "drop":
                continue
            if name == "remainder":  # scikit-learn refuses its own name for a branch
                name = min({"rest", "rest_"} - names)
            if taken := _positions(step, columns):
                found.append((name, flat(branch), taken))
        if not found:
            raise ValueError("a ColumnTransformer that drops all columns is not supported.")
        return found

    def describe(self, step: Any) -> tuple[Header, dict[str, Array]]:
        """Return whether the result is sparse, too."""
        header, arrays = super().describe(step)
        header["sparse_threshold"] = float(step.sparse_threshold)
        header["sparse_output"] = bool(step.sparse_output_)
        return header, arrays

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check whether the result is sparse, too."""
        take(header, "sparse_threshold", float)
        take(header, "sparse_output", bool)
        return super().expected(header, prefix, entries, n_inputs)

    def joined(self, header: Header, branches: list[Branch], widths: list[int], n: int) -> Step:
        """Return a transformer that is fitted with stand-ins of the branches."""
        stand_ins = [
            (name, _StandIn(width) if steps else "passthrough", columns)
            for (name, steps, columns), width in zip(branches, widths, strict=True)
        ]
        step = ColumnTransformer(stand_ins, sparse_threshold=header["sparse_threshold"])
        step.fit(np.zeros((1, n)))
        real = {name: _chain(steps) for name, steps, _ in branches if steps}
        step.transformers = [(name, real.get(name, one), at) for name, one, at in stand_ins]
        step.transformers_ = [
            (name, real.get(name, one), at) for name, one, at in step.transformers_
        ]
        step.sparse_output_ = header["sparse_output"]
        return step


@dataclass(frozen=True, eq=False)
class Union(Composite):
    """`FeatureUnion`, whose branches take all columns."""

    def branches(self, step: Step) -> list[Branch]:
        """Return the branches that are not dropped."""
        # scikit-learn takes the number of columns from the first branch.
        if not hasattr(step, "n_features_in_"):
            raise ValueError(
                "a FeatureUnion whose first branch is dropped is not supported. Leave it out."
            )
        columns = [*range(step.n_features_in_)]
        return [(name, flat(one), columns) for name, one in step.transformer_list if one != "drop"]

    def joined(self, header: Header, branches: list[Branch], widths: list[int], n: int) -> Step:
        """Return the union; it has learnt nothing itself."""
        if any(columns != [*range(n)] for _, _, columns in branches):
            raise ValueError("a branch of its FeatureUnion does not take all columns.")
        identity = FunctionTransformer(feature_names_out="one-to-one").fit(np.zeros((1, n)))
        return FeatureUnion([(name, _chain(steps) or identity) for name, steps, _ in branches])


class _StandIn(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A branch that makes so many columns of anything."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> "_StandIn":
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        return np.zeros((len(X), self.width))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def set_names(step: Step, names: NDArray[Any] | None) -> None:
    """Set the names of the columns in all steps that receive them; None removes them."""
    kind = kind_of(step)
    if not isinstance(kind, Union):  # which takes them from its first branch
        if names is not None:
            step.feature_names_in_ = names
        else:
            step.__dict__.pop("feature_names_in_", None)
    if isinstance(kind, Composite):
        for _, branch, columns in kind.branches(step):
            if branch:
                set_names(branch[0], None if names is None else names[columns])


def flat(step: Any) -> list[Step]:
    """Return the steps of a transformer or a pipeline, without those that change nothing.

    scikit-learn fits "passthrough" as an empty function.
    """
    if type(step) is Pipeline:
        return [each for _, part in step.steps for each in flat(part)]
    is_empty = type(step) is FunctionTransformer and step.func is None
    return [] if step is None or isinstance(step, str) or is_empty else [step]


def _chain(steps: list[Step]) -> Any:
    """Return steps as one transformer."""
    return steps[0] if len(steps) == 1 else make_pipeline(*steps) if steps else None


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


COMPOSITES = (Columns(ColumnTransformer), Union(FeatureUnion))
