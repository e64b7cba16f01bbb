"""What a table needs besides the given options, and the command that has all of it.

A reader stops at the first value that it cannot use. Here, the files are read again with every
option that may help, so that one message names all options that the table needs.
"""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ..files import LABEL_NAMES, Batch, DataError, DataFile, Options
from ..files.columns import ALL_WORDS, listed
from ..files.dates import EXAMPLE, names_of_parts
from .hints import with_hint

# What the first error may advise if other options could be needed, too.
FIXABLE = {"texts", "missing", "dates", "label", "drop"}
# With more different values than this, and fewer rows per value than that, texts probably name the
# rows, and labels are probably numbers to predict.
MANY_VALUES, ROWS_PER_VALUE = 20, 10
# No more rows than about this are read to find what a table needs.
MOST_READ = 1_000_000


@contextmanager
def all_needs_named(
    paths: Sequence[str], options: Options, arguments: Sequence[str], *, has_classes: bool
) -> Iterator[None]:
    """Make the error of a training file name everything that the command line lacks.

    Parameters
    ----------
    paths : sequence of str
        The training files.

    options : Options
        What the command line says about them.

    arguments : sequence of str
        The command line, without the name of the program.

    has_classes : bool
        Whether labels are classes, so that they cannot be fractions.
    """
    try:
        yield
    except DataError as error:
        if FIXABLE.isdisjoint(hint.option for hint in error.hints):
            raise
        needs = Needs(paths, options, has_classes)
        needs.find()
        if not needs.reasons:
            raise
        raise DataError(needs.message(error, arguments)) from error


