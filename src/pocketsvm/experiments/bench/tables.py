"""A table that prints itself as it grows and can be kept as JSON."""

from typing import Any


class Table:
    """Rows under fixed columns, each column a key with its heading and its format.

    Parameters
    ----------
    name : str
        What the page and the summary find the table by.

    title, note : str
        One line above the table, and what a reader must know to understand it.

    columns : dict of str to (str, str)
        Heading and format specification of each key of a row.

    width : int
        Of the first column in print.
    """

    def __init__(self, name, title, columns, note="", width=28):
        self.name, self.title, self.note = name, title, note
        self.columns = columns
        self.rows: list[dict[str, Any]] = []
        self._widths = [max(9 if form else 20, len(head)) for head, form in columns.values()]
        self._widths[0] = width

    def add(self, **row):
        """Add a row and print it; a value that does not exist is None."""
        if not self.rows:
            print(f"{self.title}\n")
            self._print([heading for heading, _ in self.columns.values()])
        self.rows.append(row)
        self._print(cells(self.columns, row))

    def done(self):
        """The table as JSON keeps it; ends its print."""
        print()
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    def _print(self, texts):
        sides = "<" + ">" * (len(texts) - 1)
        aligned = zip(texts, sides, self._widths, strict=True)
        print("  ".join(f"{text:{side}{width}}" for text, side, width in aligned), flush=True)


def cells(columns, row):
    """The row's texts in the order of the columns."""
    values = ((row.get(key), form) for key, (_, form) in columns.items())
    return ["–" if value is None else format(value, form) for value, form in values]


def markdown(table):
    """The table as Markdown, numbers to the right."""
    columns = table["columns"]
    heads = [heading for heading, _ in columns.values()]
    rules = ["---:" if form else "---" for _, form in columns.values()]
    body = [cells(columns, row) for row in table["rows"]]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rules, *body))
