"""Feature scales multiply rows once, in training and in prediction, wherever the rows are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from models import friedman
from numpy.testing import assert_allclose, assert_array_equal
from one_road import Batches, flowers, recorded
from one_road import prepared as in_pipeline
from ranking import graded
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
    load_model,
    open_dataset,
)
from pocketsvm.callbacks import Checkpoint
from pocketsvm.model import Model
from pocketsvm.rows.feature_scales import FeatureScales
from pocketsvm.solving.feature_scales import Learnt

POWERS = np.array([2.0, 0.25, 1.0, 0.0])
OTHERS = np.array([1.7, 0.3, 1.1, 0.0])
LAYOUTS = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(n=1500):
    """Return rows of four features, of which the last two tell nothing, and two classes."""
    X = np.random.default_rng(0).normal(size=(n, 4)).round(3)
    X[np.abs(X) < 0.3] = 0.0
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)


def small(**parameters):
    return BudgetedSVC(**{"budget": 20, "C": 4.0, "random_state": 0} | parameters)


def learning(monkeypatch, found):
    """Let the learner of scales return an array or None; return its calls."""
    calls = []

    def learned_scales(rows, targets, parameters, *, auto):
        calls.append((rows, targets, parameters, auto))
        return Learnt(found, "learnt here")

    monkeypatch.setattr("pocketsvm.fit.learned_scales", learned_scales)
    return calls


# --- an array -------------------------------------------------------------------------------------


@LAYOUTS
@DTYPES
def test_powers_of_two_give_the_bits_of_multiplied_rows(layout, dtype):
    X, y = problem()
    X = X.astype(dtype)
    one = small(feature_scales=POWERS).fit(layout(X), y)
    other = small().fit(layout(X * POWERS.astype(dtype)), y)
    assert one.gamma_ == other.gamma_
    assert_array_equal(
        one.decision_function(layout(X)),
        other.decision_function(layout(X * POWERS.astype(dtype))),
    )


@DTYPES
def test_other_scales_give_the_labels_of_multiplied_rows(dtype):
    X, y = problem()
    X = X.astype(dtype)
    one = small(feature_scales=OTHERS.tolist()).fit(X, y)
    other = small().fit(X * OTHERS, y)
    assert_allclose(one.gamma_, other.gamma_, rtol=1e-6)
    assert np.mean(one.predict(X) == other.predict(X * OTHERS)) > 0.995


def test_sparse_rows_give_the_bits_of_dense_ones_and_stay_sparse():
    X, y = problem()
    dense = small(feature_scales=OTHERS).fit(X, y)
    sparse = small(feature_scales=OTHERS).fit(sp.csr_array(X), y)
    assert_array_equal(dense.decision_function(X), sparse.decision_function(sp.csr_array(X)))
    assert_array_equal(dense.decision_function(X), sparse.decision_function(X))
    step = FeatureScales(OTHERS)
    found = step.transform(sp.csr_matrix(X))
    assert isinstance(found, sp.csr_matrix)
    assert_array_equal(found.toarray(), step.transform(X))
    assert found.dtype == X.dtype


@pytest.mark.parametrize("n_features", [1, 3, 70_000])
@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_products_are_rounded_once(n_rows, n_features):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    exact = random.uniform(size=n_features)
    for scales in (exact, exact.astype(np.float32).astype(np.float64), exact.round() + 1.0):
        step = FeatureScales(scales)
        assert_array_equal(step.transform(X), X * scales)
        assert_array_equal(step.transform(np.asfortranarray(X)), X * scales)
        single = X.astype(np.float32)
        expected = (single.astype(np.float64) * scales).astype(np.float32)
        assert_array_equal(step.transform(single), expected, strict=True)
        assert_array_equal(step.transform(sp.csr_array(single)).toarray(), expected, strict=True)


def test_rows_of_the_user_stay_as_they_are():
    X, y = problem()
    for rows in (X, sp.csr_array(X)):
        before = rows.copy()
        small(feature_scales=OTHERS).fit(rows, y).predict(rows)
        assert (rows != before).sum() == 0


def test_a_feature_of_scale_zero_does_not_count():
    X, y = problem()
    model = small(feature_scales=POWERS).fit(X, y)
    changed = X.copy()
    changed[:, 3] = 1e6 * np.arange(len(X))
    assert_array_equal(model.decision_function(X), model.decision_function(changed))
    assert not model.support_vectors_[:, 3].any()


def test_vectors_are_in_the_units_of_the_rows():
    """Vectors that are rows of X are found among them."""
    X, y = problem(15)
    model = small(feature_scales=POWERS, polish=False, max_iter=1).fit(X, y)
    vectors, rows = model.support_vectors_[:, :3], X[:, :3].astype(np.float32)
    assert all((rows == vector).all(axis=1).any() for vector in vectors)
    assert_array_equal(model.feature_scales_, POWERS)
    assert_array_equal(model.to_model().vectors[:, :3], vectors * POWERS[:3].astype(np.float32))


def test_a_model_whose_features_count_alike_has_none():
    X, y = problem(200)
    assert not hasattr(small(), "feature_scales_")
    model = small().fit(X, y)
    assert model.feature_scales_ is None


def test_large_products_are_far_from_all_vectors():
    X, y = problem(300)
    model = small(feature_scales=[1e29, 1.0, 1.0, 1.0], gamma=1e-58).fit(X, y)
    values = model.decision_function(np.array([[1e29, 0.0, 0.0, 0.0], [1e300, 0.0, 0.0, 0.0]]))
    assert np.isfinite(values).all()


def test_gamma_is_computed_with_the_scaled_features():
    X, y = problem()
    model = small(feature_scales=OTHERS, gamma="scale").fit(X, y)
    assert_allclose(model.gamma_, 1 / (4 * (X * OTHERS).var()), rtol=1e-6)
    assert small(feature_scales=OTHERS, gamma=0.5).fit(X, y).gamma_ == 0.5


def test_nobody_is_warned_of_scales_that_were_chosen():
    X, y = problem()
    with recorded() as caught:
        small(feature_scales=[1e4, 1.0, 1.0, 1e-4]).fit(X, y)
    assert not [w for w in caught if type(w.message).__name__ == "ScaleWarning"]


def test_any_number_of_threads_gives_the_same_bits():
    X, y = problem()
    one = small(feature_scales=OTHERS).fit(X, y)
    other = small(feature_scales=OTHERS, n_jobs=2).fit(X, y)
    assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("kind", ["regression", "targets", "quantiles", "novelty", "ranking"])
def test_all_estimators_take_an_array(kind):
    X, y = friedman(600)
    scales = np.array([1.0, 2.0, 0.5, 1.0, 4.0, 0.0])
    given = {"budget": 30, "random_state": 0}
    if kind == "ranking":
        X, y, qid = graded(n_queries=30)
        scales = np.resize([2.0, 0.5, 0.0], X.shape[1])
        one = BudgetedRanker(feature_scales=scales, **given).fit(X, y, qid)
        other = BudgetedRanker(**given).fit(X * scales, y, qid)
    elif kind == "novelty":
        one = BudgetedOneClassSVM(nu=0.2, feature_scales=scales, **given).fit(X)
        other = BudgetedOneClassSVM(nu=0.2, **given).fit(X * scales)
        assert one.offset_ == other.offset_
    else:
        if kind == "targets":
            y = np.stack([y, -y, X[:, 0]], axis=1)
        if kind == "quantiles":
            given |= {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
        one = BudgetedSVR(feature_scales=scales, **given).fit(X, y)
        other = BudgetedSVR(**given).fit(X * scales, y)
    answer = "decision_function" if kind == "novelty" else "predict"
    assert_array_equal(getattr(one, answer)(X), getattr(other, answer)(X * scales))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1.0, 2.0], "feature_scales has 2 numbers, but the kernel sees 4 features"),
        ([1.0, -1.0, 1.0, 1.0], "not negative, but the one of feature 1 .* is -1.0"),
        ([1.0, np.nan, 1.0, 1.0], "finite numbers .* feature 1 .* is nan"),
        ([1.0, 1.0, np.inf, 1.0], "feature 2 .* is inf"),
        ([0.0] * 4, "All feature_scales are zero"),
        ([1e-300] * 4, "largest of feature_scales is 1e-300, .* must reach 1e-18: use larger"),
        (["a", "b", "c", "d"], "must be None, 'learn', 'auto' or a list of numbers"),
        ([[1.0, 1.0], [1.0, 1.0]], "must be None, 'learn', 'auto' or a list of numbers"),
        ([], "must be None, 'learn', 'auto' or a list of numbers"),
        ("always", "'feature_scales' parameter of BudgetedSVC must be"),
        (2.0, "'feature_scales' parameter of BudgetedSVC must be"),
    ],
)
def test_wrong_arrays_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        small(feature_scales=wrong).fit(*problem(100))


def test_small_scales_of_large_features_are_taken():
    X, y = problem()
    one = small(feature_scales=1e-30 * POWERS).fit(1e30 * X, y)
    assert one.score(1e30 * X, y) > 0.8


# --- what a profile tells -------------------------------------------------------------------------


def test_a_profile_tells_why_features_count_alike(tmp_path):
    X, y = problem()
    few = small(feature_scales="auto").fit(X[:500], y[:500])
    assert few.profile_.scales == "one gamma: fewer than 1,000 rows"
    noise = np.random.default_rng(1).integers(0, 2, 1500)
    blind = small(feature_scales="auto").fit(X, noise).profile_
    assert "one gamma: with scales, squared error of rows that are held out" in blind.scales
    assert blind.seconds_scales > 0
    found = small(feature_scales="auto").fit(X, y)
    assert found.profile_.scales.startswith("learnt: squared error of rows that are held out 0.")
    assert found.profile_.scales in str(found.profile_)
    found.save(tmp_path / "m.psvm")
    assert load_model(tmp_path / "m.psvm").profile_ == found.profile_
    continued = found.set_params(warm_start=True).fit(X, y)
    assert continued.profile_.scales.startswith("learnt: ")
    assert small(feature_scales=POWERS).fit(X, y).profile_.scales == ""
    assert "feature scales" not in str(small().fit(X, y).profile_)


# --- a model that is continued --------------------------------------------------------------------


def test_streams_keep_the_scales_of_the_first_batch():
    X, y = problem()
    one, other = small(feature_scales=POWERS, gamma=0.5), small(gamma=0.5)
    for begin in range(0, 1500, 500):
        rows = slice(begin, begin + 500)
        one.partial_fit(X[rows], y[rows], classes=[0, 1])
        other.partial_fit(X[rows] * POWERS, y[rows], classes=[0, 1])
    assert_array_equal(one.decision_function(X), other.decision_function(X * POWERS))


def test_the_profile_of_a_stream_keeps_the_time_of_learning(monkeypatch):
    learning(monkeypatch, POWERS)
    X, y = problem()
    model = small(feature_scales="learn").partial_fit(X, y, classes=[0, 1])
    seconds = model.profile_.seconds_scales
    assert model.partial_fit(X, y).profile_.seconds_scales == seconds > 0


@pytest.mark.parametrize("continued", ["warm_start", "partial_fit"])
def test_other_scales_than_those_of_the_model_are_refused(continued):
    X, y = problem(300)
    model = small(feature_scales=POWERS, warm_start=True).fit(X, y)
    again = model.fit if continued == "warm_start" else model.partial_fit
    again(X, y)
    with pytest.raises(ValueError, match="differs from the feature scales of the model"):
        model.set_params(feature_scales=OTHERS) and again(X, y)
    model.set_params(feature_scales=None) and again(X, y)
    assert_array_equal(model.feature_scales_, POWERS)
    plain = small(warm_start=True).fit(X, y)
    for wanted in (POWERS, "learn"):
        plain.set_params(feature_scales=wanted)
        with pytest.raises(ValueError, match="to be continued, which has none"):
            plain.fit(X, y) if continued == "warm_start" else plain.partial_fit(X, y)


def test_a_stream_is_polished_with_its_scales(tmp_path):
    X, y = problem()
    one = small(feature_scales=POWERS, gamma=0.5, reservoir=400)
    other = small(gamma=0.5, reservoir=400)
    one.partial_fit(X, y, classes=[0, 1])
    other.partial_fit(X * POWERS, y, classes=[0, 1])
    one.save(tmp_path / "stream.psvm")
    loaded = load_model(tmp_path / "stream.psvm")
    expected = other.polish_stream().decision_function(X * POWERS)
    assert_array_equal(one.polish_stream().decision_function(X), expected)
    assert_array_equal(loaded.polish_stream().decision_function(X), expected)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("budget", [20, 2], ids=["all", "some"])
def test_rows_on_disk_are_multiplied(form, budget, tmp_path):
    X, y = problem(3000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    scaled = pd.DataFrame(X * POWERS, columns=list("abcd")).assign(y=y)
    for name, each in (("raw", frame), ("scaled", scaled)):
        for k in range(3):
            part = each[1000 * k : 1000 * (k + 1)]
            path = tmp_path / f"{name}-{k}.{form}"
            part.to_csv(path, index=False) if form == "csv" else part.to_parquet(path)
    data = {
        name: open_dataset(str(tmp_path / f"{name}-*.{form}"), label="y")
        for name in ("raw", "scaled")
    }
    one = small(budget=budget, feature_scales=POWERS).fit(data["raw"])
    other = small(budget=budget).fit(data["scaled"])
    assert_allclose(one.gamma_, other.gamma_, rtol=1e-9)
    fixed = {"budget": budget, "gamma": 0.5}
    one = small(feature_scales=POWERS, **fixed).fit(data["raw"])
    other = small(**fixed).fit(data["scaled"])
    assert_array_equal(one.decision_function(data["raw"]), other.decision_function(data["scaled"]))
    assert_array_equal(one.decision_function(data["raw"]), one.decision_function(frame[[*"abcd"]]))


@LAYOUTS
def test_rows_in_batches_are_multiplied(layout):
    X, y = problem(3000)
    one = small(budget=2, gamma=0.5, feature_scales=POWERS).fit(Batches(layout(X), y))
    other = small(budget=2, gamma=0.5).fit(Batches(layout(X * POWERS), y))
    assert_array_equal(one.decision_function(X), other.decision_function(X * POWERS))


def test_a_large_norm_of_scaled_rows_needs_float64():
    """The range of the columns does not tell, so that the rows are read for it."""
    X, y = problem(3000)
    X[:, 0] += 1000.0
    given = {"budget": 2, "gamma": 1.0, "feature_scales": [1.0, 1.0, 1.0, 1.0]}
    assert small(**given).fit(Batches(X, y)).support_vectors_.dtype == np.float64
    given["feature_scales"] = [1e-3, 1.0, 1.0, 1.0]
    assert small(**given).fit(Batches(X, y)).support_vectors_.dtype == np.float32


def test_scales_follow_the_preparation():
    X, y = flowers()
    scales = [2.0, 0.5, 1.0, 4.0, 0.0]
    rows = Batches(X, y)
    rows.impute, rows.one_hot, rows.scaler = "median", ["colour"], StandardScaler()
    found = small(feature_scales=scales).fit(rows)
    expected = in_pipeline(small(feature_scales=scales)).fit(X, y)
    assert np.mean(found.predict(X) == expected.predict(X)) > 0.99
    with pytest.raises(ValueError, match="has 3 numbers, but the kernel sees 5 features"):
        small(feature_scales=[1.0, 1.0, 1.0]).fit(rows)


@pytest.mark.parametrize("scales", [POWERS, OTHERS.tolist(), [1, 2, 0, 1], pd.Series(OTHERS)])
def test_a_model_file_keeps_the_scales(scales, tmp_path):
    X, y = problem(400)
    model = small(feature_scales=scales).fit(X, y)
    model.save(tmp_path / "m.psvm")
    loaded = load_model(tmp_path / "m.psvm")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_array_equal(loaded.support_vectors_, model.support_vectors_)
    assert_array_equal(loaded.feature_scales_, model.feature_scales_)
    assert loaded.feature_scales_.dtype == np.float64
    assert_array_equal(loaded.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


def test_a_checkpoint_belongs_to_the_scales(tmp_path):
    X, y = problem()
    path = tmp_path / "fit.checkpoint"
    scales = np.ones(2000)  # a repr would leave most of them out
    X = np.hstack([X, np.zeros((len(X), 1996))])

    def stop(estimator, context):
        if context.task_name == "pass" and context.task_id == 2:
            raise KeyboardInterrupt

    class Stop:
        def setup(self, estimator, context): ...

        teardown = on_fit_task_begin = setup
        on_fit_task_end = staticmethod(stop)

    def fit(scales, *more):
        return (
            small(feature_scales=scales).set_callbacks(Checkpoint(path, every=0), *more).fit(X, y)
        )

    with pytest.raises(KeyboardInterrupt):
        fit(scales, Stop())
    other = scales.copy()
    other[1000] = 2.0
    with pytest.raises(ValueError, match="another fit: it was written with feature_scales"):
        fit(other)
    assert_array_equal(
        fit(scales).decision_function(X),
        small(feature_scales=scales).fit(X, y).decision_function(X),
    )


# --- learnt scales --------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", ["learn", "auto"])
def test_learnt_scales_carry_the_width(wanted, monkeypatch):
    calls = learning(monkeypatch, OTHERS)
    X, y = problem()
    model = small(feature_scales=wanted).fit(X, y)
    ((rows, targets, parameters, auto),) = calls
    assert_array_equal(rows.X, X)
    assert_array_equal(targets.codes, y)
    assert (parameters.C, auto) == (4.0, wanted == "auto")
    assert model.gamma_ == 1.0
    assert_array_equal(model.feature_scales_, OTHERS)
    expected = small(feature_scales=OTHERS, gamma=1.0).fit(X, y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert small(feature_scales=wanted, gamma=0.25).fit(X, y).gamma_ == 0.25


def test_auto_may_weigh_all_features_alike(monkeypatch):
    learning(monkeypatch, None)
    X, y = problem()
    model = small(feature_scales="auto").fit(X, y)
    assert model.feature_scales_ is None
    expected = small().fit(X, y)
    assert model.gamma_ == expected.gamma_
    assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_a_stream_learns_scales_from_its_first_batch(monkeypatch):
    calls = learning(monkeypatch, OTHERS)
    X, y = problem()
    model = small(feature_scales="learn").partial_fit(X[:500], y[:500], classes=[0, 1])
    model.partial_fit(X[500:], y[500:])
    assert len(calls) == 1
    assert_array_equal(model.feature_scales_, OTHERS)
    warm = small(feature_scales="learn", warm_start=True)
    warm.fit(X, y).fit(X, y)
    assert len(calls) == 2


def test_scales_are_learnt_on_the_sample_of_rows_on_disk(monkeypatch):
    calls = learning(monkeypatch, OTHERS)
    X, y = problem(3000)
    model = small(budget=2, feature_scales="learn").fit(Batches(X, y))
    assert calls[0][0].n_rows < 3000
    assert model.gamma_ == 1.0
    assert_array_equal(model.feature_scales_, OTHERS)


@pytest.mark.parametrize("wanted", ["learn", "auto"])
def test_scales_that_cannot_be_learnt_are_refused(wanted, monkeypatch):
    calls = learning(monkeypatch, OTHERS)
    X, y = problem(300)
    with pytest.raises(ValueError, match="polish=False is the setting of the paper"):
        small(feature_scales=wanted, polish=False).fit(X, y)
    with pytest.raises(ValueError, match="rows without labels do not tell which features matter"):
        BudgetedOneClassSVM(feature_scales=wanted).fit(X)
    assert not calls
    small(feature_scales=POWERS, polish=False).fit(X, y)


@pytest.mark.parametrize("task", ["classes", "numbers", "ranks"])
def test_columns_of_noise_hardly_count(task):
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 8))
    value = np.sin(2 * X[:, 0]) + np.abs(X[:, 1])
    given = {"budget": 50, "random_state": 0}
    if task == "ranks":
        qid, y = np.repeat(np.arange(40), 50), np.digitize(value, [0.0, 0.8, 1.6])
        model, plain = (BudgetedRanker(feature_scales=f, **given) for f in ("learn", None))
        train, test = (X[:1000], y[:1000], qid[:1000]), (X[1000:], y[1000:], qid[1000:])
    else:
        cls, y = (BudgetedSVR, value) if task == "numbers" else (BudgetedSVC, value > 0.8)
        model, plain = (cls(feature_scales=f, **given) for f in ("learn", None))
        train, test = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    assert model.fit(*train).score(*test) > plain.fit(*train).score(*test) + 0.01
    assert model.feature_scales_[2:].max() < 0.2 * model.feature_scales_[:2].min()
    assert_array_equal(model.feature_scales_, model.feature_scales_.astype(np.float32))


def test_estimators_with_scales_are_cloned():
    model = clone(small(feature_scales=OTHERS))
    assert_array_equal(model.feature_scales, OTHERS)
    assert Model.of(model.fit(*problem(100))).feature_scales is not model.feature_scales
