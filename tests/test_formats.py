"""The lists of formats: a format is one module and one line."""

import sys
import types
from dataclasses import replace

import numpy as np
import pytest

from pocketsvm import _formats
from pocketsvm._formats import EXPORTS, FILES, Format, by_ending, listed, named, names
from pocketsvm.files import DataFile, file
from pocketsvm.files.reader import SURELY, Batch, Labels, Reader


def test_names_endings_and_titles_follow_from_a_list():
    assert names(FILES) == ("libsvm", "csv", "tsv", "parquet")
    assert listed(EXPORTS) == "LIBSVM, ONNX, a C header or a JavaScript module"
    assert by_ending(FILES, "rows/A.PQ").name == "parquet"
    assert by_ending(FILES, "rows.txt") is None
    assert named(EXPORTS, "c").load().__name__ == "export_c"


@pytest.mark.parametrize("formats", [FILES, EXPORTS], ids=["files", "exports"])
def test_names_and_endings_differ(formats):
    endings = [ending for each in formats for ending in each.endings]
    assert len(set(endings)) == len(endings)
    assert len(set(names(formats))) == len(formats)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="one of libsvm, csv, tsv, parquet, got 'xls'"):
        named(FILES, "xls")


class Pairs(Reader):
    """A format that this test adds: lines such as ``yes=1``."""

    is_table = False

    def __init__(self, opened):
        self.opened = opened

    @classmethod
    def likeness(cls, line):
        return SURELY if line.startswith(b"yes=") else 0

    def batches(self, layout, labels, n_jobs=None):
        numbers = [float(line.split("=")[1]) for line in self.opened.head.decode().splitlines()]
        X = np.array(numbers)[:, None]
        yield Batch(X, Labels(np.zeros(len(X), dtype=int), ["yes"]) if labels else None)


def test_a_new_format_is_told_by_its_first_line(tmp_path, monkeypatch):
    module = types.ModuleType("pocketsvm.files.pairs")
    module.Pairs = Pairs
    monkeypatch.setitem(sys.modules, module.__name__, module)
    added = Format("pairs", "pairs", "files.pairs", "Pairs", (".pairs",))
    monkeypatch.setattr(file, "FILES", (*FILES, added))
    path = tmp_path / "rows.csv"  # the content decides
    path.write_text("yes=1\nyes=2.5\n")
    with DataFile(str(path)) as opened:
        assert opened.format == "pairs"
        (batch,) = opened.batches(None)
    assert batch.X.tolist() == [[1.0], [2.5]]


def test_a_new_export_is_loaded_by_its_line():
    added = replace(EXPORTS[0], module="_formats", attribute="listed")
    assert added.load() is _formats.listed
