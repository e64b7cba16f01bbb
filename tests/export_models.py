"""What the tests of exports share: fitted models, rows, and how exact an export must be."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_friedman1, make_moons
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR
from pocketsvm.model import Model


def fitted(n_classes=2, labels=None, n_features=2, **parameters):
    """Return a model and rows; some rows are far from all its vectors."""
    if n_classes == 2 and n_features == 2:
        X, y = make_moons(600, noise=0.2, random_state=0)
    else:
        X, y = make_blobs(
            600, n_features=n_features, centers=n_classes, cluster_std=3.0, random_state=1
        )
    X = X.astype(np.float32)
    if labels is not None:
        y = np.asarray(labels)[y]
    settings = {"budget": 30, "C": 10.0, "max_iter": 3, "random_state": 0} | parameters
    clf = BudgetedSVC(**settings).fit(X[:500], y[:500])
    return clf, np.concatenate([X[500:], 100 * X[500:520]])


def float64_model(**parameters):
    """Return a model whose vectors are float64, because its rows need it, and these rows."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    X += 1e5
    settings = {"budget": 30, "gamma": 1.0, "polish": False, "random_state": 0} | parameters
    return BudgetedSVC(**settings).fit(X, y), X


def exact(estimator, X):
    """Return decision values in float64, (n_rows, n_outputs)."""
    model = Model.of(estimator)
    for step in model.steps:
        X = step.transform(X)
    kernel = rbf_kernel(
        np.asarray(X, dtype=np.float64), model.vectors.astype(np.float64), gamma=model.gamma
    )
    return kernel @ model.dual_coef.T + model.intercept


def tolerance(estimator):
    """Return the documented accuracy: 1e-5 of the sum of the coefficients."""
    return 1e-5 * np.abs(Model.of(estimator).dual_coef).sum(axis=1).min()


def assert_same_probabilities(found, clf, X):
    """Probabilities change by at most half as much as the decision values: p (1 - p) <= 1 / 4."""
    assert_allclose(found, clf.predict_proba(X), rtol=0, atol=tolerance(clf) / 2)


def assert_same_labels(found, clf, X):
    """Labels are equal, except for the few rows whose best two values are equal up to rounding."""
    values = clf.decision_function(X)
    best = np.sort(values.reshape(len(X), -1), axis=1)
    margin = np.abs(values) if values.ndim == 1 else best[:, -1] - best[:, -2]
    clear = margin > tolerance(clf)
    assert clear.mean() > 0.8
    assert_array_equal(np.asarray(found)[clear], clf.predict(X)[clear])


def regression(**parameters):
    """Return a regression and rows; some rows are far from all its vectors."""
    X, y = make_friedman1(300, noise=0.1, random_state=0)
    X = X.astype(np.float32)
    settings = {"budget": 20, "C": 10.0, "max_iter": 3, "random_state": 0} | parameters
    model = BudgetedSVR(**settings).fit(X[:250], y[:250])
    return model, np.concatenate([X[250:], 100 * X[250:260], 1e19 * X[250:260]], dtype=np.float32)


def several_values(kind):
    """Return a regression with several outputs, or a list of one quantile, and rows."""
    X, y = make_friedman1(300, noise=2.0, random_state=0)
    X = X.astype(np.float32)
    settings = {"budget": 20, "C": 10.0, "max_iter": 3, "random_state": 0}
    if kind == "targets":
        y = np.column_stack([y, -y, 2 * y])
        return BudgetedSVR(loss="squared_error", **settings).fit(X, y), X
    quantile = [0.5] if kind == "one quantile" else [0.1, 0.45, 0.5, 0.55, 0.9]
    return BudgetedSVR(loss="quantile", quantile=quantile, **settings).fit(X, y), X


SEVERAL_VALUES = pytest.mark.parametrize("kind", ["targets", "quantiles", "one quantile"])
LOG_LOSS = pytest.mark.parametrize("n_classes", [2, 3])


def novelty(**parameters):
    """Return novelty detection and rows, of which some are far from all its vectors."""
    X, _ = make_moons(600, noise=0.1, random_state=0)
    X = X.astype(np.float32)
    settings = {"budget": 30, "nu": 0.2, "random_state": 0} | parameters
    model = BudgetedOneClassSVM(**settings).fit(X[:500])
    return model, np.concatenate([X[500:], 100 * X[500:520], 1e19 * X[500:520]], dtype=np.float32)


def ranking(**parameters):
    """Return a ranking and rows, of which some are far from all its vectors."""
    X, y, qid = graded(30, 12)
    X = X.astype(np.float32)
    model = BudgetedRanker(**{"budget": 20, "random_state": 0} | parameters).fit(X, y, qid=qid)
    return model, np.concatenate([X[:50], 100 * X[:10], 1e19 * X[:10]], dtype=np.float32)


