"""Columns of a table: which ones are features, which one is the label.

Columns are found by name, or by position if they have no names. `Options` holds what the user says
about a file, `Layout` where a model's training file had its columns, and `Selection` which columns
of a file are read.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from .errors import DataError, Hint

LABEL_NAMES = ("label", "target", "class", "y")
LabelRule = Literal["option", "name", "last"]
ALL_WORDS = "text"  # in place of the names of all columns that hold words
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
    """

    n_features: int
    names: list[str] | None = None
    label: str | int | None = None
    dropped: list[int] = field(default_factory=list)
    first_index: int = 1
    texts: list[int] = field(default_factory=list)
    missing: bool = False


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

    texts : sequence of str
        Columns that are read as text, by name or number; "text" means all columns of words. Other
        features must be numbers.

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
    """

    format: str | None = None
    header: bool | None = None
    label: str | None = None
    drop: Sequence[str] = ()
    sep: str | None = None
    texts: Sequence[str] = ()
    missing: bool = False
    weights: str | None = None
    ids: str | None = None
    queries: bool = False
    labelled: bool = True


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
        usual name, or it is the last column.

    texts : frozenset of int
        Positions of the features that are read as text.

    missing : bool
        Whether values may be missing.

    weights, ids : int or None
        Positions of the columns with weights and names of the rows.
    """

    names: list[str]
    features: list[int]
    label: int | None
    label_rule: LabelRule | None = None
    texts: frozenset[int] = frozenset()
    missing: bool = False
    weights: int | None = None
    ids: int | None = None

    @property
    def used(self) -> list[int]:
        """Positions of the features and, last, of the label, the weights and the names."""
        last = (self.label, self.weights, self.ids)
        return self.features + [k for k in last if k is not None]

    def _moved(self, names: list[str], weights: int | None, ids: int | None) -> "Selection":
        """Return the same columns of a table that also has columns of weights and names."""
        places = [k for k in range(len(names)) if k not in (weights, ids)]
        return replace(
            self,
            names=names,
            features=[places[k] for k in self.features],
            label=None if self.label is None else places[self.label],
            texts=frozenset(places[k] for k in self.texts),
            weights=weights,
            ids=ids,
        )

    def layout(self, has_names: bool) -> Layout:
        """Return the layout of a model that is trained on these columns."""
        texts = [j for j, k in enumerate(self.features) if k in self.texts]
        layout = Layout(len(self.features), texts=texts, missing=self.missing)
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
        """Select the columns of a training file: all but the dropped ones are features."""
        dropped = set(self._positions(self.options.drop))
        ids = None
        if self.options.queries and self.options.ids is not None:
            (ids,) = self._positions([self.options.ids])
            dropped.add(ids)
        if len(dropped) == len(self.names):
            raise DataError(f"{self.file}: all columns are dropped.")
        label, rule = self._find_label(dropped)
        if label is not None and label in dropped:
            role = self._role(label)
            raise DataError(f"{self.file}: column {self.names[label]!r} is both label and {role}.")
        features = self._all_but(label, dropped)
        if not features:
            raise DataError(f"{self.file} has no columns beside the label's.")
        if has_names:
            self._check_names([self.names[k] for k in features])
        texts = self._find_texts(features)
        return Selection(self.names, features, label, rule, texts, self.options.missing, ids=ids)

    def _role(self, column: int) -> str:
        """Return why a column is no feature."""
        for role, given in (("query", self.options.ids), ("weight", self.options.weights)):
            if given is not None and self._positions([given]) == [column]:
                return role
        return "dropped"

    def for_model(self, layout: Layout, with_label: bool) -> Selection:
        """Select the features of a model, and the label if it is wanted."""
        weights, ids = (
            None if given is None else self._positions([given])[0]
            for given in (self.options.weights, self.options.ids)
        )
        others = {weights, ids} - {None}
        if not self._names_a_feature(layout) and not others <= set(layout.dropped):
            found = self._without(others).for_model(layout, with_label)
            return found._moved(self.names, weights, ids)
        if self._names_a_feature(layout):
            features, label = self._by_name(layout)
        else:
            features, label = self._by_position(layout)
        found = self._with_label(layout, features, label, with_label)
        return replace(found, weights=weights, ids=ids)

    def _without(self, columns: Set[int | None]) -> "ColumnSelector":
        """Return a selector for the other columns; it does not know the dropped ones."""
        kept = [name for k, name in enumerate(self.names) if k not in columns]
        return replace(self, names=kept, options=replace(self.options, weights=None, ids=None))

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
            raise DataError(
                f"{self.file} has no column for the label; it has {listed(self.names)}.",
                NAME_THE_LABEL,
            )
        return Selection(self.names, features, label, None, texts, layout.missing)

    def _find_texts(self, features: Sequence[int]) -> frozenset[int]:
        """Return the features that are read as text: those that the user names, or all words."""
        named = [column for column in self.options.texts if column != ALL_WORDS]
        found = set(self._positions(named))
        if outside := found - set(features):
            column = self.names[min(outside)]
            raise DataError(f"{self.file}: column {column!r} is not a feature, and not encoded.")
        if len(named) < len(self.options.texts):
            found |= self.words & set(features)
        return frozenset(found)

    def _names_a_feature(self, layout: Layout) -> bool:
        """Whether at least one column has the name of a feature."""
        return not set(layout.names or ()).isdisjoint(self.names)

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
            return (columns[-1], "last") if self.options.labelled else (None, None)
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
