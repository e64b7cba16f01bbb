"""The scale run: millions of generated rows, from files on disk to a model."""

import os
import shutil
import tempfile
from pathlib import Path

from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.toolkit.measure import timed
from pocketsvm.paper.toolkit.tables import Table

from . import child, storage
from .pieces import table_piece

N_FEATURES = 18
BUDGET = 500
TEST_ROWS = 100_000
ROW_BYTES = 300  # an upper limit for the text of a row
CHUNK_ROWS = 100_000  # written at once; each chunk has its own seed


LARGEST, QUICK_LARGEST = 10_000_000, 200_000
SOURCE_ROWS, QUICK_SOURCE_ROWS = 2_000_000, 50_000


def measure(quick: bool, rows: int | None = None) -> list[Table]:
    """Return the tables of text in memory, of the formats, and of growth up to so many rows."""
    largest = rows or (QUICK_LARGEST if quick else LARGEST)
    sources = QUICK_SOURCE_ROWS if quick else SOURCE_ROWS
    return [
        table_piece("text", lambda: text_to_model(150_000 if quick else 4_500_000)),
        table_piece("sources", lambda: storage.by_source(sources)),
        table_piece("growth", lambda: storage.growth(largest)),
    ]


def text_to_model(n_rows: int) -> Table:
    """Return one table: with and without polishing, on one thread and on all cores."""
    table = Table(
        "scale",
        f"{n_rows:,} generated rows of {N_FEATURES} features, one pass, B = {BUDGET}",
        {
            "what": ("what", ""),
            "threads": ("threads", "d"),
            "reading": ("reading, s", ".2f"),
            "training": ("training, s", ".2f"),
            "total": ("text to model, s", ".2f"),
            "read_rate": ("rows read per second", ",.0f"),
            "train_rate": ("rows trained per second", ",.0f"),
            "accuracy": ("accuracy", ".2%"),
            "gigabytes": ("peak memory, GB", ".2f"),
        },
        "The text is written first, so it is read from the system's file cache. No entry is zero, "
        f"so the rows are made dense after reading. Each line is a single run. Accuracy is that on "
        f"{TEST_ROWS:,} new rows. Peak memory is that of the whole process with its data.",
        progress=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 2 * ROW_BYTES * n_rows:
            print("Skipped: there is not enough space in the temporary folder.\n")
            return table
        path = Path(folder) / "rows"
        writing = timed(lambda: write_text(path, n_rows, N_FEATURES))
        megabytes = path.stat().st_size / 1e6
        print(f"Wrote {megabytes:,.0f} MB of text in {writing.seconds:.0f} s.")
        table.title += f", {megabytes:,.0f} MB of text"
        for polish in (False, True):
            for n_jobs in sorted({1, os.cpu_count() or 1}):
                _add_run(table, path, polish, n_jobs)
    return table


def _add_run(table: Table, path: Path, polish: bool, n_jobs: int) -> None:
    run = child.call(
        "text_to_model",
        {"OMP_NUM_THREADS": str(n_jobs), "OPENBLAS_NUM_THREADS": str(n_jobs)},
        path=str(path),
        n_features=N_FEATURES,
        n_test=TEST_ROWS,
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


def write_text(path: Path, n_rows: int, n_features: int) -> None:
    """Write LIBSVM text of generated rows, in chunks."""
    line = "%d " + " ".join(f"{k}:%.6g" for k in range(1, n_features + 1)) + "\n"
    with open(path, "w") as file:
        for begin in range(0, n_rows, CHUNK_ROWS):
            n_chunk = min(CHUNK_ROWS, n_rows - begin)
            X, y = susy_like(n_chunk, n_features, SUSY_SHARPNESS, seed=[2, begin])
            file.writelines(
                line % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)
            )
