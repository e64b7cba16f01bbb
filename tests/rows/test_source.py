"""Sources: scans merge what is read from chunks, and read the same rows each time."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from pocketsvm.files import DataError
from pocketsvm.rows import source as source_module
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.source import ChunkSource, Scanner, Trace

N = 20


def chunks_of(size=6, **changes):
    """Return rows in chunks of some size; values of the rows can be changed."""
    random = np.random.default_rng(0)
    arrays = {
        "X": random.normal(size=(N, 3)),
        "y": np.arange(N) % 3,
        "weight": random.uniform(1, 2, N),
        "qid": np.arange(N) // 4,
    } | changes
    return [
        Chunk(
            arrays["X"][at : at + size],
            arrays["y"][at : at + size],
            None if arrays["weight"] is None else arrays["weight"][at : at + size],
            f"rows {at}",
            None if arrays["qid"] is None else arrays["qid"][at : at + size],
        )
        for at in range(0, N, size)
    ]


def trace_of(chunks):
    """Return the trace of some chunks."""
    trace = Trace.of(chunks[0])
    for chunk in chunks[1:]:
        trace = trace.then(Trace.of(chunk))
    return trace


class Rows:
    """A reading that lists the labels, and the numbers of rows before each chunk."""

    def __call__(self, chunk, first):
        return [(first, chunk.y.tolist())]

    def merge(self, parts):
        return list(chain.from_iterable(parts))


def labels_of(found):
    """Return all labels that `Rows` has found."""
    return list(chain.from_iterable(labels for _, labels in found))


# --- scans ----------------------------------------------------------------------------------------


def test_results_are_merged_in_the_order_of_the_chunks():
    found = ChunkSource(lambda: iter(chunks_of())).scan(Rows())
    assert [first for first, _ in found] == [0, 6, 12, 18]
    assert labels_of(found) == (np.arange(N) % 3).tolist()


def test_rows_without_weight_and_ignored_classes_are_not_read():
    weight = np.where(np.arange(N) < 6, 0.0, 1.0)
    found = ChunkSource(lambda: iter(chunks_of(weight=weight)), ignored=(0,)).scan(Rows())
    assert [first for first, _ in found] == [0, 4, 8]
    assert labels_of(found) == [1, 2] * 4 + [1]


@pytest.mark.parametrize("chunks", [[], chunks_of(weight=np.zeros(N))])
def test_no_rows_are_refused(chunks):
    source = ChunkSource(lambda: iter(chunks))
    with pytest.raises(DataError, match="there are no rows of positive weight"):
        source.scan(Rows())
    with pytest.raises(DataError, match="there are no rows of positive weight"):
        replace(source, is_small=True).whole()


def test_all_rows_of_a_small_source_are_at_hand():
    source = ChunkSource(lambda: iter(chunks_of()), ignored=(2,))
    assert source.whole() is None
    found = replace(source, is_small=True).whole()
    expected = chunks_of(size=N)[0].counted((2,))
    for name in ("X", "y", "weight", "qid"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


class Notes:
    """Follows a scan, and may interrupt it."""

    def __init__(self, before=(None, 0), most_rows=N):
        self.before, self.most_rows, self.noted = before, most_rows, []

    def __call__(self, part, n_rows):
        self.noted.append((part, n_rows))
        if n_rows > self.most_rows:
            raise KeyboardInterrupt


@pytest.mark.parametrize("most_rows", [0, 6, 17])
def test_an_interrupted_scan_goes_on(most_rows):
    source, notes = ChunkSource(lambda: iter(chunks_of())), Notes(most_rows=most_rows)
    with pytest.raises(KeyboardInterrupt):
        source.scan(Rows(), notes)
    resumed = Notes(notes.noted[-1])
    assert source.scan(Rows(), resumed) == source.scan(Rows())
    assert len(notes.noted) + len(resumed.noted) == 4  # no chunk is read twice


def test_other_chunks_than_those_that_were_read_are_refused():
    source = ChunkSource(lambda: iter(chunks_of(size=5)))
    with pytest.raises(DataError, match="rows 5: the batches are not those that the checkpoint"):
        source.scan(Rows(), Notes(([], 6)))


# --- traces ---------------------------------------------------------------------------------------


def test_the_same_rows_have_the_same_trace():
    trace = trace_of(chunks_of())
    assert trace == trace_of(chunks_of())
    assert (trace.n_rows, trace.n_chunks) == (N, 4)


def test_traces_are_joined_in_any_grouping():
    parts = [Trace.of(chunk) for chunk in chunks_of(size=3)]
    left = parts[0].then(parts[1]).then(parts[2]).then(parts[3])
    right = parts[0].then(parts[1].then(parts[2].then(parts[3])))
    assert left == right == parts[0].then(parts[1]).then(parts[2].then(parts[3]))


def swapped(values):
    """Return values of which two, in different chunks, are exchanged."""
    found = values.copy()
    found[[1, 8]] = values[[8, 1]]
    return found


FIRST = chunks_of(size=N)[0]
CHANGES = {
    "a feature": {"X": FIRST.X + np.eye(N, 3) * 1e-15},
    "a negative zero": {"X": np.zeros((N, 3)) * -1.0},
    "a label": {"y": np.where(np.arange(N) == 19, 7, FIRST.y)},
    "a weight": {"weight": FIRST.weight * np.where(np.arange(N) == 3, 1 + 1e-15, 1.0)},
    "a query": {"qid": np.where(np.arange(N) == 0, 9, FIRST.qid)},
    "the order of labels": {"y": swapped(FIRST.y)},
    "the order of rows": {"X": swapped(FIRST.X)},
    "the order of weights": {"weight": swapped(FIRST.weight)},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_other_values_are_noticed(changes):
    first = {name: np.zeros((N, 3)) for name in changes if (changes[name] == 0).all()}
    trace, other = trace_of(chunks_of(**first)), trace_of(chunks_of(**changes))
    assert trace != other
    with pytest.raises(DataError, match="their features, labels or weights are not the same"):
        other.check(trace)


def test_chunks_in_another_order_are_noticed():
    chunks = chunks_of(size=5)
    with pytest.raises(DataError, match="changed between two scans"):
        trace_of(chunks[::-1]).check(trace_of(chunks))


def test_another_number_of_rows_is_noticed():
    with pytest.raises(DataError, match="the first one found 20 rows with a weight, and another o"):
        trace_of(chunks_of()[:-1]).check(trace_of(chunks_of()))


def test_the_same_rows_in_other_chunks_are_not_refused():
    trace_of(chunks_of(size=4)).check(trace_of(chunks_of(size=5)))


@pytest.mark.parametrize("column", ["y", "qid"])
@pytest.mark.parametrize("kind", [str, object])
def test_texts_are_traced(column, kind):
    words = np.array([f"w{k}" for k in range(N)], dtype=kind)
    other = words.copy()
    other[7] = "x"
    first, second = (trace_of(chunks_of(**{column: values})) for values in (words, other))
    assert first == trace_of(chunks_of(**{column: words.copy()}))
    assert first != second


def test_tables_and_sparse_rows_are_traced():
    table = FIRST.X.astype(object)
    table[3, 1] = "red"
    other = table.copy()
    other[3, 1] = "blue"
    assert trace_of(chunks_of(X=table)) == trace_of(chunks_of(X=table.copy()))
    assert trace_of(chunks_of(X=table)) != trace_of(chunks_of(X=other))
    dense = np.where(np.abs(FIRST.X) > 1, FIRST.X, 0)
    moved = dense[:, ::-1]
    assert trace_of(chunks_of(X=sp.csr_array(dense))) == trace_of(chunks_of(X=sp.csr_array(dense)))
    assert trace_of(chunks_of(X=sp.csr_array(dense))) != trace_of(chunks_of(X=sp.csr_array(moved)))


# --- scanners -------------------------------------------------------------------------------------


class Changing:
    """Chunks that differ between scans."""

    def __init__(self, *scans):
        self.scans = iter(scans)

    def __call__(self):
        return iter(next(self.scans))


@pytest.mark.parametrize("large", [0, source_module.LARGE], ids=["in a thread", "in line"])
def test_later_scans_are_compared_with_the_first(large, monkeypatch):
    monkeypatch.setattr(source_module, "LARGE", large)
    other = chunks_of(y=np.zeros(N, dtype=int))
    value, scanner = Scanner(ChunkSource(Changing(chunks_of(), chunks_of(), other))).first(Rows())
    assert scanner.scan(Rows()) == value
    with pytest.raises(DataError, match="the rows changed between two scans"):
        scanner.scan(Rows())


@pytest.mark.parametrize("later", [[], chunks_of(weight=np.zeros(N))])
def test_rows_that_are_gone_are_noticed(later):
    _, scanner = Scanner(ChunkSource(Changing(chunks_of(), later))).first(Rows())
    with pytest.raises(DataError, match=r"the rows changed between two scans: .* found no rows"):
        scanner.scan(Rows())


def test_errors_of_a_thread_and_of_the_reading_are_raised(monkeypatch):
    monkeypatch.setattr(source_module, "LARGE", 0)
    monkeypatch.setattr(Trace, "of", lambda chunk: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Scanner(ChunkSource(Changing(chunks_of()))).first(Rows())

    class Refusing(Rows):
        def __call__(self, chunk, first):
            raise KeyError("reading")

    with pytest.raises(KeyError, match="reading"):
        Scanner(ChunkSource(Changing(chunks_of()))).first(Refusing())


def test_a_first_scan_without_rows_is_not_a_change():
    with pytest.raises(DataError, match=r"^there are no rows of positive weight"):
        Scanner(ChunkSource(lambda: iter([]))).first(Rows())


def test_rows_without_weight_may_change():
    weight = np.where(np.arange(N) % 2, 1.0, 0.0)
    X = np.where(weight[:, None] > 0, FIRST.X, 7.0)
    one, two = (chunks_of(X=each, weight=weight) for each in (FIRST.X, X))
    value, scanner = Scanner(ChunkSource(Changing(one, two))).first(Rows())
    assert scanner.scan(Rows()) == value


def test_readings_can_be_wrapped():
    class Negative:
        def __init__(self, reading):
            self.reading, self.merge = reading, reading.merge

        def __call__(self, chunk, first):
            return self.reading(replace(chunk, y=-chunk.y), first)

    _, scanner = Scanner(ChunkSource(lambda: iter(chunks_of())), wrap=Negative).first(Rows())
    found = scanner.scan(Rows())
    assert labels_of(found) == (-(np.arange(N) % 3)).tolist()
