"""Data files: every format gives the same rows and labels; bad files give a clear error."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC, load_svmlight, save_model
from pocketsvm.data import svmlight as files
from pocketsvm.data import tables
from pocketsvm.data.tables import DataFile, Layout, Options

ROWS = [[0.5, -2.0, 1e-3], [1.0, 0.0, 2.0], [0.25, 4.0, -1.0]]
LABELS = ["cat", "dog", "cat"]


@pytest.fixture
def write(tmp_path):
    """A function that writes bytes, or text, to a file of this name, and returns its path."""

    def write(content, name="data"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def read(path, **options):
    with DataFile(path, Options(**options)) as file:
        return file.read()


def stream(path, layout, labels=True, **options):
    with DataFile(path, Options(**options)) as file:
        return list(file.batches(layout, labels=labels))


def spelled(labels):
    return [labels.names[code] for code in labels.codes]


def csv_text(delimiter=",", header=True, newline="\n", end=True, quote=""):
    names = [[f"{quote}{name}{quote}" for name in ("a", "b", "c", "kind")]] if header else []
    rows = [
        [*map(repr, row), f"{quote}{label}{quote}"] for row, label in zip(ROWS, LABELS, strict=True)
    ]
    return newline.join(delimiter.join(row) for row in names + rows) + newline * end


def parquet(columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


PARQUET = parquet(
    {"a": [0.5, 1, 0.25], "b": pa.array([-2, 0, 4], pa.int8()), "c": [1e-3, 2, -1], "kind": LABELS}
)


# --- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (csv_text(), "a.csv"),
        (csv_text(), "no-ending"),
        (csv_text("\t"), "a.tsv"),
        (csv_text("\t"), "no-ending"),
        (csv_text(";"), "a.csv"),
        (csv_text(newline="\r\n"), "a.csv"),
        (csv_text(end=False), "a.csv"),
        (csv_text(newline="\r\n", end=False, quote='"'), "a.csv"),
        ("\ufeff" + csv_text(), "a.csv"),
        ("\n\n" + csv_text(newline="\n\n"), "a.csv"),
        (csv_text(" , ".strip() + " "), "a.csv"),
        (PARQUET, "a.parquet"),
        (PARQUET, "no-ending"),
    ],
)
def test_tables_of_every_kind_are_the_same(write, content, name):
    table = read(write(content, name))
    assert_array_equal(table.X, ROWS)
    assert table.X.dtype == np.float64
    assert spelled(table.labels) == LABELS
    assert table.layout == Layout(3, ["a", "b", "c"], "kind")


def test_a_table_without_header(write):
    path = write(csv_text(header=False), "a.csv")
    table = read(path)
    assert_array_equal(table.X, ROWS)
    assert table.layout == Layout(3, None, 3)
    assert spelled(table.labels) == LABELS


@pytest.mark.parametrize("label", ["kind", "4", "-1", None])
def test_the_label_by_name_and_number(write, label):
    assert read(write(csv_text(), "a.csv"), label=label).layout.label == "kind"


def test_the_label_has_a_usual_name_or_is_the_last(write):
    text = "x,Label,z\n1,cat,2\n3,dog,4\n"
    assert read(write(text, "a.csv")).layout == Layout(2, ["x", "z"], "Label")
    assert read(write("y,label,z\n1,2,2\n3,4,4\n", "a.csv")).layout.label == "z"  # two usual names


def test_columns_can_be_dropped(write):
    text = "id,a,when,kind\n7,1,2020-01-01,x\n8,2,2020-01-02,y\n"
    table = read(write(text, "a.csv"), drop=["id", "3"])
    assert table.layout == Layout(1, ["a"], "kind")
    assert_array_equal(table.X, [[1], [2]])
    table = read(write(text.split("\n", 1)[1], "b.csv"), drop=["1", "3"], header=False)
    assert table.layout == Layout(1, None, 3, [0, 2])


def test_a_header_is_told_from_rows(write):
    assert read(write("1,2\n3,4\n", "a.csv")).X.shape == (2, 1)
    assert read(write("1,cat\n3,dog\n5,cat\n", "a.csv")).X.shape == (3, 1)
    assert read(write("0,1,cat\n", "a.csv")).X.shape == (1, 2)
    assert read(write("0,1,cat\n1,0,dog\n1,1,cat\n", "a.csv")).X.shape == (3, 2)
    assert read(write("i7,0,cat\ni8,1,dog\ni9,1,cat\n", "a.csv"), drop=["1"]).X.shape == (3, 1)
    assert read(write("a,b\n3,dog\n", "a.csv")).X.shape == (1, 1)
    assert read(write("a,b\n3,dog\n", "a.csv"), header=True).X.shape == (1, 1)
    assert read(write("0,1\n3,4\n", "a.csv"), header=True).layout.names == ["0"]
    with pytest.raises(ValueError, match=r"mixes names and numbers.*--header or --no-header"):
        read(write("0,1,label\n3,4,1\n", "a.csv"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,1,kind\n" + "2.5,4,cat\n3,1,dog\n" * 10_000, "'kind' stands in no other row"),
        ("400,401,kind\n2.5,4,cat\n3,1,cat\n", "'kind' stands in no other row"),
        ("0,1,2\n2.5,4,1\n3,1,0\n", "first row counts from 0"),
    ],
)
def test_where_a_header_cannot_be_told_the_user_is_asked(write, text, reason):
    path = write(text, "a.csv")
    with pytest.raises(ValueError, match=rf"{reason}.*--header or --no-header"):
        read(path)
    n_lines = text.count("\n")
    assert read(path, header=False).X.shape == (n_lines, 2)
    assert read(path, header=True).X.shape == (n_lines - 1, 2)


def test_labels_keep_their_spelling(write):
    text = 'a,label\n1,+1\n2, 007 \n3,"x, y"\n4,Größe\n5,1.0\n'
    assert spelled(read(write(text, "a.csv")).labels) == ["+1", "007", "x, y", "Größe", "1.0"]
    for values, expected in [
        (pa.array([1, 2, 10]), ["1", "2", "10"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array(["u", "v", "u"]).dictionary_encode(), ["u", "v", "u"]),
    ]:
        table = read(write(parquet({"a": [1, 2, 3], "y": values})))
        assert spelled(table.labels) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,y\n1,2,x\n3,oops,x\n", "row 3, column 'b': 'oops' is not a number.*--label b"),
        ("a,b,y\n1,2,x\n3,,x\n", "row 3, column 'b': the value is missing"),
        ("a,b,y\n1,2,x\n3,4,\n", "row 3, column 'y': the value is missing"),
        ("a,b,y\n1,nan,x\n", "row 2, column 'b': nan is not a finite number"),
        ("1,2,x\n3,-inf,x\n", "row 2, column '2': -inf is not a finite number"),
        ("a,b,y\n1,2,x\n3,x\n", "row 3: 2 columns, where the first row has 3"),
        ("a,b,y\n1,2,x\n3,4,5,x\n", "row 3: 4 columns, where the first row has 3"),
        ("a,,y\n1,2,x\n", "a column without a name"),
        ("a,a,y\n1,2,x\n", "two columns named 'a'"),
        ("y\nx\n", "no columns beside the label's"),
        ("a,b,y\n", "holds no rows"),
        ("", "holds no rows|is empty"),
        ("\n\n", "is empty"),
        (b"a,b,y\n1,2,x\n1,2,\xff\n", "row 3, column 'y': no text in UTF-8"),
        (b"\xff,b,y\n1,2,3\n", "not text in UTF-8"),
        ('a,y\n1,"x\ny"\n', "a label must be one line"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(write, text, message):
    path = write(text, "a.csv")
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert path in str(caught.value)


def test_rows_are_counted_across_blocks(write, monkeypatch):
    monkeypatch.setattr(tables, "CSV_BLOCK", 4096)
    rows = ["a,b,y", *("1,2,x" for _ in range(9000)), "3,oops,x"]
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))
    rows[-1] = "3,inf,x"
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))


def test_unknown_columns_are_named(write):
    path = write(csv_text(), "a.csv")
    for wrong in ({"label": "none"}, {"label": "0"}, {"label": "5"}, {"drop": ["none"]}):
        with pytest.raises(ValueError, match=r"no column '.*'; it has 'a', 'b', 'c', 'kind'"):
            read(path, **wrong)
    with pytest.raises(ValueError, match="both label and dropped"):
        read(path, label="a", drop=["a"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["u"], "y": [1]}, "column 'a': a feature must be a number, got string.*--label a"),
        ({"a": [1], "y": [[1]]}, "column 'y': a label must be text or a number"),
        ({"a": [1.0, None], "y": [1, 2]}, "row 2, column 'a': the value is missing"),
        ({"a": [1.0, 2.0], "y": [1, None]}, "row 2, column 'y': the value is missing"),
        ({"a": [1.0, np.nan], "y": [1, 2]}, "row 2, column 'a': nan is not a finite"),
        ({"y": [1]}, "no columns beside"),
    ],
)
def test_what_is_wrong_with_parquet_is_said(write, columns, message):
    with pytest.raises(ValueError, match=message):
        read(write(parquet(columns)))


def test_without_pyarrow_a_message_says_what_to_install(write, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'pocketsvm\[data\]'"):
        read(write(csv_text(), "a.csv"))
    assert read(write("1 1:2\n")).X.shape == (1, 1)


# --- LIBSVM text ---------------------------------------------------------------------------------

SVM_TEXT = b"# first\n\n+1 1:0.5 3:2 # one\n-1.0 2:1e-1\n1 4:7\n-1\n"


def test_libsvm_text_is_read_as_load_svmlight_reads_it(write):
    path = write(SVM_TEXT)
    table = read(path)
    X, y = load_svmlight(path)
    assert_array_equal(table.X.toarray(), X.toarray())
    assert table.X.dtype == np.float32
    assert_array_equal(table.labels.numbers(), y)
    assert table.layout == Layout(4)


def test_a_label_keeps_its_first_spelling(write):
    assert spelled(read(write(SVM_TEXT)).labels) == ["+1", "-1.0", "+1", "-1.0"]


def test_indices_from_0_are_remembered(write):
    table = read(write("1 0:5 2:1\n-1 1:2\n"))
    assert table.layout == Layout(3, first_index=0)
    (batch,) = stream(write("1 1:2\n"), table.layout)
    assert_array_equal(batch.X.toarray(), [[0, 2, 0]])
    with pytest.raises(ValueError, match=r"lines 1 to 2: there is an index 0, but .* from 1"):
        stream(write("1 1:2\n-1 0:2\n"), Layout(3))


def test_features_the_model_does_not_know_are_ignored(write):
    batches = stream(write("1 1:2 9:4\n2 2:5\n"), Layout(2))
    assert_array_equal(batches[0].X.toarray(), [[2, 0], [0, 5]])
    assert batches[0].X.shape == (2, 2)
    (batch,) = stream(write("1 1:2\n"), Layout(5))
    assert_array_equal(batch.X.toarray(), [[2, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1 1:2\n-1 1:2 2:inf\n", "line 2, column 10: the number is not finite"),
        ("1 1:2\n\nnan 1:2\n", "line 3, column 1: the number is not finite"),
        ("1 1:2\n1 1:1e39\n", "line 2, column 5: the number is not finite"),
        ("1 1:2\n1 x:3\n", "line 2, column 3: expected an integer index"),
        ("1 1:2\ncat 1:3\n", "line 2, column 1: expected a label"),
    ],
)
def test_what_is_wrong_with_libsvm_text_is_said(write, text, place):
    path = write(text)
    for attempt in (read, lambda path: stream(path, Layout(2))):
        with pytest.raises(ValueError, match=place) as caught:
            attempt(path)
        assert str(caught.value).startswith(path)


# --- batches -------------------------------------------------------------------------------------


def random_table(n_rows=3000):
    random = np.random.default_rng(0)
    return random.normal(size=(n_rows, 3)), random.choice(["u", "v", "w"], n_rows).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet", "libsvm"])
def test_batches_are_the_whole(write, monkeypatch, kind):
    X, labels = random_table()
    monkeypatch.setattr(tables, "CSV_BLOCK", 4096)
    monkeypatch.setattr(tables, "PARQUET_VALUES", 400)
    monkeypatch.setattr(tables, "BATCH_CHUNKS", 1)
    monkeypatch.setattr("pocketsvm.data.svmlight.CHUNK", 5000)
    if kind == "libsvm":
        codes = {"u": "+1", "v": "2.0", "w": "-1"}
        labels = [codes[label] for label in labels]
        lines = [
            f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row))
            for label, row in zip(labels, X.tolist(), strict=True)
        ]
        path = write("\n".join(lines))
    elif kind == "csv":
        rows = [",".join(map(repr, row)) for row in X.tolist()]
        lines = [f"{row},{label}" for row, label in zip(rows, labels, strict=True)]
        path = write("\n".join(["a,b,c,y", *lines]), "a.csv")
    else:
        columns = dict(zip("abc", X.T, strict=True))
        path = write(parquet(columns | {"y": labels}))
    table = read(path)
    batches = stream(path, table.layout)
    assert len(batches) > 10
    if kind == "libsvm":
        whole = scipy.sparse.vstack([batch.X for batch in batches])
        assert_array_equal(whole.toarray(), table.X.toarray())
        assert_array_equal(table.X.toarray(), X.astype(np.float32))
        numbers = np.concatenate([batch.labels.numbers() for batch in batches])
        assert_array_equal(numbers, table.labels.numbers())
    else:
        assert_array_equal(np.concatenate([batch.X for batch in batches]), X)
        assert_array_equal(table.X, X)
        assert [name for batch in batches for name in spelled(batch.labels)] == labels
    assert spelled(table.labels) == labels
    assert all(batch.labels is None for batch in stream(path, table.layout, labels=False))


def test_columns_are_found_by_name(write):
    layout = Layout(2, ["b", "a"], "kind")
    path = write("x,a,kind,b\n9,1,cat,2\n", "a.csv")
    (batch,) = stream(path, layout)
    assert_array_equal(batch.X, [[2, 1]])
    assert spelled(batch.labels) == ["cat"]
    path = write("a,b\n1,2\n", "b.csv")
    (batch,) = stream(path, layout, labels=False)
    assert_array_equal(batch.X, [[2, 1]])
    with pytest.raises(ValueError, match=r"no column for the label.*--label"):
        stream(path, layout)
    with pytest.raises(ValueError, match="lacks the column 'a', which the model needs; it has 'b'"):
        stream(write("b,c\n1,2\n", "c.csv"), layout)


@pytest.mark.parametrize(
    ("text", "layout", "X", "labels"),
    [
        ("1,2,cat\n", Layout(2, None, 2), [[1, 2]], ["cat"]),
        ("1,2\n", Layout(2, None, 2), [[1, 2]], None),
        ("cat,1,2\n", Layout(2, None, 0), [[1, 2]], ["cat"]),
        ("7,cat,1,8,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], ["cat"]),
        ("7,1,8,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], None),
        ("1,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], None),
        ("1,2,cat\n", Layout(2, ["a", "b"], "kind"), [[1, 2]], ["cat"]),
        ("u,label,v\n1,cat,2\n", Layout(2), [[1, 2]], ["cat"]),
        ("u,v\n1,2\n", Layout(2), [[1, 2]], None),
    ],
)
def test_columns_are_found_by_position(write, text, layout, X, labels):
    path = write(text, "a.csv")
    (batch,) = stream(path, layout, labels=labels is not None)
    assert_array_equal(batch.X, X)
    assert labels is None or spelled(batch.labels) == labels


def test_a_wrong_number_of_columns_is_said(write):
    with pytest.raises(ValueError, match="has 4 columns; the model needs 2 features, and at most"):
        stream(write("1,2,3,cat\n", "a.csv"), Layout(2, None, 2))


# --- compressed, piped, gone ---------------------------------------------------------------------


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize(
    ("content", "name"), [(SVM_TEXT, "a.txt"), (csv_text().encode(), "a.csv"), (PARQUET, "a.pq")]
)
def test_compressed_files_are_told_by_their_content(write, compress, content, name):
    plain, packed = read(write(content, name)), read(write(compress(content), f"packed-{name}"))
    dense = [t.X.toarray() if scipy.sparse.issparse(t.X) else t.X for t in (plain, packed)]
    assert_array_equal(*dense)
    assert spelled(plain.labels) == spelled(packed.labels)
    with pytest.raises(ValueError, match="damaged"):
        read(write(compress(content)[:-5], f"cut-{name}"))


@pytest.mark.parametrize(
    "content", [SVM_TEXT, csv_text().encode(), gzip.compress(SVM_TEXT), PARQUET]
)
def test_standard_input(monkeypatch, content):
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    with open(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        table = read("-")
    assert table.X.shape in ((4, 4), (3, 3))


KINDS = ["rows.txt", "rows.csv", "rows.parquet"]


def many(kind):
    """3,000 rows of two features."""
    if kind == "rows.parquet":
        return parquet({"a": np.arange(3000.0), "b": np.arange(3000.0)})
    row = "1 1:1 2:0.5\n" if kind == "rows.txt" else "0.5,1\n"
    return (row * 3000).encode()


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(tables, "BATCH_CHUNKS", 1)
    monkeypatch.setattr(tables, "CSV_BLOCK", 200)  # of which pyarrow reads some ahead
    monkeypatch.setattr(tables, "PEEK", 300)
    monkeypatch.setattr(tables, "PARQUET_VALUES", 100)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_vanishes_is_read_to_its_end(write, small_batches, kind):
    path = write(many(kind), kind)
    with DataFile(path) as file:
        batches = file.batches(Layout(2))
        n_rows = next(batches).X.shape[0]
        os.unlink(path)
        assert n_rows < 3000
        assert n_rows + sum(batch.X.shape[0] for batch in batches) == 3000


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_becomes_shorter_is_refused(write, small_batches, kind):
    path = write(many(kind), kind)
    with DataFile(path) as file:
        batches = file.batches(Layout(2), n_jobs=1)
        next(batches)
        os.truncate(path, os.path.getsize(path) // 2)
        with pytest.raises(ValueError, match=f"{kind} (became shorter|is damaged)"):
            list(batches)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        DataFile(str(tmp_path / "none"))
    with pytest.raises(IsADirectoryError):
        DataFile(str(tmp_path))


# --- mutations -----------------------------------------------------------------------------------


def mutated(random, content):
    """Flip, cut, double, insert or extend bytes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(content) + 1))
        size = int(random.integers(1, 20))
        match random.integers(5):
            case 0:
                content[at : at + 1] = bytes([random.integers(256)])
            case 1:
                del content[at:]
            case 2:
                del content[at : at + size]
            case 3:
                content[at:at] = random.bytes(size)
            case 4:
                content[at:at] = content[at : at + size]
    return bytes(content)


