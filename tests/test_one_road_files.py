"""Files, in Python and on the command line, give what rows in memory give."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.dataset as arrow_dataset
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from one_road import (
    ALL,
    NAMES,
    SOME,
    Batches,
    N,
    about,
    assert_same_decisions,
    flowers,
    prepared,
    problem,
    recorded,
    vectors_of,
)
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
    load_model,
    load_svmlight,
    open_dataset,
)
from pocketsvm.cli.app import run

BUDGETS = pytest.mark.parametrize("budget", [ALL, SOME], ids=["all", "some"])
FORMS = pytest.mark.parametrize("form", ["csv", "parquet"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(capsys):
    """A function that runs a command line and returns what it prints."""

    def command(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return command


def write(frame, path):
    """Write a table as CSV or Parquet, as its name says."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


def write_parts(frame, folder, form="csv", n=3, change=lambda part: part):
    """Write a table to several files, the second of which is changed."""
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n)):
        part = frame.iloc[rows]
        write(change(part) if k == 1 else part, folder / f"part-{k}.{form}")
    return folder


def table():
    X, y = problem()
    return pd.DataFrame(X, columns=NAMES).assign(label=y)


# --- warnings -------------------------------------------------------------------------------------


@FORMS
@BUDGETS
def test_unscaled_files_get_a_warning_at_the_line_of_the_caller(folder, form, budget):
    write_parts(table().assign(a=lambda frame: 5000 * frame["a"]), folder / "rows", form)
    with recorded() as caught:
        BudgetedSVC(budget, random_state=0).fit(open_dataset("rows", "label"))
    (warning,) = about(caught)
    assert "column 0 (counted from 0)" in str(warning.message)
    assert warning.filename == __file__
    with recorded() as caught:
        scaled = open_dataset("rows", "label", scaler=StandardScaler())
        BudgetedSVC(budget, random_state=0).fit(scaled)
    assert not about(caught)


# --- names of columns -----------------------------------------------------------------------------


def reordered(part):
    """Return a table with the first columns last."""
    return part[part.columns[::-1]]


@FORMS
@pytest.mark.parametrize(
    "options",
    [
        {"label": "label"},
        {},
        {"label": 5},
        {"label": -1},
        {"label": "label", "features": ["a", "4"]},
    ],
    ids=["name", "guessed", "number", "last", "features"],
)
def test_columns_of_files_are_found_by_the_names_of_the_first_file(folder, form, options):
    write_parts(table(), folder / "rows", form)
    write_parts(table(), folder / "reordered", form, change=reordered)
    names = ["a", "d"] if "features" in options else NAMES
    found = BudgetedSVC(SOME, random_state=0).fit(open_dataset("reordered", **options))
    expected = BudgetedSVC(SOME, random_state=0).fit(open_dataset("rows", **options))
    assert found.feature_names_in_.tolist() == names
    assert_same_decisions(found, expected, table()[names])


