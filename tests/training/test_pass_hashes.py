"""The passes find, bit for bit, the states whose hashes are stored in `pass_hashes.json`.

A change that fails here changes what users get from the same seed. The bits depend on the
instruction set, and each one has its own hashes; the environment variable
POCKETSVM_INSTRUCTION_SET chooses one. To write the hashes of all instruction sets of this machine
anew, run

    .venv/bin/python tests/training/test_pass_hashes.py
"""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR, _core

FILE = Path(__file__).with_name("pass_hashes.json")
STORED = json.loads(FILE.read_text()) if FILE.exists() else {}
INSTRUCTION_SET = _core.instruction_set()

STATE = ("vectors", "coefficients", "births", "bias", "steps", "weight", "generator")


# --- data ----------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Rows with all that they may have."""

    X: Any
    y: Any
    weight: Any = None
    qid: Any = None

    def take(self, rows):
        return Data(*(None if values is None else values[rows] for values in self))


class Batches:
    """A data set of three batches."""

    def __init__(self, data):
        self.data = data

    def batches(self):
        n_rows = self.data.X.shape[0]
        for begin in range(0, n_rows, n_rows // 3 + 1):
            yield tuple(self.data.take(slice(begin, begin + n_rows // 3 + 1)))


def uniform(seed, *shape):
    """Return numbers in [-1, 1) from random bits, which are the same in all versions of NumPy."""
    bits = np.random.default_rng(seed).bit_generator.random_raw(math.prod(shape)) >> np.uint64(11)
    return bits.reshape(shape) * 2.0**-52 - 1


def classes(values):
    """Return three classes; about 3 % of the rows are of the last one."""
    return np.searchsorted([0.25, 2.25], values)


# Each task has an estimator, its parameters, and targets that are made of two values for each row.
TASKS = {
    "two classes": (BudgetedSVC, {"C": 0.25}, lambda a, b: np.where(a > 0.25, "yes", "no")),
    "three classes": (BudgetedSVC, {"C": 0.25}, lambda a, b: classes(a)),
    "regression": (BudgetedSVR, {"C": 0.25}, lambda a, b: a),
    "two targets": (BudgetedSVR, {"C": 0.25}, lambda a, b: np.column_stack([a, b])),
    "two quantiles": (
        BudgetedSVR,
        {"C": 0.25, "loss": "quantile", "quantile": [0.25, 0.75]},
        lambda a, b: a,
    ),
    "novelty": (BudgetedOneClassSVM, {"nu": 0.25}, lambda a, b: np.zeros(len(a))),
    "ranking": (BudgetedRanker, {"C": 0.25}, lambda a, b: classes(a)),
}
LAYOUTS = {"dense": np.ascontiguousarray, "csr": sp.csr_array}
# The type of the given rows, and the offset of a feature. With 64, they are kept in float64.
KEPT_DTYPES = ("float32", "float64")
DTYPES = {"float32": ("float32", 0), "float64": ("float64", 64), "narrowed": ("float64", 0)}


def make_data(case, dtype):
    """Return rows with some zeros, without functions whose rounding depends on the machine."""
    X = 2 * uniform(0, case.n_rows, 5)
    X[uniform(1, case.n_rows, 5) < -0.25] = 0
    a = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * uniform(2, case.n_rows)
    y = TASKS[case.task][2](a, X[:, 3] * X[:, 3] - X[:, 4])
    qid = np.arange(case.n_rows) // 10 if case.task == "ranking" else None
    weight = None
    if case.weighted:
        weight = np.floor(4 * uniform(3, case.n_rows) + 4) / 4  # from 0 to 7 / 4
        weight = weight if qid is None else weight[qid]
    name, offset = DTYPES[dtype]
    X[:, 0] += offset
    return Data(LAYOUTS[case.layout](X.astype(name)), y, weight, qid)


# --- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An estimator, and the calls that give it rows.

    Calls are "fit"; "batches", which is `fit` on a data set; and "partial_fit" on a half of the
    rows. Rows of the last call may have another type.
    """

    task: str
    calls: tuple[str, ...] = ("fit",)
    layout: str = "dense"
    dtype: str = "float32"
    last_dtype: str | None = None
    n_rows: int = 150
    weighted: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        dtypes = self.dtype if self.last_dtype is None else f"{self.dtype} {self.last_dtype}"
        parts = [self.task, " ".join(self.calls), self.layout, dtypes]
        parts += [f"{self.n_rows} rows"] * (self.n_rows != 150) + ["weighted"] * self.weighted
        return ", ".join(parts + [f"{name}={value}" for name, value in self.parameters.items()])

    def fitted(self):
        estimator, parameters, _ = TASKS[self.task]
        parameters = {"budget": 8, "gamma": 0.5, "max_iter": 3, "random_state": 0} | parameters
        parameters |= {"warm_start": len(self.calls) > 1} | self.parameters
        if parameters["random_state"] == "shared":
            parameters["random_state"] = np.random.RandomState(0)
        model = estimator(**parameters)
        dtypes = [self.dtype] * (len(self.calls) - 1) + [self.last_dtype or self.dtype]
        for k, (method, dtype) in enumerate(zip(self.calls, dtypes, strict=True)):
            self._call(model, method, make_data(self, dtype), k)
        return model

    def _call(self, model, method, data, number):
        if method == "batches":
            model.fit(Batches(data))
            return
        named = {}
        if method == "partial_fit":
            if isinstance(model, BudgetedSVC):
                named["classes"] = np.unique(data.y)
            data = data.take(slice(number % 2, None, 2))
        if data.qid is not None:
            named["qid"] = data.qid
        getattr(model, method)(data.X, data.y, sample_weight=data.weight, **named)


FIT, BATCHES, STREAM = ("fit",), ("batches",), ("partial_fit", "partial_fit")
UNPOLISHED = {"polish": False}
ROWS_PER_VECTOR = 600  # passes see at most 512


def of_strategies():
    """All strategies: with all tasks, layouts and types, and with continued training."""
    for strategy in _core.strategies():
        parameters = UNPOLISHED | {"maintenance": strategy}
        for task, layout, dtype in product(TASKS, LAYOUTS, KEPT_DTYPES):
            yield Case(task, FIT, layout, dtype, parameters=parameters)
        for task in TASKS:
            yield Case(task, FIT * 2, parameters=parameters)
            yield Case(task, STREAM, parameters=parameters)


def of_calls():
    """Polished fits, data sets and continued training."""
    for task, layout, dtype in product(TASKS, LAYOUTS, KEPT_DTYPES):
        for calls in (FIT, FIT * 2, STREAM, BATCHES):
            yield Case(task, calls, layout, dtype)
    for task in TASKS:
        yield Case(task, FIT, dtype="narrowed")
        yield Case(task, BATCHES, dtype="narrowed")
        yield Case(task, BATCHES * 2, parameters=UNPOLISHED)
        yield Case(task, FIT, parameters={"n_jobs": 2} | UNPOLISHED)
        for calls in (FIT * 2, FIT + STREAM[:1], STREAM):
            yield Case(task, calls, last_dtype="float64", parameters=UNPOLISHED)
            yield Case(task, calls, dtype="float64", last_dtype="float32", parameters=UNPOLISHED)


def of_samples():
    """Polished fits of so many rows that the passes see a sample; none of rankers."""
    for task, calls in product(TASKS, (FIT, BATCHES)):
        small = {"budget": 6 if task == "three classes" else 4}
        n_rows = small["budget"] * (100 if task == "ranking" else ROWS_PER_VECTOR)
        for layout, dtype in (("dense", "float32"), ("csr", "float64")):
            yield Case(task, calls, layout, dtype, n_rows=n_rows, parameters=small)
        yield Case(task, calls, n_rows=n_rows, weighted=True, parameters=small)
        yield Case(task, calls, n_rows=n_rows, parameters=small | {"n_jobs": 2})
        yield Case(task, calls, n_rows=n_rows, parameters=small | {"gamma": "scale"})
        shared = small | {"random_state": "shared"}
        yield Case(task, calls * 2, n_rows=n_rows, parameters=shared)


def of_weights():
    """Weights of rows, some of them zero, and of classes."""
    for task, calls in product(TASKS, (FIT, BATCHES, FIT * 2, STREAM)):
        yield Case(task, calls, weighted=True, parameters=UNPOLISHED)
    for task, class_weight in (
        ("two classes", {"yes": 4.0}),
        ("two classes", "balanced"),
        ("three classes", {1: 0.5, 2: 8.0}),
        ("three classes", {0: 1.0, 1: 2.0, 2: 0.0}),
        ("three classes", "balanced"),
    ):
        parameters = {"class_weight": class_weight}
        for calls, weighted in product((FIT, BATCHES), (False, True)):
            yield Case(task, calls, weighted=weighted, parameters=parameters)
            yield Case(task, calls, weighted=weighted, parameters=parameters | UNPOLISHED)
            small = parameters | {"budget": 6}
            n_rows = 6 * ROWS_PER_VECTOR
            yield Case(task, calls, n_rows=n_rows, weighted=weighted, parameters=small)
        if class_weight != "balanced":
            yield Case(task, STREAM, weighted=True, parameters=parameters)


def of_parameters():
    """Losses and other parameters that the passes depend on."""
    for task, name, value in (
        ("two classes", "loss", "squared_hinge"),
        ("two classes", "loss", "log_loss"),
        ("two classes", "fit_intercept", False),
        ("two classes", "alpha", 0.001),
        ("three classes", "loss", "log_loss"),
        ("regression", "loss", "squared_error"),
        ("regression", "loss", "huber"),
        ("regression", "loss", "quantile"),
        ("regression", "fit_intercept", False),
        ("two targets", "loss", "squared_error"),
        ("novelty", "nu", 0.5),
    ):
        for calls, polish in product((FIT, BATCHES), (True, False)):
            yield Case(task, calls, parameters={name: value, "polish": polish})
        yield Case(task, STREAM, parameters={name: value})
    for task in TASKS:
        for gamma, calls in product(("scale", "auto"), (FIT, BATCHES, STREAM)):
            yield Case(task, calls, parameters=UNPOLISHED | {"gamma": gamma})
        yield Case(task, STREAM, parameters={"half_life": 50.0})
        yield Case(task, FIT, parameters={"max_iter": 20})
        yield Case(task, FIT, parameters={"budget": 300})  # more than there are rows
        yield Case(task, BATCHES, parameters={"budget": 300})


def is_exact(case):
    """Tell whether the estimators can do it, with the same bits on all machines.

    A data set has one target only. The lambda of novelty detection is a sum that the library of
    linear algebra rounds, and a second fit to other rows multiplies by the quotient of both.
    """
    if case.task == "novelty" and case.calls in (FIT * 2, BATCHES * 2):
        return case.last_dtype is None and "random_state" not in case.parameters
    return case.task != "two targets" or "batches" not in case.calls


CASES = {
    str(case): case
    for cases in (of_strategies, of_calls, of_samples, of_weights, of_parameters)
    for case in cases()
    if is_exact(case)
}


# --- hashes --------------------------------------------------------------------------------------


def states_of(case):
    """Return the states that the passes of a case find, in the precision that it is about."""
    states = case.fitted().to_model().training.vectors.states
    kept = "float64" if "float64" in (case.dtype, case.last_dtype) else "float32"
    assert {str(state.vectors.dtype) for state in states} == {kept}
    return states


def pass_hash(case):
    digest = blake2b(digest_size=8)
    for state in states_of(case):
        for name in STATE:
            values = np.asarray(getattr(state, name))
            digest.update(f"{name} {values.dtype.str} {values.shape} ".encode())
            digest.update(values.tobytes())
    return digest.hexdigest()


pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        INSTRUCTION_SET not in STORED,
        reason=f"no hashes are stored for the instruction set {INSTRUCTION_SET}",
    ),
]


def test_each_case_has_a_hash():
    assert list(STORED[INSTRUCTION_SET]) == list(CASES)


@pytest.mark.parametrize("name", CASES, ids=list(CASES))
def test_passes_find_the_same_bits(name):
    assert pass_hash(CASES[name]) == STORED[INSTRUCTION_SET][name]


def write():
    """Write the hashes of all instruction sets of this machine, each from its own process."""
    for name in reversed(_core.instruction_sets()):
        command = [sys.executable, "-W", "ignore", __file__, "print"]
        environment = os.environ | {"POCKETSVM_INSTRUCTION_SET": name}
        shown = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        STORED[name] = json.loads(shown.stdout)
    FILE.write_text(json.dumps(STORED, indent=0) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["print"]:
        print(json.dumps({name: pass_hash(case) for name, case in CASES.items()}))
    else:
        write()
