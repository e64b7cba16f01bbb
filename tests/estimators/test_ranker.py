"""BudgetedRanker: what it learns, queries, weights, metadata routing, streams and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from callbacks import Recorder
from models import assert_same_model, expected_failures
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.datasets.rankings import Queries
from benchmarks.rankers import ExactRanker
from pocketsvm import BudgetedRanker, load_model
from pocketsvm.metrics import pairwise_accuracy

SAME_IN_A_QUERY = "all rows are of one query, which has one weight"


def expected_to_fail(estimator):
    names = ["check_sample_weights_not_overwritten"]
    return expected_failures(estimator) | dict.fromkeys(names, SAME_IN_A_QUERY)


@parametrize_with_checks(
    [
        BudgetedRanker(),
        BudgetedRanker(  # as many parameters as possible differ from their defaults
            budget=50,
            C=2.0,
            gamma=0.01,
            max_iter=10,
            maintenance="lookup-wd",
            polish=False,
            alpha=1e-3,
            n_jobs=2,
        ),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def small(**parameters):
    return BudgetedRanker(**{"budget": 40, "C": 10.0, "random_state": 0} | parameters)


# --- what it learns -------------------------------------------------------------------------------


def test_with_all_rows_as_vectors_it_is_nearly_the_exact_svm():
    X, y, qid = graded(12, 12)
    T, truth, queries = graded(40, 12, seed=1)
    exact = ExactRanker(1.0, 0.3).fit(Queries(X, y, qid)).predict(T)
    scores = BudgetedRanker(144, 1.0, gamma=0.3, random_state=0).fit(X, y, qid=qid).predict(T)
    assert np.corrcoef(scores, exact)[0, 1] > 0.99
    best = pairwise_accuracy(truth, exact, queries)
    assert pairwise_accuracy(truth, scores, queries) == pytest.approx(best, abs=0.01)


@pytest.mark.parametrize("polish", [True, False, "thorough"])
def test_learns_an_order_that_is_not_linear(polish):
    X, y, qid = graded(60, 20)
    T, truth, queries = graded(40, 20, seed=1)
    model = small(polish=polish).fit(X, y, qid=qid)
    assert len(model.support_vectors_) <= 40
    assert pairwise_accuracy(truth, model.predict(T), queries) > 0.9
    assert model.score(T, truth, queries) > 0.95
    assert_array_equal(model.intercept_, 0)


def test_only_orders_within_queries_count():
    """A shift of the relevance of each query changes nothing, and neither does its scale."""
    X, y, qid = graded()
    shifted = np.exp(y / 2.0) * (1 + qid) - 7 * qid
    assert_same_model(small().fit(X, y, qid=qid), small().fit(X, shifted, qid=qid))


def test_rows_of_a_query_need_not_be_together():
    X, y, qid = graded()
    order = np.argsort(np.arange(len(y)) % 12, kind="stable")  # keeps the order inside queries
    names = np.array([f"query {q:03}" for q in qid])
    assert_same_model(small().fit(X, y, qid=qid), small().fit(X[order], y[order], qid=names[order]))


def test_queries_without_a_pair_are_ignored():
    X, y, qid = graded()
    more = np.concatenate([X, X[:3] + 1])
    extended = small(gamma=0.1).fit(more, np.append(y, [1, 1, 2]), qid=np.append(qid, [99, 99, 98]))
    assert_same_model(extended, small(gamma=0.1).fit(X, y, qid=qid))


def test_score_is_ndcg():
    X, y, qid = graded()
    model = small().fit(X, y, qid=qid)
    scores = model.predict(X)
    each = [ndcg_score([y[qid == q]], [scores[qid == q]]) for q in np.unique(qid)]
    assert model.score(X, y, qid=qid) == pytest.approx(np.mean(each))
    assert model.score(X, y) == pytest.approx(ndcg_score([y], [scores]))


# --- weights --------------------------------------------------------------------------------------


def test_weights_of_queries_decide_between_contradictions():
    X, y, qid = graded(20, 12)
    both, orders = np.concatenate([X, X]), np.concatenate([y, -y])
    queries = np.concatenate([qid, qid + 100])
    weights = np.repeat([3.0, 1.0], len(X))
    model = small(C=1.0).fit(both, orders, qid=queries, sample_weight=weights)
    assert pairwise_accuracy(y, model.predict(X), qid) > 0.8
    model.fit(both, orders, qid=queries, sample_weight=weights[::-1])
    assert pairwise_accuracy(y, model.predict(X), qid) < 0.2


def test_queries_of_zero_weight_are_ignored():
    X, y, qid = graded()
    weights = (qid % 3 > 0).astype(float)
    some = weights > 0
    assert_same_model(
        small(gamma=0.1).fit(X, y, qid=qid, sample_weight=weights),
        small(gamma=0.1).fit(X[some], y[some], qid=qid[some]),
    )


# --- scikit-learn ---------------------------------------------------------------------------------


def test_queries_are_routed_to_fit_and_score():
    X, y, qid = graded()
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_fit_request(qid=True).set_score_request(qid=True)
        scores = cross_val_score(model, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3))
        assert scores.min() > 0.85
        search = GridSearchCV(model, {"C": [0.01, 10.0]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
        assert search.best_params_ == {"C": 10.0}


def test_callbacks_get_the_queries():
    X, y, qid = graded()
    recorder = Recorder()
    model = small(max_iter=2, polish=False).set_callbacks(recorder).fit(X, y, qid=qid)
    assert recorder.metadata["qid"] is qid
    assert recorder.scores[-1] == model.score(X, y)


# --- layouts, many rows, files, streams -----------------------------------------------------------


def test_dense_and_sparse_rows_and_any_threads_give_the_same_bits():
    X, y, qid = graded()
    X = np.where(np.abs(X) < 0.5, 0, X).astype(np.float32)
    one = small(n_jobs=1).fit(X, y, qid=qid)
    for other in (small(n_jobs=3).fit(X, y, qid=qid), small().fit(sp.csr_array(X), y, qid=qid)):
        assert_same_model(one, other)


def test_many_rows_are_solved_on_a_sample_first(monkeypatch):
    X, y, qid = graded(150, 20)
    whole = small(budget=20).fit(X, y, qid=qid)
    monkeypatch.setattr("pocketsvm.solving.solve.sample_size", lambda *_: 1000)
    sampled = small(budget=20).fit(X, y, qid=qid)
    assert sampled.profile_.objective_after == pytest.approx(
        whole.profile_.objective_after, rel=0.02
    )
    one = small(n_jobs=3, budget=20).fit(X, y, qid=qid)
    assert_same_model(one, sampled)


def test_stream_learns_and_continues_from_a_file(tmp_path):
    X, y, qid = graded(200, 20)
    model = small(alpha=1e-4)
    for begin in range(0, 4000, 400):
        at = slice(begin, begin + 400)
        model.partial_fit(X[at], y[at], qid=qid[at])
    assert model.score(X, y, qid=qid) > 0.93
    model.save(tmp_path / "model.psvm")
    twin = load_model(tmp_path / "model.psvm")
    assert isinstance(twin, BudgetedRanker)
    for each in (model, twin):
        each.partial_fit(X[:400], y[:400], qid=qid[:400])
    assert_same_model(model, twin)


def test_warm_start_continues():
    X, y, qid = graded()
    twice = small(warm_start=True, max_iter=2, polish=False).fit(X, y, qid=qid).fit(X, y, qid=qid)
    assert twice._state.states[0].steps == 4 * len(X)
    assert_allclose(twice.dual_coef_, small(max_iter=4, polish=False).fit(X, y, qid=qid).dual_coef_)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1, 1, 1, 1]}, "nothing to rank in n_samples=4 rows"),
        ({"qid": [1, 2, 3, 4]}, "no query has two rows of different relevance"),
        ({"qid": [1, 1, 2]}, "qid must have one entry per row, 4, got 3"),
        ({"sample_weight": [1, 2, 1, 1]}, "sample_weight must be the same for all rows"),
        ({"sample_weight": [-1, 1, 1, 1]}, "Negative values in data passed to `sample_weight`"),
        ({"y": [1, 2, 3, np.nan]}, "Input y contains NaN"),
        ({"y": ["a", "b", "c", "d"]}, "could not convert string to float"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    data = {"X": np.eye(4), "y": [0, 1, 2, 3], "qid": [1, 1, 2, 2]} | arguments
    model = small()
    with pytest.raises(ValueError, match=message):
        model.fit(**data)
    assert not hasattr(model, "dual_coef_")