def scaled():
    """Return a model with scaling, rows that are not scaled, and their labels."""
    clf, X = fitted(3, n_features=4)
    before = X * [1, 10, 100, 0.01] + [0, 5, -50, 0.3]
    scaler = StandardScaler().fit(before[:100])
    clf = BudgetedSVC(20, random_state=0).fit(scaler.transform(before), clf.predict(X))
    return (
        Model.of(make_pipeline(scaler, clf)),
        before.astype(np.float32),
        clf.predict(scaler.transform(before)),
    )


def prepared(texts=True):
    """Return a model of numbers and texts, and rows with missing values and an unknown text."""
    random = np.random.default_rng(0)
    woods = ["oak", 'a "quoted" ash', "ülm"]
    X = pd.DataFrame(
        {
            "length": random.normal(size=300),
            "wood": random.choice(woods, 300),
            "stars": random.choice([0.1, 2, 5], 300),
            "soil": random.choice(["clay", "sand"], 300),
            "weight": 100 + 10 * random.normal(size=300),
        }
    )
    y = (X["length"] + (X["wood"] == "oak") + (X["stars"] == 2) > 0).to_numpy()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    branches = [
        ("numbers", numbers, ["weight", "length"]),
        ("stars", OneHotEncoder(handle_unknown="ignore"), ["stars"]),
    ]
    if texts:
        branches += [
            ("woods", OneHotEncoder(handle_unknown="ignore"), ["wood"]),
            ("soils", filled, ["soil"]),
        ]
    clf = make_pipeline(
        ColumnTransformer(branches), MaxAbsScaler(), BudgetedSVC(20, random_state=0)
    )
    clf.fit(X, y)
    X.loc[0, "length"] = np.nan
    X.loc[1, "soil"] = np.nan
    X.loc[2, "wood"] = "birch"
    X.loc[3, "stars"] = 7
    return clf, X


def far_rows(clf, X):
    """Return rows so far out that all kernel values are at their lower bound, up to overflow."""
    directions = X / np.linalg.norm(X, axis=1, keepdims=True)
    rows = np.concatenate([scale * directions for scale in (1e3, 1e10, 1e19, 1e25, 3e38)])
    return rows.astype(clf.support_vectors_.dtype)


def weighted(kind):
    """Return a model with feature scales, of which some are zero, and rows for an export."""
    X, y = make_blobs(600, n_features=6, centers=3, cluster_std=3.0, random_state=1)
    scales = np.array([0.7, 0.0, 1.3, 2.0, 0.0, 0.1])
    if kind == "float64":
        X = X + 1e5
    if kind != "two classes":
        clf = BudgetedSVC(30, feature_scales=scales, gamma=0.05, random_state=0).fit(X, y)
    else:
        clf = BudgetedSVC(30, feature_scales=scales, random_state=0).fit(X, y == 1)
    if kind == "after a scaler":
        scaler = StandardScaler().fit(X)
        clf.fit(scaler.transform(X), y)
        clf = make_pipeline(scaler, clf)
    if kind == "all count":
        clf.set_params(feature_scales=scales + 0.2).fit(X, y)
    return clf, X if kind == "float64" else X.astype(np.float32)


WEIGHTED = pytest.mark.parametrize(
    "kind", ["two classes", "three classes", "all count", "after a scaler", "float64"]
)
WITHOUT_INTERCEPT = pytest.mark.parametrize(
    "setting",
    [
        {"n_classes": n_classes, "n_features": n_features, "gamma": gamma}
        for n_classes, n_features in ((2, 2), (2, 5), (3, 2), (5, 20))
        for gamma in ("scale", 5.0)  # with 5.0, most of these models are float64
    ],
)
SEVERAL = [
    pytest.param({"n_classes": 2}, id="two classes"),
    pytest.param({"n_classes": 2, "labels": [-1, 1]}, id="labels -1 and 1"),
    pytest.param({"n_classes": 2, "polish": False, "fit_intercept": False}, id="two, unpolished"),
    pytest.param({"n_classes": 3}, id="three classes"),
    pytest.param({"n_classes": 5, "n_features": 20}, id="five classes"),
    pytest.param({"n_classes": 4, "polish": False}, id="four, unpolished"),
    pytest.param({"n_classes": 3, "polish": False, "fit_intercept": False}, id="no intercept"),
]


REGRESSIONS = pytest.mark.parametrize(
    "setting",
    [
        pytest.param({}, id="polished"),
        pytest.param({"polish": False, "fit_intercept": False}, id="unpolished"),
        pytest.param(
            {"epsilon": 1e3},
            id="no vectors",
            marks=pytest.mark.filterwarnings("ignore:epsilon=1000 is so large"),
        ),
    ],
)


POLISHED = pytest.mark.parametrize("polish", [True, False])