def many_rows():
    X, labels = random_table(40)
    rows = [",".join(f"{value:.4g}" for value in row) for row in X.tolist()]
    table = "\n".join(["a,b,c,y", *map(",".join, zip(rows, labels, strict=True))])
    text = [
        f"{'+1' if row[0] > 0 else '-1'} " + " ".join(f"{j + 1}:{v:.4g}" for j, v in enumerate(row))
        for row in X.tolist()
    ]
    columns = dict(zip("abc", X.T, strict=True)) | {"y": labels}
    return {
        "libsvm": "\n".join(text).encode(),
        "csv": table.encode(),
        "tsv": table.replace(",", "\t").encode(),
        "parquet": parquet(columns),
        "gz": gzip.compress(table.encode(), mtime=0),
    }


def attempt(path):
    try:
        return read(path), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", ["libsvm", "csv", "tsv", "parquet", "gz"])
def test_two_hundred_mutated_files_do_no_harm(write, kind):
    """A clear error, or finite rows with labels that batches read alike."""
    content = many_rows()[kind]
    n_read = 0
    for seed in range(200):
        random = np.random.default_rng([seed, len(kind)])
        path = write(mutated(random, content), f"data.{kind}")
        table, reason = attempt(path)
        if table is None:
            assert path in reason
            continue
        n_read += 1
        n_rows = table.X.shape[0]
        assert len(table.labels.codes) == n_rows > 0
        values = table.X.data if scipy.sparse.issparse(table.X) else table.X
        assert np.isfinite(np.asarray(values, dtype=np.float64)).all()
        assert all(table.labels.names)
        batches = stream(path, table.layout)
        assert sum(batch.X.shape[0] for batch in batches) == n_rows
    assert n_read >= (0 if kind == "gz" else 5)


