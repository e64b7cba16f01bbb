"""LIBSVM text: read as scikit-learn reads it, and as a data file."""

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, load_svmlight_files

from pocketsvm import load_svmlight
from pocketsvm.files import Layout, chunks

from .samples import (
    EVERYTHING,
    SVM_TEXT,
    assert_equal_rows,
    random_text,
    read,
    spelled,
    stream,
)

DATA = sorted(Path(os.environ.get("POCKETSVM_DATA", "/nowhere")).glob("*.gz"))


def needed_dtype(X):
    """Return float64 if float32 loses more than 1e-6 of a column's spread, else float32."""
    error = abs(X - X.astype(np.float32)).max(axis=0).toarray()
    spread = (X.max(axis=0) - X.min(axis=0)).toarray()
    return np.float64 if (error > 1e-6 * spread).any() else np.float32


# --- equal to scikit-learn ------------------------------------------------------------------------


@pytest.mark.skipif(not DATA, reason="needs the data sets, in $POCKETSVM_DATA")
@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_the_published_files_are_read_as_scikit_learn_reads_them(path, tmp_path):
    expected = load_svmlight_file(str(path))
    dtype = needed_dtype(expected[0])
    assert_equal_rows(load_svmlight(path), expected, dtype)
    plain = tmp_path / path.stem
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert_equal_rows(load_svmlight(plain), expected, dtype)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\n\n", b" \n"])
@pytest.mark.parametrize("first_index", [0, 1, 5])
def test_generated_rows_are_read_as_scikit_learn_reads_them(first_index, newline, write_text):
    text = random_text(np.random.default_rng(first_index), 300, first_index, newline)
    path = write_text(text)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))
    path = write_text(text.rstrip())  # no last line end
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_everything_that_the_format_allows(write_text):
    path = write_text(EVERYTHING)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_what_scikit_learn_writes_comes_back(tmp_path):
    X = scipy.sparse.random(50, 30, 0.2, format="csr", random_state=0, dtype=np.float32)
    y = np.random.default_rng(0).integers(-3, 4, size=50) / 2
    for zero_based in (True, False):
        dump_svmlight_file(X, y, str(tmp_path / "file"), zero_based=zero_based)
        assert_equal_rows(load_svmlight(tmp_path / "file", n_features=30), (X, y))


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b"   \n\t\r\n", b"1", b"1\n-1"])
def test_files_without_features(text, write_text):
    path = write_text(text)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_numbers_are_rounded_as_python_rounds_them(write_text):
    """To the nearest float64 and then to float32, on both sides of every middle of two floats."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0x00000001, 0x7F7FFFFF, size=2000, dtype=np.uint32)
    bits[:300] = rng.integers(0x3A000000, 0x42000000, size=300)  # everyday magnitudes
    low = bits.view(np.float32).astype(float)
    middle = (low + (bits + 1).view(np.float32)) / 2
    numbers = [
        pattern % number
        for near in (middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf))
        for pattern in ("%.17g", "%.19g", "%.40g", "-%.16g", "%.25e")
        for number in near
    ]
    numbers += [repr(float(number)) for number in 10.0 ** rng.uniform(-320, 308, size=1000)]
    numbers += ["1" * 400, "0." + "0" * 400 + "1", "1e99999999999999999999", "1e-99999999999999999"]
    numbers += [
        "0e99999999999999999999",
        "9007199254740993",
        "1e23",
        "8.5e22",
        "2.2250738585072011e-308",
    ]
    path = write_text("".join(f"{number} 1:{number}\n" for number in numbers).encode())
    X, y = load_svmlight(path)
    exact = np.array([float(number) for number in numbers])
    assert_array_equal(y, exact)
    with np.errstate(over="ignore"):
        assert_array_equal(X.data, exact.astype(np.float32))


def test_the_result_is_ready_for_use(write_text):
    X, y = load_svmlight(write_text(random_text(np.random.default_rng(0))))
    assert isinstance(X, scipy.sparse.csr_array)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    unchecked = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    assert unchecked.has_canonical_format
    for array in (X.data, X.indices, X.indptr, y):
        assert array.flags.writeable
        assert array.flags.aligned
    X.data[:] = 1  # the arrays own their memory
    y[:] = 1


# --- precision ------------------------------------------------------------------------------------


def text_of(*columns, missing=None):
    """Rows of LIBSVM text; the entries equal to `missing` are left out."""
    rows = [
        " ".join(f"{j}:{v!r}" for j, v in enumerate(row, 1) if v != missing)
        for row in np.column_stack(columns).tolist()
    ]
    return "".join(f"1 {row}\n" for row in rows).encode()


RANDOM = np.random.default_rng(0)
OFFSET = 1.7e9 + np.round(RANDOM.uniform(0, 100, 500), 2)
DECIMALS = np.round(RANDOM.normal(size=500), 2)
IN_FLOAT32 = {
    "decimals": text_of(DECIMALS, 0.1 * RANDOM.integers(1, 9, 500)),
    "an offset, and a zero that is written": text_of(np.append(OFFSET, 0)),
    "an offset, and a zero that is left out": text_of(np.append(OFFSET, 0), missing=0),
    "an offset, and an empty row": text_of(OFFSET) + b"1\n",
    "an offset, and another feature": b"1 2:1\n" + text_of(OFFSET),
    "an offset that float32 can hold": text_of(1.5 * 2.0**30 + 128 * RANDOM.integers(0, 9, 500)),
    "integers up to 2^24": text_of(2.0**24 - np.arange(500)),
    "all integers up to 2^24 and more": text_of(np.linspace(0, 2**24 + 500, 500).round()),
    "constants that float32 can hold": text_of(np.ones(500), np.full(500, -0.375), DECIMALS),
    "numbers that are not finite": b"1 1:inf\n1 1:nan\n1 1:2\n",
}
IN_FLOAT64 = {
    "an offset": text_of(OFFSET),
    "an offset among decimals": text_of(DECIMALS, -OFFSET, DECIMALS),
    "an offset, and a sparse column": text_of(OFFSET, np.where(DECIMALS > 0, 0, 2), missing=0),
    "integers beyond 2^24": text_of(2.0**24 + np.arange(500)),
    "decimals close to each other": text_of(1 + 1e-6 * DECIMALS),
    "a constant that float32 cannot hold": text_of(np.full(500, 0.1), DECIMALS),
    "an offset and numbers that are not finite": b"1 1:nan\n1 1:-inf\n" + text_of(OFFSET),
    "numbers below float32's range": text_of(1e-45 * (2 + RANDOM.random(500))),
}
TEXTS = [pytest.param(text, 4, id=name) for name, text in IN_FLOAT32.items()]
TEXTS += [pytest.param(text, 8, id=name) for name, text in IN_FLOAT64.items()]


@pytest.mark.parametrize(("text", "n_bytes"), TEXTS)
@pytest.mark.parametrize("chunk", [100, 1000, 1 << 18])
@pytest.mark.parametrize("suffix", [".txt", ".gz"])
def test_values_that_float32_cannot_hold_are_kept(
    text, n_bytes, chunk, suffix, write_text, monkeypatch
):
    monkeypatch.setattr(chunks, "CHUNK", chunk)
    path = write_text(text, suffix)
    expected, _ = load_svmlight_file(str(path))
    X, _ = load_svmlight(path)
    assert X.dtype == f"f{n_bytes}"
    assert_array_equal(X.indices, expected.indices)
    assert_array_equal(X.data, expected.data.astype(X.dtype))
    if np.isfinite(expected.data).all():
        assert X.dtype == needed_dtype(expected)
        table = read(str(path), format="libsvm")
        assert table.X.dtype == X.dtype
        assert_array_equal(table.X.data, X.data)
        X = X.toarray()
        error = np.abs(X - expected.toarray()).max(axis=0)
        assert (error <= 1e-6 * np.ptp(expected.toarray(), axis=0)).all()


def test_all_files_of_a_call_have_one_precision(write_text):
    offset = write_text(text_of(OFFSET), name="offset")
    near = write_text(b"1 1:1700000050\n", name="near")
    empty = write_text(b"# nothing\n", name="empty")
    far = write_text(b"1 1:2\n", name="far")
    sparse = write_text(b"1 2:0.1\n", name="sparse")
    for paths in ([offset, near, empty], [empty, near, offset]):
        assert {X.dtype for X in load_svmlight(paths)[::2]} == {np.dtype(np.float64)}
    assert_array_equal(load_svmlight([offset, near])[0].data, OFFSET)
    assert_array_equal(load_svmlight([near, offset])[0].data, [1700000050])
    for other in (far, sparse):
        for paths in ([offset, other], [other, offset, near]):
            result = load_svmlight(paths)[::2]
            assert {X.dtype for X in result} == {np.dtype(np.float32)}
            assert_array_equal(result[paths.index(offset)].data, OFFSET.astype(np.float32))


def test_batches_keep_what_any_rows_may_need(write, small_batches):
    """A model may have been trained on rows with another spread than that of a batch."""
    batches = stream(write(text_of(OFFSET)), Layout(1))
    assert len(batches) > 3
    assert_array_equal(np.concatenate([batch.X.data for batch in batches]), OFFSET)
    batch, *_ = stream(write("1 1:1700000001\n"), Layout(1))
    assert_array_equal(batch.X.data, [1700000001])
    batches = stream(write(text_of(DECIMALS)), Layout(1))
    assert {batch.X.dtype for batch in batches} == {np.dtype(np.float32)}


# --- several files, number of features ------------------------------------------------------------


def test_several_files_have_one_number_of_features(write_text):
    paths = [write_text(b"1 1:2 9:1\n", name="a"), write_text(b"2 3:4\n-1 1:1\n", ".gz", name="b")]
    expected = load_svmlight_files([str(path) for path in paths])
    for given in (
        paths,
        [str(path) for path in paths],
        iter(paths),
        tuple(map(os.fsencode, paths)),
    ):
        result = load_svmlight(given)
        assert isinstance(result, list)
        assert len(result) == 4
        assert_equal_rows(result[:2], expected[:2])
        assert_equal_rows(result[2:], expected[2:])
    assert [X.shape[1] for X in load_svmlight(paths, n_features=20)[::2]] == [20, 20]
    assert [X.shape[1] for X in load_svmlight(paths[:1])[::2]] == [9]
    assert load_svmlight([]) == []


def test_an_index_0_in_one_file_makes_all_count_from_0(write_text):
    paths = [write_text(b"1 1:2\n", name="a"), write_text(b"2 0:4\n", name="b")]
    expected = load_svmlight_files([str(path) for path in paths])
    result = load_svmlight(paths)
    assert_equal_rows(result[:2], expected[:2])
    assert_equal_rows(result[2:], expected[2:])
    assert_array_equal(result[0].indices, [1])


def test_a_file_without_features_does_not_say_where_indices_begin(write_text):
    """scikit-learn would take the other file's indices to count from 0."""
    X, _, empty, y = load_svmlight([write_text(b"1 1:2\n", name="a"), write_text(b"5\n", name="b")])
    assert_array_equal(X.indices, [0])
    assert empty.shape == (1, 1)
    assert_array_equal(y, [5])


