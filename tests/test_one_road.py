"""Rows in memory and in batches get the same warnings, samples, columns and checks."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from one_road import (
    ALL,
    NAMES,
    SOME,
    Batches,
    N,
    about,
    assert_same_decisions,
    gist,
    problem,
    recorded,
    values_of,
    vectors_of,
)
from ranking import graded
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    BudgetedSVRCV,
    open_dataset,
)
from pocketsvm.training.settings import Choices

LAYOUTS = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
BUDGETS = pytest.mark.parametrize("budget", [ALL, SOME], ids=["all", "some"])


def unscaled(kind):
    """Return rows with columns of different scales, an offset or an outlier."""
    X, y = problem()
    if kind == "scales":
        X = X * [1.0, 5000.0, 1.0, 0.5]
    elif kind == "offset":
        X[:, 1] += 2000.0
    else:
        X[7, 2] = 1e4
    return X, y


@pytest.mark.parametrize("scales", ["learn", None])
def test_a_thorough_fit_is_the_same_wherever_its_rows_are(scales, tmp_path, monkeypatch):
    """Scales, vectors and coefficients are refined on the rows at hand, which are all rows here."""
    initialise = Choices.__init__
    fewer = {"batches": 60, "batch_rows": 256}
    monkeypatch.setattr(
        Choices, "__init__", lambda self, **given: initialise(self, **{**fewer, **given})
    )
    X, y = problem()
    X[:, :2] = np.where(np.abs(X[:, :2]) < 0.3, 0.0, X[:, :2])
    pd.DataFrame(np.c_[X, y], columns=[*NAMES, "label"]).to_csv(tmp_path / "rows.csv", index=False)
    model = BudgetedSVC(
        ALL, C=10.0, feature_scales=scales, polish="thorough", random_state=0, n_jobs=1
    )
    expected = clone(model).fit(X, y)
    if scales is not None:
        assert "refined" in expected.profile_.scales
        assert expected.feature_scales_[3] < 0.3 * expected.feature_scales_[:3].min()
    for rows in (
        Batches(X, y),
        Batches(sp.csr_array(X), y),
        open_dataset(tmp_path / "rows.csv", "label"),
    ):
        found = clone(model).fit(rows)
        for name in ("feature_scales_", "support_vectors_", "dual_coef_", "intercept_"):
            assert_array_equal(getattr(found, name), getattr(expected, name))
    sparse = clone(model).fit(sp.csr_array(X), y)
    assert_allclose(sparse.decision_function(X), expected.decision_function(X), atol=0.05)
    assert sparse.score(X, y) == pytest.approx(expected.score(X, y), abs=0.005)


# --- warnings -------------------------------------------------------------------------------------


@BUDGETS
@LAYOUTS
@pytest.mark.parametrize("kind", ["scales", "offset", "outlier"])
def test_unscaled_batches_get_the_warnings_of_rows_in_memory(budget, layout, kind):
    X, y = unscaled(kind)
    X = layout(X)
    with recorded() as in_memory:
        BudgetedSVC(budget, random_state=0).fit(X, y)
    with recorded() as in_batches:
        BudgetedSVC(budget, random_state=0).fit(Batches(X, y))
    expected = [gist(warning) for warning in about(in_memory)]
    assert expected
    assert [gist(warning) for warning in about(in_batches)] == expected
    assert {warning.filename for warning in about(in_batches)} == {__file__}


@LAYOUTS
def test_an_outlier_is_found_in_any_row(layout):
    """One row in three is not drawn."""
    for row in range(0, N, 500):
        X, y = problem()
        X[row, 1] = -1e4
        with pytest.warns(UserWarning, match=r"A few values of X.* in column 1 .*one is -1e\+04"):
            BudgetedSVC(SOME, random_state=0).fit(Batches(layout(X), y))


@BUDGETS
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
def test_large_targets_in_batches_get_the_warning_of_rows_in_memory(budget, loss):
    X, _ = problem()
    model = BudgetedSVR(budget, loss=loss, max_iter=2, random_state=0)
    targets = 1000 * X[:, 0]
    with recorded() as in_memory:
        model.fit(X, targets)
    with recorded() as in_batches:
        model.fit(Batches(X, targets))
    assert [gist(warning)[:2] for warning in about(in_batches)] == [
        gist(warning)[:2] for warning in about(in_memory)
    ]
    assert [warning.filename for warning in about(in_batches)] == [__file__]


@pytest.mark.parametrize("place", ["memory", "batches"])
def test_warnings_of_every_estimator_point_at_the_line_of_the_caller(place):
    X, y = unscaled("scales")
    qid = np.arange(N) // 20
    weight = np.ones(N)
    alone = place == "memory"
    fits = (
        lambda: BudgetedSVC(SOME, random_state=0).fit(*([X, y] if alone else [Batches(X, y)])),
        lambda: BudgetedSVR(SOME, random_state=0).fit(*([X, y] if alone else [Batches(X, y)])),
        lambda: BudgetedOneClassSVM(SOME, random_state=0).fit(X if alone else Batches(X, y)),
        lambda: BudgetedRanker(SOME, random_state=0).fit(
            *([X, y, qid] if alone else [Batches(X, y, weight, qid)])
        ),
    )
    for fit in fits:
        with recorded() as caught:
            fit()
        assert [warning.filename for warning in about(caught, "ScaleWarning")] == [__file__]


@pytest.mark.parametrize("cls", [BudgetedSVCCV, BudgetedSVRCV])
@pytest.mark.parametrize("place", ["memory", "batches"])
def test_warnings_of_a_search_point_at_the_line_of_the_caller(cls, place):
    X, y = unscaled("scales")
    model = cls(SOME, Cs=[1.0, 10.0], gammas=[1.0], cv=2, max_iter=2, random_state=0)
    with recorded() as caught:
        model.fit(*([X, y] if place == "memory" else [Batches(X, y)]))
    assert [warning.filename for warning in about(caught, "ScaleWarning")] == [__file__]


def test_warnings_of_a_stream_point_at_the_line_of_the_caller():
    X, y = unscaled("scales")
    with recorded() as caught:
        BudgetedSVC(SOME, alpha=1e-3, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert [warning.filename for warning in about(caught)] == [__file__]


# --- samples: ranking and novelty detection -------------------------------------------------------


def ranker(**parameters):
    defaults = {"budget": SOME, "C": 10.0, "gamma": 0.5, "max_iter": 3, "random_state": 0}
    return BudgetedRanker(**defaults | parameters)


def queries(*arrays, size=700):
    X, y, qid = arrays
    return Batches(X, y, None, qid, size=size)


@pytest.mark.parametrize(
    "names", [np.asarray, lambda qid: np.char.add("q", qid.astype(str))], ids=["numbers", "texts"]
)
def test_rankings_draw_the_same_queries_in_memory_and_in_batches(names):
    X, y, qid = graded(300, 20)
    qid = names(qid)
    expected = vectors_of(ranker().fit(X, y, qid))
    for size in (700, 90):  # queries are cut at the ends of batches
        assert_array_equal(vectors_of(ranker().fit(queries(X, y, qid, size=size))), expected)


def test_rankings_draw_the_same_queries_if_their_rows_are_mixed():
    X, y, qid = graded(300, 20)
    order = np.random.default_rng(1).permutation(len(X))
    rows = X[order], y[order], qid[order]
    with recorded():
        found = ranker().fit(queries(*rows))
    assert_array_equal(vectors_of(found), vectors_of(ranker().fit(*rows)))


def test_a_ranking_in_batches_sees_all_rows_of_contiguous_queries():
    X, y, qid = graded(300, 20)
    in_memory = ranker().fit(X, y, qid)
    found = ranker().fit(queries(X, y, qid))
    assert_allclose(found.alpha_, in_memory.alpha_, rtol=1e-9)
    assert_allclose(found.support_vectors_, in_memory.support_vectors_, rtol=1e-6, atol=1e-6)
    largest = np.abs(in_memory.dual_coef_).max()
    assert_allclose(found.dual_coef_, in_memory.dual_coef_, rtol=1e-6, atol=1e-6 * largest)
    objectives = found.profile_.objective_after, in_memory.profile_.objective_after
    assert_allclose(*objectives, rtol=1e-6)
    assert_allclose(found.score(X, y, qid), in_memory.score(X, y, qid), atol=1e-6)


def test_a_ranking_says_that_it_sees_a_sample_of_mixed_queries(capsys):
    X, y, qid = graded(300, 20)
    order = np.random.default_rng(1).permutation(len(X))
    with recorded() as caught:
        ranker(verbose=1).fit(queries(X[order], y[order], qid[order]))
    said = [str(warning.message) for warning in caught] + capsys.readouterr().out.splitlines()
    assert any("quer" in line and ("contiguous" in line or "together" in line) for line in said)
    with recorded() as caught:
        ranker(verbose=1).fit(queries(X, y, qid))
    said = [str(warning.message) for warning in caught] + capsys.readouterr().out.splitlines()
    assert not any("contiguous" in line or "together" in line for line in said)


@pytest.mark.parametrize("nu", [0.05, 0.1, 0.5])
def test_the_offset_of_novelty_detection_is_a_quantile_of_all_rows(nu):
    """The quantile of the 10,240 drawn rows misses nu by several times as much."""
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    model = BudgetedOneClassSVM(20, nu=nu, random_state=5).fit(Batches(X, None, size=9000))
    scores = model.score_samples(X)
    assert abs(np.mean(scores < model.offset_) - nu) < 1e-3
    assert abs(np.mean(model.predict(X) == -1) - nu) < 1e-3


def test_the_offset_of_novelty_detection_counts_weights():
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    weight = np.where(X[:, 0] > 0, 3.0, 1.0)
    rows = Batches(X, None, weight, size=9000)
    model = BudgetedOneClassSVM(20, nu=0.1, random_state=5).fit(rows)
    share = weight[model.predict(X) == -1].sum() / weight.sum()
    assert abs(share - 0.1) < 1e-3


# --- names of columns -----------------------------------------------------------------------------


class Frames:
    """Three batches of rows, the second of which is changed."""

    def __init__(self, y, change):
        X, _ = problem()
        self.frame, self.y, self.change = pd.DataFrame(X, columns=NAMES), y, change

    def batches(self):
        for k in range(3):
            rows = slice(1000 * k, 1000 * (k + 1))
            part = self.frame[rows]
            yield self.change(part) if k == 1 else part, self.y[rows], None, np.arange(1000) // 20


MODELS = {
    "classifier": lambda: BudgetedSVC(ALL, random_state=0),
    "classifier-some": lambda: BudgetedSVC(SOME, random_state=0),
    "regression-some": lambda: BudgetedSVR(SOME, random_state=0),
    "novelty-some": lambda: BudgetedOneClassSVM(SOME, random_state=0),
    "ranking": lambda: BudgetedRanker(ALL, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_columns_of_batches_are_found_by_name(model):
    X, y = problem()
    found = model().fit(Frames(y, lambda part: part[list("cadb")]))
    expected = model().fit(Frames(y, lambda part: part))
    assert found.feature_names_in_.tolist() == NAMES
    assert_same_decisions(found, expected, pd.DataFrame(X, columns=NAMES))


WRONG_COLUMNS = pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda part: part.drop(columns="b"), "b"),
        (lambda part: part.assign(z=1.0), "z"),
        (lambda part: part.rename(columns={"b": "z"}), "[bz]"),
    ],
    ids=["missing", "unknown", "renamed"],
)


@WRONG_COLUMNS
@BUDGETS
def test_missing_and_unknown_columns_of_batches_are_named(change, name, budget):
    with pytest.raises(ValueError, match=rf"batch 2\b.*'{name}'"):
        BudgetedSVC(budget, random_state=0).fit(Frames(problem()[1], change))


# --- rows that change -----------------------------------------------------------------------------


class Changing:
    """Batches of rows, of which one array is another one in each reading."""

    def __init__(self, arrays, changed, change):
        self.arrays, self.changed, self.change, self.n_scans = arrays, changed, change, 0

    def batches(self):
        self.n_scans += 1
        random = np.random.default_rng(self.n_scans)
        arrays = {**self.arrays, self.changed: self.change(self.arrays[self.changed], random)}
        yield from Batches(*(arrays.get(name) for name in ("X", "y", "weight", "qid"))).batches()


def shuffled(values, random):
    return random.permutation(values)


def with_another_value(X, random):
    X = X.copy()
    X[random.integers(len(X)), 0] += random.uniform(1e-3, 2e-3)
    return X


CHANGES = {
    "labels": (BudgetedSVC, "y", shuffled),
    "weights": (BudgetedSVC, "weight", shuffled),
    "features": (BudgetedSVC, "X", with_another_value),
    "targets": (BudgetedSVR, "y", shuffled),
    "novelty": (BudgetedOneClassSVM, "X", with_another_value),
    "relevance": (BudgetedRanker, "y", shuffled),
}


@pytest.mark.parametrize(("cls", "changed", "change"), CHANGES.values(), ids=CHANGES)
def test_rows_that_change_between_two_scans_are_refused(cls, changed, change):
    X, y = problem()
    arrays = {"X": X, "y": y}
    if cls is BudgetedRanker:
        arrays["qid"] = np.arange(N) // 20
    if changed == "weight":
        arrays["weight"] = np.random.default_rng(0).uniform(1.0, 2.0, N)
    rows = Changing(arrays, changed, change)
    with pytest.raises(ValueError, match="changed between two scans"):
        cls(SOME, random_state=0).fit(rows)


def test_equal_rows_in_another_layout_have_not_changed():
    def other_layout(X, random):
        return [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]][random.integers(3)]

    X, y = problem()
    found = BudgetedSVC(SOME, random_state=0).fit(Changing({"X": X, "y": y}, "X", other_layout))
    expected = BudgetedSVC(SOME, random_state=0).fit(Batches(X, y))
    assert_same_decisions(found, expected, X)


# --- memory maps ----------------------------------------------------------------------------------


def test_a_memory_map_is_not_copied(tmp_path):
    """Chunks have a bounded size: twice as many rows hardly need more memory."""
    n, d = 480_000, 40
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(n, d))
    (tmp_path / "rows").unlink()  # the map keeps the file as long as it is there
    for begin in range(0, n, 40_000):
        X[begin : begin + 40_000] = 0.05 * random.standard_normal((40_000, d))
    X[:, 0] = (2 * y - 1) * random.uniform(1, 9, n)
    peaks = []
    for rows in (slice(n // 2), slice(n)):
        # With this loss vectors stay, so that no rows near the margin are kept.
        model = BudgetedSVC(SOME, gamma=0.05, max_iter=1, loss="log_loss", random_state=0)
        tracemalloc.start()
        try:
            model.fit(X[rows], y[rows])
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert model.score(X[:2000], y[:2000]) > 0.99
    copy_in_float32 = 4 * (n // 2) * d
    assert peaks[1] - peaks[0] < copy_in_float32 / 2


# --- predictions ----------------------------------------------------------------------------------


def test_a_classifier_predicts_and_scores_batches():
    X, y = problem()
    weight = np.random.default_rng(0).uniform(0.0, 2.0, N)
    model = BudgetedSVC(ALL, loss="log_loss", random_state=0).fit(X[:1000], y[:1000])
    rows = Batches(X, y, weight)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        assert_array_equal(getattr(model, method)(rows), getattr(model, method)(X))
    assert_allclose(model.score(rows), model.score(X, y, weight), rtol=1e-12)
    assert_allclose(model.score(Batches(X, y)), model.score(X, y), rtol=1e-12)
    with pytest.raises(ValueError, match="leave out y"):
        model.score(rows, y)


def test_many_classes_of_batches_are_predicted():
    X, y = problem()
    names = np.array(["a", "b", "c"])[y + (X[:, 3] > 1)]
    model = BudgetedSVC(ALL, random_state=0).fit(X[:1000], names[:1000])
    rows = Batches(X, names)
    assert_array_equal(model.predict(rows), model.predict(X))
    assert_array_equal(model.decision_function(rows), model.decision_function(X))
    assert_allclose(model.score(rows), model.score(X, names), rtol=1e-12)


@pytest.mark.parametrize("kind", ["one", "several", "quantile", "quantiles"])
def test_a_regression_predicts_and_scores_batches(kind):
    X, _ = problem()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) if kind == "several" else np.sin(X[:, 0])
    loss = {"loss": "quantile", "quantile": 0.7 if kind == "quantile" else [0.1, 0.9]}
    model = BudgetedSVR(ALL, C=10.0, random_state=0, **loss if "quantile" in kind else {})
    model.fit(X[:1000], y[:1000])
    rows = Batches(X, y)
    assert_array_equal(model.predict(rows), model.predict(X))
    assert_allclose(model.score(rows), model.score(X, y), rtol=1e-9)


def test_novelty_detection_and_rankings_predict_batches():
    X, y = problem()
    model = BudgetedOneClassSVM(ALL, nu=0.1, random_state=0).fit(X[:1000])
    for method in ("predict", "decision_function", "score_samples"):
        assert_array_equal(getattr(model, method)(Batches(X, None)), getattr(model, method)(X))
    X, y, qid = graded(60, 20)
    model = ranker(budget=ALL).fit(X[:400], y[:400], qid[:400])
    rows = queries(X, y, qid)
    assert_array_equal(model.predict(rows), model.predict(X))
    assert_allclose(model.score(rows), model.score(X, y, qid), rtol=1e-12)


def test_a_search_predicts_and_scores_batches():
    X, y = problem()
    model = BudgetedSVCCV(SOME, Cs=[1.0], gammas=[0.5], cv=2, max_iter=2, random_state=0)
    model.fit(X[:1000], y[:1000])
    rows = Batches(X, y)
    assert_array_equal(model.predict(rows), model.predict(X))
    assert_array_equal(model.decision_function(rows), model.decision_function(X))
    assert_allclose(model.score(rows), model.score(X, y), rtol=1e-12)


def test_columns_of_predicted_batches_are_found_by_name():
    X, y = problem()
    frame = pd.DataFrame(X, columns=NAMES)
    model = BudgetedSVC(ALL, random_state=0).fit(frame, y)
    permuted = Frames(y, lambda part: part[list("cadb")])
    assert_array_equal(model.predict(permuted), model.predict(frame))
    with pytest.raises(ValueError, match=r"batch 2\b.*'b'"):
        model.predict(Frames(y, lambda part: part.drop(columns="b")))


# --- several outputs ------------------------------------------------------------------------------


def test_several_targets_of_batches_give_the_model_of_rows_in_memory():
    X, _ = problem()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    model = BudgetedSVR(ALL, C=10.0, random_state=0)
    assert_same_decisions(model.fit(Batches(X, y)), BudgetedSVR(**model.get_params()).fit(X, y), X)


@pytest.mark.parametrize("kind", ["targets", "quantiles"])
def test_several_outputs_are_fitted_to_all_rows_of_batches(kind):
    X, _ = problem(9000)
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    loss = {}
    if kind == "quantiles":
        y, loss = y[:, 0], {"loss": "quantile", "quantile": [0.2, 0.8]}
    parameters = {"budget": 12, "C": 10.0, "gamma": 0.5, "fit_intercept": False} | loss
    in_memory = BudgetedSVR(**parameters, random_state=0).fit(X, y)
    found = BudgetedSVR(**parameters, random_state=0).fit(Batches(X, y))
    assert_array_equal(vectors_of(found), vectors_of(in_memory))
    # Vectors move on other rows, because how many are near is only estimated before a scan.
    assert found.profile_.objective_after < 1.05 * in_memory.profile_.objective_after
    assert found.score(X, y) > in_memory.score(X, y) - 0.01
    assert values_of(found, X).shape == (9000, 2)


def test_a_scaler_on_the_data_set_leaves_nothing_to_warn_about():
    X, y = unscaled("scales")
    rows = Batches(X, y)
    rows.scaler = StandardScaler()
    for budget in (ALL, SOME):
        found = BudgetedSVC(budget, random_state=0).fit(rows)
        assert found.score(X, y) > 0.75
