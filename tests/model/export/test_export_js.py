"""Exports to JavaScript, run by node and, where it is installed, by Chromium."""

import json
import shutil
import subprocess

import export_models as models
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from pocketsvm import BudgetedSVC
from pocketsvm.model.export import export_js

PROGRAM = """\
import * as model from "./model.mjs";
import { readFileSync } from "node:fs";
const rows = JSON.parse(readFileSync("rows.json"));
const answers = rows.map((row) => ({
    decision: model.decision(row),
    predict: model.predict(row),
    probabilities: model.probabilities ? model.probabilities(row) : null,
}));
console.log(JSON.stringify({ answers, labels: model.labels ?? null, names: model.featureNames }));
"""


@pytest.fixture
def node():
    """The path of node."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node")
    return found


@pytest.fixture
def run_js(tmp_path, node):
    """Run model.mjs on rows with node."""

    def run(X):
        rows = X.astype(object).where(X.notna(), None).to_numpy() if hasattr(X, "notna") else X
        (tmp_path / "rows.json").write_text(json.dumps(rows.tolist()))
        (tmp_path / "main.mjs").write_text(PROGRAM)
        done = subprocess.run(
            [node, "main.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def columns(found, name):
    return np.array([answer[name] for answer in found["answers"]])


@pytest.mark.parametrize("setting", models.SEVERAL)
def test_js_decides_the_same(tmp_path, run_js, setting):
    clf, X = models.fitted(**setting)
    exported = export_js(clf, tmp_path / "model.mjs")
    found = run_js(X)
    expected = clf.decision_function(X).reshape(len(X), -1)
    assert_allclose(columns(found, "decision"), expected, rtol=0, atol=models.tolerance(clf))
    agree = columns(found, "predict") == clf.predict(X)
    assert np.mean(agree) > 0.99
    assert found["labels"] == exported.labels == clf.classes_.tolist()


@models.REGRESSIONS
def test_js_regression(tmp_path, run_js, setting):
    model, X = models.regression(**setting)
    export_js(model, tmp_path / "model.mjs")
    found = columns(run_js(X), "predict")
    assert_allclose(found, model.predict(X), rtol=1e-6, atol=models.tolerance(model))


@models.POLISHED
def test_js_finds_the_same_outliers(tmp_path, run_js, polish):
    model, X = models.novelty(polish=polish)
    assert export_js(model, tmp_path / "model.mjs").labels == [-1, 1]
    assert np.mean(columns(run_js(X), "predict") == model.predict(X)) > 0.99


@pytest.mark.parametrize("n_classes", [2, 3])
def test_js_probabilities(tmp_path, run_js, n_classes):
    clf, X = models.fitted(n_classes=n_classes, loss="log_loss")
    export_js(clf, tmp_path / "model.mjs")
    found = columns(run_js(X), "probabilities")
    assert_allclose(found, clf.predict_proba(X), atol=1e-4)
    assert "probabilities(row" in (tmp_path / "model.d.mts").read_text()


def test_js_prepares_rows(tmp_path, run_js):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "length": random.normal(size=300),
            "wood": random.choice(["oak", "ash</script>", "ülm"], 300),
            "stars": random.choice([1.0, 2.0, 5.0], 300),
            "weight": random.lognormal(size=300),
        }
    )
    y = np.where((rows["length"] + (rows["wood"] == "oak")) > 0, "good", "bad")
    rows.loc[[1, 7], "length"] = np.nan
    branches = [
        ("length", SimpleImputer(add_indicator=True), ["length"]),
        ("wood", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["wood"]),
        ("stars", OrdinalEncoder(), ["stars"]),
        ("weight", PowerTransformer(), ["weight"]),
    ]
    steps = [ColumnTransformer(branches), StandardScaler(), PCA(4)]
    clf = make_pipeline(*steps, BudgetedSVC(20, random_state=0)).fit(rows, y)
    export_js(clf, tmp_path / "model.mjs")
    rows.loc[3, "wood"] = "elm"
    found = run_js(rows)
    assert_allclose(columns(found, "decision")[:, 0], clf.decision_function(rows), atol=1e-4)
    assert found["names"] == list(rows.columns)
    assert "</script>" not in (tmp_path / "model.mjs").read_text()
    assert "number | string | null | undefined" in (tmp_path / "model.d.mts").read_text()


def test_js_scales_features(tmp_path, run_js):
    clf, X = models.fitted(feature_scales=[2.0, 0.0])
    export_js(clf, tmp_path / "model.mjs")
    found = columns(run_js(X), "decision")[:, 0]
    assert_allclose(found, clf.decision_function(X), rtol=0, atol=models.tolerance(clf))


def test_js_refuses(tmp_path):
    clf, X = models.fitted()
    y = clf.predict(X)
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=20), BudgetedSVC(10)).fit(X, y)
    with pytest.raises(ValueError, match="cannot hold a QuantileTransformer"):
        export_js(pipeline, tmp_path / "m.js")
    calibrated = CalibratedClassifierCV(BudgetedSVC(10), cv=2).fit(X, y)
    with pytest.raises(ValueError, match="cannot hold a CalibratedClassifierCV"):
        export_js(calibrated, tmp_path / "m.js")
    assert not list(tmp_path.iterdir())


def test_js_refuses_rows_of_another_length(tmp_path, run_js):
    clf, _ = models.fitted()
    export_js(clf, tmp_path / "model.mjs")
    with pytest.raises(AssertionError, match="a row has 2 features, not 3"):
        run_js(np.zeros((1, 3)))


@pytest.fixture
def pens(tmp_path):
    """A model whose width is imputed, whose length is not, and which ignores a note."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(200, 2)), columns=["width", "length"])
    rows["ink"], rows["note"] = random.choice(["red", "blue"], 200), "?"
    y = np.where(rows["width"] + rows["length"] > 0, "good", "bad")
    branches = [
        ("width", make_pipeline(SimpleImputer(), StandardScaler()), ["width"]),
        ("length", StandardScaler(), ["length"]),
        ("ink", OneHotEncoder(handle_unknown="ignore"), ["ink"]),
    ]
    steps = ColumnTransformer(branches, sparse_threshold=0), PCA(3)
    clf = make_pipeline(*steps, BudgetedSVC(20, random_state=0)).fit(rows, y)
    export_js(clf, tmp_path / "model.mjs")
    return clf


