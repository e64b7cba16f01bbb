"""How fast the parts of pocketsvm are, each relative to a suitable reference."""

import gzip
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from pocketsvm import _core
from pocketsvm.files.svmlight import load_svmlight
from pocketsvm.paper.datasets.files import find
from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.datasets.problems import QUICK_ROWS
from pocketsvm.paper.datasets.registry import named
from pocketsvm.paper.models import EXACT, make, n_vectors
from pocketsvm.paper.toolkit.measure import one_thread, timed
from pocketsvm.paper.toolkit.tables import Columns, Table

from . import child
from .child import passes_only
from .datasets.paper import available
from .measure import can_measure_memory, fastest
from .pieces import table_piece
from .scale import write_text

BUDGET = 500
QUICK_STRATEGIES = ("gss", "lookup-wd", "merge")
MEGABYTE = 1e6

# The kernels of OpenBLAS for the same instruction sets: sgemm measures the rate of multiply-adds.
BLAS_KERNELS = {"avx512": "SkylakeX", "avx2": "Haswell", "baseline": "Prescott"}

# Operations of the native kernel code on 16 lanes, for one row and one block of 16 vectors.
# Multiply-adds: one per feature, then |x|^2 + |s|^2 - 2 dot, five steps of the exponential's
# polynomial, and one for the coefficient. Others: the sum of the norms, the scaling by gamma, min,
# max; rounding (two additions), the fraction, its product with the polynomial, the shift, adding
# one, and the integer subtraction for the exponent.
MULTIPLY_ADDS_BESIDE_FEATURES = 1 + 5 + 1
OTHER_OPERATIONS = 4 + 7
LANES = 16


def measure(quick: bool) -> list[Table]:
    """Return one table per part."""
    with one_thread():
        tables = [
            table_piece("instruction sets", lambda: _instruction_sets(quick)),
            table_piece("one pass", lambda: _trainings("strategies", 1, quick)),
            table_piece("passes", lambda: _trainings("whole_trainings", 3 if quick else 20, quick)),
            table_piece("prediction", lambda: _prediction(quick)),
        ]
    return [
        *tables,
        table_piece("reading", lambda: _reading(quick)),
        table_piece("memory", lambda: _memory(quick)),
    ]


