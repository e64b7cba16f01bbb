"""Properties that hold for whatever Hypothesis thinks of: readers, labels, weights, files."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedSVC,
    BudgetedSVR,
    load_model,
    load_svmlight,
    open_dataset,
)
from pocketsvm.files import DataFile, Options
from pocketsvm.rows.labels import encode_labels, find_classes

SOME = settings(max_examples=25, deadline=None)
FEW = settings(max_examples=12, deadline=None)
NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


@st.composite
def tables(draw, values=NUMBERS):
    """Return rows of equal length, and names of their columns."""
    n_columns = draw(st.integers(1, 4))
    row = st.lists(values, min_size=n_columns, max_size=n_columns)
    names = [f"column {k}" for k in range(n_columns)]
    return draw(st.lists(row, min_size=1, max_size=12)), names


# --- readers --------------------------------------------------------------------------------------


@SOME
@given(tables(), st.sampled_from(",;|\t"), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_numbers_of_a_table_are_read_exactly(table, sep, has_commas, end):
    rows, names = table
    has_commas = has_commas and sep != ","
    spelled = [
        [f"{value:.6f}".replace(".", "," if has_commas else ".") for value in r] for r in rows
    ]
    lines = [sep.join([*names, "label"]), *(sep.join([*row, "x"]) for row in spelled)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(end.join(lines) + end, newline="")
        with DataFile(str(path), Options(sep=sep, label="label")) as file:
            layout = file.layout()
            X = np.concatenate([batch.X for batch in file.batches(layout)])
    assert layout.names == names
    assert_array_equal(X, [[float(f"{value:.6f}") for value in row] for row in rows])


@SOME
@given(tables(TEXTS))
def test_texts_of_a_table_are_categories_as_they_are_spelled(table):
    rows, names = table
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([[*names, "label"], *([*row, "x"] for row in rows)])
        pq.write_table(
            pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)}),
            Path(folder) / "a.parquet",
        )
        found = []
        for kind, label in ((path, "label"), (Path(folder) / "a.parquet", None)):
            options = Options(texts=names, label=label, labelled=False, missing=True, header=None)
            if kind is path:
                options = Options(texts=names, label=label, missing=True, header=True, sep=",")
            with DataFile(str(kind), options) as file:
                layout = file.layout()
                found.append(np.concatenate([batch.X for batch in file.batches(layout)]))
    expected = [[value.strip() for value in row] for row in rows]
    for X in found:
        for values, row in zip(X.tolist(), expected, strict=True):
            for value, text in zip(values, row, strict=True):
                assert value == text or value != value  # what means "missing" is NaN


@SOME
@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=10))
def test_svmlight_text_is_read_as_it_is_written(rows):
    lines = [
        f"{k % 2} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(r))
        for k, r in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_text("\n".join(lines) + "\n")
        X, y = load_svmlight(path, n_features=3)
    assert_array_equal(X.toarray(), np.array(rows).astype(X.dtype))
    assert_array_equal(y, np.arange(len(rows)) % 2)


# --- labels and weights ---------------------------------------------------------------------------

LABELS = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=5, unique=True),
    st.lists(st.text(max_size=5), min_size=2, max_size=5, unique=True),
    st.lists(st.booleans(), min_size=2, max_size=2, unique=True),
)


@SOME
@given(LABELS, st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_codes_of_labels_give_the_labels_back(labels, codes):
    kind = object if isinstance(labels[0], str) else None
    y = np.array([labels[code % len(labels)] for code in [*range(len(labels)), *codes]], dtype=kind)
    classes = find_classes(y)
    assert sorted(labels) == classes.tolist()
    assert (classes[encode_labels(y, classes)] == y).all()


@FEW
@given(LABELS)
def test_a_model_answers_with_the_labels_that_it_was_given(labels):
    kind = object if isinstance(labels[0], str) else None
    X = np.repeat(np.arange(len(labels), dtype=float), 12)[:, None]
    y = np.array([labels[int(k)] for k in X[:, 0]], dtype=kind)
    clf = BudgetedSVC(4 * len(labels), C=100.0, gamma=2.0, random_state=0).fit(X, y)
    assert clf.predict(X).tolist() == y.tolist()


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] > 0


@FEW
@given(st.integers(0, 99), st.integers(-20, 20))
def test_a_power_of_two_in_all_weights_is_one_in_the_penalty(seed, power):
    X, y = problem(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(X))
    one = BudgetedSVC(10, C=1.0, random_state=0).fit(X, y, weight)
    other = BudgetedSVC(10, C=2.0**-power, random_state=0).fit(X, y, weight * 2.0**power)
    assert_array_equal(one.decision_function(X), other.decision_function(X))


@FEW
@given(st.integers(0, 99), st.lists(st.integers(0, 59), max_size=20, unique=True))
def test_rows_of_zero_weight_are_not_there(seed, ignored):
    X, y = problem(seed)
    weight = np.ones(60)
    weight[ignored] = 0
    kept = weight > 0
    if len(np.unique(y[kept])) < 2:
        return
    weighted = BudgetedSVC(10, gamma=0.5, random_state=0).fit(X, y, weight)
    without = BudgetedSVC(10, gamma=0.5, random_state=0).fit(X[kept], y[kept])
    assert_array_equal(weighted.decision_function(X), without.decision_function(X))


@FEW
@given(st.integers(0, 99), st.floats(0, 16))
def test_very_light_rows_hardly_count(seed, decades):
    """Weights over many orders of magnitude give the model of the heavy rows."""
    X, y = problem(seed)
    weight = 10 ** np.random.default_rng(seed).uniform(-decades, 0, 60)
    heavy = weight > 1e-4
    if len(np.unique(y[heavy])) < 2 or heavy.sum() < 4:
        return
    machine = BudgetedSVC(60, C=1.0, gamma=0.5, random_state=0)
    values = [
        machine.fit(X[some], y[some], weight[some]).decision_function(X)
        for some in (slice(None), heavy)
    ]
    assert np.abs(values[0] - values[1]).max() < 0.05


# --- preparation, and files of models -------------------------------------------------------------


@FEW
@given(
    st.lists(
        st.tuples(st.one_of(st.none(), st.floats(-5, 5)), st.sampled_from("abc")),
        min_size=8,
        max_size=30,
    )
)
def test_preparation_is_that_of_scikit_learn(rows):
    numbers = np.array([np.nan if number is None else number for number, _ in rows])
    if np.isnan(numbers).all():
        return
    texts, y = np.array([text for _, text in rows], dtype=object), np.arange(len(rows)) % 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.table({"number": numbers, "text": texts, "label": y}), path)
        data = open_dataset(
            path, label="label", scaler=StandardScaler(), impute="mean", one_hot=["text"]
        )
        clf = BudgetedSVC(8, gamma=0.5, random_state=0).fit(data)
        found = clf.decision_function(data)
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), [0]),
            ("texts", OneHotEncoder(sparse_output=False), [1]),
        ]
    )
    X = columns.fit_transform(np.column_stack([numbers.astype(object), texts]))
    expected = BudgetedSVC(8, gamma=0.5, random_state=0).fit(X.astype(float), y)
    np.testing.assert_allclose(found, expected.decision_function(X.astype(float)), atol=1e-4)


MACHINES = st.one_of(
    st.builds(
        BudgetedSVC,
        budget=st.integers(2, 30),
        loss=st.sampled_from(["hinge", "squared_hinge", "log_loss"]),
        C=st.floats(1e-3, 1e3),
        fit_intercept=st.booleans(),
        polish=st.booleans(),
        random_state=st.integers(0, 9),
    ),
    st.builds(
        BudgetedSVR,
        budget=st.integers(4, 30),
        loss=st.sampled_from(["epsilon_insensitive", "squared_error", "huber"]),
        polish=st.booleans(),
        random_state=st.integers(0, 9),
    ),
    st.builds(
        BudgetedSVR,
        budget=st.integers(6, 30),
        loss=st.just("quantile"),
        quantile=st.sampled_from([0.3, [0.1, 0.5, 0.9]]),
        random_state=st.integers(0, 9),
    ),
    st.builds(BudgetedOneClassSVM, budget=st.integers(2, 30), nu=st.floats(0.05, 0.95)),
)


@SOME
@given(MACHINES, st.sampled_from(["float32", "float64"]))
def test_a_model_that_was_saved_predicts_the_same_bits(machine, dtype):
    X, y = problem(0)
    machine.fit(X.astype(dtype), y.astype(int))
    with tempfile.TemporaryDirectory() as folder:
        machine.save(Path(folder) / "m.psvm")
        loaded = load_model(Path(folder) / "m.psvm")
    assert loaded.get_params() == machine.get_params()
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(machine, name):
            assert_array_equal(getattr(loaded, name)(X), getattr(machine, name)(X))
