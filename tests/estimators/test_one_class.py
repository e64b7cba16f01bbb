"""BudgetedOneClassSVM: what it learns, its scale, weights, streams and bad input."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from models import assert_same_model, expected_failures
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from pocketsvm import BudgetedOneClassSVM, load_model, open_dataset


@parametrize_with_checks(
    [
        BudgetedOneClassSVM(),
        BudgetedOneClassSVM(  # as many parameters as possible differ from their defaults
            budget=50,
            nu=0.2,
            gamma=0.01,
            max_iter=10,
            maintenance="lookup-wd",
            polish=False,
            n_jobs=2,
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def ring(n=1500, seed=0):
    random = np.random.default_rng(seed)
    angle, radius = random.uniform(0, 2 * np.pi, n), random.normal(3, 0.25, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def everywhere(n=1500, seed=1):
    return np.random.default_rng(seed).uniform(-5, 5, (n, 2))


def small(**parameters):
    return BudgetedOneClassSVM(
        **{"budget": 40, "nu": 0.1, "gamma": 1.0, "random_state": 0} | parameters
    )


# --- the exact SVM --------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.8])
def test_with_all_rows_as_vectors_it_is_nearly_the_exact_svm(nu):
    X = np.random.default_rng(0).normal(size=(300, 3))
    exact = OneClassSVM(nu=nu).fit(X)
    model = BudgetedOneClassSVM(300, nu=nu, random_state=0).fit(X)
    assert_allclose(model.gamma_, exact._gamma)
    assert_allclose(model.dual_coef_.sum(), nu * 300, rtol=0.01)
    assert_allclose(model.offset_, exact.offset_[0], rtol=0.02)
    scale = exact.score_samples(X).std()
    assert_allclose(model.score_samples(X), exact.score_samples(X), rtol=0, atol=0.2 * scale)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.95


@pytest.mark.parametrize("polish", [True, False])
def test_ranks_rows_as_the_exact_svm_with_a_tenth_of_its_vectors(polish):
    X, inside, outside = ring(), ring(seed=2), everywhere()
    rows, truth = np.concatenate([inside, outside]), np.repeat([1, 0], 1500)
    exact = OneClassSVM(nu=0.1, gamma=1.0).fit(X)
    model = small(budget=len(exact.support_vectors_) // 10, polish=polish).fit(X)
    best, found = (roc_auc_score(truth, svm.decision_function(rows)) for svm in (exact, model))
    assert found > best - 0.01


def test_finds_other_digits():
    X, digit = load_digits(return_X_y=True)
    X = X / 16
    model = BudgetedOneClassSVM(10, nu=0.1, random_state=0).fit(X[digit == 0][:120])
    new = np.concatenate([X[digit == 0][120:], X[digit != 0]])
    truth = np.arange(len(new)) < np.sum(digit == 0) - 120
    assert roc_auc_score(truth, model.decision_function(new)) > 0.99


# --- the offset -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("polish", [True, False])
def test_share_of_outliers_is_nu(nu, polish):
    X = ring()
    model = small(nu=nu, polish=polish).fit(X)
    assert np.mean(model.predict(X) == -1) == pytest.approx(nu, abs=0.002)
    assert_array_equal(model.fit_predict(X), model.predict(X))


def test_scores_are_decision_values_plus_the_offset():
    model, X = small().fit(ring()), everywhere()
    assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert model.offset_ == -model.intercept_[0]


def test_weights_count_as_repeated_rows():
    X = ring(600)
    weights = np.where(X[:, 0] > 0, 3.0, 1.0)
    weighted = small(nu=0.2).fit(X, sample_weight=weights)
    repeated = small(nu=0.2).fit(np.repeat(X, weights.astype(int), axis=0))
    outliers = weighted.predict(X) == -1
    assert weights[outliers].sum() / weights.sum() == pytest.approx(0.2, abs=0.01)
    values = [model.decision_function(everywhere()) for model in (weighted, repeated)]
    assert np.corrcoef(*values)[0, 1] > 0.99
    assert_allclose(weighted.offset_, repeated.offset_, rtol=0.05)
    assert_same_model(weighted, small(nu=0.2).fit(X, sample_weight=weights))


def test_rows_of_zero_weight_are_ignored():
    X = ring(300)
    weights = np.arange(300) % 3 > 0
    assert_same_model(small().fit(X, sample_weight=weights), small().fit(X[weights]))


# --- layouts, files, streams ----------------------------------------------------------------------


def test_dense_and_sparse_rows_and_any_threads_give_the_same_bits():
    X = np.where(np.random.default_rng(0).random((400, 12)) < 0.8, 0, 1.0).astype(np.float32)
    one = small(n_jobs=1).fit(X)
    for other in (small(n_jobs=3).fit(X), small().fit(sp.csr_array(X))):
        assert_same_model(one, other)
        assert_array_equal(one.decision_function(X), other.decision_function(sp.csr_array(X)))


def test_many_rows_are_solved_on_a_sample_first(monkeypatch):
    X = ring(6000)
    whole = small(budget=20).fit(X)
    monkeypatch.setattr("pocketsvm.solving.solve.sample_size", lambda *_: 1500)
    sampled = small(budget=20).fit(X)
    assert_allclose(sampled.offset_, whole.offset_, rtol=0.02)
    values = [model.decision_function(everywhere()) for model in (whole, sampled)]
    # Vectors move only if all rows are in the part that is solved on first.
    assert np.corrcoef(*values)[0, 1] > 0.99


def test_stream_finds_the_ring_and_the_share_of_outliers(tmp_path):
    X, model = ring(6000), small()
    for begin in range(0, 6000, 300):
        model.partial_fit(X[begin : begin + 300])
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1, abs=0.03)
    rows, truth = np.concatenate([ring(seed=2), everywhere()]), np.repeat([1, 0], 1500)
    assert roc_auc_score(truth, model.decision_function(rows)) > 0.9
    model.save(tmp_path / "ring.psvm")
    twin = load_model(tmp_path / "ring.psvm")
    assert isinstance(twin, BudgetedOneClassSVM)
    assert_same_model(model.partial_fit(X[:300]), twin.partial_fit(X[:300]))


@pytest.mark.parametrize("polish", [True, False])
def test_partial_fit_after_fit_keeps_the_share_of_outliers(polish):
    X = ring()
    model = small(polish=polish).fit(X).partial_fit(X[:300])
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.1, abs=0.04)


def test_warm_start_continues():
    X = ring()
    model = small(warm_start=True, max_iter=2).fit(X)
    steps = model.profile_.steps
    model.set_params(nu=0.3).fit(X)
    assert model._state.states[0].steps == steps + model.profile_.steps
    assert np.mean(model.predict(X) == -1) == pytest.approx(0.3, abs=0.002)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0, -0.1, 1.1, np.nan, "small", None])
def test_bad_nu_is_refused(nu):
    with pytest.raises(ValueError, match="The 'nu' parameter of BudgetedOneClassSVM must be"):
        small(nu=nu).fit(ring(50))


def test_equal_rows_are_all_normal():
    model = small(gamma="scale").fit(np.ones((20, 3)))
    assert_array_equal(model.predict(np.ones((2, 3))), 1)
    assert_array_equal(model.predict([[9.0, 9.0, 9.0]]), -1)


class Batches:
    def __init__(self, X):
        self.X = X

    def batches(self):
        for k in range(0, len(self.X), 400):
            yield self.X[k : k + 400], None


def test_a_data_set_in_the_sample_gives_the_model_of_rows_in_memory(tmp_path):
    X = ring()
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "rows.parquet")
    np.save(tmp_path / "rows.npy", X)
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b", comments="", fmt="%.17g")
    expected = small().fit(X)
    assert_same_model(small().fit(Batches(X)), expected)
    for name in ("rows.parquet", "rows.npy", "rows.csv"):  # no column is the label
        assert_same_model(small().fit(open_dataset(tmp_path / name)), expected)


def test_labels_of_a_data_set_are_no_features(tmp_path):
    X = ring()
    labels = np.where(X[:, 0] > 0, "right", "left")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "side": labels})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = small().fit(open_dataset(tmp_path / "rows.parquet", "side"))
    assert_same_model(found, small().fit(X))


def test_a_large_data_set_is_sampled(tmp_path):
    X = ring(20_000)
    found = small(budget=10, nu=0.1).fit(Batches(X))
    assert abs((found.predict(X) == -1).mean() - 0.1) < 0.01
    scaled = BudgetedOneClassSVM(10, nu=0.1, random_state=0)
    X *= [1, 1000]
    np.save(tmp_path / "rows.npy", X)
    scaled.fit(open_dataset(tmp_path / "rows.npy", scaler=StandardScaler()))
    assert abs((scaled.predict(X) == -1).mean() - 0.1) < 0.01


@pytest.mark.parametrize("weight", [1e38, 1e-100])
def test_weights_beyond_the_range_of_scores_are_refused(weight):
    X = ring()
    with pytest.raises(ValueError, match=r"mean of sample_weight is 1e.* between 1e-30 and 1e\+30"):
        small().fit(X, sample_weight=np.full(len(X), weight))


@pytest.mark.parametrize("weight", [1e29, 1e-29])
def test_the_unit_of_weights_decides_nothing(weight):
    X = ring()
    found = small().fit(X, sample_weight=np.full(len(X), weight))
    assert_array_equal(found.predict(everywhere()), small().fit(X).predict(everywhere()))
