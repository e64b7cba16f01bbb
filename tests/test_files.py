"""LIBSVM files: read as scikit-learn reads them, whatever the threads, cuts and compression."""

import bz2
import gzip
import lzma
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, load_svmlight_files

from pocketsvm import files, load_svmlight

COMPRESSORS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
DATA = sorted(Path(os.environ.get("POCKETSVM_DATA", "/nowhere")).glob("*.gz"))

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


@pytest.fixture
def write(tmp_path):
    """A function that writes bytes to a file, compressed as its suffix says."""

    def write(text, suffix=".txt", name="file"):
        path = tmp_path / (name + suffix)
        path.write_bytes(COMPRESSORS.get(suffix, bytes)(text))
        return path

    return write


@pytest.fixture(params=[1, 10, 64])
def tiny_chunks(request, monkeypatch):
    """Cuts everywhere: within numbers, between lines, several in one line."""
    monkeypatch.setattr(files, "CHUNK", request.param)
    monkeypatch.setattr(files, "BLOCK", 7)
    return request.param


def assert_equal_rows(actual, expected):
    (X, y), (X_expected, y_expected) = actual, expected
    assert X.format == "csr"
    assert (X.dtype, y.dtype) == (np.float32, np.float64)
    assert X.shape == X_expected.shape
    assert_array_equal(y, y_expected)
    assert_array_equal(X.indptr, X_expected.indptr)
    assert_array_equal(X.indices, X_expected.indices)
    with np.errstate(over="ignore"):
        assert_array_equal(X.data, X_expected.data.astype(np.float32))
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


# --- equal to scikit-learn ------------------------------------------------------------------------


@pytest.mark.skipif(not DATA, reason="needs the data sets, in $POCKETSVM_DATA")
@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_the_published_files_are_read_as_scikit_learn_reads_them(path, tmp_path):
    expected = load_svmlight_file(str(path))
    assert_equal_rows(load_svmlight(path), expected)
    plain = tmp_path / path.stem
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert_equal_rows(load_svmlight(plain), expected)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\n\n", b" \n"])
@pytest.mark.parametrize("first_index", [0, 1, 5])
def test_generated_rows_are_read_as_scikit_learn_reads_them(first_index, newline, write):
    text = random_text(np.random.default_rng(first_index), 300, first_index, newline)
    path = write(text)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))
    path = write(text.rstrip())  # no last line end
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_all_that_the_format_allows(write):
    path = write(EVERYTHING)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_what_scikit_learn_writes_comes_back(tmp_path):
    X = scipy.sparse.random_array((50, 30), density=0.2, format="csr", rng=0, dtype=np.float32)
    y = np.random.default_rng(0).integers(-3, 4, size=50) / 2
    for zero_based in (True, False):
        dump_svmlight_file(X, y, str(tmp_path / "file"), zero_based=zero_based)
        assert_equal_rows(load_svmlight(tmp_path / "file", n_features=30), (X, y))


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b"   \n\t\r\n", b"1", b"1\n-1"])
def test_files_without_features(text, write):
    path = write(text)
    assert_equal_rows(load_svmlight(path), load_svmlight_file(str(path)))