def _arithmetic_limit(sgemm: float, fused: bool, n_features: int, budget: int) -> float:
    """Return the seconds per row if all operations were as fast as the multiply-adds of sgemm."""
    multiply_adds = n_features + MULTIPLY_ADDS_BESIDE_FEATURES
    operations = multiply_adds * (1 if fused else 2) + OTHER_OPERATIONS
    rate = sgemm / LANES / (2 if fused else 1)
    return -(-budget // LANES) * operations / rate


def _instruction_sets(quick: bool, n_features: int = 18) -> Table:
    n_rows = 50_000 if quick else 200_000
    table = Table(
        "instruction_sets",
        f"decision_function: {n_rows:,} dense float32 rows of {n_features} features, B = {BUDGET}",
        {
            "set": ("instruction set", ""),
            "microseconds": ("µs per row", ".3f"),
            "limit": ("limit, µs", ".3f"),
            "ratio": ("times the limit", ".2f"),
            "rate": ("sgemm, GFlop/s", ".1f"),
        },
        "For a row and a block of 16 vectors, the limit counts one multiply-add per feature and 18 "
        "operations for distance, exponential and sum (7 of them multiply-adds); without fused "
        "instructions a multiply-add counts twice. Each operation takes as long as one of an "
        "in-cache sgemm of OpenBLAS on one thread with the same instruction set. Values below the "
        "limit are possible, because additions and integer operations may run beside "
        "multiply-adds on separate units.",
        progress=True,
    )
    names = _core.instruction_sets()
    arguments = {"n_rows": n_rows, "n_features": n_features, "budget": BUDGET}
    runs: dict[str, list[Any]] = {name: [] for name in names}
    for _ in range(1 if quick else 3):
        for name in names:
            environment = {"POCKETSVM_INSTRUCTION_SET": name}
            if name in BLAS_KERNELS:
                environment["OPENBLAS_CORETYPE"] = BLAS_KERNELS[name]
            runs[name].append(child.call("decision_rate", environment, **arguments, rounds=7))
    for name in names:
        seconds = min(run["seconds_per_row"] for run in runs[name])
        sgemm = max(run["sgemm"] for run in runs[name])
        limit = _arithmetic_limit(sgemm, name != "baseline", n_features, BUDGET)
        table.add(
            set=name,
            microseconds=seconds * 1e6,
            limit=limit * 1e6,
            ratio=seconds / limit,
            rate=sgemm / 1e9,
        )
    return table


TRAINING_COLUMNS: Columns = {
    "data": ("data", ""),
    "strategy": ("strategy", ""),
    "seconds": ("seconds", ".3f"),
    "floor": ("floor, s", ".3f"),
    "ratio": ("times the floor", ".2f"),
    "merges": ("merges", ",d"),
    "A": ("A, s", ".3f"),
    "B": ("B, s", ".3f"),
    "share": ("A + B, relative to gss", ".1%"),
}
TRAINING_NOTE = (
    "The floor is the time of decision_function of the trained model on the same number of rows. "
    "A: solving the merging problem; B: the rest of budget maintenance. One thread, polish=False, "
    "the fastest of several interleaved runs."
)


def _trainings(name: str, passes: int, quick: bool) -> Table:
    """Compare all strategies in one pass, also on generated rows, or some in a whole training."""
    is_whole = passes > 1
    title = f"{passes} passes, the paper's C and gamma, B = {BUDGET}"
    if not is_whole:
        title = f"One pass, B = {BUDGET}"
    table = Table(name, title, TRAINING_COLUMNS, TRAINING_NOTE, progress=True)
    names = QUICK_STRATEGIES if quick or is_whole else _core.strategies()
    if not is_whole:
        n_rows = 50_000 if quick else 200_000
        X, y = susy_like(n_rows, sharpness=SUSY_SHARPNESS)
        settings = {"C": 1.0, "gamma": named("SUSY").gamma, "max_iter": passes}
        _compare_strategies(table, f"generated, {n_rows:,} x 18", X, y, settings, names, quick)
    for problem in available():
        settings = {**problem.setting, "max_iter": passes}
        _compare_strategies(table, problem.label, *problem.rows[:2], settings, names, quick)
    return table


def _compare_strategies(
    table: Table,
    data: str,
    X: Any,
    y: Any,
    settings: dict[str, Any],
    names: Sequence[str],
    quick: bool,
) -> None:
    """Add a row per strategy: its training time relative to the floor and to gss."""
    models = {name: passes_only(BUDGET, maintenance=name, **settings) for name in names}
    for model in models.values():
        model.fit(X[:2000], y[:2000])  # builds its tables before the measurement
    calls: dict[str, Any] = {
        name: (lambda model=model: model.fit(X, y).profile_) for name, model in models.items()
    }
    calls["floor"] = lambda: models["merge"].decision_function(X)
    runs = fastest(calls, 2 if quick else 5)
    floor = runs["floor"].seconds * settings["max_iter"]
    profiles = {name: runs[name].value for name in names}
    merging = {name: p.seconds_solve + p.seconds_rest for name, p in profiles.items()}
    for name in names:
        profile = profiles[name]
        table.add(
            data=data,
            strategy=name,
            seconds=runs[name].seconds,
            floor=floor,
            ratio=runs[name].seconds / floor,
            merges=profile.merges,
            A=profile.seconds_solve,
            B=profile.seconds_rest,
            share=merging[name] / merging["gss"] if merging["gss"] else None,
        )


def _prediction(quick: bool) -> Table:
    table = Table(
        "prediction",
        "Prediction of ADULT's test rows"
        + (f", models trained on {QUICK_ROWS:,} rows" if quick else "")
        + ", one thread",
        {
            "model": ("model", ""),
            "vectors": ("support vectors", ",d"),
            "seconds": ("seconds", ".4f"),
            "microseconds": ("µs per row", ".2f"),
            "speedup": ("speedup over SVC", ",.0f"),
        },
        progress=True,
    )
    adult = next((p for p in available(quick) if p.label == "ADULT"), None)
    if adult is None:
        return table
    X, y, X_test, _ = adult.rows
    exact = make(EXACT, **adult.setting, n_rows=adult.n_rows, budget=None, seed=None)
    models = {EXACT: exact.fit(X, y)}
    for budget in adult.data_set.budgets:
        name = f"BudgetedSVC({budget})"
        models[name] = passes_only(budget, **adult.setting, max_iter=1).fit(X, y)
    calls = {name: partial(model.predict, X_test) for name, model in models.items()}
    runs = fastest(calls, 5)
    for name, model in models.items():
        table.add(
            model=name,
            vectors=n_vectors(model),
            seconds=runs[name].seconds,
            microseconds=runs[name].seconds / X_test.shape[0] * 1e6,
            speedup=runs[EXACT].seconds / runs[name].seconds,
        )
    return table


def _reading(quick: bool) -> Table:
    table = Table(
        "reading",
        "LIBSVM text to CSR: load_svmlight and scikit-learn's load_svmlight_file",
        {
            "file": ("file", ""),
            "megabytes": ("MB of text", ",.1f"),
            "sklearn": ("scikit-learn, s", ".3f"),
            "one": ("one thread, s", ".3f"),
            "two": ("two threads, s", ".3f"),
            "times_one": ("speedup, one thread", ".1f"),
            "times_two": ("speedup, two threads", ".1f"),
            "decompression": ("gunzip alone, s", ".3f"),
            "ratio": ("relative to gunzip", ".2f"),
        },
        "gunzip alone: Python's gzip module reads the whole file. Relative to gunzip: on one "
        "thread.",
        progress=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, plain in _text_files(Path(folder), quick):
            packed = plain.with_name(plain.name + ".gz")
            packed.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6))
            for path in (plain, packed):
                table.add(file=name + path.suffix, **_reading_times(path, plain, quick))
    return table