def test_the_number_of_features_may_be_larger_than_needed(write_text):
    path = write_text(b"1 1:2 3:1\n")
    assert load_svmlight(path)[0].shape == (1, 3)
    assert load_svmlight(path, 3)[0].shape == (1, 3)
    assert load_svmlight(path, n_features=np.int64(10))[0].shape == (1, 10)
    assert load_svmlight(write_text(b"1 2147483647:2\n"))[0].shape == (1, 2**31 - 1)
    assert load_svmlight(write_text(b"1 0:1 2147483647:2\n"))[0].shape == (1, 2**31)


# --- errors ---------------------------------------------------------------------------------------


ERRORS = {
    b"one 1:1": (1, "expected a label, a number, got 'one'"),
    b"1:2 2:3": (1, "expected a label at the beginning of the row, got '1:2'"),
    b"1,2 1:3": (1, "expected one label, got '1,2'; files with several labels per row are not"),
    b"1_0 1:3": (1, "expected a label, a number, got '1_0'"),
    b"0x10 1:3": (1, "expected a label, a number, got '0x10'"),
    b"1 1:2 word 3:4": (7, "expected index:value, got 'word'"),
    b"1 1:2 qid:4": (7, "expected an integer index before ':', got 'qid'"),
    b"1 qid 1:2": (3, "expected index:value, got 'qid'"),
    b"1 1 :2": (3, "expected index:value, got '1'"),
    b"1 :2": (3, "expected an integer index before ':', got ''"),
    b"1 x:2": (3, "expected an integer index before ':', got 'x'"),
    b"1 1.0:2": (3, "expected an integer index before ':', got '1.0'"),
    b"1 -:2": (3, "expected an integer index before ':', got '-'"),
    b"1 -3:2": (3, "index '-3' is negative"),
    b"1 1:1 2147483648:2": (7, "index '2147483648' is too large; it must be below 2^31"),
    b"1 18446744073709551617:2": (3, "index '18446744073709551617' is too large"),
    b"1 5:2 3:1": (7, "index 3 comes after 5; the indices of a row must be strictly increasing"),
    b"1 5:2 5:1": (7, "index 5 comes after 5; the indices of a row must be strictly increasing"),
    b"1\t 1:\t2:3": (6, "expected a number after ':', got ''"),
    b"1 1:2:3": (5, "expected a number after ':', got '2:3'"),
    b"1 1:abc#": (5, "expected a number after ':', got 'abc'"),
    b"1 1:1e": (5, "expected a number after ':', got '1e'"),
    b"1 1:1e+": (5, "expected a number after ':', got '1e+'"),
    b"1 1:.": (5, "expected a number after ':', got '.'"),
    b"1 1:--1": (5, "expected a number after ':', got '--1'"),
    b"1 1:1.2.3": (5, "expected a number after ':', got '1.2.3'"),
    b"1 1:nano": (5, "expected a number after ':', got 'nano'"),
    b"1 1:\x00\xff'": (5, "expected a number after ':', got '\\x00\\xff''"),
    b"1 1:" + b"9z" * 1000: (5, "got '9z9z9z9z9z9z9z9z9z9z9z9z9z9z9z...'"),
}


