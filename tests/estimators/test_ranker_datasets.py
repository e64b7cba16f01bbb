"""BudgetedRanker on data sets: files, queries that are split over them, samples and bad input."""

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
import scipy.sparse as sp
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedRanker, BudgetedSVR, load_model, load_svmlight, open_dataset
from pocketsvm.metrics import pairwise_accuracy

NAMES = list("abcd")


def small(**parameters):
    return BudgetedRanker(**{"budget": 40, "C": 10.0, "random_state": 0} | parameters)


class Batches:
    def __init__(self, *arrays, size=700):
        self.arrays, self.size = arrays, size

    def batches(self):
        for k in range(0, len(self.arrays[0]), self.size):
            X, y, qid, *weight = (values[k : k + self.size] for values in self.arrays)
            yield X, y, weight[0] if weight else None, qid


@pytest.fixture
def rows():
    """Rows in random order, so that each part of them has rows of most queries."""
    X, y, qid = graded(40, 20)
    order = np.random.default_rng(1).permutation(len(X))
    return X[order].astype(np.float32), y[order], qid[order]


@pytest.fixture
def write(tmp_path, rows):
    """Write the rows to three files, as tables or LIBSVM text."""

    def to_files(form, names=None, **changed):
        X, y, qid = rows
        for part in np.array_split(np.arange(len(X)), 3):
            path = tmp_path / f"{part[0]:03d}.{form}"
            if form == "svm":
                dump_svmlight_file(
                    X[part], y[part], str(path), zero_based=False, query_id=qid[part]
                )
                continue
            table = pd.DataFrame(X[part], columns=NAMES)
            table = table.assign(session=qid[part] if names is None else names[part], grade=y[part])
            table = table.assign(**{name: values[part] for name, values in changed.items()})
            if form == "csv":
                table.to_csv(path, index=False)
            else:
                table.to_parquet(path)
        return tmp_path

    return to_files


def opened(folder, **options):
    return open_dataset(folder, **{"label": "grade", "qid": "session"} | options)


# --- rows that fit into the sample ----------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_tables_give_the_model_of_rows_in_memory(rows, write, form):
    found = small().fit(opened(write(form), dtype="float32"))
    assert_same_model(found, small().fit(*rows))
    assert found.feature_names_in_.tolist() == NAMES


def test_libsvm_text_gives_the_model_of_rows_in_memory(write):
    folder = write("svm")
    found = load_svmlight(sorted(folder.iterdir()), query_id=True)
    X, y, qid = sp.vstack(found[::3]).tocsr(), *map(np.concatenate, (found[1::3], found[2::3]))
    assert_same_model(small().fit(open_dataset(folder)), small().fit(X, y, qid))


def test_texts_weights_and_chosen_columns(rows, write):
    X, y, qid = rows
    names = np.array([f"query {k}" for k in qid])
    weights = 1.0 + qid % 3
    folder = write("parquet", names, weight=weights)
    expected = small().fit(X[:, :3], y, names, weights)
    data = opened(folder, features=["a", "b", "c"], sample_weight="weight")
    assert_same_model(small().fit(data), expected)
    arrow = open_dataset(
        pyarrow.dataset.dataset(sorted(map(str, folder.iterdir()))),
        "grade",
        qid="session",
        features=["a", "b", "c"],
        sample_weight="weight",
    )
    assert_same_model(small().fit(arrow), expected)
    for queries in (names, names.astype(object)):
        assert_same_model(small().fit(Batches(X[:, :3], y, queries, weights)), expected)
    assert_same_model(small().fit(Batches(X, y, qid.astype(object))), small().fit(X, y, qid))


def test_queries_of_a_numpy_file(tmp_path, rows):
    X, y, qid = rows
    expected = small().fit(X, y, qid)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "qid.npy", qid)
    for queries in (qid, qid.tolist(), pd.Series(qid), tmp_path / "qid.npy"):
        assert_same_model(
            small().fit(open_dataset(tmp_path / "rows.npy", y, qid=queries)), expected
        )
    path = tmp_path / "all.npy"
    np.save(path, np.column_stack([X[:, 0], y, X[:, 1:], qid]))
    assert_same_model(small().fit(open_dataset(path, 2, qid=-1)), expected)
    np.save(path, np.column_stack([X, y, qid]))  # the label is the last column that is left
    assert_same_model(small().fit(open_dataset(path, qid=6)), expected)
    with pytest.raises(ValueError, match="column 6 is both label and query"):
        small().fit(open_dataset(path, 6, qid=6))


