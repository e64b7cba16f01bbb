"""A kind of step: how a file keeps a fitted transformer of scikit-learn, and what it computes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._sklearn import validate_parameters
from ..container import Array, Described, Entry, take
from .fields import Field, Header
from .program import Program

Step = Any  # a fitted transformer of scikit-learn

# Longer and deeper chains than anybody writes; each level adds two dots to the names of arrays.
MAX_STEPS, MAX_DOTS = 16, 20
DTYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
DTYPES += ("float32", "float64")
# JSON has no NaN.
NAN = {"number": "nan"}


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of step.

    Attributes
    ----------
    cls : type
        The class of scikit-learn.

    parameters, optional : tuple of str
        The parameters that a file keeps. It need not have the optional ones: those that are not
        there have their default.

    learnt : dict of str to Field
        The fitted attributes, without the underscore.
    """

    cls: type[Any]
    parameters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    learnt: dict[str, Field] = field(default_factory=dict)

    # --- what a kind overrides ---

    def check(self, step: Step) -> None:
        """Refuse a fitted step that a file cannot keep."""

    def values(self, step: Step) -> dict[str, Any]:
        """Return what a fitted step has learnt, by the names of its fields."""
        return {name: getattr(step, attribute(name), None) for name in self.learnt}

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return a fitted step; parameters have been checked, values have the right shapes."""
        step = self.cls(**parameters)
        for name in self.learnt:
            setattr(step, attribute(name), values.get(name))
        step.n_features_in_ = n_inputs
        return step

    def n_outputs(self, header: Header, sizes: Mapping[str, int]) -> int:
        """Return the number of columns after the step."""
        return sizes.get("outputs", sizes["inputs"])

    def lower(self, step: Step, program: Program) -> None:
        """Add what a fitted step does to a program."""
        raise NotImplementedError

    # --- the same for all kinds ---

    def describe(self, step: Step) -> tuple[Header, dict[str, Array]]:
        """Return the header and the arrays of a fitted step."""
        default = self.cls().get_params(deep=False)
        given = {name: getattr(step, name) for name in self.parameters + self.optional}
        kept = {
            name: _to_json(name, value)
            for name, value in given.items()
            if name in self.parameters or _to_json(name, value) != _to_json(name, default[name])
        }
        header: Header = {"kind": self.cls.__name__, "parameters": kept}
        arrays: dict[str, Array] = {}
        values = self.values(step)
        for name, each in self._present(given).items():
            more, packed = each.pack(name, values[name])
            header |= more
            arrays |= packed
        return header, arrays

    def expected(
        self, header: Any, prefix: str, entries: Mapping[str, Entry], n_inputs: int
    ) -> tuple[dict[str, Described], int, int]:
        """Check a header; return the arrays it needs, the columns it makes, and more bytes."""
        found: dict[str, Described] = {}
        sizes, n_bytes = {"inputs": n_inputs}, 0
        for name, each in self._present(self._parameters(header)).items():
            more, size = each.expected(name, header, prefix, entries, sizes)
            found |= more
            n_bytes += size
        return found, self.n_outputs(header, sizes), n_bytes

    def restore(
        self, header: Header, prefix: str, arrays: Mapping[str, Array], n_inputs: int
    ) -> Step:
        """Return the fitted step of a header and arrays whose shapes have been checked."""
        parameters = self._parameters(header)
        values = {
            name: each.unpack(name, header, prefix, arrays)
            for name, each in self._present(parameters).items()
        }
        step = self.restored(parameters, values, n_inputs)
        self.check(step)
        return step

    def _present(self, parameters: Mapping[str, Any]) -> dict[str, Field]:
        """Return the fields that a step with these parameters has."""
        return {
            name: each
            for name, each in self.learnt.items()
            if not each.when or any(parameters[need] for need in each.when)
        }

    def _parameters(self, header: Any) -> dict[str, Any]:
        """Check the parameters in a header; return all that a file may keep."""
        given = take(header, "parameters", dict)
        known = {*self.parameters, *self.optional}
        if not set(self.parameters) <= given.keys() <= known:
            raise ValueError(
                f"the parameters of its {self.cls.__name__} are {str(sorted(given))[:100]}."
            )
        default = self.cls().get_params(deep=False)
        checked = {name: _from_json(given, name, default[name]) for name in given}
        validate_parameters(self.cls(**checked))
        return {name: default[name] for name in known} | checked


def attribute(name: str) -> str:
    """Return the attribute of a transformer that a field keeps."""
    return "n_samples_seen_" if name == "n_rows" else f"{name}_"


def _to_json(name: str, value: Any) -> Any:
    """Return a parameter as JSON."""
    if name == "dtype":
        return np.dtype(value).name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list | np.ndarray):
        return [_to_json(f"a value of {name}", each) for each in value]
    if name == "random_state" and not isinstance(value, int):
        return None
    if isinstance(value, float) and math.isnan(value):
        return NAN
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"a file cannot keep {name}={value!r}.")
    return value


def _from_json(given: dict[str, Any], name: str, default: Any) -> Any:
    """Return a parameter of the type of its default, as far as that tells; the rest is checked."""
    value = given[name]
    if isinstance(default, bool):
        return take(given, name, bool)
    if isinstance(default, tuple):
        return _pair(take(given, name, list))
    if name == "dtype":
        if value not in DTYPES:
            raise ValueError(f"its encoder makes numbers of dtype {str(value)[:100]!r}.")
        return np.dtype(value).type
    if value == NAN:
        return math.nan
    if isinstance(value, list) and name == "drop":
        return [math.nan if each == NAN else each for each in value]
    if isinstance(value, dict | list):
        raise ValueError(f"{str(value)[:100]} is not a value of {name!r}.")
    return take(given, name, float) if isinstance(value, float) else value


def _pair(values: list[Any]) -> tuple[float, float]:
    if len(values) != 2 or not all(type(value) in (int, float) for value in values):
        raise ValueError("the range of its scaling is not a pair of numbers.")
    low, high = (take({"range": value}, "range", float) for value in values)
    if not low < high:
        raise ValueError("the range of its scaling is empty.")
    return low, high


# --- chains of steps ----------------------------------------------------------------------------

# All kinds by the name of their class; `pocketsvm.model.steps` fills it.
KINDS: dict[str, Kind] = {}


def kind_of(step: Step) -> Kind:
    """Return the kind of a transformer; refuse one that a file cannot keep."""
    kind = KINDS.get(type(step).__name__)
    if kind is None or kind.cls is not type(step):
        raise ValueError(
            f"a {type(step).__name__} cannot be kept in it. Supported before the estimator are "
            f"{', '.join(KINDS)}. Apply other transformers before training and prediction, and "
            "keep them in a file of their own."
        )
    return kind


def lower_steps(steps: Sequence[Step], program: Program) -> None:
    """Add what fitted steps do to a program; refuse steps that a file cannot keep."""
    for step in steps:
        kind = kind_of(step)
        kind.check(step)
        kind.lower(step, program)


def describe_steps(steps: Sequence[Step]) -> tuple[list[Header], dict[str, Array]]:
    """Return the headers and the arrays of fitted steps."""
    headers: list[Header] = []
    arrays: dict[str, Array] = {}
    for k, step in enumerate(steps):
        header, learnt = kind_of(step).describe(step)
        headers.append(header)
        arrays |= {f"{k}.{name}": array for name, array in learnt.items()}
    return headers, arrays


def expected_steps(
    steps: list[Any], prefix: str, entries: Mapping[str, Entry], n_columns: int
) -> tuple[dict[str, Described], int, int]:
    """Check headers; return the arrays they need, the columns they make, and more bytes."""
    if len(steps) > MAX_STEPS or prefix.count(".") > MAX_DOTS:
        raise ValueError(
            f"its preparation has {len(steps)} steps, or they are nested too deep; at most "
            f"{MAX_STEPS} are known."
        )
    found: dict[str, Described] = {}
    n_bytes = 0
    for k, header in enumerate(steps):
        kind = KINDS.get(take(header, "kind", str))
        if kind is None:
            raise ValueError(
                f"its preparation has a {header['kind'][:100]!r}, which this pocketsvm does not "
                "know. A newer pocketsvm may read it."
            )
        more, n_columns, size = kind.expected(header, f"{prefix}{k}.", entries, n_columns)
        found |= more
        n_bytes += size
    return found, n_columns, n_bytes


def restore_steps(
    headers: list[Header], prefix: str, arrays: Mapping[str, Array], n_columns: int
) -> tuple[list[Step], int]:
    """Return fitted steps, and the number of columns that they make."""
    steps = []
    program = Program.of(n_columns)
    for k, header in enumerate(headers):
        kind = KINDS[header["kind"]]
        step = kind.restore(header, f"{prefix}{k}.", arrays, program.n_outputs)
        kind.lower(step, program)
        steps.append(step)
    return steps, program.n_outputs