@pytest.mark.parametrize("line", ERRORS, ids=lambda line: repr(line[:20]))
def test_an_error_names_file_line_and_column(line, write_text):
    column, message = ERRORS[line]
    path = write_text(b"# a comment\n\n1 1:1\n" + line + b"\n1 1:1\nanother error\n")
    expected = f"{path}, line 4, column {column}: "
    with pytest.raises(ValueError, match="^" + re.escape(expected) + ".*" + re.escape(message)):
        load_svmlight(path)


def test_a_small_n_features_is_refused_at_the_place_that_needs_more(write_text, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 5)
    paths = [
        write_text(b"1 1:2\n", name="a"),
        write_text(b"1 1:2\n1 3:4 70:5\n1 2:4 70:5\n", name="b"),
    ]
    message = f"{paths[1]}, line 2, column 7: index 70 (the first being 1) needs n_features to be "
    with pytest.raises(ValueError, match="^" + re.escape(message) + "at least 70, got 69$"):
        load_svmlight(paths, n_features=69)
    with pytest.raises(ValueError, match="at least 71, got 70"):
        load_svmlight([*paths, write_text(b"1 0:1\n", name="c")], n_features=70)


@pytest.mark.parametrize("n_features", [0, -1, 2.5, "3"])
def test_a_bad_number_of_features_is_named(n_features, write_text):
    with pytest.raises(ValueError, match="n_features must be a positive integer or None, got"):
        load_svmlight(write_text(b"1 1:2\n"), n_features)


