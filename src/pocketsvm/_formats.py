"""The formats of data files and of exported models: their names, endings and modules.

A format is one line here and one module with the name in it. The list is apart from these modules,
because the help of the command line shows it without importing them.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : str
        What users call it in options.

    title : str
        What texts call it.

    module, attribute : str
        Where its reader is, or the function that writes it.

    endings : tuple of str
        The usual endings of the names of such files.
    """

    name: str
    title: str
    module: str
    attribute: str
    endings: tuple[str, ...]

    def load(self) -> Any:
        """Import what reads or writes the format."""
        return getattr(import_module(f".{self.module}", __package__), self.attribute)


FILES = (
    Format("libsvm", "LIBSVM text", "files.svmlight", "SvmlightReader", (".libsvm", ".svm")),
    Format("csv", "CSV", "files.delimited", "CsvTable", (".csv",)),
    Format("tsv", "TSV", "files.delimited", "TsvTable", (".tsv", ".tab")),
    Format("parquet", "Parquet", "files.parquet", "ParquetTable", (".parquet", ".pq")),
)
EXPORTS = (
    Format("libsvm", "LIBSVM", "model.export.libsvm", "export_libsvm", (".model", ".libsvm")),
    Format("onnx", "ONNX", "model.export.onnx", "export_onnx", (".onnx",)),
    Format("c", "a C header", "model.export.c", "export_c", (".h",)),
    Format("js", "a JavaScript module", "model.export.js", "export_js", (".mjs", ".js")),
)


def names(formats: Sequence[Format]) -> tuple[str, ...]:
    """Return the names of formats."""
    return tuple(each.name for each in formats)


def listed(formats: Sequence[Format]) -> str:
    """Return the titles of formats for a sentence."""
    titles = [each.title for each in formats]
    return " or ".join([", ".join(titles[:-1]), titles[-1]])


def named(formats: Sequence[Format], name: str) -> Format:
    """Return the format of a name."""
    for each in formats:
        if each.name == name:
            return each
    raise ValueError(f"format must be one of {', '.join(names(formats))}, got {name!r}.")


def by_ending(formats: Sequence[Format], path: str) -> Format | None:
    """Return the format that the ending of a name stands for, if there is one."""
    ending = os.path.splitext(path)[1].lower()
    return next((each for each in formats if ending in each.endings), None)