def _text_files(folder: Path, quick: bool) -> Iterator[tuple[str, Path]]:
    """Write and yield plain text files: generated rows, and the data sets that are available."""
    generated = folder / "generated"
    write_text(generated, 20_000 if quick else 300_000, 18)
    yield "generated", generated
    for name in ("a9a", "ijcnn1", "w8a"):
        source = find(name)
        if source is None:
            continue
        path = folder / name
        path.write_bytes(_unpacked(source))
        yield name, path


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return file.read()


def _reading_times(path: Path, plain: Path, quick: bool) -> dict[str, float | None]:
    calls: dict[str, Any] = {
        "sklearn": lambda: load_svmlight_file(str(path), dtype=np.float32),
        "one": lambda: load_svmlight(path, n_jobs=1),
        "two": lambda: load_svmlight(path, n_jobs=2),
    }
    if path.suffix == ".gz":
        calls["decompression"] = lambda: _unpacked(path)
    seconds = {name: run.seconds for name, run in fastest(calls, 2 if quick else 5).items()}
    decompression = seconds.get("decompression")
    return seconds | {
        "megabytes": plain.stat().st_size / MEGABYTE,
        "times_one": seconds["sklearn"] / seconds["one"],
        "times_two": seconds["sklearn"] / seconds["two"],
        "ratio": seconds["one"] / decompression if decompression else None,
    }


def _memory(quick: bool, n_features: int = 18) -> Table:
    table = Table(
        "memory",
        "Memory of training without X and y, passes only: growth of the peak resident size",
        {
            "budget": ("B", ",d"),
            "rows": ("rows", ",d"),
            "megabytes": ("MB", ".1f"),
            "formula": ("formula, MB", ".1f"),
            "ratio": ("ratio", ".2f"),
            "seconds": ("seconds", ".1f"),
        },
        "Formula: 8 bytes per row (order and class codes), and three times 4 d + 24 bytes per "
        "vector: in the trainer, in the state to continue from, and in support_vectors_. Polishing "
        "additionally holds at most 256 MB of kernel values.",
        progress=True,
    )
    if not can_measure_memory():
        print("Skipped: the peak memory can only be measured on Linux.\n")
        return table
    for budget in (500, 5000 if quick else 20_000):
        n_rows = 200_000 if quick else 1_000_000 if budget == 500 else 200_000
        arguments = {"n_rows": n_rows, "n_features": n_features, "budget": budget}
        run = timed(partial(child.call, "training_memory", None, **arguments))
        formula = 8 * n_rows + 3 * budget * (4 * n_features + 24)
        table.add(
            budget=budget,
            rows=n_rows,
            megabytes=run.value["bytes"] / MEGABYTE,
            formula=formula / MEGABYTE,
            ratio=run.value["bytes"] / formula,
            seconds=run.seconds,
        )
    return table