def test_files_that_cannot_be_opened(tmp_path):
    for name in ("missing", "missing.gz", "missing.xz"):
        with pytest.raises(FileNotFoundError, match=name):
            load_svmlight(tmp_path / name)
    (tmp_path / "folder.bz2").mkdir()
    for folder in (tmp_path, tmp_path / "folder.bz2"):
        with pytest.raises(IsADirectoryError, match=re.escape(str(folder))):
            load_svmlight(folder)


@pytest.mark.parametrize("path_or_paths", [None, 3, [None]])
def test_arguments_that_are_not_paths_are_refused(path_or_paths, write_text):
    with pytest.raises(TypeError):
        load_svmlight(path_or_paths)
    with (
        open(write_text(b"1 1:2\n"), "rb") as file,
        pytest.raises(TypeError, match="path_or_paths"),
    ):
        load_svmlight(file)


# --- arbitrary bytes ------------------------------------------------------------------------------


def mutated(rng, text):
    """Change, insert, drop or copy a few bytes, preferably those that mean something."""
    text = bytearray(text)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(text)))
        to = at + int(rng.integers(1, 9))
        match rng.integers(4):
            case 0:
                text[at] = rng.integers(256)
            case 1:
                text[at:at] = rng.choice(
                    list(b" \t\n\r\x0b\x0c#:+-.,eEnaif0123456789\x00qd"), 1
                ).tolist()
            case 2:
                del text[at:to]
            case 3:
                text[at:at] = text[to : to + 20]
    return bytes(text)