def decide(node, tmp_path, row):
    """Return the decision value of a row of JavaScript, or the error."""
    program = f"""\
import {{ decision, predict }} from "./model.mjs";
const row = {row};
try {{ predict(row); console.log(JSON.stringify(decision(row)[0])); }}
catch (error) {{ console.log(JSON.stringify(`${{error.name}}: ${{error.message}}`)); }}
"""
    (tmp_path / "one.mjs").write_text(program)
    done = subprocess.run(
        [node, "one.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("missing", ["null", "undefined", "NaN"])
def test_js_takes_missing_numbers_where_they_are_imputed(tmp_path, node, pens, missing):
    row = pd.DataFrame([[np.nan, 0.5, "red", "?"]], columns=pens.feature_names_in_)
    row["width"] = row["width"].astype(float)
    found = decide(node, tmp_path, f"[{missing}, 0.5, 'red', {missing}]")
    assert_allclose(found, pens.decision_function(row)[0], atol=1e-4)
    assert decide(node, tmp_path, f"[1, {missing}, 'red', '?']") == (
        f'TypeError: column "length" is {missing}, but must be a number: '
        "the model fills in no missing value here"
    )
    assert isinstance(decide(node, tmp_path, f"[1, 1, {missing}, '?']"), float)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("['thin', 1, 'red', 0]", 'column "width" is "thin", but must be a number or missing'),
        ("[1, '1', 'red', 0]", 'column "length" is "1", but must be a number'),
        ("[1, Infinity, 'red', 0]", 'column "length" is Infinity, but must be a number'),
        ("[1, 1, 7, 0]", 'column "ink" is 7, but must be a string'),
    ],
)
def test_js_refuses_values_of_another_kind(tmp_path, node, pens, row, message):
    assert decide(node, tmp_path, row) == f"TypeError: {message}"


def test_js_refuses_missing_values_without_a_preparation(tmp_path, node):
    clf, _ = models.fitted()
    export_js(clf, tmp_path / "model.mjs")
    message = "TypeError: column 1 is null, but must be a number: "
    assert decide(node, tmp_path, "[1, null]").startswith(message)
    assert "ReadonlyArray<number>" in (tmp_path / "model.d.mts").read_text()


def test_js_in_a_browser(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    clf, X = models.fitted()
    export_js(clf, tmp_path / "model.js")
    module = (tmp_path / "model.js").read_text()
    rows = json.dumps(X[:20].tolist())
    script = f"{module}\ndocument.body.textContent = {rows}.map(predict).join(' ');"
    (tmp_path / "page.html").write_text(f'<body></body><script type="module">{script}</script>')
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        "--virtual-time-budget=5000",
    ]
    done = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", str(tmp_path / "page.html")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    labels = done.stdout.split("<body>")[1].split("</body>")[0].split()
    assert_array_equal(np.array(labels, dtype=int), clf.predict(X[:20]))
