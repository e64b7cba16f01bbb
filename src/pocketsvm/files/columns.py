"""Columns of a table: which ones are features, which one is the label.

Columns are found by name, or by position if they have no names. `Options` holds what the user says
about a file, `Layout` where a model's training file had its columns, and `Selection` which columns
of a file are read.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .errors import DataError, Hint

LABEL_NAMES = ("label", "target", "class", "y")
LabelRule = Literal["option", "name", "last"]
ALL_WORDS = "text"  # in place of the names of all columns that hold words
DELIMITERS = "\t,;|"  # a line has the one that occurs most often, and on ties the first
MAX_LISTED = 10  # names in one message: more would hide what the message says

NAME_THE_LABEL = Hint("Say which one it is: {}.", "label")
SAY_THE_LABEL = Hint("Say which column is the label: {}.", "label")
DROP_ROW_NUMBERS = Hint(
    "If it only numbers the rows, leave it out ({} for the first), or give it a name.", "drop", "1"
)


@dataclass(frozen=True)
class Layout:
    """Where the training file of a model had its features and its label.

    Attributes
    ----------
    n_features : int
        The number of features.

    names : list of str or None
        Their names.

    label : str, int or None
        The label's column: its name, or its position from 0. None for LIBSVM text.

    dropped : list of int
        Positions of unused columns, if features have no names.

    first_index : int
        The index of the first feature in LIBSVM text.

    texts : list of int
        Positions of the features that are text.

    missing : bool
        Whether values may be missing.

    label_rule : {"option", "name", "last"} or None
        Why this column is the label: the options say so, it is the only one with a usual name, or
        it is the last one. None for LIBSVM text, which has no columns.

    largest_index : str or None
        The largest index of LIBSVM text, and its place.
    """

    n_features: int
    names: list[str] | None = None
    label: str | int | None = None
    dropped: list[int] = field(default_factory=list)
    first_index: int = 1
    texts: list[int] = field(default_factory=list)
    missing: bool = False
    label_rule: LabelRule | None = field(default=None, compare=False)
    largest_index: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Options:
    """What the user says about a file; None means that the file itself tells.

    Attributes
    ----------
    format : {"libsvm", "csv", "tsv", "parquet"} or None
        The format.

    header : bool or None
        Whether the first row has the names of the columns.

    label : str or None
        The label's column: its name, or its number from 1; -1 is the last column.

    drop : sequence of str
        Columns that are not used, by name or number.

    sep : str or None
        The character that separates the values of a CSV file.

    decimal : str or None
        The character before the decimals of a CSV file.

    texts : sequence of str
        Columns that are read as text, by name or number; "text" means all columns of words. Other
        features must be numbers.

    dates : bool
        Whether each column of dates becomes several features, such as month and weekday.

    missing : bool
        Whether values may be missing.

    weights, ids : str or None
        Columns with the weights of the rows and with their names, which are no features. They are
        read only for a model.

    queries : bool
        Whether the rows have queries: numbers in LIBSVM text, and names in the column `ids` of a
        table, which is then read for training too. Without that column, all rows of a table are of
        one query.

    labelled : bool
        Whether a table has a label even if no column is named so; then it is the last column.

    targets : sequence of str
        Columns with more targets of a regression, by name or number.

    features : sequence of str or None
        The columns to use, by name or number; None means all that are not used otherwise.

    known : sequence of str or None
        All columns that training files may have; empty if others are left out. None means that the
        files are not for training.
    """

    format: str | None = None
    header: bool | None = None
    label: str | None = None
    drop: Sequence[str] = ()
    sep: str | None = None
    decimal: str | None = None
    texts: Sequence[str] = ()
    dates: bool = False
    missing: bool = False
    weights: str | None = None
    ids: str | None = None
    queries: bool = False
    labelled: bool = True
    targets: Sequence[str] = ()
    features: Sequence[str] | None = None
    known: Sequence[str] | None = None


@dataclass(frozen=True)
class Selection:
    """The columns of a table that are read.

    Attributes
    ----------
    names : list of str
        The names of all columns.

    features : list of int
        Positions of the features.

    label : int or None
        Position of the label; None if it is not read.

    label_rule : {"option", "name", "last"} or None
        Why this is the label of a training file: the user says so, it is the only column with a
        usual name, or it is the last column. None for other files.

    texts : frozenset of int
        Positions of the features that are read as text.

    missing : bool
        Whether values may be missing.

    weights, ids : int or None
        Positions of the columns with weights and names of the rows.

    targets : list of int
        Positions of the columns with more targets.

    parts : dict
        The parts of dates that features are, by their place among the features. Several of them
        have the position of the same column.
    """

    names: list[str]
    features: list[int]
    label: int | None
    label_rule: LabelRule | None = None
    texts: frozenset[int] = frozenset()
    missing: bool = False
    weights: int | None = None
    ids: int | None = None
    targets: list[int] = field(default_factory=list)
    parts: dict[int, str] = field(default_factory=dict)

    @property
    def used(self) -> list[int]:
        """Positions of the features and, last, of the label, weights, names and more targets."""
        last = (self.label, self.weights, self.ids, *self.targets)
        return [*dict.fromkeys(self.features), *(k for k in last if k is not None)]

    @property
    def dates(self) -> frozenset[int]:
        """Positions of the features that are parts of dates."""
        return frozenset(self.features[j] for j in self.parts)

    def of_table(self, names: list[str], sources: Sequence[tuple[int, str | None]]) -> "Selection":
        """Return the same columns of a table in which they have these positions, or are parts."""

        def place(k: int | None) -> Any:
            return None if k is None else sources[k][0]

        return replace(
            self,
            names=names,
            features=[place(k) for k in self.features],
            label=place(self.label),
            texts=frozenset(place(k) for k in self.texts),
            weights=place(self.weights),
            ids=place(self.ids),
            targets=[place(k) for k in self.targets],
            parts={j: part for j, k in enumerate(self.features) if (part := sources[k][1])},
        )

    def _moved(self, names: list[str], others: Set[int]) -> "Selection":
        """Return the same columns of a table that also has others."""
        places = [k for k in range(len(names)) if k not in others]
        return replace(
            self,
            names=names,
            features=[places[k] for k in self.features],
            label=None if self.label is None else places[self.label],
            texts=frozenset(places[k] for k in self.texts),
        )

    def layout(self, has_names: bool) -> Layout:
        """Return the layout of a model that is trained on these columns."""
        texts = [j for j, k in enumerate(self.features) if k in self.texts]
        layout = Layout(
            len(self.features), texts=texts, missing=self.missing, label_rule=self.label_rule
        )
        if has_names:
            label = None if self.label is None else self.names[self.label]
            return replace(layout, names=[self.names[k] for k in self.features], label=label)
        unused = set(range(len(self.names))) - {*self.features, self.label}
        return replace(layout, label=self.label, dropped=sorted(unused))


@dataclass(frozen=True)
class ColumnSelector:
    """Finds features and label among the columns of one table.

    Attributes
    ----------
    file : str
        What messages call the table.

    names : list of str
        The names of its columns.

    options : Options
        What the user says about it.

    words : frozenset of int
        Positions of the columns that hold words.
    """

    file: str
    names: list[str]
    options: Options
    words: frozenset[int] = frozenset()

    def for_training(self, has_names: bool) -> Selection:
        """Select the columns of a training file: all that are not used otherwise are features."""
        options = self.options
        roles = self._roles()
        dropped = {*self._positions(options.drop), *roles.values()}
        chosen = set(self._positions(options.features or ()))
        if len(dropped) == len(self.names):
            raise DataError(f"{self.file}: all columns are dropped.")
        label, rule = self._find_label(dropped | chosen)
        self._check_roles(label, chosen)
        features = sorted(chosen) or self._all_but(label, dropped)
        if not features:
            raise DataError(f"{self.file} has no columns beside the label's.")
        if has_names:
            self._check_names([self.names[k] for k in features])
        texts = self.find_texts(features)
        ids = roles.get("query") if options.queries else None
        return Selection(self.names, features, label, rule, texts, options.missing, ids=ids)

    def _roles(self) -> dict[str, int]:
        """Return the columns that are neither features nor the label, by what they hold."""
        given = {"weight": self.options.weights, "query": self.options.ids}
        given |= {f"target {k}": name for k, name in enumerate(self.options.targets, 2)}
        return {
            role: self._positions([column])[0]
            for role, column in given.items()
            if column is not None
        }

    def _check_roles(self, label: int | None, chosen: Set[int]) -> None:
        """Refuse a label, or a chosen feature, that has another role."""
        others = {k: role for role, k in self._roles().items()}
        others = dict.fromkeys(self._positions(self.options.drop), "dropped") | others
        given = [] if label is None else [(label, "label")]
        for k, role in [*given, *((k, "feature") for k in sorted(chosen))]:
            if k in others:
                name = self.names[k]
                raise DataError(f"{self.file}: column {name!r} is both {role} and {others[k]}.")
            others[k] = role

    def named_options(self) -> Options:
        """Return the options with the names of columns in place of their numbers.

        Refuses columns that are not there, or have two roles.
        """

        def names(columns: Sequence[str]) -> tuple[str, ...]:
            return tuple(
                column if column == ALL_WORDS else self.names[self._positions([column])[0]]
                for column in columns
            )

        def name(column: str | None) -> str | None:
            return None if column is None else names([column])[0]

        given = self.options
        label = None if given.label is None else self._positions([given.label])[0]
        self._check_roles(label, set(self._positions(given.features or ())))
        return replace(
            given,
            label=name(given.label),
            weights=name(given.weights),
            ids=name(given.ids),
            drop=names(given.drop),
            texts=names(given.texts),
            targets=names(given.targets),
            features=None if given.features is None else names(given.features),
        )

    def for_model(self, layout: Layout, with_label: bool, has_names: bool) -> Selection:
        """Select the features of a model, and the label if it is wanted.

        Columns are found by name, or by position if either the model or the table has no names.
        """
        known, roles = self.options.known, self._roles()
        for unknown in (name for name in self.names if known and name not in known):
            raise DataError(f"{self.file} has the column {unknown!r}, which other files lack.")
        others = set(roles.values())
        by_name = has_names and layout.names is not None
        if not by_name and not others <= set(layout.dropped):
            found = self._without(others).for_model(layout, with_label, has_names)
            found = found._moved(self.names, others)
        else:
            features, label = (self._by_name if by_name else self._by_position)(layout)
            found = self._with_label(layout, features, label, with_label)
        targets = [k for role, k in roles.items() if role.startswith("target")]
        rule: LabelRule | None = None if known is None else "option"  # for the advice of errors
        found = replace(found, label_rule=rule, targets=targets)
        return replace(found, weights=roles.get("weight"), ids=roles.get("query"))

    def _without(self, columns: Set[int]) -> "ColumnSelector":
        """Return a selector for the other columns; it does not know the dropped ones."""
        kept = [name for k, name in enumerate(self.names) if k not in columns]
        options = replace(self.options, weights=None, ids=None, targets=(), known=None)
        return replace(self, names=kept, options=options)

    def _with_label(
        self, layout: Layout, features: list[int], label: int | None, with_label: bool
    ) -> Selection:
        texts = frozenset(features[j] for j in layout.texts)
        if not with_label:
            return Selection(self.names, features, None, None, texts, layout.missing)
        if self.options.label is not None:
            label, _ = self._find_label()
        elif label is None and layout.label is None:  # the training file had none
            unlabelled = replace(self, options=replace(self.options, labelled=False))
            label, _ = unlabelled._find_label(set(features))
        if label is None:
            name = f", {layout.label!r}" if isinstance(layout.label, str) else ""
            raise DataError(
                f"{self.file} has no column for the label{name}; it has {listed(self.names)}.",
                NAME_THE_LABEL,
            )
        return Selection(self.names, features, label, None, texts, layout.missing)

    def find_texts(self, features: Sequence[int]) -> frozenset[int]:
        """Return the features that are read as text: those that the user names, or all words."""
        named = [column for column in self.options.texts if column != ALL_WORDS]
        found = set(self._positions(named))
        if outside := found - set(features):
            column = self.names[min(outside)]
            raise DataError(f"{self.file}: column {column!r} is not a feature, and not encoded.")
        if len(named) < len(self.options.texts):
            found |= self.words & set(features)
        return frozenset(found)

    def _by_name(self, layout: Layout) -> tuple[list[int], int | None]:
        needed = layout.names or []
        self._check_names([name for name in self.names if name in set(needed)])
        places = {name: k for k, name in enumerate(self.names)}
        missing = [name for name in needed if name not in places]
        if missing:
            raise DataError(
                f"{self.file} lacks the column {missing[0]!r}, which the model needs; "
                f"it has {listed(self.names)}."
            )
        label = places.get(layout.label) if isinstance(layout.label, str) else None
        return [places[name] for name in needed], label

    def _by_position(self, layout: Layout) -> tuple[list[int], int | None]:
        n_columns, n_unused = len(self.names), len(layout.dropped)
        label = None
        if self.options.label is not None:
            label, _ = self._find_label()
        elif n_columns == layout.n_features + n_unused + 1:
            label = layout.label if isinstance(layout.label, int) else self._find_label()[0]
        dropped = set(layout.dropped)
        if label is None and isinstance(layout.label, int):  # the columns after it move up
            dropped = {k - (k > layout.label) for k in dropped}
        if n_columns == layout.n_features:
            dropped = set()
        features = self._all_but(label, dropped)
        if len(features) != layout.n_features:
            unused = f" beside {n_unused} that it does not use" if n_unused else ""
            raise DataError(
                f"{self.file} has {n_columns} columns; the model needs {layout.n_features} "
                f"features{unused}, and at most one more, the label."
            )
        return features, label

    def _all_but(self, label: int | None, dropped: Set[int]) -> list[int]:
        return [k for k in range(len(self.names)) if k != label and k not in dropped]

    def _find_label(
        self, dropped: Set[int] = frozenset()
    ) -> tuple[int, LabelRule] | tuple[None, None]:
        """Return the label's column: as the user says, or by its usual names, or the last."""
        if self.options.label is not None:
            return self._positions([self.options.label])[0], "option"
        columns = self._all_but(None, dropped)
        usual = [k for k in columns if self.names[k].lower() in LABEL_NAMES]
        if not usual:
            if not self.options.labelled:
                return None, None
            if not columns:
                raise DataError(f"{self.file} has no column for the label.", NAME_THE_LABEL)
            return columns[-1], "last"
        if len(usual) > 1:
            found = listed([self.names[k] for k in usual])
            raise DataError(
                f"{self.file} has several columns that could be the label: {found}.", NAME_THE_LABEL
            )
        beside = {self.names[k].lower() for k in columns if k != usual[0]}
        if self.names[usual[0]].lower() == "y" and "x" in beside and len(beside) > 1:
            raise DataError(
                f"{self.file}: column {self.names[usual[0]]!r} could be the label or, beside a "
                "column 'x', a coordinate.",
                SAY_THE_LABEL,
            )
        return usual[0], "name"

    def _positions(self, columns: Sequence[str]) -> list[int]:
        """Return the positions of columns that are given by name or by number."""
        n_columns = len(self.names)
        positions = []
        for column in columns:
            if column in self.names:
                positions.append(self.names.index(column))
                continue
            position = int(column) if re.fullmatch(r"-?[0-9]{1,9}", column) else 0
            if not 1 <= abs(position) <= n_columns:
                raise DataError(
                    f"{self.file} has no column {column!r}; it has {listed(self.names)}. Columns "
                    f"are given by name, or by number from 1 to {n_columns}; -1 is the last."
                )
            positions.append(position - 1 if position > 0 else n_columns + position)
        return positions

    def _check_names(self, names: Sequence[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if not name:
                raise DataError(f"{self.file} has a column without a name.", DROP_ROW_NUMBERS)
            if name in seen:
                raise DataError(f"{self.file} has two columns named {name!r}.")
            seen.add(name)


def listed(names: Sequence[str]) -> str:
    """Return names for a message: the first ones, and how many more there are."""
    some = ", ".join(map(repr, names[:MAX_LISTED]))
    n_more = len(names) - MAX_LISTED
    return some if n_more <= 0 else f"{some} and {n_more} more"


def delimiter_of(line: bytes) -> str | None:
    """Return the delimiter of a line, or None if it has none; blanks count only without another."""
    counts = {mark: line.count(mark.encode()) for mark in DELIMITERS}
    best = max(counts, key=counts.__getitem__)
    if counts[best]:
        return best
    return " " if len(line.split()) > 1 else None