def outcome(load, *args, **options):
    try:
        return load(*args, **options)
    except (ValueError, OverflowError) as error:
        return error


def test_a_thousand_mutated_files(tmp_path, monkeypatch):
    """Files are read or refused as by scikit-learn, also in small chunks."""
    rng = np.random.default_rng(0)
    path = tmp_path / "file"
    accepted = 0
    for _ in range(1000):
        text = mutated(rng, EVERYTHING if rng.random() < 0.5 else random_text(rng, 4))
        text = text.replace(b"_", b"-")  # Python accepts it between digits
        path.write_bytes(text)
        expected = outcome(load_svmlight_file, str(path))
        actual = outcome(load_svmlight, path, n_jobs=1)
        with monkeypatch.context() as patch:
            patch.setattr(chunks, "CHUNK", int(rng.integers(1, 50)))
            pieces = outcome(load_svmlight, path, n_jobs=1)
        if isinstance(expected, Exception):
            assert isinstance(actual, ValueError), text
            assert str(pieces) == str(actual)
        else:
            assert_equal_rows(actual, expected)
            assert_equal_rows(pieces, expected)
            accepted += 1
    assert 100 < accepted < 900


def test_random_bytes(write_text):
    rng = np.random.default_rng(0)
    for size in (1, 10, 1000, 1_000_000):
        with pytest.raises(ValueError, match="line 1, column 1: expected a label"):
            load_svmlight(write_text(b"\x80" + rng.bytes(size)))


# --- as a data file -------------------------------------------------------------------------------


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
def test_an_error_of_a_data_file_names_line_and_column(write, text, place):
    path = write(text)
    for attempt in (read, lambda path: stream(path, Layout(2))):
        with pytest.raises(ValueError, match=place) as caught:
            attempt(path)
        assert str(caught.value).startswith(path)
