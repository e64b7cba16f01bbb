"""Names, labels and comments in C."""

import os
import re
import textwrap
import zlib
from pathlib import Path
from typing import Any

from ..._replacing import PathLike
from ..container import Array
from .c_code import COLUMNS, Table, braces
from .common import INT32, integer_labels


def name_of(path: PathLike) -> str:
    """Return the stem of a file as an identifier that starts with a letter."""
    name = re.sub("[^A-Za-z0-9_]+", "_", Path(os.fsdecode(path)).stem).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")


def checksum_of(text: str) -> str:
    """Return a number in C that tells models of the same name apart."""
    return f"0x{zlib.crc32(text.encode('ascii')):08x}"


def comment_of(names: Array | None) -> str:
    """List the features in a comment; characters that could end it are replaced."""
    if names is None:
        return ""
    safe = [re.sub("[^A-Za-z0-9 .,:()%+_-]", "_", name) for name in names.tolist()]
    listed = ", ".join(f"{i}: {name}" for i, name in enumerate(safe))
    lines = textwrap.wrap(f"Features: {listed}.", COLUMNS - len(" * "))
    return " *\n" + "".join(f" * {line}\n" for line in lines)


def label_table(classes: Array, words: dict[str, Any]) -> tuple[Table, list[int]]:
    """Return a table of the labels, and what predict returns for each of them."""
    integers = integer_labels(classes, INT32)
    declaration = f"{words['name']}_labels[{len(classes)}]"
    if integers is not None:
        text = f"static const int {declaration} = {braces(list(map(str, integers)))};\n\n"
        return Table(text, 4 * len(integers)), integers
    texts = [str(label) for label in classes.tolist()]
    table = string_table(f"static const char *const {declaration}", texts)
    return table, list(range(len(classes)))


def string_table(declaration: str, texts: list[str]) -> Table:
    """Return a table of texts; pointers are not counted: their size depends on the machine."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = sum(len(text) + 1 for text in encoded)
    return Table(f"{declaration} = {braces(list(map(string_literal, encoded)))};\n\n", size)


def string_literal(text: bytes) -> str:
    """Write a string literal; characters that are not plain ASCII become octal escapes."""
    plain = (32 <= byte < 127 and byte not in b'"\\?' for byte in text)
    characters = zip(text, plain, strict=True)
    return '"' + "".join(chr(b) if is_plain else f"\\{b:03o}" for b, is_plain in characters) + '"'
