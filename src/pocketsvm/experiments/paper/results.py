"""The results on disk: one line a run, in a CSV file that a stopped reproduction goes on with."""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from ... import _core
from ..._replacing import replacing
from ...data import rows as data_rows
from ...data import targets
from ...estimators import base, classifier, regressor
from ...profile import Profile
from ...solving import moving, newton
from .measure import machine, versions

__all__ = ["COLUMNS", "Results", "stamp"]

# What a run is, what it gave, what it was made by. All of the first and some of the last decide
# whether a line answers for a run that is to be made.
SETTING = {
    "part": str,
    "data": str,
    "strategy": str,
    "budget": int,
    "seed": int,
    "rows": int,
    "features": int,
    "passes": int,
    "C": float,
    "gamma": float,
}
OUTCOME = {
    "accuracy": float,
    "vectors": int,
    "seconds_fit": float,
    "seconds_a_prediction": float,
    **{field.name: field.type for field in fields(Profile)},
    "merge_frequency": float,
    "events": int,
    "equal_exact": float,
    "equal_or_tied_exact": float,
    "equal_gss": float,
    "equal_or_tied_gss": float,
    "factor": float,
    "factor_of_sums": float,
}
STAMP = {
    "program": str,
    "cpu": str,
    "instruction_set": str,
    "cores": int,
    "system": str,
    "python": str,
    "pocketsvm": str,
    "numpy": str,
    "scipy": str,
    "scikit-learn": str,
}
COLUMNS = SETTING | OUTCOME | STAMP
KEY = (*SETTING, "program", "cpu", "instruction_set")

# What a fit comes from; the version alone would take a strategy that was changed for the old one.
SOURCES = (_core, base, data_rows, targets, classifier, regressor, moving, newton)

Row = Mapping[str, Any]


@cache
def stamp(own: bool) -> Row:
    """Tell machine and versions, and the program: this build of pocketsvm, or scikit-learn."""
    found = versions()
    program = f"scikit-learn {found['scikit-learn']}"
    if own:
        text = b"".join(Path(str(module.__file__)).read_bytes() for module in SOURCES)
        program = f"pocketsvm {found['pocketsvm']}+{hashlib.sha256(text).hexdigest()[:8]}"
    return {"program": program, **machine(), **found}


def key(row: Row) -> tuple[Any, ...]:
    """Return what two lines of the same run have in common."""
    return tuple(row.get(column) for column in KEY)


class Results:
    """The runs that are done, in ``runs.csv`` of a folder; every addition is on disk at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.csv"
        folder.mkdir(parents=True, exist_ok=True)
        self._rows = {key(row): row for row in self._read()}

    def of(self, lines: Iterable[Row]) -> list[Row | None]:
        """Return the whole lines for what is known before a run; None for those not there."""
        return [self._rows.get(key(line)) for line in lines]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep lines; all of them or, if that fails, none."""
        self._rows |= {key(row): _typed(row) for row in rows}
        self.save()

    def save(self) -> Path:
        """Write all lines to ``runs.csv``; what was there before is replaced in one step."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(self._rows.values())
        with replacing(self.path) as file:
            file.write(text.getvalue().encode())
        return self.path

    def save_parquet(self) -> Path:
        """Write the same lines to ``runs.parquet``."""
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError("Parquet needs pyarrow: pip install 'pocketsvm[data]'") from error
        types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
        lines = [{name: row.get(name) for name in COLUMNS} for row in self._rows.values()]
        path = self.path.with_suffix(".parquet")
        with replacing(path) as file:
            parquet.write_table(pa.Table.from_pylist(lines, schema), file)
        return path

    def _read(self) -> list[Row]:
        if not self.path.exists():
            return []
        with open(self.path, newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            try:
                if tuple(lines.fieldnames or ()) != tuple(COLUMNS):
                    raise ValueError("its columns are others")
                return [_typed(line) for line in lines]
            except (ValueError, csv.Error) as error:
                raise ValueError(
                    f"{self.path} was not written by this version of pocketsvm ({error}); "
                    "move it away or choose another folder with --out"
                ) from None


def _typed(line: Row) -> Row:
    """Give every value the type of its column; what is empty is missing."""
    present = ((name, kind, line.get(name, "")) for name, kind in COLUMNS.items())
    return {name: kind(value) for name, kind, value in present if value not in ("", None)}
