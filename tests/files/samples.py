"""Texts and tables that several of the tests read, and short ways to read them."""

import bz2
import gzip
import io
import lzma
import zipfile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.testing import assert_array_equal

from pocketsvm.files import DataFile, Labels, Layout, Options
from pocketsvm.files.chunks import parsed_chunks
from pocketsvm.files.svmlight import ParsedText


def zstd(content):
    return pa.compress(content, codec="zstd", asbytes=True)


def zipped(*contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for k, content in enumerate(contents):
            archive.writestr(f"folder/{k}", content)
    return buffer.getvalue()


COMPRESSORS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}

EVERYTHING = b"""# a comment, and then an empty line

+1 1:0.5 3:-2e-3 7:0.0
-1.0
 2\t2:1\x0b3:+.5\x0c4:5.  # and more: it is ignored 1:2
-0 qid:7 1:1E5 2:-0 10:1e400\r
1e1 1:inf 2:-Infinity 3:NaN 4:1e-50 5:1e-400\r
3#4
  \t\r
7 000012:1 +13:1 14:0000000000000000000000000000000000000001.5
8 1:0.30000001192092896 2:16777217 3:0.1000000014901161193847656250000000000001 2147483647:1"""
SVM_TEXT = b"# first\n\n+1 1:0.5 3:2 # one\n-1.0 2:1e-1\n1 4:7\n-1\n"

ROWS = [[0.5, -2.0, 1e-3], [1.0, 0.0, 2.0], [0.25, 4.0, -1.0]]
LABELS = ["cat", "dog", "cat"]


def assert_equal_rows(actual, expected, dtype=np.float32):
    (X, y), (X_expected, y_expected) = actual, expected
    assert X.format == "csr"
    assert (X.dtype, y.dtype) == (dtype, np.float64)
    assert X.shape == X_expected.shape
    assert_array_equal(y, y_expected)
    assert_array_equal(X.indptr, X_expected.indptr)
    assert_array_equal(X.indices, X_expected.indices)
    with np.errstate(over="ignore"):
        assert_array_equal(X.data, X_expected.data.astype(dtype))
    assert_array_equal(np.signbit(X.data), np.signbit(X_expected.data))


def random_text(rng, n_rows=300, first_index=1, newline=b"\n"):
    """Rows as programs write them: short decimals, long ones, integers, exponents."""
    formats = ["%d", "%.1f", "%.4f", "%.6g", "%.9g", "%.16g", "%.17g", "%.20f", "%.3e", "%.18e"]
    lines = []
    for _ in range(n_rows):
        indices = np.flatnonzero(rng.random(40) < rng.random()) + first_index
        values = rng.normal(size=len(indices)) * 10.0 ** rng.integers(-8, 9, size=len(indices))
        features = (
            f"{i}:{rng.choice(formats) % value}" for i, value in zip(indices, values, strict=True)
        )
        label = rng.choice(["-1", "+1", "1", "0", "2.5", "-1.0", "3e2"])
        lines.append(" ".join([label, *features]).encode())
    return newline.join(lines) + newline


def csv_text(delimiter=",", header=True, newline="\n", end=True, quote=""):
    names = [[f"{quote}{name}{quote}" for name in ("a", "b", "c", "kind")]] if header else []
    rows = [
        [*map(repr, row), f"{quote}{label}{quote}"] for row, label in zip(ROWS, LABELS, strict=True)
    ]
    return newline.join(delimiter.join(row) for row in names + rows) + newline * end


def parquet_bytes(columns):
    buffer = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), buffer)
    return buffer.getvalue()


PARQUET = parquet_bytes(
    {"a": [0.5, 1, 0.25], "b": pa.array([-2, 0, 4], pa.int8()), "c": [1e-3, 2, -1], "kind": LABELS}
)


def random_table(n_rows=3000):
    random = np.random.default_rng(0)
    return random.normal(size=(n_rows, 3)), random.choice(["u", "v", "w"], n_rows).tolist()


class Whole(NamedTuple):
    """All rows of a file, their labels, and where the file has them."""

    X: Any
    labels: Labels
    layout: Layout


def read(path, **options):
    """Read a whole file, as one to train on."""
    with DataFile(path, Options(**options, known=())) as file:
        if file.format == "libsvm":
            return read_text(file)
        layout = file.layout()
        batches = list(file.batches(layout, labels=True))
    X = np.concatenate([np.empty((0, layout.n_features)), *(batch.X for batch in batches)])
    names = [name for batch in batches for name in spelled(batch.labels)]
    return Whole(X, Labels(np.arange(len(names)), names), layout)


def read_text(file):
    """Read LIBSVM text, which tells its features at the end; labels keep their first spelling."""
    parsed = ParsedText(file.name, 0)
    with file.checked() as text:
        for chunk, line in parsed_chunks(text, file.name, 2, finite=True):
            parsed.append(chunk, line, spelled=True)
    first = min(parsed.least_index, 1)
    X, y, _ = parsed.arrays(parsed.check(None, first), first)
    labels = Labels.of_numbers(y, parsed.spellings.__getitem__)
    return Whole(X, labels, Layout(X.shape[1], first_index=first))


def stream(path, layout, labels=True, **options):
    with DataFile(path, Options(**options)) as file:
        return list(file.batches(layout, labels=labels))


def spelled(labels):
    return [labels.names[code] for code in labels.codes]