@FORMS
def test_weights_and_queries_of_files_are_found_by_the_names_of_the_first_file(folder, form):
    frame = table().assign(weight=1.0 + np.arange(N) // 20 % 3, query=np.arange(N) // 20)
    write_parts(frame, folder / "rows", form)
    write_parts(frame, folder / "reordered", form, change=reordered)
    options = {"label": "label", "sample_weight": "6", "qid": 7}
    for model in (BudgetedSVC(SOME, random_state=0), BudgetedRanker(ALL, random_state=0)):
        expected = vectors_of(model.fit(open_dataset("rows", **options)))
        assert_array_equal(vectors_of(model.fit(open_dataset("reordered", **options))), expected)


@FORMS
@pytest.mark.parametrize(
    ("change", "name"),
    [(lambda part: part.drop(columns="b"), "b"), (lambda part: part.assign(z=1.0), "z")],
    ids=["missing", "unknown"],
)
def test_missing_and_unknown_columns_of_files_are_named(folder, form, change, name):
    write_parts(table(), folder / "rows", form, change=change)
    with pytest.raises(ValueError, match=rf"part-1\.{form}.*'{name}'"):
        BudgetedSVC(SOME, random_state=0).fit(open_dataset("rows", "label"))


@FORMS
def test_columns_that_are_not_chosen_may_differ(folder, form):
    frame, features = table(), ["a", "d"]
    changed = write_parts(frame, folder / "rows", form, change=lambda part: part.assign(z=1.0))
    found = BudgetedSVC(SOME, random_state=0).fit(open_dataset(changed, "label", features=features))
    expected = BudgetedSVC(SOME, random_state=0)
    expected.fit(Batches(frame[features].to_numpy(), frame["label"].to_numpy()))
    assert_array_equal(vectors_of(found), vectors_of(expected))


def test_a_command_finds_columns_of_files_by_the_names_of_the_first_file(command, folder):
    write_parts(table(), folder / "rows")
    write_parts(table(), folder / "reordered", change=reordered)
    scores = []
    for data in ("rows", "reordered"):
        command("train", data, "m.psvm", "-B", SOME, "--label", "-1", "-q")
        scores.append(json.loads(command("evaluate", "m.psvm", "rows", "--json"))["accuracy"])
    assert scores[0] == scores[1] > 0.8


# --- precision ------------------------------------------------------------------------------------


def stamped():
    """Return rows whose first column needs float64, and labels that depend on it alone."""
    random = np.random.default_rng(0)
    time = 1.7e9 + random.uniform(0, 100, N)
    return np.column_stack([time, random.normal(size=N)]), (time > 1.7e9 + 50).astype(int)


def write_text(path, X, y):
    path.parent.mkdir(exist_ok=True)
    lines = (
        f"{label} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
        for label, row in zip(y.tolist(), X.tolist(), strict=True)
    )
    path.write_text("\n".join(lines) + "\n")


def batches_of(dataset):
    """Return the rows of a data set, dense, and the precisions of its batches."""
    parts = [batch[0] for batch in dataset.batches()]
    dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
    return np.concatenate(dense), {part.dtype for part in parts}


def test_libsvm_text_keeps_what_float32_would_round(folder):
    X, y = stamped()
    write_text(folder / "rows.svm", X, y)
    found, dtypes = batches_of(open_dataset("rows.svm"))
    assert dtypes == {np.dtype(np.float64)}
    assert np.abs(found - X).max(axis=0)[0] <= 1e-6 * 100
    loaded, labels = load_svmlight("rows.svm")
    assert loaded.dtype == np.float64
    assert_array_equal(loaded.toarray(), X)
    assert_array_equal(labels, y)


def test_one_file_of_several_may_need_float64(folder):
    X, y = stamped()
    X[:1500, 0] = 1.7e9  # which float32 can hold
    for k, rows in enumerate((slice(1500), slice(1500, N))):
        write_text(folder / "rows" / f"{k}.svm", X[rows], y[rows])
    found, _ = batches_of(open_dataset("rows"))
    assert np.abs(found - X).max(axis=0)[0] <= 1e-6 * 100


def test_ordinary_libsvm_text_stays_in_float32(folder):
    X, y = problem()
    X[:, 0] = 1000 * X[:, 0] + 5000
    write_text(folder / "rows.svm", X, y)
    found, dtypes = batches_of(open_dataset("rows.svm"))
    assert dtypes == {np.dtype(np.float32)}
    assert_array_equal(found, X.astype(np.float32))
    assert load_svmlight("rows.svm")[0].dtype == np.float32


@BUDGETS
def test_libsvm_text_is_scaled_as_precisely_as_csv(folder, budget):
    X, y = stamped()
    write_text(folder / "rows.svm", X, y)
    write(pd.DataFrame(X, columns=["a", "b"]).assign(label=y), folder / "rows.csv")
    scores = []
    for path in ("rows.svm", "rows.csv"):
        rows = open_dataset(path, scaler=StandardScaler())
        scores.append(BudgetedSVC(budget, random_state=0).fit(rows).score(rows))
    assert scores[1] > 0.98
    assert abs(scores[0] - scores[1]) <= 0.002


@pytest.mark.parametrize("many", [False, True], ids=["file", "folder"])
def test_a_command_scales_libsvm_text_as_precisely_as_csv(command, folder, many):
    X, y = stamped()
    write_text(folder / "svm" / "rows.svm", X, y)
    write(pd.DataFrame(X, columns=["a", "b"]).assign(label=y), folder / "csv" / "rows.csv")
    scores = []
    for data in ("svm", "csv"):
        arguments = ["--scale", "standard", "-B", SOME, "--test", f"{data}/rows.{data}", "--json"]
        data = data if many else f"{data}/rows.{data}"
        found = json.loads(command("train", data, "m.psvm", *arguments))
        scores.append(found["test"]["accuracy"])
    assert scores[1] > 0.98
    assert abs(scores[0] - scores[1]) <= 0.002


# --- several targets and predictions --------------------------------------------------------------


@FORMS
def test_several_targets_of_files_give_the_model_of_rows_in_memory(folder, form):
    X, _ = problem()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    frame = pd.DataFrame(X, columns=NAMES).assign(s=y[:, 0], t=y[:, 1])
    rows = open_dataset(write_parts(frame, folder / "rows", form), label=["s", "t"])
    parameters = {"budget": ALL, "C": 10.0, "random_state": 0}
    found = BudgetedSVR(**parameters).fit(rows)
    assert found.feature_names_in_.tolist() == NAMES
    assert_same_decisions(found, BudgetedSVR(**parameters).fit(frame[NAMES], y), frame[NAMES])
    parameters |= {"budget": SOME, "gamma": 0.5, "fit_intercept": False}
    found = BudgetedSVR(**parameters).fit(rows)
    in_memory = BudgetedSVR(**parameters).fit(X, y)
    assert_array_equal(vectors_of(found), vectors_of(in_memory))
    assert found.score(rows) > in_memory.score(X, y) - 0.01


@FORMS
def test_a_list_of_quantiles_is_fitted_to_files(folder, form):
    X, _ = problem()
    frame = pd.DataFrame(X, columns=NAMES).assign(t=X[:, 0] + X[:, 1] ** 2)
    rows = open_dataset(write_parts(frame, folder / "rows", form), "t")
    parameters = {"budget": ALL, "loss": "quantile", "quantile": [0.1, 0.9], "random_state": 0}
    expected = BudgetedSVR(**parameters).fit(frame[NAMES], frame["t"])
    assert_same_decisions(BudgetedSVR(**parameters).fit(rows), expected, frame[NAMES])


@pytest.mark.parametrize("form", ["csv", "parquet", "npy", "svm", "arrow"])
def test_files_are_predicted_and_scored_in_their_order(folder, form):
    X, y = problem()
    frame = pd.DataFrame(X, columns=NAMES)
    if form == "npy":
        np.save("rows.npy", X)
        rows = open_dataset("rows.npy", y)
    elif form == "svm":
        dump_svmlight_file(X, y, "rows.svm", zero_based=False)
        rows, X = open_dataset("rows.svm"), load_svmlight("rows.svm")[0]
    else:
        write_parts(frame.assign(label=y), folder / "rows", "csv" if form == "csv" else "parquet")
        source = "rows" if form != "arrow" else arrow_dataset.dataset("rows")
        rows, X = open_dataset(source, "label"), frame
    model = BudgetedSVC(ALL, loss="log_loss", random_state=0).fit(X, y)
    for method in ("predict", "decision_function", "predict_proba"):
        assert_array_equal(getattr(model, method)(rows), getattr(model, method)(X))
    assert_allclose(model.score(rows), model.score(X, y), rtol=1e-12)


def test_weights_and_queries_of_files_are_scored(folder):
    frame = table().assign(weight=1.0 + np.arange(N) // 20 % 3, query=np.arange(N) // 20)
    options = {"label": "label", "sample_weight": "weight", "qid": "query"}
    rows = open_dataset(write(frame, folder / "rows.csv"), **options)
    X, y = frame[NAMES], frame["label"]
    model = BudgetedSVC(SOME, random_state=0).fit(rows)
    assert_allclose(model.score(rows), model.score(X, y, frame["weight"]), rtol=1e-12)
    ranker = BudgetedRanker(ALL, random_state=0).fit(rows)
    assert_array_equal(ranker.predict(rows), ranker.predict(X))
    assert_allclose(ranker.score(rows), ranker.score(X, y, frame["query"]), rtol=1e-12)


def test_the_rows_of_a_fit_are_scored_as_they_were_scaled(folder):
    frame = table().assign(a=lambda frame: 5000 * frame["a"])
    rows = open_dataset(write(frame, folder / "rows.csv"), "label", scaler=StandardScaler())
    model = BudgetedSVC(SOME, random_state=0).fit(rows)
    assert_array_equal(model.predict(rows), model.predict(frame[NAMES]))
    assert_allclose(model.score(rows), model.score(frame[NAMES], frame["label"]), rtol=1e-12)


# --- a data set that is open ----------------------------------------------------------------------


def opened(form):
    """Return a data set of four features in files of a format, and the name in its repr."""
    if form == "npy":
        X, y = problem()
        np.save("rows.npy", X)
        return open_dataset("rows.npy", y), "rows.npy"
    if form == "folder":
        return open_dataset(write_parts(table(), Path("many"), n=9), "label"), "many"
    path = write(table(), Path(f"rows.{form}"))
    return open_dataset(path, "label"), path.name


@pytest.mark.parametrize("form", ["csv", "parquet", "npy", "folder"])
def test_a_data_set_has_a_short_repr(form):
    data, name = opened(form)
    assert len(repr(data)) < 200
    assert name in repr(data)
    assert re.search(r"\b4\b", repr(data))


@pytest.mark.parametrize("form", ["csv", "parquet", "folder"])
def test_a_data_set_knows_its_columns(form):
    data, _ = opened(form)
    assert list(data.columns) == NAMES
    assert BudgetedSVC(SOME, random_state=0).fit(data).feature_names_in_.tolist() == NAMES


def test_columns_of_a_data_set_are_its_features(folder):
    frame = table().assign(weight=1.0, query=1)
    path = write(frame, folder / "rows.parquet")
    options = {"label": "label", "sample_weight": "weight", "qid": "query"}
    for source in (path, arrow_dataset.dataset(path)):
        assert list(open_dataset(source, **options).columns) == NAMES
        chosen = open_dataset(source, **options, features=["a", "c"])
        assert list(chosen.columns) == ["a", "c"]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_an_unknown_label_is_refused_when_the_data_set_is_opened(folder, form):
    path = write(table(), folder / f"rows.{'csv' if form == 'csv' else 'parquet'}")
    source = path if form != "arrow" else arrow_dataset.dataset(path)
    with pytest.raises(ValueError, match=r"'kind'.*'a'.*'d'"):
        open_dataset(source, label="kind")


@pytest.mark.parametrize("form", ["csv", "npy"])
def test_a_scaler_before_the_estimator_is_not_for_data_sets(form):
    data, _ = opened(form)
    with pytest.raises((TypeError, ValueError), match="scaler="):
        make_pipeline(StandardScaler(), BudgetedSVC()).fit(data)


# --- preparation ----------------------------------------------------------------------------------


def open_flowers(path, **options):
    defaults = {"impute": "median", "one_hot": ["colour"], "scaler": StandardScaler()}
    return open_dataset(path, label="label", **defaults | options)


@FORMS
@pytest.mark.parametrize("impute", ["mean", "median", "most_frequent"])
def test_prepared_files_give_the_predictions_of_rows_in_memory(folder, form, impute):
    X, y = flowers()
    expected = prepared(BudgetedSVC(ALL, random_state=0), impute).fit(X, y)
    rows = open_flowers(
        write_parts(X.assign(label=y), folder / "rows", form), impute=impute, one_hot="text"
    )
    found = BudgetedSVC(ALL, random_state=0).fit(rows)
    new, truth = flowers(1000, seed=1)
    assert_array_equal(found.predict(X), expected.predict(X))
    assert_array_equal(found.predict(new), expected.predict(new))
    assert_array_equal(found.predict(rows), expected.predict(X))
    assert_allclose(found.score(new, truth), expected.score(new, truth), rtol=1e-12)


def test_prepared_files_beyond_the_sample_predict_as_rows_in_memory(folder):
    X, y = flowers(12_000)
    expected = prepared(BudgetedSVC(20, random_state=0)).fit(X, y)
    rows = open_flowers(write_parts(X.assign(label=y), folder / "rows", "parquet"))
    found = BudgetedSVC(20, random_state=0).fit(rows)
    assert np.mean(found.predict(X) == expected.predict(X)) >= 0.995
    assert abs(found.score(rows) - expected.score(X, y)) <= 0.005


@BUDGETS
def test_a_saved_preparation_predicts_raw_rows(folder, budget):
    X, y = flowers()
    rows = open_flowers(write(X.assign(label=y), folder / "rows.csv"))
    found = BudgetedSVC(budget, random_state=0).fit(rows)
    found.save("m.psvm")
    loaded = load_model("m.psvm")
    assert isinstance(loaded, Pipeline)
    new = flowers(1000, seed=1)[0].replace("white", "green")  # a word that no row had
    assert_array_equal(loaded.predict(new), found.predict(new))
    assert_array_equal(loaded.decision_function(new), found.decision_function(new))


def test_each_step_of_the_preparation_may_be_left_out(folder):
    X, y = flowers()
    write(X.drop(columns="colour").assign(label=y), folder / "numbers.csv")
    numbers = X.drop(columns="colour")
    found = BudgetedSVC(ALL, random_state=0)
    found.fit(open_dataset("numbers.csv", "label", impute="mean", scaler=StandardScaler()))
    assert found.score(numbers, y) > 0.7
    write(X.dropna().assign(label=y[X.notna().all(axis=1)]), folder / "words.csv")
    found.fit(open_dataset("words.csv", "label", one_hot=["colour"], scaler=StandardScaler()))
    assert found.score(X.dropna(), y[X.notna().all(axis=1)]) > 0.9
    unfilled = open_flowers(write(X.assign(label=y), folder / "rows.csv"), impute=None)
    with pytest.raises(ValueError, match=r"rows\.csv.*missing"):
        found.fit(unfilled)


def test_regressions_and_novelty_detection_prepare_files(folder):
    X, y = flowers()
    target = X["height"].fillna(100.0) / 30.0 + (y == "yes")
    rows = open_flowers(write(X.assign(label=target), folder / "rows.csv"))
    expected = prepared(BudgetedSVR(ALL, random_state=0)).fit(X, target)
    found = BudgetedSVR(ALL, random_state=0).fit(rows)
    assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6, atol=1e-6)
    expected = prepared(BudgetedOneClassSVM(ALL, nu=0.1, random_state=0)).fit(X)
    found = BudgetedOneClassSVM(ALL, nu=0.1, random_state=0).fit(rows)
    assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-6, atol=1e-6)


