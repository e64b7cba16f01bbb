"""Preparation: what is learnt in a survey is what scikit-learn learns from all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from one_road import Batches, flowers
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, open_dataset
from pocketsvm.callbacks import Checkpoint
from pocketsvm.estimators.checkpoint_file import Progress, read_checkpoint, write_checkpoint
from pocketsvm.files import DataError
from pocketsvm.rows import columns, preparation
from pocketsvm.rows.chunk import Chunk, Needs, checked_chunk
from pocketsvm.rows.columns import layout_of
from pocketsvm.rows.preparation import Preparing, in_parts, prepared_summary, transformed
from pocketsvm.rows.summary import merged, summarise

SCALERS = [None, StandardScaler(), MinMaxScaler(), MaxAbsScaler(), StandardScaler(with_mean=False)]
COLUMNS = {"all": None, "numbers": ["size", "height"], "texts": ["colour"]}


def chunk(X, y=None):
    layout = layout_of(X, ["text"], missing=True, place="rows")
    return checked_chunk(X, np.zeros(len(X)) if y is None else y, None, "rows", Needs(), layout)


def summary_of(rows, size=700):
    """Return the merged summary of batches."""
    total = None
    for begin in range(0, rows.n_rows, size):
        total = merged(total, summarise(rows.take(slice(begin, begin + size)), regression=True))
    return total


def table(which):
    X = flowers()[0]
    return chunk(X if COLUMNS[which] is None else X[COLUMNS[which]])


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("impute", ["mean", "median", "most_frequent"])
@pytest.mark.parametrize("which", COLUMNS)
def test_all_rows_as_a_sample_teach_what_they_teach_scikit_learn(scaler, impute, which):
    rows = table(which)
    preparing = Preparing(scaler, impute, "text")
    expected = transformed(preparing.fitted(rows), rows.X)
    summary, steps = preparing.learnt(summary_of(rows), rows, np.ones(rows.n_rows))
    assert_allclose(transformed(steps, rows.X), expected, rtol=1e-9, atol=1e-9)
    assert summary.n_features == expected.shape[1]
    assert_allclose(summary.mean, expected.mean(axis=0), rtol=1e-9, atol=1e-9)
    assert_allclose(summary.variances, expected.var(axis=0), rtol=1e-9, atol=1e-12)
    assert_allclose(summary.least, expected.min(axis=0), rtol=1e-9, atol=1e-12)
    assert_allclose(summary.most, expected.max(axis=0), rtol=1e-9, atol=1e-12)
    assert summary.is_norm_a_bound
    assert summary.squared_norm >= np.square(expected).sum(axis=1).max() * (1 - 1e-12)


def test_a_sample_teaches_medians_and_quantiles_alone():
    rows = table("all")
    sample, factors = rows.take(np.arange(0, rows.n_rows, 10)), np.ones(300)
    summary = summary_of(rows)
    for scaler in (StandardScaler(), MinMaxScaler()):
        known = [Preparing(scaler, "mean", "text").learnt(summary, rows, np.ones(3000))[1]]
        known.append(Preparing(scaler, "mean", "text").learnt(summary, sample, factors)[1])
        assert_array_equal(transformed(known[0], rows.X), transformed(known[1], rows.X))
    _, steps = Preparing(RobustScaler(), "median", "text").learnt(summary, sample, factors)
    imputer, scaler = (step for _, step in steps[0].named_transformers_["numbers"].steps)
    assert_allclose(imputer.statistics_, np.nanmedian(sample.X[:, [0, 2]].astype(float), axis=0))
    assert_allclose(scaler.center_, imputer.statistics_, atol=0.2)
    assert steps[0].named_transformers_["texts"].steps[1][1].categories_[0].tolist() == [
        "blue",
        "red",
        "white",
    ]


def test_factors_tell_what_the_rows_of_a_sample_stand_for():
    X = np.repeat([1.0, 2.0, np.nan, 5.0], [10, 10, 5, 30])[:, None]
    factors = np.repeat([100.0, 1.0, 1.0, 1.0], [10, 10, 5, 30])
    rows = Chunk(X, np.zeros(55), None, "rows")
    for impute, value in (("median", 1.0), ("most_frequent", 1.0)):
        _, (imputer,) = Preparing(impute=impute).learnt(summary_of(rows), rows, factors)
        assert imputer.statistics_ == [value]
        _, (imputer,) = Preparing(impute=impute).learnt(summary_of(rows), rows, np.ones(55))
        assert imputer.statistics_ == [5.0]


def test_a_column_without_values_is_refused():
    X = flowers(100)[0].assign(empty=np.nan)
    rows = chunk(X)
    preparing = Preparing(impute="mean", one_hot="text")
    for learn in (
        lambda: preparing.fitted(rows, list(X.columns)),
        lambda: preparing.learnt(summary_of(rows), rows, np.ones(100), list(X.columns)),
    ):
        with pytest.raises(DataError, match="column 'empty' has no values"):
            learn()


def test_too_many_categories_are_refused(monkeypatch):
    monkeypatch.setattr(columns, "MOST_CATEGORIES", 50)
    X = flowers(300)[0]
    rows = chunk(X.assign(colour=[f"flower {k}" for k in range(300)]))
    message = r"column 2 has more than 50 different texts, such as 'flower 0', .* leave it out"
    with pytest.raises(DataError, match=message):
        Preparing(one_hot="text", impute="mean").fitted(rows)
    with pytest.raises(DataError, match=message):
        summary_of(rows, size=40)


def test_sparse_rows_become_dense_in_parts(monkeypatch):
    X = sp.random_array((300, 20), density=0.3, format="csr", random_state=0)
    rows = Chunk(X, np.zeros(300), None, "rows")
    (scaler,) = Preparing(StandardScaler()).fitted(rows)
    monkeypatch.setattr(preparation, "DENSE_VALUES", 1000)
    parts = list(in_parts([scaler], X))
    assert [len(part) for part in parts] == [50] * 6
    assert_array_equal(np.concatenate(parts), scaler.transform(X.toarray()))
    (sparse,) = in_parts(Preparing(MaxAbsScaler()).fitted(rows), X)
    assert sp.issparse(sparse)
    monkeypatch.setattr(preparation, "MOST_DENSE_BYTES", 1000)
    with pytest.raises(DataError, match=r"StandardScaler makes sparse rows dense.*MaxAbsScaler"):
        Preparing(StandardScaler()).fitted(rows)


@pytest.mark.parametrize("scaler", [None, MaxAbsScaler()])
def test_columns_that_no_row_uses_are_left_out(scaler, monkeypatch):
    monkeypatch.setattr(preparation, "WIDE", 20)
    X = sp.random_array((300, 20), density=0.3, format="csr", random_state=0)
    X = sp.csr_array((X.data, X.indices * 5 + 2, X.indptr), shape=(300, 101))
    rows = Chunk(X, np.zeros(300), None, "rows")
    preparing = Preparing(scaler, leaves_out=True)
    found = transformed(preparing.fitted(rows), X)
    assert sp.issparse(found)
    assert found.shape == (300, 20)
    summary, steps = preparing.learnt(summary_of(rows), rows, np.ones(300))
    assert_array_equal(transformed(steps, X).toarray(), found.toarray())
    assert_allclose(summary.mean, found.toarray().mean(axis=0), rtol=1e-9)
    every = Preparing(scaler).fitted(rows)
    assert transformed(every, X).shape == (300, 101)


def test_the_summary_of_rows_after_known_steps():
    rows = table("all")
    steps = Preparing(StandardScaler(), "median", "text").fitted(rows.take(slice(500)))
    summary, same = Preparing(known=steps).learnt(summary_of(rows), rows, np.ones(3000))
    assert same is steps
    found = transformed(steps, rows.X)
    assert_allclose(summary.mean, found.mean(axis=0), rtol=1e-9)
    assert_allclose(prepared_summary(summary_of(rows), steps).variances, found.var(axis=0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impute": "middle"}, "impute must be None or one of mean, median, .* got 'middle'"),
        ({"scaler": object()}, "scaler must be a StandardScaler.* got object"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Preparing(**options)


# --- models with a preparation --------------------------------------------------------------------


class Flowers(Batches):
    """Batches of a table, which ask for a preparation."""

    scaler, impute, one_hot = StandardScaler(), "median", ["colour"]


def test_batches_may_ask_for_a_preparation(tmp_path):
    X, y = flowers(6000)
    X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    options = {"impute": "median", "one_hot": "text", "scaler": StandardScaler()}
    rows = open_dataset(tmp_path / "rows.csv", "label", **options)
    for budget in (20, 4):
        found = BudgetedSVC(budget, random_state=0).fit(Flowers(X, y))
        expected = BudgetedSVC(budget, random_state=0).fit(rows)
        assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-5)
        assert found.n_features_in_ == 3
        assert not hasattr(found, "scaler_")


def test_a_model_with_a_preparation_is_continued(tmp_path):
    X, y = flowers(6000)
    model = BudgetedSVC(8, random_state=0, warm_start=True, reservoir=500).fit(Flowers(X, y))
    steps = model.to_model().preparation.steps
    model.fit(Flowers(X, y))  # more rows than the sample
    model.fit(X[:2000], y[:2000])
    assert model.to_model().preparation.steps == steps
    model.partial_fit(X[2000:3000], y[2000:3000])
    with pytest.raises(ValueError, match="column 'colour' is to be encoded"):
        model.partial_fit(X.assign(colour=np.datetime64("2024-05-01"))[:10], y[:10])
    polished = model.polish_stream().predict(X)
    assert np.mean(polished == y) > 0.8
    model.save(tmp_path / "m.psvm")
    assert_array_equal(load_model(tmp_path / "m.psvm").predict(X), polished)


def test_a_checkpoint_keeps_texts(tmp_path):
    X, y = flowers(6000)
    path = tmp_path / "checkpoint"
    rows = chunk(X[:100], y[:100])
    write_checkpoint(path, {}, Progress(part=rows))
    found = read_checkpoint(path)[1].part
    assert found.texts == rows.texts
    assert found.checksum() == rows.checksum()
    path.unlink()
    expected = BudgetedSVC(4, random_state=0).fit(Flowers(X, y))
    kept = BudgetedSVC(4, random_state=0).set_callbacks(Checkpoint(path, every=0))
    assert_same_model(kept.fit(Flowers(X, y)), expected)


def test_values_that_a_model_cannot_take_are_named():
    X, y = flowers(1000)
    model = BudgetedSVC(20, random_state=0).fit(Flowers(X, y))
    with pytest.raises(ValueError, match="could not convert string to float: 'large'"):
        model.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match=r"X, row 1, column 3: inf is not a finite number"):
        model.predict(X.assign(height=np.inf))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["height", "size", "colour"]])
    assert_array_equal(
        model.predict(Flowers(X[["height", "size", "colour"]], None)), model.predict(X)
    )


def test_sparse_rows_are_scaled_by_the_chunk(tmp_path):
    random = np.random.default_rng(0)
    X = sp.random_array((3000, 6), density=0.5, format="csr", random_state=0) * 100.0
    y = X.toarray()[:, 0] + random.normal(size=3000)

    class Sparse(Batches):
        scaler = StandardScaler()

    dense = Batches(X.toarray(), y)
    dense.scaler = StandardScaler()
    for budget in (20, 4):
        model = BudgetedSVR(budget, C=10.0, random_state=0)
        found = model.fit(Sparse(X, y)).predict(X)
        assert_array_equal(found, model.predict(X.toarray()))
        assert_allclose(found, model.fit(dense).predict(X), rtol=1e-4, atol=1e-3)
