"""What data sets say, and texts to encode that are numbers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from one_road import Batches, problem
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, load_model, open_dataset
from pocketsvm.cli.app import run
from pocketsvm.files import DataError
from pocketsvm.rows.scales import ScaleWarning


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def frame():
    X, y = problem()
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(label=y)


def test_a_warning_about_a_data_set_names_an_advice_that_works():
    """A pipeline does not take a data set, so that the advice is a scaler."""
    rows = frame().assign(x0=lambda each: 5000 * each["x0"])
    rows.to_parquet("rows.parquet")
    with pytest.warns(ScaleWarning, match=r"Standardise X: scaler=StandardScaler\(\)"):
        BudgetedSVC(20, random_state=0).fit(open_dataset("rows.parquet"))
    with pytest.warns(ScaleWarning, match=r"Standardise X: make_pipeline\(StandardScaler\(\), "):
        BudgetedSVC(20, random_state=0).fit(rows.drop(columns="label"), rows["label"])
    scaled = open_dataset("rows.parquet", scaler=StandardScaler())
    BudgetedSVC(20, random_state=0).fit(scaled)


def test_an_outlier_in_a_data_set_names_a_scaler():
    rows = frame()
    rows.loc[7, "x0"] = 3000.0
    rows.to_parquet("rows.parquet")
    with pytest.warns(ScaleWarning, match=r"use scaler=RobustScaler\(unit_variance=True\) with"):
        BudgetedSVC(20, random_state=0).fit(open_dataset("rows.parquet"))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_loaded_pipeline_says_how_it_predicts_a_data_set():
    frame().to_parquet("rows.parquet")
    data = open_dataset("rows.parquet", scaler=StandardScaler())
    model = BudgetedSVC(20, random_state=0).fit(data)
    model.save("m.psvm")
    pipeline = load_model("m.psvm")
    with pytest.raises(TypeError, match=r"batch that the method batches\(\) yields"):
        pipeline.predict(data)
    parts = [pipeline.predict(X) for X, *_ in data.batches()]
    assert_array_equal(np.concatenate(parts), model.predict(data))


def test_too_many_labels_are_named_as_users_write_them():
    X, _ = problem()
    y = np.random.default_rng(0).normal(size=20_000)
    with pytest.raises(DataError, match=r"different labels, for example -\d\.\d+\. "):
        BudgetedSVC(20).fit(Batches(np.resize(X, (20_000, X.shape[1])), y))


# --- texts ----------------------------------------------------------------------------------------


class Coded:
    """Batches of a data frame with a column of codes to encode."""

    one_hot = ("code",)
    impute = "mean"

    def __init__(self, rows):
        self.rows = rows

    def batches(self):
        for k in range(3):
            part = self.rows[k::3]
            yield part.drop(columns="label"), part["label"]


CODES = {
    "int64": ([7, 12, 100], ["7", "12", "100"]),
    "float64": ([7.0, 0.5, np.nan], ["7", "0.5", None]),
    "bool": ([True, False, True], ["true", "false", "true"]),
}


@pytest.mark.parametrize("dtype", CODES)
def test_numbers_are_encoded_as_their_texts(dtype):
    """Data frames, Parquet files and texts give the same model."""
    numbers, texts = CODES[dtype]
    random, rows = np.random.default_rng(0), frame()
    chosen = random.integers(0, 3, len(rows))
    as_numbers = rows.assign(code=pd.Series(np.array(numbers, dtype=dtype)[chosen]))
    as_texts = rows.assign(code=np.array(texts, dtype=object)[chosen])
    expected = BudgetedSVC(30, random_state=0).fit(Coded(as_texts))
    found = BudgetedSVC(30, random_state=0).fit(Coded(as_numbers))
    features = as_numbers.drop(columns="label")
    values = expected.decision_function(as_texts.drop(columns="label"))
    assert_array_equal(found.decision_function(features), values)
    assert_array_equal(expected.decision_function(features), values)
    as_numbers.to_parquet("rows.parquet", index=False)
    data = open_dataset("rows.parquet", "label", one_hot=["code"], impute="mean")
    assert_array_equal(expected.decision_function(data), values)


def test_dates_are_not_encoded():
    rows = frame().assign(code=pd.Timestamp("2024-05-01"))
    with pytest.raises(DataError, match="'code' is to be encoded, and must hold texts or numbers"):
        BudgetedSVC(30).fit(Coded(rows))


# --- the command line -----------------------------------------------------------------------------


def test_a_command_says_that_a_ranking_sees_a_sample(capsys, folder):
    """Rows of a query that are not contiguous make the model one of a sample."""
    random, n = np.random.default_rng(0), 4000
    X = random.normal(size=(n, 2))
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(
        query=np.arange(n) // 10, rel=np.digitize(X[:, 0], [-1, 1])
    )
    for name, part in (("sorted", rows), ("mixed", rows.sample(frac=1, random_state=0))):
        (folder / name).mkdir()
        part.to_parquet(f"{name}/rows.parquet", index=False)
        options = ["--rank", "--query", "query", "--label", "rel", "-B", "4"]
        assert run(["train", name, "m.psvm", *options]) == 0
        err = capsys.readouterr().err
        assert ("sort the rows by query to fit it to all of them" in err) == (name == "mixed")
    assert run(["train", "mixed", "m.psvm", *options, "--quiet"]) == 0
    assert "sort the rows" not in capsys.readouterr().err
