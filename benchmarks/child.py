"""Measurements in a process of their own: with another instruction set, or of the peak memory.

``python -m benchmarks.child FUNCTION JSON-ARGUMENTS`` prints the result as JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from pocketsvm import _core
from pocketsvm.estimators import BudgetedSVC
from pocketsvm.files.svmlight import load_svmlight
from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.datasets.registry import named
from pocketsvm.paper.toolkit.measure import one_thread, timed
from pocketsvm.rows.opening import open_dataset

from .datasets.generated import many_classes, noisy_shell
from .measure import fastest, peak_memory

ROOT = Path(__file__).parents[1]  # the folder of this package
GAMMA = named("SUSY").gamma
SQUARES = (128, 192, 256, 384)  # sizes of matrices that fit into the second-level cache, or nearly
PRODUCTS = 20  # of matrices in one measurement
WARM_UP_ROWS = 20_000
TEST_ROWS = 100_000


def call(
    function: str,
    environment: dict[str, str] | None = None,
    **arguments: Any,
) -> Any:
    """Call a function of this module in a process of its own."""
    return call_in(__name__, function, environment, **arguments)


def call_in(
    module: str, function: str, environment: dict[str, str] | None = None, **arguments: Any
) -> Any:
    """Call a function of another module in a process of its own."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", module, function, json.dumps(arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def passes_only(budget: int, **parameters: Any) -> BudgetedSVC:
    """Make an estimator without polishing, to measure the passes alone."""
    return BudgetedSVC(budget, **{"polish": False, "random_state": 0, **parameters})


def decision_rate(n_rows: int, n_features: int, budget: int, rounds: int) -> dict[str, Any]:
    """Return seconds per row of decision_function, and operations per second of sgemm."""
    X, y = susy_like(n_rows, n_features, SUSY_SHARPNESS)
    model = passes_only(budget, gamma=GAMMA, max_iter=1).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    assert len(model.support_vectors_) == budget
    random = np.random.default_rng(0)
    squares = {size: random.random((size, size), np.float32) for size in SQUARES}
    calls: dict[int, Any] = {
        size: (lambda a=a: [a @ a for _ in range(PRODUCTS)]) for size, a in squares.items()
    }
    calls[0] = lambda: model.decision_function(X)
    with one_thread():
        runs = fastest(calls, rounds)
    return {
        "instruction_set": _core.instruction_set(),
        "seconds_per_row": runs[0].seconds / n_rows,
        "sgemm": max(PRODUCTS * 2 * size**3 / runs[size].seconds for size in SQUARES),
    }


def training_memory(n_rows: int, n_features: int, budget: int) -> dict[str, int]:
    """Return the bytes that fit adds to the peak resident size, which includes X and y."""
    X, y = susy_like(n_rows, n_features, SUSY_SHARPNESS)
    model = passes_only(budget, gamma=GAMMA, max_iter=1)
    # Threads, tables and modules stay in memory: they are created before the measurement.
    passes_only(50, gamma=GAMMA, max_iter=1).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    before = peak_memory()
    model.fit(X, y)
    return {"bytes": peak_memory() - before, "vectors": len(model.support_vectors_)}


def text_to_model(
    path: str, n_features: int, n_test: int, budget: int, polish: bool, n_jobs: int
) -> dict[str, Any]:
    """Train on LIBSVM text in one pass; return the time of each step, accuracy, peak memory."""

    def read() -> tuple[Any, Any]:
        X, y = load_svmlight(path, n_features, n_jobs=n_jobs)
        return X.toarray(), y

    reading = timed(read)
    X, y = reading.value
    model = BudgetedSVC(
        budget, gamma=GAMMA, max_iter=1, polish=polish, n_jobs=n_jobs, random_state=0
    )
    training = timed(lambda: model.fit(X, y))
    X_test, y_test = susy_like(n_test, n_features, SUSY_SHARPNESS, seed=1)
    return {
        "rows": X.shape[0],
        "reading": reading.seconds,
        "training": training.seconds,
        "accuracy": accuracy_score(y_test, model.predict(X_test)),
        "peak_bytes": peak_memory(),
    }


def _timed_fit(model: BudgetedSVC, X: Any, y: Any) -> tuple[float, float]:
    """Return the time of a fit, and that of its solving."""
    return timed(lambda: model.fit(X, y)).seconds, model.profile_.seconds_polish


def solving(
    data: str, n_rows: int, n_features: int, n_classes: int, budget: int, n_jobs: int, rounds: int
) -> dict[str, Any]:
    """Fit a model; return the time of the fit, of its solving and of decision_function, and memory.

    The fastest of some fits counts. Bytes are those that the first one adds to the peak resident
    size, which includes X and y; the digest is that of the model.
    """
    setting: dict[str, Any] = {"gamma": GAMMA, "max_iter": 1, "n_jobs": n_jobs, "random_state": 0}
    if data == "shell":
        X, y = noisy_shell(n_rows, n_features)
        setting |= {"C": 32.0, "gamma": 2.0**-5}
    elif data == "overlapping":
        X, y = susy_like(n_rows, n_features, SUSY_SHARPNESS)
    else:
        X, y = many_classes(n_rows, n_features, n_classes)
    BudgetedSVC(2 * n_classes, **setting).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    model = BudgetedSVC(budget, **setting)
    before = peak_memory()
    fits = [_timed_fit(model, X, y)]
    added = peak_memory() - before
    fits += [_timed_fit(model, X, y) for _ in range(rounds - 1)]
    fit, polishing = min(fits)
    deciding = fastest({"": lambda: model.decision_function(X)}, rounds)[""]
    return {
        "fit": fit,
        "solving": polishing,
        "deciding": deciding.seconds,
        "bytes": added,
        "digest": _digest(model),
        "accuracy": 100 * accuracy_score(y, model.predict(X)),
    }


# --- rows on disk and on a cluster ----------------------------------------------------------------


def fit_in_memory(paths: list[str], budget: int, n_jobs: int) -> dict[str, Any]:
    """Fit a model to the rows of Parquet or NumPy files, which are read first."""
    X, y = _rows_in_memory(paths)
    model = BudgetedSVC(budget, gamma=GAMMA, n_jobs=n_jobs, random_state=0)
    fit = timed_call(lambda: model.fit(X, y))
    return fitted(model) | fit | {"scans": None, "peak_bytes": peak_memory()}


def _rows_in_memory(paths: list[str]) -> tuple[Any, Any]:
    if paths[0].endswith(".npy"):
        X = np.concatenate([np.load(path) for path in paths])
        return X, np.concatenate([np.load(labels_beside(path)) for path in paths])
    import pyarrow.parquet as parquet

    parts = [parquet.read_table(path).to_pandas().to_numpy(np.float32) for path in paths]
    X = np.concatenate([part[:, :-1] for part in parts])
    return X, np.concatenate([part[:, -1] for part in parts])


def labels_beside(path: str) -> str:
    """Return the NumPy file with the labels of another one."""
    return path.removesuffix(".npy") + "-labels.npy"


def fit_on_disk(paths: list[str], budget: int, n_jobs: int) -> dict[str, Any]:
    """Fit a model to files; return also the time that pyarrow takes to read Parquet files."""
    model = BudgetedSVC(budget, gamma=GAMMA, n_jobs=n_jobs, random_state=0)
    rows = open_dataset(paths)
    fit = timed_call(lambda: model.fit(rows))
    peak = peak_memory()
    scan = timed_call(lambda: _scan(paths)) if paths[0].endswith(".parquet") else {}
    found = fitted(model) | fit | {f"scan_{name}": value for name, value in scan.items()}
    return found | {"scans": rows.n_scans, "peak_bytes": peak}


def _scan(paths: list[str]) -> int:
    """Read all columns of Parquet files once; return the number of rows."""
    import pyarrow.dataset

    return sum(batch.num_rows for batch in pyarrow.dataset.dataset(paths).to_batches())


def timed_call(call: Callable[[], Any]) -> dict[str, float]:
    """Return the wall-clock time of a call, and the time of all cores together."""
    begin = process_time()
    return {"seconds": timed(call).seconds, "cpu": process_time() - begin}


def fitted(model: Any) -> dict[str, Any]:
    """Return the time of the solver, the accuracy and a digest of a fitted model."""
    X, y = susy_like(TEST_ROWS, model.n_features_in_, SUSY_SHARPNESS, seed=1)
    del model.feature_names_in_
    return {
        "solving": model.profile_.seconds_polish,
        "accuracy": accuracy_score(y, model.predict(X)),
        "digest": _digest(model),
    }


def _digest(model: Any) -> str:
    digest = hashlib.sha256()
    for part in (model.support_vectors_, model.dual_coef_, model.intercept_):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def answer(functions: dict[str, Any]) -> None:
    """Call the function that the command line names, and print its result."""
    print(json.dumps(functions[sys.argv[1]](**json.loads(sys.argv[2]))))


if __name__ == "__main__":
    answer(globals())
