"""How fast the parts are, each beside the thing it must be measured against."""

import gzip
import tempfile
from pathlib import Path

import datasets
import numpy as np
from measure import can_measure_memory, fastest, in_child, passes_only
from scale import write_text
from sklearn.datasets import load_svmlight_file
from sklearn.svm import SVC
from tables import Table

import pocketsvm
from pocketsvm import _core, load_svmlight
from pocketsvm.paper.datasets import find
from pocketsvm.paper.measure import one_thread, timed

BUDGET = 500
QUICK_STRATEGIES = ("gss", "lookup-wd", "merge")
MEGABYTE = 1e6

# OpenBLAS, made to use the same instruction set: its sgemm measures the rate of multiply-adds.
BLAS_KERNELS = {"avx512": "SkylakeX", "avx2": "Haswell", "baseline": "Prescott"}

# Operations on 16 lanes for one row and one block of 16 vectors, read from native/kernel/gaussian.hpp and
# native/simd.hpp. Multiply-adds: one a feature, then |x|^2 + |s|^2 - 2 dot, the five steps of
# the exponential's polynomial, and the coefficient's. Others: the sum of the norms, the scaling
# by gamma, min, max; rounding (two additions), the fraction, its product with the polynomial, the
# shift, adding one, and the exponent's integer subtraction.
MULTIPLY_ADDS_BESIDE_FEATURES = 1 + 5 + 1
OTHER_OPERATIONS = 4 + 7
LANES = 16


def measure(quick):
    """All tables of this question."""
    with one_thread():
        tables = [
            instruction_sets(quick),
            strategies(quick),
            whole_trainings(quick),
            prediction(quick),
        ]
    return [*tables, threads(quick), reading(quick), memory(quick)]