# The most memory of a process since it was started; getrusage would begin at its parent's.
PREDICT = """
import re, sys
from pathlib import Path
from pocketsvm.cli.app import run
code = run(["predict", *sys.argv[1:], "-o", "/dev/null", "-q", "--n-jobs", "1"])
status = Path("/proc/self/status").read_text()
print(code, int(re.search("VmHWM: *(.*) kB", status.replace("\\t", " "))[1]) // 1024)
"""


def write_rows(path, X, times):
    """Write the same rows many times; a Parquet file has them in one row group."""
    if path.suffix == ".parquet":
        columns = {f"f{j}": np.tile(column, times) for j, column in enumerate(X.T)}
        n_rows = len(X) * times
        pq.write_table(pa.table(columns), path, row_group_size=n_rows, use_dictionary=False)
        return
    if path.suffix == ".csv":
        lines = [",".join(map(repr, row)) for row in X.tolist()]
    else:
        texts = ([f"{j}:{value!r}" for j, value in enumerate(row, 1)] for row in X.tolist())
        lines = ["1 " + " ".join(row) for row in texts]
    text = "\n".join(lines) + "\n"
    with path.open("w") as file:
        for _ in range(times):
            file.write(text)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize(
    ("ending", "small", "large"), [("libsvm", 20, 50), ("csv", 20, 50), ("parquet", 60, 120)]
)
def test_memory_of_predict_does_not_grow_with_the_file(tmp_path, ending, small, large):
    """A file of some size takes all the memory that one of any size takes."""
    X = np.random.default_rng(0).normal(size=(5000, 20))
    model = tmp_path / "m.psvm"
    save_model(BudgetedSVC(2, gamma=0.1, max_iter=1, random_state=0).fit(X, X[:, 0] > 0), model)

    def peak(times):
        path = tmp_path / f"{times}.{ending}"
        write_rows(path, X, times)
        command = [sys.executable, "-c", PREDICT, str(model), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        path.unlink()
        code, megabytes = map(int, done.stdout.split())
        assert code == 0, done.stderr
        return megabytes

    assert peak(large) - peak(small) < 15  # of 45 MB and more that the file has grown by
