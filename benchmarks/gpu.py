"""A GPU beside all cores of the same machine."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, open_dataset
from pocketsvm.backends.base import Backend
from pocketsvm.backends.devices import backend_of
from pocketsvm.backends.torch_rows import imported
from pocketsvm.paper.toolkit.measure import timed
from pocketsvm.paper.toolkit.tables import Table
from pocketsvm.rows.checked import Rows, checked_rows

from .child import GAMMA
from .data_sets import TASKS
from .datasets.flights import FLIGHTS
from .datasets.generated import noisy_shell
from .datasets.novelties import shuttle
from .datasets.rankings import graded_queries
from .datasets.tasks import AUC
from .datasets.tuned import FASHION
from .measure import fastest
from .pieces import table_piece
from .storage import N_FEATURES, ROW_BYTES, has_space, write_rows

DEVICE = "cuda"
NANOSECONDS = 1e9
ROUNDS = 4
SETS = "ADULT", "IJCNN", "WEB", "SUSY", "PHISHING", "SKIN", "letter", "cpusmall"
SEEDS = 5
# The sizes of fits; the cores get those up to this many products of rows, vectors and features.
SIZES = (10_000, 100_000, 1_000_000), (18, 200), (100, 500, 2000)
LARGE = (4_500_000, 18, 500), (4_500_000, 18, 2000), (4_500_000, 18, 10_000), (150_000, 18, 20_000)
MOST_PRODUCTS = 2 * 10**11
FILE_ROWS = 20_000_000

Array = NDArray[Any]


def measure(quick: bool) -> list[Table]:
    """Return the tables of prediction, of Hessians and of fits; none without a GPU."""
    try:
        backend = backend_of(DEVICE, os.cpu_count() or 1)
    except (ImportError, RuntimeError) as error:
        print(f"Skipped: {error}\n")
        return []
    started()
    return [
        table_piece("predictions", partial(predictions, quick, backend)),
        table_piece("hessians", partial(hessians, quick, backend)),
        table_piece("fits", partial(fits, quick)),
        table_piece("thorough", partial(thorough, quick)),
        table_piece("files", partial(files, quick)),
        table_piece("accuracies", partial(accuracies, quick)),
    ]


def started() -> None:
    """Let CUDA start, and load what all fits use."""
    X, y = noisy_shell(20_000)
    BudgetedSVC(100, device=DEVICE, n_jobs=-1, random_state=0).fit(X, y).predict(X)


def described() -> str:
    """Return which GPU, driver and torch there are."""
    torch = imported()
    properties = torch.cuda.get_device_properties(0)
    try:
        with open("/proc/driver/nvidia/version") as file:
            driver = file.readline().split("  ")[1].strip()
    except (OSError, IndexError):
        driver = "an unknown driver"
    return (
        f"Measured on {properties.name}, {properties.total_memory / 2**30:.0f} GiB, driver "
        f"{driver}, PyTorch {torch.__version__}. CUDA's start is not counted."
    )


def synchronised(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that waits until the GPU has done its work."""

    def run() -> Any:
        value = call()
        imported().cuda.synchronize()
        return value

    return run


