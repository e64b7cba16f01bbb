"""Chains of steps, one for each way of using them, with numbers, texts and missing values."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pocketsvm import BudgetedSVC

TRAINED, N_ROWS = 600, 10_000


@cache
def frame(kind):
    """Return rows and labels.

    "numbers" has normal, skewed and repeated numbers, "missing" the same with gaps, "texts" has
    common and rare texts and numbers of few values, with gaps in one column, and "mixed" all.
    """
    random = np.random.default_rng(0)
    n = TRAINED + N_ROWS
    cities = ["Bern", "Rome", "Oslo", 'a "quoted" ülm', "Lima", "Cork", "Nice"]
    data = {
        "length": random.normal(50, 10, n),
        "income": random.lognormal(2, 1, n),
        "rooms": random.poisson(3, n).astype(float),
        "city": random.choice(cities, n, p=[0.4, 0.25, 0.2, 0.09, 0.03, 0.02, 0.01]),
        "owner": random.choice(["no", "yes"], n),
        "stars": random.choice([0.1, 2, 3, 5], n, p=[0.5, 0.3, 0.15, 0.05]),
    }
    X = pd.DataFrame(data)
    score = (X["length"] - 50) / 10 + np.log(X["income"]) - 2 + (X["city"] == "Rome")
    y = (score + 0.3 * X["rooms"] + (X["stars"] == 2) + (X["owner"] == "yes") > 1.5).to_numpy()
    numbers = ["length", "income", "rooms"]
    # Exports take float32, so that rounding does not decide what is compared.
    X[numbers] = X[numbers].astype(np.float32).astype(np.float64)
    texts = ["city", "owner", "stars"]
    if kind in ("missing", "mixed"):
        X[["length", "rooms"]] = X[["length", "rooms"]].mask(random.random((n, 2)) < 0.1)
    if kind in ("texts", "mixed"):
        X.loc[random.random(n) < 0.1, "city"] = np.nan
    columns = {"numbers": numbers, "missing": numbers, "texts": texts}.get(kind, numbers + texts)
    return X[columns], y


def with_unknown(X):
    """Return rows with texts and numbers that the training rows lack."""
    X = X.copy()
    X.loc[X.index[::7], "city"] = "Quito"
    X.loc[X.index[::11], "stars"] = 4.0
    return X


def columns(numbers, texts, **options):
    """Return a transformer of the columns of "mixed"."""
    branches = [("numbers", numbers, ["length", "income", "rooms"])]
    return ColumnTransformer([*branches, ("texts", texts, ["city", "owner", "stars"])], **options)


FILLED = make_pipeline(SimpleImputer(), StandardScaler())
# name: (the columns of `frame`, the steps, whether they take unknown categories)
CHAINS = {
    "standard": ("numbers", StandardScaler(), False),
    "clipped range": ("numbers", MinMaxScaler((-1, 2), clip=True), False),
    "clipped": ("numbers", MaxAbsScaler(clip=True), False),
    "robust": ("numbers", RobustScaler(), False),
    "one hot": ("texts", OneHotEncoder(), False),
    "one hot, dense": ("texts", OneHotEncoder(sparse_output=False, dtype=np.float32), False),
    "ignored": ("texts", OneHotEncoder(handle_unknown="ignore"), True),
    "frequency": (
        "texts",
        OneHotEncoder(min_frequency=0.08, handle_unknown="infrequent_if_exist"),
        True,
    ),
    "frequency, ignored": ("texts", OneHotEncoder(min_frequency=50, handle_unknown="ignore"), True),
    "most categories": (
        "texts",
        OneHotEncoder(max_categories=3, drop="first", handle_unknown="infrequent_if_exist"),
        True,
    ),
    "one category": ("texts", OneHotEncoder(max_categories=1, handle_unknown="warn"), True),
    "no first": ("texts", OneHotEncoder(drop="first"), False),
    "no binary": ("texts", OneHotEncoder(drop="if_binary", handle_unknown="ignore"), True),
    "dropped": ("texts", OneHotEncoder(drop=["Rome", "yes", 0.1]), False),
    "dropped missing": ("texts", OneHotEncoder(drop=[np.nan, "no", 2.0]), False),
    "ordinal": (
        "texts",
        make_pipeline(OrdinalEncoder(encoded_missing_value=-2), StandardScaler()),
        False,
    ),
    "ordinal, unknown": (
        "texts",
        make_pipeline(
            OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=30
            ),
            SimpleImputer(strategy="median", add_indicator=True),
        ),
        True,
    ),
    "ordinal, then one hot": (
        "texts",
        make_pipeline(
            OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=-1,
                encoded_missing_value=-1,
                max_categories=4,
            ),
            OneHotEncoder(handle_unknown="ignore"),
        ),
        True,
    ),
    "imputed texts": (
        "texts",
        make_pipeline(
            SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
        ),
        True,
    ),
    "constant text": (
        "texts",
        ColumnTransformer(
            [
                (
                    "texts",
                    make_pipeline(
                        SimpleImputer(strategy="constant", fill_value="none", add_indicator=True),
                        ColumnTransformer(
                            [("one_hot", OneHotEncoder(handle_unknown="ignore"), [0, 1])],
                            remainder="passthrough",
                        ),
                    ),
                    ["city", "owner"],
                )
            ],
            remainder=MinMaxScaler(),
        ),
        True,
    ),
    "indicator": (
        "missing",
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
        False,
    ),
    "principal components": ("numbers", make_pipeline(StandardScaler(), PCA(2)), False),
    "whitened": ("numbers", PCA(whiten=True, random_state=0), False),
    "singular vectors": (
        "texts",
        make_pipeline(
            OneHotEncoder(handle_unknown="ignore"), TruncatedSVD(4, random_state=0), MaxAbsScaler()
        ),
        True,
    ),
    "yeo-johnson": ("missing", make_pipeline(PowerTransformer(), SimpleImputer()), False),
    "box-cox": (
        "numbers",
        ColumnTransformer(
            [("power", PowerTransformer("box-cox", standardize=False), ["income"])],
            remainder=PowerTransformer(standardize=True),
        ),
        False,
    ),
    "quantiles": (
        "missing",
        make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=50, random_state=0)),
        False,
    ),
    "normal quantiles": (
        "missing",
        make_pipeline(
            QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
            SimpleImputer(),
        ),
        False,
    ),
    "scaled quantiles": (
        "numbers",
        make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=100, random_state=0)),
        False,
    ),
    "columns": (
        "mixed",
        columns(FILLED, OneHotEncoder(handle_unknown="ignore", min_frequency=20)),
        True,
    ),
    "columns, the rest": (
        "mixed",
        make_pipeline(
            ColumnTransformer(
                [("texts", OneHotEncoder(), ["city", "owner"])], remainder="passthrough"
            ),
            SimpleImputer(),
            MinMaxScaler(),
        ),
        False,
    ),
    "columns, no rest": ("mixed", ColumnTransformer([("a", FILLED, ["rooms", "length"])]), False),
    "nested pipeline": (
        "mixed",
        Pipeline(
            [
                ("prepared", Pipeline([("columns", columns(FILLED, OneHotEncoder()))])),
                ("reduced", make_pipeline("passthrough", TruncatedSVD(5, random_state=0))),
            ]
        ),
        False,
    ),
    "nested columns": (
        "mixed",
        columns(
            ColumnTransformer(
                [
                    ("skewed", PowerTransformer(), ["income"]),
                    ("others", FeatureUnion([("a", FILLED), ("b", SimpleImputer())]), [2, 0]),
                ]
            ),
            OrdinalEncoder(encoded_missing_value=-1),
        ),
        False,
    ),
    "union": (
        "numbers",
        FeatureUnion(
            [("scaled", StandardScaler()), ("pca", PCA(2)), ("same", "passthrough")],
        ),
        False,
    ),
}
EVERY_CHAIN = pytest.mark.parametrize("chain", CHAINS)


@cache
def fitted(chain, n_classes=2, **parameters):
    """Return a fitted pipeline with these steps, rows that it has not seen, and training rows."""
    kind, steps, takes_unknown = CHAINS[chain]
    X, y = frame(kind)
    if n_classes > 2:
        y = y + (np.arange(len(y)) % 3 == 0)
    svm = BudgetedSVC(**{"budget": 20, "max_iter": 3, "random_state": 0} | parameters)
    clf = make_pipeline(steps, svm).fit(X[:TRAINED], y[:TRAINED])
    rows = X[TRAINED:]
    return clf, (with_unknown(rows) if takes_unknown else rows), X[:TRAINED], y[:TRAINED]
