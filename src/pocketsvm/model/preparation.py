"""Preparation: the steps that are applied to rows before the kernel.

A model has a chain of steps, `Model.preparation`: fitted transformers of scikit-learn that impute,
encode and scale. In scikit-learn, the same chain is a `Pipeline` that ends with an estimator, which
`split` takes apart and `join` puts together. A file keeps each step with all that it has learnt;
`steps` has the kinds of steps. Exports write `Preparation.program` instead, what the whole chain
does to a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._cached import cached_property
from .container import Array, Described, Entry, take
from .steps.composite import COLUMN_SIZE, Composite, flat, set_names
from .steps.fields import Header
from .steps.kind import (
    KINDS,
    Step,
    describe_steps,
    expected_steps,
    lower_steps,
    restore_steps,
)
from .steps.program import Inputs, Program

# The names of the steps in a pipeline that comes from a file; other steps are "scale".
NAMES = {
    "ColumnTransformer": "columns",
    "FeatureUnion": "union",
    "SimpleImputer": "impute",
    "OneHotEncoder": "one_hot",
    "OrdinalEncoder": "ordinal",
    "PCA": "pca",
    "TruncatedSVD": "svd",
    "PowerTransformer": "power",
    "QuantileTransformer": "quantiles",
}


@dataclass(frozen=True, eq=False)
class Preparation:
    """A chain of fitted transformers.

    Attributes
    ----------
    steps : tuple of transformers
        Transformers of the kinds in `pocketsvm.model.steps`, in their order.

    n_features : int
        The number of columns of rows before the first step.
    """

    steps: tuple[Step, ...]
    n_features: int

    @classmethod
    def of(cls, steps: Sequence[Step]) -> "Preparation":
        """Return the chain of some fitted transformers; refuse one that a file cannot keep."""
        for step in steps:
            check_is_fitted(step)
        found = cls(tuple(steps), int(steps[0].n_features_in_))
        found.program.inputs.check()
        return found

    @cached_property
    def program(self) -> Program:
        """What the chain does to a row."""
        return self.lowered(Inputs(self.n_features))

    def lowered(self, inputs: Inputs) -> Program:
        """Return what the chain does to a row whose columns other programs read, too."""
        program = Program.of(self.n_features, inputs)
        lower_steps(self.steps, program)
        program.finish()
        return program

    def describe(self) -> tuple[Header, dict[str, Array]]:
        """Return the chain as values and arrays of a file."""
        headers, arrays = describe_steps(self.steps)
        return {"n_features": self.n_features, "steps": headers}, arrays

    @classmethod
    def restore(
        cls, values: Header, prefix: str, arrays: Mapping[str, Array], n_features: int
    ) -> "Preparation":
        """Return the chain of a file; n_features is the default for older files."""
        n_inputs = values.get("n_features", n_features)
        steps, _ = restore_steps(values["steps"], prefix, arrays, n_inputs)
        return cls.of(steps)

    def set_names(self, names: NDArray[Any] | None) -> None:
        """Set the names of the features in all steps that receive them; None removes them."""
        set_names(self.steps[0], names)

    def outline(self) -> list[str]:
        """Return the names of the steps; each branch of a ColumnTransformer is one step."""
        found = []
        for step in self.steps:
            kind = KINDS[type(step).__name__]
            if not isinstance(kind, Composite):
                found.append(type(step).__name__)
                continue
            for name, chain, columns in kind.branches(step):
                names = " + ".join(type(each).__name__ for each in chain) or "unchanged"
                found.append(f"{name} ({len(columns):,} features): {names}")
        return found


def expected(
    values: Any, prefix: str, entries: Mapping[str, Entry], n_features: int
) -> tuple[dict[str, Described], int, int]:
    """Check the values of a chain before any array is read.

    Returns the arrays that it needs, the number of columns of rows before it, and the bytes that
    it takes besides. The kernel receives n_features columns.
    """
    steps = take(values, "steps", list)
    n_inputs = take(values, "n_features", int) if "n_features" in values else n_features
    found, n_columns, n_bytes = expected_steps(steps, prefix, entries, n_inputs)
    if steps and n_columns != n_features:
        raise ValueError(
            f"its preparation makes {n_columns} columns, and its vectors have {n_features}."
        )
    if n_inputs < 1:
        raise ValueError(f"its preparation takes rows of {str(n_inputs)[:100]} columns.")
    return found, n_inputs, n_bytes + (COLUMN_SIZE * n_inputs if steps else 0)


def split(estimator: Any) -> tuple[tuple[Step, ...], Any]:
    """Return the transformers and the last step of an estimator that may be a pipeline.

    Pipelines inside a pipeline become part of it.
    """
    if type(estimator) is not Pipeline:
        return (), estimator
    *transformers, (_, last) = estimator.steps
    steps, machine = split(last)
    return (*(step for _, one in transformers for step in flat(one)), *steps), machine


def join(steps: Sequence[Step], machine: Any) -> Any:
    """Return a pipeline of transformers and an estimator, or the estimator if there are none."""
    if not steps:
        return machine
    names: list[str] = []
    for step in steps:
        name = NAMES.get(type(step).__name__, "scale")
        names.append(f"{name}_{len(names) + 1}" if name in names else name)
    return Pipeline([*zip(names, steps, strict=True), ("svm", machine)])