def predictions(quick: bool, backend: Any) -> Table:
    """Return the time of a row's decision value."""
    n_rows = 100_000 if quick else 10_000_000
    table = Table(
        "gpu-predict",
        f"Decision values of {n_rows:,} rows of {N_FEATURES} features: time per row",
        {
            "budget": ("B", "d"),
            "device": ("rows on the GPU, ns", ".2f"),
            "copy": ("copying rows, ns", ".2f"),
            "host": ("rows in memory, ns", ".2f"),
            "over": ("of the larger", ".2f"),
            "cpu": (f"{os.cpu_count()} cores, ns", ".2f"),
        },
        described() + " Rows in memory are copied while the GPU computes.",
        progress=True,
    )
    X, _ = noisy_shell(n_rows)
    there = imported().tensor(X, device=backend.on)
    for budget in (100, 500, 2000, 10_000):
        n = n_rows if budget <= 2000 else n_rows // 10
        calls = prediction_calls(backend, X[:n], there[:n], budget)
        found = fastest({name: synchronised(call) for name, call in calls.items()}, ROUNDS)
        row = {
            name: NANOSECONDS * run.seconds / (n // 10 if name == "cpu" else n)
            for name, run in found.items()
        }
        over = row["host"] / max(row["copy"], row["device"])
        table.add(budget=budget, over=over, **row)
    return table


def prediction_calls(
    backend: Any, X: Array, there: Any, budget: int
) -> dict[str, Callable[[], Any]]:
    """Return what is measured of prediction; the CPU gets a tenth of the rows."""
    vectors, beta = X[:budget].copy(), np.random.default_rng(1).normal(size=(1, budget))
    gamma, rows, few = 1 / N_FEATURES, checked_rows(X), checked_rows(X[: len(X) // 10])
    cpu = backend_of("cpu", backend.n_threads)
    torch, nothing = imported(), np.zeros(1)
    return {
        "device": lambda: backend.decide_in_parts(vectors, beta, gamma, there, lambda *_: None),
        "copy": lambda: torch.from_numpy(X).to(backend.on),
        "host": lambda: backend.decide(vectors, beta, nothing, gamma, rows),
        "cpu": lambda: cpu.decide(vectors, beta, nothing, gamma, few),
    }


def hessians(quick: bool, backend: Backend) -> Table:
    """Return the time of a Hessian, its factor and a gradient."""
    table = Table(
        "gpu-hessian",
        "One Hessian of rows whose kernel values are on the GPU, in float64",
        {
            "budget": ("B", "d"),
            "rows": ("rows", ",d"),
            "kernel": ("kernel values, ms", ".1f"),
            "hessian": ("Hessian, ms", ".1f"),
            "factor": ("factorising it, ms", ".1f"),
            "decisions": ("decision values, ms", ".1f"),
            "pull": ("gradient, ms", ".1f"),
            "rate": ("Hessian, TFLOP/s", ".1f"),
        },
        described(),
        progress=True,
    )
    for budget, n_rows in ((500, 900_000), (2000, 900_000), (10_000, 200_000)):
        n = n_rows // 100 if quick else n_rows
        calls = hessian_calls(backend, n, budget)
        found = fastest({name: synchronised(call) for name, call in calls.items()}, ROUNDS)
        table.add(
            budget=budget,
            rows=n,
            rate=2 * n * budget**2 / found["hessian"].seconds / 1e12,
            **{name: 1000 * run.seconds for name, run in found.items()},
        )
    return table


def hessian_calls(backend: Backend, n_rows: int, budget: int) -> dict[str, Callable[[], Any]]:
    """Return what is measured of rows whose kernel values are kept."""
    X, _ = noisy_shell(n_rows)
    checked = checked_rows(X)
    rows = Rows(checked, checked.core("float32"), 1 / N_FEATURES)
    vectors = X[:budget].copy()
    kept = backend.kernel_rows(vectors, rows, 1, np.float32)
    penalty, known = backend.penalty(vectors, rows.gamma), backend.row_hessian(budget, n_rows)
    point, ones = np.ones((1, budget + 1)), np.ones((n_rows, 1))

    def hessian() -> None:
        found = backend.row_hessian(budget, n_rows)
        for at, kernel in kept.blocks():
            found.add(kernel, ones[at, 0])

    return {
        "kernel": lambda: list(backend.kernel_rows(vectors, rows, 1, np.float32).blocks()),
        "hessian": hessian,
        "factor": lambda: penalty.factor(known, 1.0, True),
        "decisions": lambda: kept.decisions_of([point]),
        "pull": lambda: kept.pull_of(ones),
    }


def fits(quick: bool) -> Table:
    """Return the time of fits on the GPU and on all cores."""
    table = Table(
        "gpu-fit",
        f"Fits of one pass, on the GPU and on {os.cpu_count()} cores",
        {
            "rows": ("rows", ",d"),
            "features": ("features", "d"),
            "budget": ("B", ",d"),
            "gpu": ("GPU, s", ".2f"),
            "gpu_solving": ("of which polishing, s", ".2f"),
            "cpu": ("cores, s", ".2f"),
            "cpu_solving": ("of which polishing, s", ".2f"),
            "ratio": ("cores / GPU", ".1f"),
            "solving_ratio": ("the same of polishing", ".1f"),
            "gpu_accuracy": ("accuracy, GPU", ".2%"),
            "cpu_accuracy": ("accuracy, cores", ".2%"),
        },
        described() + " Each line is one fit on each.",
        progress=True,
    )
    sizes = sorted(product(*SIZES), key=lambda size: (size[1], size[0], size[2]))
    for size in sizes[:1] if quick else (*sizes, *LARGE):
        fit(table, *size)
    return table


def fit(table: Table, n_rows: int, n_features: int, budget: int) -> None:
    """Add a row: a fit on the GPU, and one on all cores unless that takes very long."""
    X, y = noisy_shell(n_rows + 100_000, n_features)
    X, X_test, y, y_test = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    row: dict[str, Any] = {"rows": n_rows, "features": n_features, "budget": budget}
    cores = budget <= 2000 and n_rows * budget * n_features <= MOST_PRODUCTS
    for name, device in (("gpu", DEVICE), ("cpu", "cpu"))[: 2 if cores else 1]:
        machine = BudgetedSVC(
            budget,
            C=32.0,
            gamma=0.5 / n_features,
            max_iter=1,
            n_jobs=-1,
            random_state=0,
            device=device,
        )
        begin = time.perf_counter()
        machine.fit(X, y)
        row |= {
            name: time.perf_counter() - begin,
            f"{name}_solving": machine.profile_.seconds_polish,
            f"{name}_accuracy": machine.score(X_test, y_test),
        }
    if cores:
        row |= {
            "ratio": row["cpu"] / row["gpu"],
            "solving_ratio": row["cpu_solving"] / row["gpu_solving"],
        }
    table.add(**row)


def thorough(quick: bool) -> Table:
    """Return fits on the GPU that take their time."""
    table = Table(
        "gpu-thorough",
        'Fits on the GPU with polish="thorough"',
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "budget": ("B", ",d"),
            "scales": ("feature scales", ""),
            "seconds": ("fit, s", ".1f"),
            "measure": ("measure", ""),
            "score": ("test, %", ".2f"),
        },
        described() + " Each line is one fit.",
        progress=True,
    )
    runs = (FASHION, 500, None), (FLIGHTS, 2000, "learn")
    for name, budget, scales in () if quick else runs:
        if (task := TASKS[name]()) is None:
            print(f"Skipped: there is no {name}.")
            continue
        gamma = {"gamma": "scale"} if scales else {}
        machine = task.budgeted(
            budget,
            0,
            **gamma,
            polish="thorough",
            feature_scales=scales,
            device=DEVICE,
            n_jobs=-1,
        )
        run = timed(partial(task.fit, machine))
        table.add(
            data=task.label,
            rows=len(task.rows.y),
            budget=budget,
            scales=scales or "none",
            seconds=run.seconds,
            measure=task.measure,
            score=task.score(machine),
        )
    return table


def files(quick: bool) -> Table:
    """Return the time of a fit of rows on disk, beside that of reading them."""
    n_rows = 200_000 if quick else FILE_ROWS
    table = Table(
        "gpu-files",
        f"Parquet files of {n_rows:,} rows of {N_FEATURES} features, B = 500, one pass",
        {
            "device": ("device", ""),
            "scans": ("scans", "d"),
            "reading": ("one scan, s", ".2f"),
            "seconds": ("fit, s", ".2f"),
            "ratio": ("fit / scans", ".2f"),
            "polishing": ("polishing, s", ".2f"),
            "accuracy": ("accuracy", ".2%"),
        },
        described() + " A scan yields all rows by `open_dataset(...).batches()`. The files were "
        "just written, so they are read from the system's file cache.",
        progress=True,
    )
    if find_spec("pyarrow") is None:
        print("Skipped: there is no pyarrow.")
        return table
    with tempfile.TemporaryDirectory() as folder:
        if not has_space(folder, ROW_BYTES * n_rows):
            return table
        paths = write_rows(Path(folder), [n_rows])[n_rows]
        reading = min(timed(lambda: read(paths)).seconds for _ in range(2))
        for device in (DEVICE, "cpu"):
            rows = open_dataset(paths)
            machine = BudgetedSVC(
                500, gamma=GAMMA, max_iter=1, n_jobs=-1, random_state=0, device=device
            )
            run = timed(partial(machine.fit, rows))
            scans = rows.n_scans
            table.add(
                device="GPU" if device == DEVICE else f"{os.cpu_count()} cores",
                scans=scans,
                reading=reading,
                seconds=run.seconds,
                ratio=run.seconds / (scans * reading),
                polishing=machine.profile_.seconds_polish,
                accuracy=machine.score(open_dataset(paths[0])),
            )
    return table


def read(paths: list[str]) -> int:
    """Read files once; return the number of rows."""
    return sum(len(X) for X, _, _ in open_dataset(paths).batches())


def accuracies(quick: bool) -> Table:
    """Return how well models predict that were fitted on the GPU and on the CPU."""
    table = Table(
        "gpu-accuracy",
        f"Scores in per cent of fits on the GPU and on the CPU; means of {SEEDS} seeds",
        {
            "data": ("data", ""),
            "measure": ("measure", ""),
            "budget": ("B", "d"),
            "gpu": ("GPU", ".2f"),
            "cpu": ("CPU", ".2f"),
            "difference": ("difference", "+.3f"),
            "error": ("its standard error", ".3f"),
            "seconds": ("GPU, s", ".2f"),
            "cpu_seconds": (f"{os.cpu_count()} cores, s", ".2f"),
        },
        described() + " Times are the shortest.",
        progress=True,
    )
    for case in [novelties(), queries()] if quick else [*tasks(), novelties(), queries()]:
        scores, seconds = np.empty((2, SEEDS)), np.empty((2, SEEDS))
        for seed, (k, device) in product(range(SEEDS), enumerate((DEVICE, "cpu"))):
            machine = case.machine.set_params(random_state=seed, device=device, n_jobs=-1)
            seconds[k, seed] = timed(partial(case.fit, machine)).seconds
            scores[k, seed] = case.score(machine)
        gains = scores[0] - scores[1]
        table.add(
            data=case.label,
            measure=case.measure,
            budget=case.machine.budget,
            gpu=scores[0].mean(),
            cpu=scores[1].mean(),
            difference=gains.mean(),
            error=gains.std(ddof=1) / np.sqrt(SEEDS),
            seconds=seconds[0].min(),
            cpu_seconds=seconds[1].min(),
        )
    return table


@dataclass(frozen=True)
class Case:
    """An estimator, how it is fitted, and how it is judged."""

    label: str
    measure: str
    machine: Any
    fit: Callable[[Any], Any]
    score: Callable[[Any], float]


def tasks() -> list[Case]:
    """Return the data sets that are there."""
    found = []
    for name in SETS:
        if (task := TASKS[name]()) is None:
            print(f"Skipped: there is no {name}.")
            continue
        machine = task.budgeted(500, 0)
        found.append(Case(task.label, task.measure, machine, task.fit, task.score))
    return found


def novelties() -> Case:
    """Return rows among which odd ones are to be found."""
    rows = shuttle(20_000, 6000, 0)
    return Case(
        "shuttle-like",
        AUC,
        BudgetedOneClassSVM(200, nu=0.1),
        lambda machine: machine.fit(rows.X),
        lambda machine: 100 * roc_auc_score(rows.normal, machine.decision_function(rows.X_test)),
    )


def queries() -> Case:
    """Return queries whose rows are to be ranked."""
    train, test = (graded_queries(500, 20, seed) for seed in (0, 1))
    return Case(
        "graded queries",
        "NDCG",
        BudgetedRanker(100, C=1.0),
        lambda machine: machine.fit(train.X, train.y, qid=train.qid),
        lambda machine: 100 * machine.score(test.X, test.y, qid=test.qid),
    )
