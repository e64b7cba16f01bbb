"""Fuzz the reader of model files: whatever a file holds, it is refused or gives a model.

    python tools/fuzz_models.py SECONDS [FOLDER]

Changes headers and arrays of the golden files, and puts right lengths and checksums around most of
them, so that the reader does not stop there. A file must be refused with a ValueError, or give an
estimator that predicts finite numbers and can be saved and loaded again. With Atheris, the inputs
that reach new code are changed further. FOLDER (default: build/fuzz) keeps the file that fails.
"""

import hashlib
import inspect
import json
import random
import shutil
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from pocketsvm import load_model, save_model
from pocketsvm.model.calibrated import Calibrated, unfrozen
from pocketsvm.model.container import CHECKSUM_SIZE, MAGIC, PREFIX
from pocketsvm.model.export.common import Exportable
from pocketsvm.model.preparation import join, split

try:
    import atheris
except ImportError:
    atheris = None

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
MAX_BYTES = 2**24
MAX_INPUT = 2**14
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, -(2**63), 10**400),
    *(0.0, -1.0, 0.5, 1e-320, 1e308, float("inf"), float("nan"), "", "x", "float64", "int8"),
    *([], {}, [0], [1, 1], [2**40, 2**40], [[]], {"pairs": [[1, 2]]}, "\ud800", "\x1b[31m"),
)
NUMBERS = {
    "f": (0.0, -0.0, 1.0, -1.0, 1e-45, 1e30, 3e38, 1e308, np.inf, -np.inf, np.nan),
    "i": (0, 1, -1, 2**31, 2**62, 2**63 - 1, -(2**63)),
    "u": (0, 1, 255, 2**63, 2**64 - 1),
}


# What the changes raise if a file has been changed before.
REFUSED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
REFUSED += (struct.error,)


# --- changes --------------------------------------------------------------------------------------


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Change a file: its bytes, or what they mean."""
    if rng.random() < 0.1:
        return _bytes(content, rng)
    try:
        _, version, length, _ = PREFIX.unpack_from(content)
        text = content[PREFIX.size : PREFIX.size + length]
        header, body = json.loads(text), bytearray(content[PREFIX.size + length : -CHECKSUM_SIZE])
        for _ in range(rng.randint(1, 3)):
            change = rng.choice((_value, _value, _number, _number, _text))
            header, body = change(header, body, rng)
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
    except REFUSED:
        return _bytes(content, rng)
    if rng.random() < 0.02:
        version = rng.choice((0, 2, 4, 2**32 - 1))
    return closed(version, text, bytes(body))


def closed(version: int, text: bytes, body: bytes) -> bytes:
    """Return a file with right lengths and checksum."""
    length = PREFIX.size + len(text) + len(body) + CHECKSUM_SIZE
    content = PREFIX.pack(MAGIC, version, len(text), length) + text + body
    return content + hashlib.sha256(content).digest()


def _bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(changed) + 1)
        if rng.random() < 0.5 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif rng.random() < 0.5:
            del changed[at : at + rng.randint(1, 16)]
        else:
            changed[at:at] = rng.randbytes(rng.randint(1, 16))
    return bytes(changed)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return all (container, key) in a tree of JSON."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found = []
    for key, value in items:
        found.append((tree, key))
        if isinstance(value, dict | list):
            found += _places(value)
    return found


def _value(header: Any, body: bytearray, rng: random.Random) -> tuple[Any, bytearray]:
    """Replace, remove, rename or copy a value of the header."""
    places = _places(header)
    container, key = rng.choice(places)
    other, other_key = rng.choice(places)
    kind = rng.random()
    if kind < 0.6:
        container[key] = rng.choice(VALUES)
    elif kind < 0.7:
        del container[key]
    elif kind < 0.8 and isinstance(container, dict):
        container[rng.choice(("", "x", str(other_key)))] = container.pop(key)
    elif kind < 0.9 and isinstance(container[key], int):
        container[key] += rng.choice((-8, -1, 1, 8))
    else:
        container[key] = json.loads(json.dumps(other[other_key]))
    return header, body


def _number(header: Any, body: bytearray, rng: random.Random) -> tuple[Any, bytearray]:
    """Replace a number of an array."""
    described = rng.choice(list(header["arrays"].values()))
    dtype = np.dtype(described["dtype"])
    count = int(np.prod(described["shape"]))
    at = described["offset"] + dtype.itemsize * rng.randrange(max(count, 1))
    with np.errstate(all="ignore"):
        number = np.array(rng.choice(NUMBERS.get(dtype.kind, (0, 1))))
        body[at : at + dtype.itemsize] = number.astype(dtype).tobytes()
    return header, body


def _text(header: Any, body: bytearray, rng: random.Random) -> tuple[Any, bytearray]:
    """Change the bytes of the header or of the arrays."""
    if rng.random() < 0.5:
        return _bytes(json.dumps(header).encode(), rng), body
    return header, bytearray(_bytes(bytes(body), rng))


# --- the target -----------------------------------------------------------------------------------


class Target:
    """Reads inputs as model files; raises whatever is not a refusal."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._again = folder / "latest.psvm", folder / "again.psvm"
        self.n_inputs = self.n_models = 0

    def __call__(self, content: bytes) -> None:
        """Read one input."""
        self.n_inputs += 1
        self._path.write_bytes(content)
        try:
            estimator = load_model(self._path, max_bytes=MAX_BYTES)
        except ValueError as refusal:
            if str(self._path) not in str(refusal):
                raise RuntimeError("the message does not name the file") from refusal
            return
        self.n_models += 1
        X = _rows(estimator)
        if not all(_accepts(member, X) for member in _members(estimator)):
            return
        if Calibrated.of(estimator):
            values = estimator.predict_proba(X)
        else:
            values = getattr(estimator, "decision_function", estimator.predict)(X)
        if not np.isfinite(values).all():
            raise RuntimeError("a decision value is not finite")
        estimator.predict(X)
        save_model(estimator, self._again)
        load_model(self._again)


