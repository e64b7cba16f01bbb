"""Results on disk: a CSV file with one line per run, from which a stopped experiment resumes."""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ... import _core
from ..._replacing import replacing
from .measure import machine, versions

# The columns that say which program and machine produced a line.
STAMP: dict[str, type] = {
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
# The packages and modules that decide the result of a fit, beside the native core.
FITTING = ("files", "rows", "training", "solving", "tasks", "fit", "estimators")

Row = Mapping[str, Any]


@cache
def program() -> str:
    """Name this build of pocketsvm: its version alone would not tell a changed source."""
    digest = hashlib.sha256(Path(str(_core.__file__)).read_bytes())
    for name in FITTING:
        module = import_module(f"pocketsvm.{name}")
        folder = getattr(module, "__path__", [None])[0]
        for path in sorted(Path(folder).rglob("*.py")) if folder else [Path(str(module.__file__))]:
            digest.update(path.read_bytes())
    return f"pocketsvm {versions()['pocketsvm']}+{digest.hexdigest()[:8]}"


@cache
def stamp(own: bool) -> Row:
    """Describe the machine and the program: this build of pocketsvm (`own`) or scikit-learn."""
    found = versions()
    name = program() if own else f"scikit-learn {found['scikit-learn']}"
    return {"program": name, **machine(), **found}


class Results:
    """The finished runs in a CSV file; every addition is on disk at once.

    Parameters
    ----------
    path : Path
        The CSV file; its folder is created.

    columns : mapping of str to type
        The columns with the types of their values.

    key : sequence of str
        The columns that identify a run: a new line replaces one with the same values.
    """

    def __init__(self, path: Path, columns: Mapping[str, type], key: Sequence[str]) -> None:
        self.path, self.columns, self.key = path, columns, key
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows = {self._key(row): row for row in self._read()}

    @property
    def rows(self) -> list[Row]:
        """All lines."""
        return list(self._rows.values())

    def of(self, lines: Iterable[Row]) -> list[Row | None]:
        """Return the stored lines with the same key; None for those that are missing."""
        return [self._rows.get(self._key(line)) for line in lines]

    def add(self, rows: Iterable[Row]) -> None:
        """Store lines: all of them or, if that fails, none."""
        self._rows |= {self._key(row): self._typed(row) for row in rows}
        self.save()

    def save(self) -> Path:
        """Write all lines to the CSV file, which is replaced in one step."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.columns), restval="")
        writer.writeheader()
        writer.writerows(self._rows.values())
        with replacing(self.path) as file:
            file.write(text.getvalue().encode())
        return self.path

    def save_parquet(self) -> Path:
        """Write the same lines to a Parquet file beside the CSV file."""
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError("Parquet needs pyarrow: pip install 'pocketsvm[data]'") from error
        types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in self.columns.items()])
        lines = [{name: row.get(name) for name in self.columns} for row in self.rows]
        path = self.path.with_suffix(".parquet")
        with replacing(path) as file:
            parquet.write_table(pa.Table.from_pylist(lines, schema), file)
        return path

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row.get(column) for column in self.key)

    def _read(self) -> list[Row]:
        if not self.path.exists():
            return []
        with open(self.path, newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            try:
                if tuple(lines.fieldnames or ()) != tuple(self.columns):
                    raise ValueError("it has other columns")
                return [self._typed(line) for line in lines]
            except (ValueError, csv.Error) as error:
                raise ValueError(
                    f"{self.path} was not written by this version of pocketsvm ({error}); "
                    "move it away or choose another folder"
                ) from None

    def _typed(self, line: Row) -> Row:
        """Give every value the type of its column; empty values are left out."""
        present = ((name, kind, line.get(name, "")) for name, kind in self.columns.items())
        return {name: kind(value) for name, kind, value in present if value not in ("", None)}


def select(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the lines that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def figures(rows: Iterable[Row], column: str, **wanted: Any) -> list[float]:
    """Return the values of a column, from the lines that have these values."""
    return [row[column] for row in select(rows, **wanted) if row.get(column) is not None]