def arithmetic_limit(sgemm, fused, n_features, budget):
    """Seconds a row if every operation ran at the rate of sgemm's multiply-adds."""
    multiply_adds = n_features + MULTIPLY_ADDS_BESIDE_FEATURES
    operations = multiply_adds * (1 if fused else 2) + OTHER_OPERATIONS
    rate = sgemm / LANES / (2 if fused else 1)
    return -(-budget // LANES) * operations / rate


def instruction_sets(quick, n_rows=200_000, n_features=18):
    n_rows = n_rows // 4 if quick else n_rows
    table = Table(
        "instruction_sets",
        f"decision_function: {n_rows:,} dense float32 rows of {n_features} features, B = {BUDGET}",
        {
            "set": ("instruction set", ""),
            "microseconds": ("µs a row", ".3f"),
            "limit": ("limit, µs", ".3f"),
            "ratio": ("times the limit", ".2f"),
            "rate": ("sgemm, GFlop/s", ".1f"),
        },
        note="The limit counts, for a row and a block of 16 vectors, one multiply-add a feature "
        "and 18 operations for distance, exponential and sum (7 of them multiply-adds); "
        "without fused instructions a multiply-add is two. Each takes the time of one at the rate "
        "that an in-cache sgemm of OpenBLAS reaches on one thread with the same instruction set. "
        "(An addition or integer operation may run beside a multiply-add on units of its own: the "
        "limit is an honest yardstick, not a law.)",
    )
    names = _core.instruction_sets()
    arguments = {"n_rows": n_rows, "n_features": n_features, "budget": BUDGET}
    runs = {name: [] for name in names}
    for _ in range(1 if quick else 3):
        for name in names:
            environment = {"POCKETSVM_INSTRUCTION_SET": name}
            if name in BLAS_KERNELS:
                environment["OPENBLAS_CORETYPE"] = BLAS_KERNELS[name]
            runs[name].append(in_child("decision_rate", environment, **arguments, rounds=7))
    for name in names:
        seconds = min(run["seconds_a_row"] for run in runs[name])
        sgemm = max(run["sgemm"] for run in runs[name])
        limit = arithmetic_limit(sgemm, name != "baseline", n_features, BUDGET)
        table.add(
            set=name,
            microseconds=seconds * 1e6,
            limit=limit * 1e6,
            ratio=seconds / limit,
            rate=sgemm / 1e9,
        )
    return table.done()


TRAINING_COLUMNS = {
    "data": ("data", ""),
    "strategy": ("strategy", ""),
    "seconds": ("seconds", ".3f"),
    "floor": ("floor, s", ".3f"),
    "ratio": ("times the floor", ".2f"),
    "merges": ("merges", ",d"),
    "A": ("A, s", ".3f"),
    "B": ("B, s", ".3f"),
    "share": ("of gss's A + B", ".1%"),
}
TRAINING_NOTE = (
    "The floor is decision_function of the trained model on as many rows. A: solving the merging "
    "problem; B: the rest of budget maintenance. One thread, polish=False, fastest of some "
    "interleaved runs."
)


def strategies(quick):
    table = Table("strategies", f"One pass, B = {BUDGET}", TRAINING_COLUMNS, TRAINING_NOTE)
    n_rows = 50_000 if quick else 200_000
    X, y = datasets.susy_like(n_rows)
    settings = {"C": 1.0, "gamma": datasets.SUSY_GAMMA, "max_iter": 1}
    names = QUICK_STRATEGIES if quick else _core.strategies()
    compare_strategies(table, f"generated, {n_rows:,} x 18", X, y, settings, names, quick)
    for data_set in datasets.available():
        X, y, _, _ = datasets.load(data_set)
        settings = {"C": data_set.C, "gamma": data_set.gamma, "max_iter": 1}
        compare_strategies(table, data_set.name, X, y, settings, names, quick)
    return table.done()


def whole_trainings(quick):
    passes = 3 if quick else 20
    table = Table(
        "whole_trainings",
        f"{passes} passes, the paper's C and gamma, B = {BUDGET}",
        TRAINING_COLUMNS,
        TRAINING_NOTE,
    )
    for data_set in datasets.available():
        X, y, _, _ = datasets.load(data_set)
        settings = {"C": data_set.C, "gamma": data_set.gamma, "max_iter": passes}
        compare_strategies(table, data_set.name, X, y, settings, QUICK_STRATEGIES, quick)
    return table.done()


def compare_strategies(table, data, X, y, settings, names, quick):
    """A row for each strategy: its training beside the floor and beside gss."""
    models = {name: passes_only(BUDGET, maintenance=name, **settings) for name in names}
    for model in models.values():
        model.fit(X[:2000], y[:2000])  # tables are built once, before the clock starts
    calls = {name: (lambda model=model: model.fit(X, y).profile_) for name, model in models.items()}
    # As many rows as the passes see, each time through a model of full size.
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


def threads(quick, n_rows=200_000):
    n_rows = 100_000 if quick else n_rows
    table = Table(
        "threads",
        f"Training on one and on two threads: {n_rows:,} rows of 18 features, five passes",
        {
            "data": ("classes", ""),
            "budget": ("B", ",d"),
            "violations": ("violations", ".0%"),
            "one": ("n_jobs=1, s", ".3f"),
            "two": ("n_jobs=2, s", ".3f"),
            "speedup": ("times faster", ".2f"),
            "same": ("same model", ""),
        },
    )
    for label, sharpness in (("overlapping", 1.62), ("clearer", 6.0)):
        X, y = datasets.susy_like(n_rows, sharpness=sharpness)
        for budget in (500, 2000):
            table.add(data=label, budget=budget, **one_and_two_threads(X, y, budget, quick))
    return table.done()


def one_and_two_threads(X, y, budget, quick):
    settings = {"C": 1.0, "gamma": 4 * datasets.SUSY_GAMMA, "max_iter": 5}
    models = {n: passes_only(budget, n_jobs=n, **settings) for n in (1, 2)}
    calls = {n: (lambda model=model: model.fit(X, y)) for n, model in models.items()}
    runs = fastest(calls, 2 if quick else 5)
    same = all(
        np.array_equal(getattr(models[1], name), getattr(models[2], name))
        for name in ("support_vectors_", "dual_coef_", "intercept_")
    )
    profile = models[1].profile_
    return {
        "violations": profile.violations / profile.steps,
        "one": runs[1].seconds,
        "two": runs[2].seconds,
        "speedup": runs[1].seconds / runs[2].seconds,
        "same": "yes" if same else "NO",
    }


def prediction(quick):
    table = Table(
        "prediction",
        "Prediction of ADULT's test rows"
        + (", models trained on 3,000 rows" if quick else "")
        + ", one thread",
        {
            "model": ("model", ""),
            "vectors": ("support vectors", ",d"),
            "seconds": ("seconds", ".4f"),
            "microseconds": ("µs a row", ".2f"),
            "speedup": ("times SVC's speed", ",.0f"),
        },
    )
    adult = next((d for d in datasets.available() if d.name == "ADULT"), None)
    if adult is None:
        return table.done()
    X, y, X_test, _ = datasets.load(adult)
    X, y = (X[:3000], y[:3000]) if quick else (X, y)
    models = {"SVC": SVC(C=adult.C, gamma=adult.gamma, cache_size=1000).fit(X, y)}
    for budget in adult.budgets:
        name = f"BudgetedSVC({budget})"
        models[name] = passes_only(budget, C=adult.C, gamma=adult.gamma, max_iter=1).fit(X, y)
    calls = {n: (lambda model=model: model.predict(X_test)) for n, model in models.items()}
    runs = fastest(calls, 5)
    for name, model in models.items():
        table.add(
            model=name,
            vectors=len(model.dual_coef_[0]) if name != "SVC" else int(model.n_support_.sum()),
            seconds=runs[name].seconds,
            microseconds=runs[name].seconds / X_test.shape[0] * 1e6,
            speedup=runs["SVC"].seconds / runs[name].seconds,
        )
    return table.done()


def reading(quick):
    table = Table(
        "reading",
        "LIBSVM text to CSR: load_svmlight beside scikit-learn's load_svmlight_file",
        {
            "file": ("file", ""),
            "megabytes": ("MB of text", ",.1f"),
            "sklearn": ("scikit-learn, s", ".3f"),
            "one": ("one thread, s", ".3f"),
            "two": ("two threads, s", ".3f"),
            "times_one": ("times faster, one", ".1f"),
            "times_two": ("times faster, two", ".1f"),
            "decompression": ("gunzip alone, s", ".3f"),
            "ratio": ("times gunzip", ".2f"),
        },
        note="gunzip alone: Python's gzip module reads the whole file. Times gunzip: one thread.",
    )
    if not hasattr(pocketsvm, "load_svmlight"):
        print("Skipped: this pocketsvm has no load_svmlight.\n")
        return table.done()
    with tempfile.TemporaryDirectory() as folder:
        for name, plain in text_files(Path(folder), quick):
            packed = plain.with_name(plain.name + ".gz")
            packed.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6))
            for path in (plain, packed):
                table.add(file=name + path.suffix, **reading_times(path, plain, quick))
    return table.done()