def test_wrong_preparations_are_refused(folder):
    X, y = flowers(100)
    path = write(X.assign(label=y), folder / "rows.csv")
    with pytest.raises(ValueError, match=r"impute.*median"):
        open_flowers(path, impute="middle")
    with pytest.raises(ValueError, match="'smell'"):
        open_flowers(path, one_hot=["smell"])


PREPARATIONS = pytest.mark.parametrize(
    "options",
    [
        ["--impute", "median", "--drop", "colour"],
        ["--impute", "mean", "--one-hot", "colour"],
        ["--impute", "most_frequent", "--one-hot", "text"],
    ],
    ids=["impute", "mean", "most_frequent"],
)


def predictions(command, data, options, budget=20):
    """Train on files, and predict other rows with missing values and unknown words."""
    new = flowers(500, seed=1)[0].replace("white", "green")
    new.to_csv("new.csv", index=False)
    command("train", data, "m.psvm", "-B", budget, "--max-iter", "3", "-q", *options)
    return command("predict", "m.psvm", "new.csv").splitlines()


@PREPARATIONS
def test_a_command_prepares_a_folder_of_one_file_as_the_file(command, folder, options):
    X, y = flowers(1000)
    write(X.assign(label=y), folder / "rows" / "flowers.csv")
    expected = predictions(command, "rows/flowers.csv", options)
    assert predictions(command, "rows", options) == expected
    assert set(expected) == {"yes", "no"}


@PREPARATIONS
@FORMS
def test_a_command_prepares_a_folder_of_several_files_as_one_file(command, folder, options, form):
    X, y = flowers()
    write(X.assign(label=y), folder / "flowers.csv")
    write_parts(X.assign(label=y), folder / "rows", form)
    expected = predictions(command, "flowers.csv", options)
    assert predictions(command, "rows", options) == expected
    assert predictions(command, f"rows/*.{form}", options) == expected


def test_a_command_prepares_more_rows_than_the_memory_or_the_sample_hold(command, folder):
    X, y = flowers()
    write(X.assign(label=y), folder / "flowers.csv")
    options = ["--impute", "median", "--one-hot", "text"]
    expected = predictions(command, "flowers.csv", options)
    assert predictions(command, "flowers.csv", [*options, "--memory", "0"]) == expected
    write_parts(X.assign(label=y), folder / "rows")
    expected = predictions(command, "flowers.csv", options, budget=5)
    found = predictions(command, "rows", options, budget=5)
    assert np.mean(np.array(found) == np.array(expected)) >= 0.97
