"""Rows on disk: speed by format, and how the cost of Parquet files grows with their rows."""

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from . import child
from .child import labels_beside

N_FEATURES, BUDGET = 18, 500
FILE_ROWS = 250_000
GROUP_ROWS = 1 << 16  # rows of a row group
ROW_BYTES = 80  # an upper limit for a row of Parquet
TEXT_BYTES = 400  # the same for a row of both texts and their caches
FIRST = 100_000  # the smallest number of rows
MEMORY_ROWS = 10_000_000  # the largest number that is also fitted in memory
DASK = f"{__package__}.dask_child"

Form = Literal["parquet", "npy"]


def sizes(largest: int) -> list[int]:
    """Return powers of ten from the smallest to the largest number of rows."""
    return [*(10**k for k in range(int(math.log10(FIRST)), 12) if 10**k < largest), largest]


def write_rows(
    folder: Path, sizes: Sequence[int], form: Form = "parquet", file_rows: int | None = None
) -> dict[int, list[str]]:
    """Write files of generated rows; return the files that hold the first n rows.

    A NumPy file of rows has a file of their labels beside it; see `labels_beside`.
    """
    file_rows = file_rows or FILE_ROWS
    files: list[tuple[str, int, int]] = []  # the path, the number of rows, those before
    found: dict[int, int] = {}
    done = 0
    for size in sizes:
        while done < size:
            n = min(file_rows, size - done)
            files.append((str(folder / f"{len(files):05d}.{form}"), n, done))
            done += n
        found[size] = len(files)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(_write, form), *zip(*files, strict=True)))
    paths = [path for path, _, _ in files]
    return {size: paths[:n_files] for size, n_files in found.items()}


def _write(form: Form, path: str, n_rows: int, n_before: int) -> None:
    X, y = susy_like(n_rows, N_FEATURES, SUSY_SHARPNESS, seed=[3, n_before])
    if form == "npy":
        np.save(path, X)
        np.save(labels_beside(path), y)
    else:
        _write_parquet(path, X, y)