def test_other_estimators_leave_out_the_queries(rows, write):
    X, y, _ = rows
    model = BudgetedSVR(20, random_state=0)
    found = BudgetedSVR(20, random_state=0).fit(opened(write("csv"), dtype="float32"))
    assert_same_model(found, model.fit(X, y))
    assert found.feature_names_in_.tolist() == NAMES


# --- samples --------------------------------------------------------------------------------------


def test_a_sample_of_queries_ranks_as_well_as_all_rows():
    X, y, qid = graded(500, 20)
    T, truth, queries = graded(200, 20, seed=5)
    whole = small(budget=12).fit(X, y, qid)
    found = small(budget=12).fit(Batches(X, y, qid))
    best = pairwise_accuracy(truth, whole.predict(T), queries)
    assert pairwise_accuracy(truth, found.predict(T), queries) > best - 0.005
    other = small(budget=12).fit(Batches(X, y, qid, size=997))
    assert_array_equal(other._state.vectors, found._state.vectors)
    assert pairwise_accuracy(truth, other.predict(T), queries) > best - 0.005


def test_c_means_the_same_as_on_all_rows():
    """Every query is there four times, so that a sample of them has the solution of all rows."""
    X, y, qid = graded(300, 20)
    copies = 4
    rows = (np.tile(X, (copies, 1)), np.tile(y, copies))
    numbers = (qid + 1000 * np.arange(copies)[:, None]).ravel()
    T = graded(100, 20, seed=5)[0]
    model = small(budget=5, C=0.01, gamma=0.5)
    whole = model.fit(*rows, numbers).predict(T)
    sampled = model.fit(Batches(*rows, numbers)).predict(T)
    assert np.std(sampled) == pytest.approx(np.std(whole), rel=0.1)
    # With the C of the sampled rows alone, scores would be smaller.
    assert np.std(model.fit(X[:2560], y[:2560], qid[:2560]).predict(T)) < 0.6 * np.std(whole)


def test_a_large_query_is_represented_by_a_part(tmp_path):
    X, y, _ = graded(1, 10_000)
    T, truth, queries = graded(50, 20, seed=5)
    data = Batches(X, y, np.zeros(len(X), dtype=int))
    found = small(budget=8).fit(data)
    assert pairwise_accuracy(truth, found.predict(T), queries) > 0.9


def test_one_query_with_a_pair_among_many_gives_the_model_of_rows_in_memory():
    X, y, qid = graded(600, 20)
    y = y * (qid == 300)
    found = small(budget=4).fit(Batches(X, y, qid))
    assert_allclose(found.predict(X[:50]), small(budget=4).fit(X, y, qid).predict(X[:50]))


def test_c_counts_the_rows_of_queries_with_a_pair():
    """Nine of ten queries have no pair, and the others are there eight times."""
    X, y, qid = graded(300, 20)
    numbers = (qid + 1000 * np.arange(8)[:, None]).ravel()
    rows = np.tile(X, (8, 1)), np.tile(y, 8)
    silent = 10_000 + np.arange(9 * len(numbers)) // 20
    many = np.tile(rows[0], (9, 1)), np.zeros(len(silent), dtype=int)
    T = graded(100, 20, seed=5)[0]
    model = small(budget=5, C=0.01, gamma=0.5)
    whole = model.fit(*rows, numbers).predict(T)
    every = [np.concatenate(parts) for parts in zip((*rows, numbers), (*many, silent), strict=True)]
    order = np.random.default_rng(0).permutation(len(silent) + len(numbers))
    sampled = model.fit(Batches(*(values[order] for values in every), size=20_000)).predict(T)
    assert np.std(sampled) == pytest.approx(np.std(whole), rel=0.15)


