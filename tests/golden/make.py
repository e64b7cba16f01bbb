"""Write golden model files of the current version of the format.

    .venv/bin/python tests/golden/make.py [KIND ...]

Without arguments, it writes kinds that have no file. Files that exist stay as they are: a later
pocketsvm must read them and decide the same. The decision values in the
JSON files are computed in float64 by scikit-learn's kernel, not by pocketsvm.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_friedman2, make_moons
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
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

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
    compress,
    save_model,
)
from pocketsvm.model import Model
from pocketsvm.model.container import VERSION

HERE = Path(__file__).parent


def two_classes():
    X, y = make_moons(400, noise=0.2, random_state=0)
    clf = BudgetedSVC(8, 10.0, max_iter=3, polish=False, alpha=1e-3, random_state=0, n_jobs=1)
    return clf.fit(X, y), X[:5]


def three_classes():
    X, y = make_blobs(300, n_features=2, centers=3, cluster_std=2.0, random_state=1)
    X = pd.DataFrame(X, columns=["länge", "width"])
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = BudgetedSVC(9, max_iter=3, random_state=0, class_weight={"setosa": 2, "virginica": 0.5})
    return clf.fit(X, labels), X[:5]


def regression():
    X, y = make_friedman2(300, noise=20.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return BudgetedSVR(10, 100.0, epsilon=5.0, max_iter=3, random_state=0).fit(X, y), X[:5]


def stream():
    X, y = make_blobs(300, n_features=2, centers=3, cluster_std=2.0, random_state=1)
    clf = BudgetedSVC(9, gamma=0.1, half_life=50, random_state=0)
    return clf.partial_fit(X, y, classes=[0, 1, 2]), X[:5]


def reservoir():
    X, y = make_blobs(300, n_features=6, centers=2, cluster_std=2.0, random_state=1)
    X[np.abs(X) < 3] = 0
    clf = BudgetedSVC(9, gamma=0.1, reservoir=30, random_state=0)
    for part in (slice(100), slice(100, 300)):
        clf.partial_fit(csr_array(X[part]), y[part], classes=[0, 1])
    return clf, X[:5]


def float64():
    X, y = make_moons(300, noise=0.1, random_state=0)
    X = 1e4 + X  # too far from zero for float32
    return BudgetedSVC(9, 10.0, gamma=2.0, max_iter=3, random_state=0).fit(X, y), X[:5]


def huber():
    X, y = make_friedman2(300, noise=20.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    setting = {"loss": "huber", "epsilon": 50.0, "max_iter": 3, "random_state": 0}
    return BudgetedSVR(10, 100.0, **setting).fit(X, y), X[:5]


def probabilities():
    X, y = make_blobs(300, n_features=2, centers=3, cluster_std=2.0, random_state=1)
    return BudgetedSVC(9, max_iter=3, loss="log_loss", random_state=0).fit(X, y), X[:5]


def quantiles():
    X, y = make_friedman2(300, noise=20.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    setting = {"loss": "quantile", "quantile": [0.1, 0.5, 0.9], "max_iter": 3, "random_state": 0}
    return BudgetedSVR(12, 100.0, **setting).fit(X, y), X[:5]


def several_targets():
    X, y = make_friedman2(300, noise=20.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = BudgetedSVR(12, 100.0, loss="squared_error", max_iter=3, random_state=0)
    return model.fit(X, np.column_stack([y, 0.01 * y**2])), X[:5]


def scaled():
    clf, X = three_classes()
    rows = X * [100.0, 0.01] + [5.0, -3.0]
    steps = [("scale", StandardScaler()), ("svm", clf)]
    return Pipeline(steps).fit(rows, clf.predict(X)), rows


def prepared():
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "length": random.normal(size=200),
            "wood": random.choice(["oak", "ash", "ülm"], 200),
            "weight": 100 + 10 * random.normal(size=200),
        }
    )
    y = rows["length"] + (rows["wood"] == "oak") > 0
    rows.loc[1, "length"] = np.nan
    numbers = make_pipeline(SimpleImputer(), RobustScaler())
    texts = OneHotEncoder(handle_unknown="ignore")
    branches = [("numbers", numbers, ["weight", "length"]), ("texts", texts, ["wood"])]
    svm = BudgetedSVC(9, max_iter=3, random_state=0)
    return Pipeline([("columns", ColumnTransformer(branches)), ("svm", svm)]).fit(rows, y), rows[:5]


def prepared_steps():
    """Return a pipeline with a step of every other kind."""
    random = np.random.default_rng(0)
    n = 200
    rows = pd.DataFrame(
        {
            "length": random.normal(size=n),
            "wood": random.choice(["oak", "ash", "ülm", "fir"], n, p=[0.5, 0.3, 0.17, 0.03]),
            "weight": random.lognormal(size=n),
            "stars": random.choice([1.0, 2.0, 5.0], n),
            "soil": random.choice(["clay", "sand"], n),
        }
    )
    y = rows["length"] + (rows["wood"] == "oak") > 0
    rows.loc[[1, 7], "length"] = np.nan
    rows.loc[[2, 9], "soil"] = np.nan
    woods = OneHotEncoder(
        min_frequency=0.1, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    soils = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first"))
    stars = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    weights = FeatureUnion(
        [
            ("power", PowerTransformer("box-cox")),
            ("quantiles", QuantileTransformer(n_quantiles=5, output_distribution="normal")),
            ("scaled", make_pipeline(MinMaxScaler(clip=True), MaxAbsScaler())),
        ]
    )
    branches = [
        ("length", SimpleImputer(strategy="median", add_indicator=True), ["length"]),
        ("woods", woods, ["wood"]),
        ("stars", stars, ["stars"]),
        ("soils", soils, ["soil"]),
        ("weights", weights, ["weight"]),
    ]
    columns = ColumnTransformer(branches)
    last = ColumnTransformer([("pca", PCA(4, whiten=True), [*range(5)])], remainder="passthrough")
    svd = TruncatedSVD(5, random_state=0)
    svm = BudgetedSVC(9, max_iter=3, random_state=0)
    steps = [("columns", columns), ("last", last), ("svd", svd), ("svm", svm)]
    return Pipeline(steps).fit(rows, y), rows[:5]


def calibrated(method, ensemble):
    """Return a calibrated pipeline of texts."""
    clf, rows = prepared()
    random = np.random.default_rng(1)
    X = pd.concat([rows.fillna(0)] * 20, ignore_index=True)
    X["length"] = random.normal(size=100)
    y = np.where(X["length"] + (X["wood"] == "oak") > 0, "good", "bad")
    machine = CalibratedClassifierCV(clf, method=method, ensemble=ensemble, cv=2)
    return machine.fit(X, y), rows


def write_calibrated(method, ensemble):
    """Write a calibrated model, with the probabilities that scikit-learn computes."""
    clf, X = calibrated(method, ensemble)
    known = {
        "columns": list(X.columns),
        "X": np.asarray(X).tolist(),
        "classes": clf.classes_.tolist(),
        "probabilities": clf.predict_proba(X).tolist(),
    }
    path = HERE / "calibrated" / f"{method}-v{VERSION}"
    path.parent.mkdir(exist_ok=True)
    save_model(clf, path.with_suffix(".psvm"))
    path.with_suffix(".json").write_text(json.dumps(known, indent=1) + "\n")


def novelty():
    X, _ = make_moons(300, noise=0.1, random_state=0)
    return BudgetedOneClassSVM(8, nu=0.2, max_iter=3, random_state=0).fit(X), X[:5]


def ranking():
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(300, 3)), np.repeat(np.arange(30), 10)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0, 2.0])
    return BudgetedRanker(8, 10.0, max_iter=3, random_state=0).fit(X, y, qid=qid), X[:5]


def feature_scales():
    X, y = make_blobs(300, n_features=3, centers=3, cluster_std=2.0, random_state=1)
    clf = BudgetedSVC(9, feature_scales=[1.3, 0.0, 0.4], max_iter=3, random_state=0)
    return clf.fit(X, y), X[:5]


def integers():
    X, y = make_blobs(300, n_features=3, centers=3, cluster_std=2.0, random_state=1)
    clf = BudgetedSVC(30, feature_scales=[1.3, 0.0, 0.4], max_iter=3, random_state=0).fit(X, y)
    return compress(clf, X, budget=9, dtype="int8", random_state=0), X[:5]


def write(name, clf, X):
    model = Model.of(clf)
    rows, stem = np.asarray(X), f"{name}-v{VERSION}"
    if model.preparation is not None:
        rows = clf[:-1].transform(X)
    if model.feature_scales is not None:
        rows = rows * model.feature_scales
    kernel = rbf_kernel(rows, model.vectors.astype(np.float64), gamma=model.gamma)
    known = {
        "parameters": getattr(clf, "named_steps", {"svm": clf})["svm"].get_params(),
        "classes": clf.classes_.tolist() if hasattr(clf, "classes_") else None,
        "columns": list(getattr(X, "columns", [])),
        "X": np.asarray(X).tolist(),
        "decision": (kernel @ model.dual_coef.T + model.intercept).tolist(),
        "predicted": clf.predict(X).tolist(),
    }
    save_model(clf, HERE / f"{stem}.psvm", extra=EXTRA.get(name, {}))
    (HERE / f"{stem}.json").write_text(json.dumps(known, indent=1) + "\n")


EXTRA = {"reservoir": {"note": "kept", "numbers": np.arange(3.0)}}
KINDS = {
    "two-classes": two_classes,
    "three-classes": three_classes,
    "regression": regression,
    "scaled": scaled,
    "prepared": prepared,
    "prepared-steps": prepared_steps,
    "stream": stream,
    "reservoir": reservoir,
    "float64": float64,
    "huber": huber,
    "probabilities": probabilities,
    "quantiles": quantiles,
    "several-targets": several_targets,
    "feature-scales": feature_scales,
    "integers": integers,
    "novelty": novelty,
    "ranking": ranking,
}

if __name__ == "__main__":
    missing = [kind for kind in KINDS if not (HERE / f"{kind}-v{VERSION}.psvm").exists()]
    for kind in sys.argv[1:] or missing:
        if kind == "calibrated":
            write_calibrated("sigmoid", ensemble=True)
            write_calibrated("temperature", ensemble=False)
        else:
            write(kind, *KINDS[kind]())