def _write_parquet(path: str, X: NDArray[Any], y: NDArray[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(N_FEATURES)}
    parquet.write_table(
        pa.table({**columns, "y": y}),
        path,
        compression="none",
        use_dictionary=False,
        row_group_size=GROUP_ROWS,
    )


def has_space(folder: str, n_bytes: int) -> bool:
    """Whether the folder has twice this much space; print a message if not."""
    free = shutil.disk_usage(folder).free
    if free < 2 * n_bytes:
        print(f"Skipped: {2 * n_bytes / 1e9:.1f} GB of disk are needed, {free / 1e9:.1f} are free.")
    return free >= 2 * n_bytes


# --- formats --------------------------------------------------------------------------------------


def by_source(n_rows: int) -> Table:
    """Return the speed of a fit by where the rows are."""
    table = Table(
        "sources",
        f"{n_rows:,} generated rows of {N_FEATURES} features, B = {BUDGET}, by where they are",
        {
            "source": ("rows in", ""),
            "megabytes": ("MB on disk", ",.0f"),
            "scans": ("scans", "d"),
            "seconds": ("fit, s", ".2f"),
            "rate": ("rows per second", ",.0f"),
            "peak": ("peak memory, MB", ",.0f"),
            "accuracy": ("accuracy, %", ".2f"),
        },
        "All cores; each line is a single run in a process of its own. The files were just "
        "written, so they are read from the system's file cache. Text is parsed once into a "
        "cache, which takes part in the time of the fit. The peak is that of the whole process; "
        "for rows in memory it includes reading them. Dask has two worker processes that read "
        "Parquet files; its peak is that of the larger worker.",
        progress=True,
    )
    with tempfile.TemporaryDirectory() as name:
        if not has_space(name, (ROW_BYTES + TEXT_BYTES) * n_rows):
            return table
        folder = Path(name)
        files = write_rows(folder, [n_rows])[n_rows]
        texts = [folder / "rows.csv", folder / "rows.svm"]
        _write_texts(files, *texts)
        kinds = [
            ("memory", files),
            ("Parquet", files),
            ("CSV", [str(texts[0])]),
            ("LIBSVM text", [str(texts[1])]),
        ]
        if has_dask_frames():
            kinds.append(("Dask", files))
        for kind, paths in kinds:
            run = _fit(kind, paths)
            table.add(
                source=kind,
                megabytes=sum(map(os.path.getsize, paths)) / 1e6 if kind != "memory" else None,
                scans=run["scans"],
                seconds=run["seconds"],
                rate=n_rows / run["seconds"],
                peak=run["peak_bytes"] / 1e6,
                accuracy=100 * run["accuracy"],
            )
    return table


def _fit(kind: str, paths: Sequence[str]) -> Any:
    if kind == "Dask":
        return child.call_in(DASK, "fit_on_dask", paths=paths, budget=BUDGET, n_jobs=2)
    name = "fit_in_memory" if kind == "memory" else "fit_on_disk"
    return child.call(name, paths=paths, **_common())


def has_dask_frames() -> bool:
    """Whether Dask can read Parquet files."""
    return find_spec("pyarrow") is not None and find_spec("dask.dataframe") is not None


def _common() -> dict[str, Any]:
    return {"budget": BUDGET, "n_jobs": effective_n_jobs(-1)}


def _write_texts(files: Sequence[str], csv: Path, svmlight: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as parquet

    line = "%d " + " ".join(f"{k}:%.6g" for k in range(1, N_FEATURES + 1)) + "\n"
    with open(csv, "wb") as rows, open(svmlight, "w") as text:
        for number, path in enumerate(files):
            found = parquet.read_table(path)
            options = pyarrow.csv.WriteOptions(include_header=not number)
            pyarrow.csv.write_csv(found, rows, options)
            *columns, labels = (column.to_pylist() for column in found.columns)
            text.writelines(line % values for values in zip(labels, *columns, strict=True))


# --- growth ---------------------------------------------------------------------------------------


def growth(largest: int) -> Table:
    """Return the cost of fits on Parquet files of 10^5 rows to the largest number."""
    table = Table(
        "disk_growth",
        f"Parquet files of {N_FEATURES} features, B = {BUDGET}, by their number of rows",
        {
            "rows": ("rows", ",d"),
            "megabytes": ("MB on disk", ",.0f"),
            "scans": ("scans", "d"),
            "scan": ("one scan by pyarrow, s", ".2f"),
            "seconds": ("fit, s", ".2f"),
            "cpu": ("CPU, s", ".2f"),
            "rate": ("rows per second", ",.0f"),
            "ratio": ("relative to the parts", ".2f"),
            "cpu_ratio": ("the same in CPU time", ".2f"),
            "slope": ("slope", ".2f"),
            "cpu_slope": ("of CPU time", ".2f"),
            "peak": ("peak memory, MB", ",.0f"),
            "accuracy": ("accuracy, %", ".2f"),
            "in_memory": ("in memory, %", ".2f"),
        },
        "All cores; each line is a single run in a process of its own, on files that were just "
        "written. The parts are the scans, each as long as pyarrow's own, and the solver's time "
        "on as many rows in memory; the ratio is the fit's time relative to their sum, which has "
        "no time for the passes and the survey. CPU time is that of all cores, and of the whole "
        "fit in memory; other work on the machine affects it less. For more than "
        f"{MEMORY_ROWS:,} rows, the solver's time per row, and the accuracy in memory, are those "
        "of the first ones. The slope is that of time over rows on logarithmic axes, from the line "
        "before. The peak is that of the whole process.",
        progress=True,
    )
    with tempfile.TemporaryDirectory() as name:
        if not has_space(name, ROW_BYTES * largest):
            return table
        files = write_rows(Path(name), sizes(largest))
        memory: Row = {}
        for n_rows, paths in files.items():
            if n_rows <= MEMORY_ROWS:
                memory = child.call("fit_in_memory", paths=paths, **_common()) | {"rows": n_rows}
            run = child.call("fit_on_disk", paths=paths, **_common())
            table.add(**_growth_line(table, n_rows, paths, run, memory))
    return table


def _growth_line(table: Table, n_rows: int, paths: Sequence[str], run: Row, memory: Row) -> Row:
    before = table.rows[-1] if table.rows else None
    more = n_rows / memory["rows"]
    parts = run["scans"] * run["scan_seconds"] + more * memory["solving"]
    cpu_parts = run["scans"] * run["scan_cpu"] + more * memory["cpu"]
    return {
        "rows": n_rows,
        "megabytes": sum(map(os.path.getsize, paths)) / 1e6,
        "scans": run["scans"],
        "scan": run["scan_seconds"],
        "seconds": run["seconds"],
        "cpu": run["cpu"],
        "rate": n_rows / run["seconds"],
        "ratio": run["seconds"] / parts,
        "cpu_ratio": run["cpu"] / cpu_parts,
        "slope": before and _slope(before, "seconds", n_rows, run),
        "cpu_slope": before and _slope(before, "cpu", n_rows, run),
        "peak": run["peak_bytes"] / 1e6,
        "accuracy": 100 * run["accuracy"],
        "in_memory": 100 * memory["accuracy"],
    }


def _slope(before: Row, time: str, n_rows: int, run: Row) -> float:
    return math.log(run[time] / before[time]) / math.log(n_rows / before["rows"])
