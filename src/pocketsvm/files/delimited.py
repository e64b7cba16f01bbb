"""CSV and TSV: rows of text whose values a character separates.

The start of a file decides on the separator, on the header and on the kind of each column: numbers,
booleans or words.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .arrow import AS_PARTS, DROP, MISSING_WORDS, ArrowTable, other_label, place
from .columns import Selection, delimiter_of, listed
from .dates import READABLE, are_dates, no_date
from .errors import DataError, Hint
from .reader import BYTE_ORDER_MARK, MAYBE, NO, Opened, number

BLANKS = re.compile(rb"[ \t]+")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
BLOCK_BYTES = 1 << 19  # bytes per batch: small, because pyarrow reads about 40 batches ahead
MAX_ROW = 1 << 23  # bytes of the first row: pyarrow keeps about 40 batches of two such rows
BLOCK_ROWS = 16  # rows that a batch must have room for: pyarrow refuses a row that exceeds one
MAX_QUOTED = 40  # characters of a wrong value that a message shows

# Numbers with decimals, and the mark before these.
COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")
# Numbers with marks of thousands, which may be decimal marks elsewhere: 1,360,159 or 1.360.159,76.
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}([.,'\u2019 \u00a0][0-9]{3})+([.,][0-9]+)?")
DECIMALS = Hint("If its comma is a decimal one, use {}.", "decimal")
SAY_HEADER = Hint("Say whether it is a header: {}.", "header")


class CsvTable(ArrowTable):
    """Delimited text, read by pyarrow; its first row decides on the number of columns.

    Parameters
    ----------
    file : Opened
        The file.
    """

    has_separator = True

    def __init__(self, file: Opened) -> None:
        super().__init__(file.name, file.options)
        lines = file.head.removeprefix(BYTE_ORDER_MARK).splitlines()
        filled = [k for k, line in enumerate(lines) if line.strip()]
        if not filled:
            raise DataError(f"{self.name} is empty.")
        first = lines[filled[0]]
        if len(first) > MAX_ROW:
            raise DataError(
                f"{self.name}: its first row has more than {MAX_ROW:,} bytes, the limit."
            )
        self.delimiter = self._delimiter(first)
        self.text = _SingleBlanks(file.stream) if self.delimiter == " " else file.stream
        names, header = self._split(first), self.options.header
        rest = [lines[k] for k in (filled[:-1] if file.is_cut else filled)[1:]]
        self.has_names = self._tell_header(names, rest) if header is None else header
        self.n_skipped = filled[0] + 1 if self.has_names else 0
        self.names = names if self.has_names else [f"{k + 1}" for k in range(len(names))]
        self.block_size = max(BLOCK_BYTES, min(BLOCK_ROWS * len(first), 2 * MAX_ROW))
        self._tell_kinds(rest if self.has_names else [first, *rest])

    @classmethod
    def likeness(cls, line: bytes) -> int:
        """Tell whether a line may be the first one."""
        delimiter = delimiter_of(line)
        if delimiter == " ":
            return NO if b":" in line else MAYBE
        return NO if delimiter in (None, "\t") else MAYBE

    def _delimiter(self, line: bytes) -> str:
        return self.options.sep or delimiter_of(line) or ","

    def _split(self, line: bytes) -> list[str]:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise DataError(f"{self.name} is not text in UTF-8.") from None
        try:
            return self._values(text)
        except csv.Error as error:
            raise DataError(f"{self.name}, row 1: {error}") from None

    def _values(self, line: str) -> list[str]:
        is_blank = self.delimiter == " "
        line = line.strip() if is_blank else line
        rows = csv.reader([line], delimiter=self.delimiter, skipinitialspace=is_blank)
        return [value.strip() for value in next(rows)]

    def _tell_kinds(self, lines: Sequence[bytes]) -> None:
        """Tell which columns hold words, and which ones booleans; missing values do not count.

        A column with more numbers than words is one of numbers: a word in it is a mistake.
        """
        values: list[list[str]] = [[] for _ in self.names]
        self.decimal = self.options.decimal or "."
        for line in lines:
            try:
                row = self._values(line.decode(errors="replace"))
            except csv.Error:
                continue  # pyarrow names its place
            if len(row) == len(values):
                for column, value in zip(values, row, strict=True):
                    if value not in MISSING_WORDS:
                        column.append(value)
        self.booleans = frozenset(
            k for k, column in enumerate(values) if column and set(column) <= {*TRUE, *FALSE}
        )
        if self.options.decimal is None and self.delimiter != ",":
            has_commas = any(COMMA.fullmatch(value) for column in values for value in column)
            has_points = any(POINT.fullmatch(value) for column in values for value in column)
            self.decimal = "," if has_commas and not has_points else "."
        n_words = [sum(self._number(value) is None for value in column) for column in values]
        words = [k for k, column in enumerate(values) if 2 * n_words[k] > len(column)]
        self.dates = frozenset(k for k in words if are_dates(values[k]))
        marked = {k for k in words if _most_have_marks(values[k])}
        self.words = frozenset(words) - self.booleans - self.dates - marked

    def _number(self, text: str) -> float | None:
        """Return the number that a text spells, or None."""
        return number(text if self.decimal == "." else text.replace(self.decimal, "."))

    def _tell_header(self, first: list[str], rest: Sequence[bytes]) -> bool:
        """Tell whether the first row has names: names are not numbers and do not occur again."""
        if all(number(name) is None and name not in MISSING_WORDS - {""} for name in first):
            return True
        if not rest:
            return False
        if first == [str(k) for k in range(len(first))]:
            raise DataError(
                f"{self.name}: the first row is 0, 1, 2 and so on, which may be names or values.",
                SAY_HEADER,
            )
        texts = {
            k: name
            for k, name in enumerate(first)
            if name not in MISSING_WORDS and number(name) is None
        }
        if not texts:
            return False
        mixed = f"{self.name}: its first row mixes names and numbers, and"
        for n_row, row in enumerate(map(self._split, rest), 2):
            below = {k: row[k] for k in texts if k < len(row)}
            for k, other in below.items():
                if number(other) is not None:
                    raise DataError(
                        f"{mixed} {texts[k]!r} stands above {other!r} in row {n_row}.", SAY_HEADER
                    )
            if any(texts[k] == other for k, other in below.items()):
                return False
        raise DataError(f"{mixed} {listed([*texts.values()])} stands in no other row.", SAY_HEADER)

    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches: features as numbers, the label as text."""
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        keys = [str(k) for k in range(len(selection.names))]
        types = {keys[k]: pa.float64() for k in selection.features}
        types |= {keys[k]: pa.bool_() for k in self.booleans.intersection(selection.features)}
        types |= {keys[k]: pa.string() for k in selection.texts}
        types |= {keys[k]: pa.timestamp("us") for k in selection.dates}
        for number_column in (selection.weights, *selection.targets):
            if number_column is not None:
                types[keys[number_column]] = pa.float64()
        for text in (selection.label, selection.ids):
            if text is not None:
                types[keys[text]] = pa.string()
        try:
            batches = arrow_csv.open_csv(
                pa.PythonFile(self.text, mode="r"),
                arrow_csv.ReadOptions(
                    use_threads=False,  # with threads, errors do not name their row
                    block_size=self.block_size,
                    skip_rows=self.n_skipped,
                    column_names=keys,
                ),
                arrow_csv.ParseOptions(delimiter=self.delimiter),
                arrow_csv.ConvertOptions(
                    column_types=types,
                    null_values=[*MISSING_WORDS, *(f" {word}" for word in MISSING_WORDS)],
                    true_values=[*TRUE, *(f" {word}" for word in TRUE)],
                    false_values=[*FALSE, *(f" {word}" for word in FALSE)],
                    include_columns=[keys[k] for k in selection.used],
                    decimal_point=self.decimal,
                ),
            )
            for batch in batches:
                yield self._with_points(batch, selection)
        except pa.ArrowInvalid as error:
            raise self._explained(str(error), selection) from error

    def _with_points(self, batch: Any, selection: Selection) -> Any:
        """Return a batch in which labels that are numbers have a decimal point."""
        if self.decimal == "." or selection.label is None:
            return batch
        import pyarrow.compute as pc

        k = selection.used.index(selection.label)
        mark = re.escape(self.decimal)
        pattern = rf"^([+-]?[0-9]*){mark}([0-9]+)$"
        labels = pc.replace_substring_regex(batch.column(k), pattern, r"\1.\2")
        return batch.set_column(k, batch.schema.field(k), labels)

    def _explained(self, message: str, selection: Selection) -> DataError:
        """Return pyarrow's error with row, column and what would be right."""
        if "straddling object" in message:  # the row does not end in the block where it begins
            return DataError(
                f"{self.name} has a row of more than {self.block_size:,} bytes, which is the limit."
            )
        value = re.search(
            r"column #(\d+): Row #(\d+): .* to (double|bool|timestamp.*): "
            r"(?:invalid value|expected no zone offset in) '(.*)'",
            message,
        )
        if value:
            at = place(self.name, int(value[2]), selection, int(value[1]))
            if not value[4].strip():
                return DataError(f"{at}the value is blank.")
            at += repr(value[4][:MAX_QUOTED])
            if value[3].startswith("timestamp"):
                column = selection.names[int(value[1])]
                return no_date(at, column, is_training=selection.label_rule is not None)
            if int(value[1]) in self.dates:
                problem = f"{at} is a date, not a number."
                if not READABLE.fullmatch(value[4].strip()):
                    problem = f"{at} looks like a date, and can be read if written as 2024-01-31."
                hints = (AS_PARTS, DROP) if selection.label_rule is not None else ()
                return DataError(problem, *hints)
            if COMMA.fullmatch(value[4].strip()) and self.decimal == ".":
                return DataError(f"{at} is not a number.", DECIMALS)
            if THOUSANDS.fullmatch(value[4].strip()):
                problem = f"{at} is not a number: write it without marks of thousands."
                return other_label(problem, selection, int(value[1]))
            return other_label(f"{at} is not a number.", selection, int(value[1]))
        text = re.search(r"column #(\d+): Row #(\d+): .*invalid UTF8", message)
        if text:
            at = place(self.name, int(text[2]), selection, int(text[1]))
            return DataError(f"{at}the text is not UTF-8")
        length = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
        if length:
            return DataError(
                f"{self.name}, row {length[1]}: {length[3]} columns, where the first row has "
                f"{length[2]}"
            )
        return DataError(
            f"{self.name} cannot be read as {self.delimiter!r}-separated text: {message}"
        )