def test_numbers_are_rounded_as_python_rounds_them(write):
    """To the nearest float64 and then to float32, on both sides of every middle of two floats."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0x00000001, 0x7F7FFFFF, size=2000, dtype=np.uint32)
    bits[:300] = rng.integers(0x3A000000, 0x42000000, size=300)  # magnitudes of everyday
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
    path = write("".join(f"{number} 1:{number}\n" for number in numbers).encode())
    X, y = load_svmlight(path)
    exact = np.array([float(number) for number in numbers])
    assert_array_equal(y, exact)
    with np.errstate(over="ignore"):
        assert_array_equal(X.data, exact.astype(np.float32))


# --- threads, cuts, compression -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".txt", *COMPRESSORS])
@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_the_bits_do_not_depend_on_threads_cuts_and_compression(n_jobs, suffix, tiny_chunks, write):
    path, plain = write(EVERYTHING, suffix), write(EVERYTHING, name="plain")
    assert_equal_rows(load_svmlight(path, n_jobs=n_jobs), load_svmlight_file(str(plain)))


@pytest.mark.parametrize("suffix", [".txt", *COMPRESSORS])
def test_files_of_many_chunks(suffix, write, monkeypatch):
    text = random_text(np.random.default_rng(0), 1500)
    expected = load_svmlight_file(str(write(text, name="plain")))
    path = write(text, suffix)
    assert_equal_rows(load_svmlight(path), expected)
    monkeypatch.setattr(files, "CHUNK", 10_000)
    assert_equal_rows(load_svmlight(path, n_jobs=3), expected)


def test_a_line_longer_than_many_chunks(write):
    features = b" ".join(b"%d:%d" % (i, i % 10) for i in range(1, 400_000))
    text = b"1 " + features + b"\n-1 2:3\n2 " + features
    assert len(text) > 20 * files.CHUNK
    expected = load_svmlight_file(str(write(text, name="plain")))
    for suffix in (".txt", ".gz"):
        assert_equal_rows(load_svmlight(write(text, suffix), n_jobs=2), expected)


def test_an_archive_of_several_members(tmp_path, tiny_chunks):
    text = random_text(np.random.default_rng(0), 20)
    (tmp_path / "plain").write_bytes(text)
    for suffix, compress in COMPRESSORS.items():
        path = tmp_path / f"file{suffix}"
        parts = [compress(text[:700]), compress(b""), compress(text[700:])]
        for padding in (0, 20) if suffix == ".gz" else (0,):
            path.write_bytes(b"".join(part + bytes(padding) for part in parts))
            assert_equal_rows(load_svmlight(path), load_svmlight_file(str(tmp_path / "plain")))


def test_an_empty_archive(tmp_path, write):
    for suffix in COMPRESSORS:
        assert load_svmlight(write(b"", suffix))[0].shape == (0, 1)
    (tmp_path / "nothing.gz").touch()
    assert load_svmlight(tmp_path / "nothing.gz")[0].shape == (0, 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pipe_is_read_from_front_to_back(n_jobs, tmp_path, write, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 5000)
    text = random_text(np.random.default_rng(0))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[text])
    writer.start()
    result = load_svmlight(tmp_path / "pipe", n_jobs=n_jobs)
    writer.join()
    assert_equal_rows(result, load_svmlight_file(str(write(text))))


def test_the_result_is_ready_for_use(write):
    X, y = load_svmlight(write(random_text(np.random.default_rng(0))))
    assert isinstance(X, scipy.sparse.csr_array)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    unchecked = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    assert unchecked.has_canonical_format
    for array in (X.data, X.indices, X.indptr, y):
        assert array.flags.writeable
        assert array.flags.aligned
    X.data[:] = 1  # and belongs to nobody else
    y[:] = 1


# --- several files, number of features ------------------------------------------------------------


def test_several_files_have_one_number_of_features(write):
    paths = [write(b"1 1:2 9:1\n", name="a"), write(b"2 3:4\n-1 1:1\n", ".gz", name="b")]
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


def test_an_index_0_in_one_file_makes_all_count_from_0(write):
    paths = [write(b"1 1:2\n", name="a"), write(b"2 0:4\n", name="b")]
    expected = load_svmlight_files([str(path) for path in paths])
    result = load_svmlight(paths)
    assert_equal_rows(result[:2], expected[:2])
    assert_equal_rows(result[2:], expected[2:])
    assert_array_equal(result[0].indices, [1])


def test_a_file_without_features_does_not_say_where_indices_begin(write):
    """scikit-learn would take the other file's indices to count from 0."""
    X, _, empty, y = load_svmlight([write(b"1 1:2\n", name="a"), write(b"5\n", name="b")])
    assert_array_equal(X.indices, [0])
    assert empty.shape == (1, 1)
    assert_array_equal(y, [5])


def test_the_number_of_features_may_be_larger_than_needed(write):
    path = write(b"1 1:2 3:1\n")
    assert load_svmlight(path)[0].shape == (1, 3)
    assert load_svmlight(path, 3)[0].shape == (1, 3)
    assert load_svmlight(path, n_features=np.int64(10))[0].shape == (1, 10)
    assert load_svmlight(write(b"1 2147483647:2\n"))[0].shape == (1, 2**31 - 1)
    assert load_svmlight(write(b"1 0:1 2147483647:2\n"))[0].shape == (1, 2**31)


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
def test_an_error_names_file_line_and_column(line, write):
    column, message = ERRORS[line]
    path = write(b"# a comment\n\n1 1:1\n" + line + b"\n1 1:1\nanother error\n")
    expected = f"{path}, line 4, column {column}: "
    with pytest.raises(ValueError, match="^" + re.escape(expected) + ".*" + re.escape(message)):
        load_svmlight(path)