def _members(estimator: Any) -> list[Any]:
    """Return the pipelines or machines that an estimator is made of."""
    steps, machine = split(estimator)
    if type(machine) is not CalibratedClassifierCV:
        return [estimator]
    inner = [unfrozen(pair.estimator) for pair in machine.calibrated_classifiers_]
    return [join((*steps, *split(one)[0]), split(one)[1]) for one in inner]


def _accepts(estimator: Any, X: Any) -> bool:
    """Tell whether rows pass a pipeline: a step may refuse them, or a scale be close to zero."""
    if not isinstance(estimator, Pipeline):
        return True
    try:
        with np.errstate(all="ignore"):
            prepared = estimator[:-1].transform(X)
    except ValueError:
        return False
    return bool(np.isfinite(prepared.data if sp.issparse(prepared) else prepared).all())


def _rows(estimator: Any) -> Any:
    """Return three rows for a model: numbers, and known texts in columns of text."""
    X = pd.DataFrame(np.linspace(-2, 2, 3 * estimator.n_features_in_).reshape(3, -1))
    inputs = Exportable.of(estimator).inputs
    for column, texts in inputs.texts.items():
        X[column] = pd.Series([texts[k % len(texts)] for k in range(3)], dtype=object)
    names = getattr(estimator, "feature_names_in_", None)
    # scikit-learn refuses tables in which a name occurs twice.
    has_names = names is not None and len(set(names)) == len(names)
    return X.set_axis(names, axis=1) if has_names else X.to_numpy()


def fuzz_with_atheris(target: Target, seconds: float, folder: Path) -> None:
    """Let libFuzzer choose inputs by the code that they reach."""
    corpus = folder / "models"
    corpus.mkdir(exist_ok=True)
    for path in GOLDEN.rglob("*.psvm"):
        shutil.copy(path, corpus)
    for name, module in list(sys.modules.items()):
        if name.startswith(("pocketsvm.model", "pocketsvm.estimators")):
            for function in vars(module).values():
                # Import hooks do not see the modules of an editable installation.
                if inspect.isfunction(function) and function.__module__ == name:
                    atheris.instrument_func(function)

    def mutator(data: bytes, max_size: int, seed: int) -> bytes:
        changed = mutate(data, random.Random(seed))
        return changed if len(changed) <= max_size else data[:max_size]

    options = [f"-max_total_time={seconds:g}", f"-max_len={MAX_INPUT}", "-timeout=20"]
    options += [f"-artifact_prefix={folder}/", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *options], target, custom_mutator=mutator)
    atheris.Fuzz()


def fuzz_alone(target: Target, seconds: float) -> None:
    """Change golden files at random."""
    files = [path.read_bytes() for path in sorted(GOLDEN.rglob("*.psvm"))]
    rng, end = random.Random(), time.monotonic() + seconds
    while time.monotonic() < end:
        target(mutate(rng.choice(files), rng))
    print(f"{target.n_inputs} files, {target.n_models} of them models, no failure")


def main() -> None:
    """Fuzz for so many seconds."""
    seconds = float(sys.argv[1])
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "build/fuzz")
    target = Target(folder)
    if atheris is None:
        fuzz_alone(target, seconds)
    else:
        fuzz_with_atheris(target, seconds, folder)


if __name__ == "__main__":
    main()