@dataclass
class Needs:
    """What a table needs.

    Attributes
    ----------
    paths : sequence of str
        The files.

    options : Options
        What the command line says about them.

    has_classes : bool
        Whether labels are classes.

    dates : list of str
        Columns of dates that can be used.

    dropped : dict
        What is wrong with each column that cannot be used.

    n_rows : int
        The number of rows.

    missing : dict
        The columns with missing values, as keys.

    texts : dict
        The different texts of each column of words.

    label : str or None
        The label's column, if it is not named by an option or by a usual name.

    has_fractions : bool
        Whether labels that should be classes are fractions.

    is_label_unknown : bool
        Whether several columns could be the label, or the last one cannot be.

    unreadable : list of str
        Columns with values that no option can mend.

    other : DataError or None
        The first problem that no option can mend.

    reads_labels : bool
        Whether labels are read; not after a problem that may be one of them.
    """

    paths: Sequence[str]
    options: Options
    has_classes: bool = False
    dates: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    n_rows: int = 0
    missing: dict[str, None] = field(default_factory=dict)
    texts: dict[str, set[str]] = field(default_factory=dict)
    label: str | None = None
    has_fractions: bool = False
    is_label_unknown: bool = False
    unreadable: list[str] = field(default_factory=list)
    other: DataError | None = None
    reads_labels: bool = True

    def find(self) -> None:
        """Read the files with all options that help."""
        with DataFile(self.paths[0], self.options) as file:
            table = file.table
            table.tell_dates()
            dates = [table.names[k] for k in sorted(table.dates)]
            given = {self.options.label, *self.options.drop, *self.options.texts}
            if not self.options.dates:
                self.dates = [name for name in dates if name not in given]
            if not table.has_names:  # parts of dates would have no names either
                self.dropped = dict.fromkeys(self.dates, "dates without a header")
                self.dates = []
        while True:
            try:
                self._read()
                return
            except DataError as error:
                if not self._settle(error):
                    self.other = self.other or error
                    if not self.reads_labels:
                        return
                    self.reads_labels = False

    def _wanted(self) -> Options:
        """Return the options with which the files are read."""
        given = self.options
        return replace(
            given,
            label=self.label if self.is_label_unknown else given.label,
            drop=(*given.drop, *self.dropped, *self.unreadable),
            texts=(*given.texts, ALL_WORDS),
            dates=given.dates or any(name != self.label for name in self.dates),
            missing=True,
            known=(),  # errors give the advice that training files get
        )

    def _read(self) -> None:
        """Count the missing values and the texts of all columns."""
        self.n_rows, self.missing, self.texts, layout = 0, {}, {}, None
        for path in self.paths:
            with DataFile(path, self._wanted()) as file:
                layout = layout or file.layout()
                names = layout.names or _numbers(layout.n_features, layout.label, layout.dropped)
                if not self.is_label_unknown and layout.label_rule == "last":
                    label = layout.label
                    self.label = label if isinstance(label, str) else str(int(label or 0) + 1)
                labelled = self.options.labelled and not self.is_label_unknown
                for batch in file.batches(layout, labels=labelled and self.reads_labels):
                    self._add(batch, names, layout.texts)
                    if self.n_rows >= MOST_READ:
                        return

    def _add(self, batch: Batch, names: Sequence[str], texts: Sequence[int]) -> None:
        """Count what a batch has; features have these names, and some are texts."""
        self.n_rows += len(batch.X)
        is_missing = batch.X != batch.X
        self.missing |= dict.fromkeys(
            names[j] for j in np.flatnonzero(is_missing.any(axis=0)).tolist()
        )
        for j in texts:
            found = batch.X[~is_missing[:, j], j].tolist()
            self.texts.setdefault(names[j], set()).update(found)
        values = None if batch.labels is None else batch.labels.numbers()
        if self.has_classes and values is not None:
            self.has_fractions |= bool((values != np.floor(values)).any())

    def _settle(self, error: DataError) -> bool:
        """Try to read without a column that is of no use, or with another label."""
        for hint in error.hints:
            column = hint.column
            if hint.option == "drop" and column is not None and column not in self.dropped:
                is_date = column in self.dates
                self.dropped[column] = f"dates not written as {EXAMPLE}" if is_date else "no name"
                self.dates = [name for name in self.dates if name != column]
                return True
            if hint.option == "texts" and column is not None and column not in self.unreadable:
                self.unreadable.append(column)
                self.other = self.other or error
                return True
            if hint.option == "label" and hint.column is None and not self.is_label_unknown:
                self.is_label_unknown, self.label = True, self._guessed_label()
                return True
        return False

    def _guessed_label(self) -> str | None:
        """Return a column that may be the label, so that the others can be read."""
        with DataFile(self.paths[0], self.options) as file:
            names = [name for name in file.table.names if name not in self.options.drop]
        usual = [name for name in names if name.lower() in LABEL_NAMES]
        others = [name for name in names if name not in self.dropped]
        return next(iter([*usual, *others[::-1]]), None)

    @property
    def encoded(self) -> list[str]:
        """The columns of words that no option names."""
        if ALL_WORDS in self.options.texts:
            return []
        labels = LABEL_NAMES if self.is_label_unknown else ()
        others = (name for name in self.texts if name not in self.options.texts)
        return [name for name in others if name.lower() not in labels]

    @property
    def row_names(self) -> list[str]:
        """The columns of words with a different text in nearly every row."""
        return [name for name in self.encoded if are_too_many(len(self.texts[name]), self.n_rows)]

    @property
    def reasons(self) -> list[tuple[str, list[str]]]:
        """What the table has, and the arguments that it needs for this."""
        found: list[tuple[str, list[str]]] = []
        if self.is_label_unknown:
            found.append(("no column that must be the label", ["--label", "COLUMN"]))
        rows = self.row_names
        encoded = [name for name in self.encoded if name not in rows]
        if encoded:
            is_one = len(encoded) == 1 and not self.is_label_unknown
            chosen = encoded if is_one else [ALL_WORDS]
            found.append((f"text in {_columns(encoded)}", ["--one-hot", *chosen]))
        if rows:
            found.append((f"different texts in nearly all rows in {_columns(rows)}", _drop(rows)))
        missing = [name for name in self._missing_columns() if name not in rows]
        if missing and not self.options.missing:
            found.append((f"missing values in {_columns(missing)}", ["--impute", "mean"]))
        if self.dates:
            found.append((f"dates in {_columns(self.dates)}", ["--dates"]))
        for problem in dict.fromkeys(self.dropped.values()):
            unusable = [name for name, other in self.dropped.items() if other == problem]
            found.append((f"{problem} in {_columns(unusable)}", _drop(unusable)))
        if self.has_fractions:
            found.append(("numbers with fractions as labels", ["--regression"]))
        if found and self.label is not None and not self.is_label_unknown:
            label = f"the label in the last column, {self.label!r}, unless you name another"
            found.append((label, ["--label", self.label]))
        return found

    def _missing_columns(self) -> list[str]:
        """Return the columns with missing values; parts of a date stand for one column."""
        dates = {part: name for name in self.dates for part in names_of_parts(name)}
        return list(dict.fromkeys(dates.get(name, name) for name in self.missing))

    def message(self, error: DataError, arguments: Sequence[str]) -> str:
        """Return the first problem, all that the table needs, and the whole command."""
        reasons = self.reasons
        is_same = self.other is not None and self.other.problem == error.problem
        is_label = any(hint.option == "label" and hint.column is None for hint in error.hints)
        lines = [with_hint(error) if is_same or is_label else error.problem, "The table has:"]
        lines += [f"- {what}: {shlex.join(more)}" for what, more in reasons]
        if self.other is not None and not is_same:
            lines.append(f"- and another problem: {with_hint(self.other)}")
        more = [argument for _, added in reasons for argument in added]
        first = "Try" if self.other is None else "After mending that, try"
        return "\n".join([*lines, f"{first}: {shlex.join(['pocketsvm', *arguments, *more])}"])


def are_too_many(n_values: int, n_rows: int) -> bool:
    """Tell whether so many different values are too many for categories or classes."""
    return n_values > MANY_VALUES and n_values * ROWS_PER_VALUE > n_rows


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {listed(names)}"


def _drop(columns: Sequence[str]) -> list[str]:
    return [argument for column in columns for argument in ("--drop", column)]


def _numbers(n_features: int, label: str | int | None, dropped: Sequence[int]) -> list[str]:
    """Return the numbers of the features of a table without names, from 1."""
    unused = {label, *dropped}
    places = range(n_features + len(unused))
    return [str(k + 1) for k in places if k not in unused][:n_features]