@pytest.mark.parametrize("suffix", [".txt", ".gz"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_first_error_is_named_whatever_the_threads(n_jobs, suffix, write, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 100)
    lines = random_text(np.random.default_rng(0)).splitlines(keepends=True)
    lines[123] = b"1 1:1 2:bad\n"
    lines[124] = lines[200] = b"bad 1:1\n"
    with pytest.raises(ValueError, match=r", line 124, column 9: .* got 'bad'"):
        load_svmlight(write(b"".join(lines), suffix), n_jobs=n_jobs)


def test_too_few_features_are_named_with_the_place_that_needs_more(write, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 5)
    paths = [write(b"1 1:2\n", name="a"), write(b"1 1:2\n1 3:4 70:5\n1 2:4 70:5\n", name="b")]
    message = f"{paths[1]}, line 2, column 7: index 70 (the first being 1) needs n_features to be "
    with pytest.raises(ValueError, match="^" + re.escape(message) + "at least 70, got 69$"):
        load_svmlight(paths, n_features=69)
    with pytest.raises(ValueError, match="at least 71, got 70"):
        load_svmlight([*paths, write(b"1 0:1\n", name="c")], n_features=70)


@pytest.mark.parametrize("n_features", [0, -1, 2.5, "3"])
def test_a_bad_number_of_features_is_named(n_features, write):
    with pytest.raises(ValueError, match="n_features must be a positive integer or None, got"):
        load_svmlight(write(b"1 1:2\n"), n_features)


def test_files_that_cannot_be_opened(tmp_path):
    for name in ("missing", "missing.gz", "missing.xz"):
        with pytest.raises(FileNotFoundError, match=name):
            load_svmlight(tmp_path / name)
    (tmp_path / "folder.bz2").mkdir()
    for folder in (tmp_path, tmp_path / "folder.bz2"):
        with pytest.raises(IsADirectoryError, match=re.escape(str(folder))):
            load_svmlight(folder)


@pytest.mark.parametrize("path_or_paths", [None, 3, [None]])
def test_what_is_no_path(path_or_paths, write):
    with pytest.raises(TypeError):
        load_svmlight(path_or_paths)
    with open(write(b"1 1:2\n"), "rb") as file, pytest.raises(TypeError, match="path_or_paths"):
        load_svmlight(file)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_that_becomes_shorter_is_refused(suffix, write, monkeypatch):
    path = write(b"1 1:1\n" * 5000, suffix)
    monkeypatch.setattr(files, "CHUNK", 600)
    monkeypatch.setattr(files, "BLOCK", 10)
    monkeypatch.setattr(files.ParsedText, "append", lambda *_: os.truncate(path, 12))
    with pytest.raises(ValueError, match=re.escape(str(path)) + " (became shorter|is damaged)"):
        load_svmlight(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails to read")
def test_a_read_that_fails_names_the_file():
    with pytest.raises(OSError, match="/proc/self/mem"):
        load_svmlight("/proc/self/mem")


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damaged_archives_are_named(n_jobs, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 1000)
    text = random_text(np.random.default_rng(0))
    whole = COMPRESSORS[suffix](text)
    path = tmp_path / f"file{suffix}"
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:-1], b"1 1:2\n"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(f"{path} is damaged")):
            load_svmlight(path, n_jobs=n_jobs)
    path.write_bytes(whole[:middle] + bytes(50) + whole[middle + 50 :])
    with pytest.raises(ValueError, match=re.escape(str(path))):  # the text may go wrong first
        load_svmlight(path, n_jobs=n_jobs)
    # What is wrong with the text before the damage comes first.
    path.write_bytes(COMPRESSORS[suffix](b"1 1:2\nbad\n" + text)[:-5])
    with pytest.raises(ValueError, match="line 2, column 1: expected a label"):
        load_svmlight(path, n_jobs=n_jobs)


# --- arbitrary bytes ------------------------------------------------------------------------------


def mutated(rng, text):
    """A few bytes changed, put in, dropped or copied, preferably such as mean something."""
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
    """Accepted and read as scikit-learn does, or refused as it does; the same in small pieces."""
    rng = np.random.default_rng(0)
    path = tmp_path / "file"
    accepted = 0
    for _ in range(1000):
        text = mutated(rng, EVERYTHING if rng.random() < 0.5 else random_text(rng, 4))
        text = text.replace(b"_", b"-")  # which Python takes between digits, and nobody writes
        path.write_bytes(text)
        expected = outcome(load_svmlight_file, str(path))
        actual = outcome(load_svmlight, path, n_jobs=1)
        with monkeypatch.context() as patch:
            patch.setattr(files, "CHUNK", int(rng.integers(1, 50)))
            pieces = outcome(load_svmlight, path, n_jobs=1)
        if isinstance(expected, Exception):
            assert isinstance(actual, ValueError), text
            assert str(pieces) == str(actual)
        else:
            assert_equal_rows(actual, expected)
            assert_equal_rows(pieces, expected)
            accepted += 1
    assert 100 < accepted < 900


def test_random_bytes(write):
    rng = np.random.default_rng(0)
    for size in (1, 10, 1000, 1_000_000):
        with pytest.raises(ValueError, match="line 1, column 1: expected a label"):
            load_svmlight(write(b"\x80" + rng.bytes(size)))


# --- interruption ---------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_reading_can_be_interrupted(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"from pocketsvm import load_svmlight; load_svmlight({str(pipe)!r}, n_jobs=2)"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # may be ignored here
    )
    with open(pipe, "wb", buffering=0) as writer:
        writer.write(b"1 1:1\n" * 1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