class TsvTable(CsvTable):
    """Text whose values are separated by tabs, whatever its first row looks like."""

    has_separator = False

    @classmethod
    def likeness(cls, line: bytes) -> int:
        """Tell whether a line may be the first one."""
        return MAYBE if delimiter_of(line) == "\t" else NO

    def _delimiter(self, line: bytes) -> str:
        return "\t"


class _SingleBlanks(io.RawIOBase):
    """A text in which one blank stands for several, and none at the ends of a line."""

    def __init__(self, text: Any) -> None:
        self.text = text
        self.rest = b""  # text after the last line end
        self.ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            block = self.text.read(BLOCK_BYTES)
            lines, end, rest = (
                (self.rest + block).rpartition(b"\n") if block else (self.rest, b"", b"")
            )
            self.ready, self.rest = _single_blanks(lines) + end, rest
            if not block:
                break
        data = self.ready[: len(buffer)]
        self.ready = self.ready[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _single_blanks(lines: bytes) -> bytes:
    return re.sub(rb"(?m)^ | (?=\r?$)", b"", BLANKS.sub(b" ", lines))


def _most_have_marks(texts: Sequence[str]) -> bool:
    """Tell whether most texts are numbers with marks of thousands."""
    return 2 * sum(THOUSANDS.fullmatch(text) is not None for text in texts) > len(texts)