def test_a_rare_relevance_of_a_large_query_is_drawn():
    X, y, _ = graded(1, 12_000)
    y = np.zeros(len(X))
    y[[5, 4000, 7000, 9000, 11_999]] = 1
    X[y > 0] += 3
    found = small(budget=4).fit(Batches(X, y, np.zeros(len(X), dtype=int)))
    assert pairwise_accuracy(y, found.predict(X)) > 0.9


def test_the_scaler_is_part_of_the_model(tmp_path, rows, write):
    X, y, qid = rows
    data = opened(write("parquet"), scaler=StandardScaler())
    found = small().fit(data)
    scaled = StandardScaler().fit_transform(X)
    table = pd.DataFrame(X, columns=NAMES)
    scores = found.predict(table)
    order = np.corrcoef(scores, small().fit(scaled, y, qid).predict(scaled))[0, 1]
    assert order > 0.999
    found.save(tmp_path / "model.psvm")
    assert_allclose(load_model(tmp_path / "model.psvm").predict(table), scores)


# --- bad input ------------------------------------------------------------------------------------


def test_missing_queries_are_refused_with_file_and_row(rows, write):
    names = rows[2].astype(float)
    names[600] = np.nan
    folder = write("parquet", names)
    with pytest.raises(
        ValueError, match=r"534\.parquet, row 67, column 'session': the query is mi"
    ):
        small().fit(opened(folder))


def test_a_line_without_qid_is_refused(write):
    folder = write("svm")
    last = sorted(folder.iterdir())[-1]
    lines = last.read_text().splitlines()
    lines[5] = lines[5].split(" ", 2)[0] + " 1:2"
    last.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=rf"{last.name}, line 6, .*'qid:7'"):
        small().fit(open_dataset(folder))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_tables_need_a_column_of_queries(write, form):
    folder = write(form)
    with pytest.raises(ValueError, match=r"query of each row.*open_dataset\(\.\.\., qid=\.\.\.\)"):
        small().fit(open_dataset(folder, label="grade"))
    with pytest.raises(ValueError, match="has no column 'sessions'"):
        small().fit(opened(folder, qid="sessions"))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_column_has_one_role(write, form):
    folder = write(form, text=np.array(["a", "b"] * 400))
    for model in (small(), BudgetedSVR(20)):
        with pytest.raises(ValueError, match="column 'grade' is both label and query"):
            model.fit(opened(folder, qid="grade"))
        with pytest.raises(ValueError, match="column 'session' is both feature and query"):
            model.fit(opened(folder, features=["a", "b", "session"]))
        with pytest.raises(ValueError, match=r"number.* a regression (and|or) a ranking"):
            model.fit(opened(folder, label="text"))
    arrow = pyarrow.dataset.dataset(sorted(map(str, folder.iterdir())), format=form)
    with pytest.raises(ValueError, match="column 'session' is both feature and query"):
        open_dataset(arrow, "grade", features=["a", "session"], qid="session")
    with pytest.raises(ValueError, match="column 'grade' is both label and query"):
        small().fit(open_dataset(arrow, "grade", qid="grade"))


def test_relevance_must_be_there(rows):
    class NoRelevance:
        def batches(self):
            yield rows[0], None, None, rows[2]

    with pytest.raises(ValueError, match="batch 1: y, the relevance of the rows, is missing"):
        small().fit(NoRelevance())


def test_other_sources_need_queries(tmp_path, rows, write):
    X, y, qid = rows

    class NoQueries:
        def batches(self):
            yield X, y

    with pytest.raises(ValueError, match=r"batch 1: a ranker needs .*\(X, y, sample_weight, qid\)"):
        small().fit(NoQueries())
    with pytest.raises(ValueError, match="leave out qid"):
        small().fit(Batches(X, y, qid), qid=qid)
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match=r"query of each row.*open_dataset\(\.\.\., qid="):
        small().fit(open_dataset(tmp_path / "rows.npy", y))
    (tmp_path / "rows.npy").unlink()
    with pytest.raises(ValueError, match="no column of them"):
        open_dataset(write("svm"), qid="session")
    with pytest.raises(ValueError, match="qid must be a column"):
        open_dataset(write("svm"), qid=qid)
