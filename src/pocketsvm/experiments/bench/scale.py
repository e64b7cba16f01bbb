"""The scale run: millions of generated rows, from LIBSVM text on disk to a model in one pass."""

import os
import shutil
import tempfile
from pathlib import Path

import datasets
from measure import in_child
from tables import Table

from pocketsvm.experiments.paper.measure import timed

N_FEATURES = 18
BUDGET = 500
BYTES_A_ROW = 300  # of text, generously


def measure(quick):
    n_rows = 150_000 if quick else 4_500_000
    table = Table(
        "scale",
        f"{n_rows:,} generated rows of {N_FEATURES} features, one pass, B = {BUDGET}",
        {
            "what": ("what", ""),
            "threads": ("threads", "d"),
            "reading": ("reading, s", ".2f"),
            "training": ("training, s", ".2f"),
            "total": ("text to model, s", ".2f"),
            "read_rate": ("rows read a second", ",.0f"),
            "train_rate": ("rows trained a second", ",.0f"),
            "accuracy": ("accuracy", ".2%"),
            "gigabytes": ("peak memory, GB", ".2f"),
        },
        note="The text is written first and read while it lies in the system's file cache. No "
        "entry is zero, so reading ends with making the rows dense. "
        "Each line is a single run. Accuracy is that on 100,000 fresh rows. "
        "Peak memory is the whole process with its data.",
    )
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 2 * BYTES_A_ROW * n_rows:
            print("Skipped: the temporary folder has too little room.\n")
            return [table.done()]
        path = Path(folder) / "rows"
        writing = timed(lambda: write_text(path, n_rows, N_FEATURES))
        megabytes = path.stat().st_size / 1e6
        print(f"Wrote {megabytes:,.0f} MB of text in {writing.seconds:.0f} s.")
        table.title += f", {megabytes:,.0f} MB of text"
        for polish in (False, True):
            for n_jobs in sorted({1, os.cpu_count() or 1}):
                add_run(table, path, polish, n_jobs)
    return [table.done()]


def add_run(table, path, polish, n_jobs):
    run = in_child(
        "text_to_model",
        {"OMP_NUM_THREADS": str(n_jobs), "OPENBLAS_NUM_THREADS": str(n_jobs)},
        path=str(path),
        n_features=N_FEATURES,
        n_test=100_000,
        budget=BUDGET,
        polish=polish,
        n_jobs=n_jobs,
    )
    table.add(
        what="passes and polishing" if polish else "passes only",
        threads=n_jobs,
        reading=run["reading"],
        training=run["training"],
        total=run["reading"] + run["training"],
        read_rate=run["rows"] / run["reading"],
        train_rate=run["rows"] / run["training"],
        accuracy=run["accuracy"],
        gigabytes=run["peak_bytes"] / 1e9,
    )


def write_text(path, n_rows, n_features, chunk=100_000):
    """LIBSVM text of generated rows, chunk by chunk, each chunk of its own seed."""
    line = "%d " + " ".join(f"{k}:%.6g" for k in range(1, n_features + 1)) + "\n"
    with open(path, "w") as file:
        for begin in range(0, n_rows, chunk):
            X, y = datasets.susy_like(min(chunk, n_rows - begin), n_features, seed=[2, begin])
            file.writelines(
                line % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)
            )