def text_files(folder, quick):
    """Plain texts to read: generated rows, and those of the data sets' that are there."""
    generated = folder / "generated"
    write_text(generated, 20_000 if quick else 300_000, 18)
    yield "generated", generated
    for name in ("a9a", "ijcnn1", "w8a"):
        source = find(name)
        if source is None:
            continue
        path = folder / name
        path.write_bytes(unpacked(source))
        yield name, path


def unpacked(path):
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return file.read()


def reading_times(path, plain, quick):
    calls = {
        "sklearn": lambda: load_svmlight_file(str(path), dtype=np.float32),
        "one": lambda: load_svmlight(path, n_jobs=1),
        "two": lambda: load_svmlight(path, n_jobs=2),
    }
    if path.suffix == ".gz":
        calls["decompression"] = lambda: unpacked(path)
    seconds = {name: run.seconds for name, run in fastest(calls, 2 if quick else 5).items()}
    decompression = seconds.get("decompression")
    return seconds | {
        "megabytes": plain.stat().st_size / MEGABYTE,
        "times_one": seconds["sklearn"] / seconds["one"],
        "times_two": seconds["sklearn"] / seconds["two"],
        "ratio": seconds["one"] / decompression if decompression else None,
    }


def memory(quick, n_features=18):
    table = Table(
        "memory",
        "Memory in training beside X and y, passes only: growth of the peak resident size",
        {
            "budget": ("B", ",d"),
            "rows": ("rows", ",d"),
            "megabytes": ("MB", ".1f"),
            "formula": ("formula, MB", ".1f"),
            "ratio": ("ratio", ".2f"),
            "seconds": ("seconds", ".1f"),
        },
        note="Formula: 8 bytes a row (order and class codes), and for each vector three times "
        "4 d + 24 bytes: in lanes, in the state to continue from, in support_vectors_. Polishing "
        "holds kernel values beside it, 256 MB at most.",
    )
    if not can_measure_memory():
        print("Skipped: the peak of memory is read from /proc.\n")
        return table.done()
    for budget in (500, 5000 if quick else 20_000):
        n_rows = 200_000 if quick else 1_000_000 if budget == 500 else 200_000
        run = timed(
            lambda n=n_rows, b=budget: in_child(
                "training_memory", n_rows=n, n_features=n_features, budget=b
            )
        )
        formula = 8 * n_rows + 3 * budget * (4 * n_features + 24)
        table.add(
            budget=budget,
            rows=n_rows,
            megabytes=run.value["bytes"] / MEGABYTE,
            formula=formula / MEGABYTE,
            ratio=run.value["bytes"] / formula,
            seconds=run.seconds,
        )
    return table.done()
