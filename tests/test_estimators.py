"""BudgetedSVC: what it learns, what stays the same, and what scikit-learn expects of it."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from both import assert_same_model, expected_failures
from numpy.testing import assert_allclose, assert_array_equal
from reference import REMOVING
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_blobs, make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from pocketsvm import BudgetedSVC, _core
from pocketsvm.estimators import Profile

STRATEGIES = _core.strategies()


def moons(n=1000, dtype=np.float64, noise=0.2):
    X, y = make_moons(n, noise=noise, random_state=0)
    return X.astype(dtype), y


def blobs(n_classes=3, n=900):
    return make_blobs(n, n_features=5, centers=n_classes, cluster_std=2.0, random_state=1)


def small(**parameters):
    defaults = {"budget": 30, "C": 10.0, "random_state": 0, "max_iter": 5, "polish": False}
    return BudgetedSVC(**defaults | parameters)


def differs(one, other):
    return not np.array_equal(one.support_vectors_, other.support_vectors_)


# --- scikit-learn's own checks -------------------------------------------------------------------


@parametrize_with_checks(
    [
        BudgetedSVC(),
        BudgetedSVC(budget=20, fit_intercept=False, alpha=1e-3, n_jobs=2),
        *(BudgetedSVC(budget=50, maintenance=name, max_iter=10) for name in STRATEGIES[1:]),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- what it learns ------------------------------------------------------------------------------


@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_every_strategy_learns_the_moons(maintenance):
    X, y = moons(3000, noise=0.15)
    clf = BudgetedSVC(30, 10.0, maintenance=maintenance, random_state=0).fit(X[:2000], y[:2000])
    assert clf.score(X[2000:], y[2000:]) > (0.8 if maintenance in REMOVING else 0.95)
    assert 28 <= len(clf.support_vectors_) <= 30  # equal ones are joined


def test_without_overflow_it_comes_close_to_the_exact_svm():
    X, y = moons(400)
    exact = SVC(C=1.0, gamma=1.0).fit(X, y)
    # A budget that is never reached and no intercept to disagree about: plain Pegasos.
    clf = BudgetedSVC(100_000, 1.0, gamma=1.0, max_iter=200, random_state=0).fit(X, y)
    assert clf.profile_.merges == clf.profile_.removals == 0
    assert np.mean(clf.predict(X) == exact.predict(X)) > 0.98
    assert np.corrcoef(clf.decision_function(X), exact.decision_function(X))[0, 1] > 0.99


@pytest.mark.parametrize(("n_classes", "budget"), [(2, 25), (3, 25), (10, 47)])
def test_budget_bounds_the_whole_model(n_classes, budget):
    X, y = blobs(n_classes)
    clf = small(budget=budget).fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    assert len(clf.support_vectors_) <= budget
    assert clf.dual_coef_.shape == (n_outputs, len(clf.support_vectors_))
    assert clf.intercept_.shape == (n_outputs,)
    # Every vector serves one output, and no output has more than its share.
    assert_array_equal((clf.dual_coef_ != 0).sum(axis=0), 1)
    assert (clf.dual_coef_ != 0).sum(axis=1).max() <= budget // n_outputs


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_attributes_are_the_decision_function(n_classes, fit_intercept):
    X, y = blobs(n_classes)
    clf = small(budget=60, fit_intercept=fit_intercept).fit(X, y)
    kernel = rbf_kernel(X, clf.support_vectors_.astype(np.float64), gamma=clf.gamma_)
    values = kernel @ clf.dual_coef_.T + clf.intercept_
    scale = np.abs(clf.dual_coef_).sum()
    decisions = clf.decision_function(X)
    assert decisions.shape == ((len(X),) if n_classes == 2 else (len(X), n_classes))
    assert_allclose(decisions.reshape(values.shape), values, rtol=0, atol=1e-5 * scale)
    if n_classes == 10:  # one against nine: no intercept of zero by chance
        assert np.any(clf.intercept_ != 0) == fit_intercept


def test_ten_classes_of_digits():
    X, y = load_digits(return_X_y=True)
    clf = BudgetedSVC(500, 10.0, random_state=0).fit(X[:1200], y[:1200])
    assert clf.score(X[1200:], y[1200:]) > 0.9
    assert_array_equal(clf.predict(X), clf.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize(
    "names", [["no", "yes"], [-1, 1], [False, True], [2.0, 7.0], ["c", "a", "b"], [30, 10, 20]]
)
def test_labels_may_be_anything_that_sorts(names):
    X, codes = blobs(len(names))
    clf = small().fit(X, codes)
    renamed = small().fit(X, np.array(sorted(names))[codes])
    assert_array_equal(renamed.classes_, sorted(names))
    assert_array_equal(renamed.predict(X), np.array(sorted(names))[clf.predict(X)])
    assert_array_equal(renamed.dual_coef_, clf.dual_coef_)


def test_regularisation_is_one_over_n_times_c():
    X, y = moons(500)
    by_C = small(C=4.0).fit(X, y)
    by_alpha = small(C=123.0, alpha=1 / 2000).fit(X, y)
    assert by_C.alpha_ == pytest.approx(1 / 2000, rel=1e-15)
    assert_allclose(by_C.dual_coef_, by_alpha.dual_coef_, rtol=1e-12)


def test_gamma_is_that_of_svc():
    X, y = moons()
    assert small(gamma="scale").fit(X, y).gamma_ == pytest.approx(1 / (2 * X.var()), rel=1e-6)
    assert small(gamma="auto").fit(X, y).gamma_ == 0.5
    assert small(gamma=0.7).fit(X, y).gamma_ == 0.7
    assert small(gamma="scale").fit(np.ones_like(X), y).gamma_ == 1.0


def test_budget_above_the_number_of_rows():
    X, y = moons(60)
    clf = small(budget=10_000).fit(X, y)
    assert clf.score(X, y) > 0.8
    assert clf.profile_.merge_frequency == 0


# --- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_seed_decides_everything(n_classes):
    X, y = blobs(n_classes)
    assert_same_model(small().fit(X, y), small().fit(X, y))
    assert differs(small().fit(X, y), small(random_state=1).fit(X, y))
    generators = {state["generator"].tobytes() for state in small().fit(X, y)._states}
    assert len(generators) == (1 if n_classes == 2 else n_classes)


@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_threads_do_not_change_a_bit(maintenance):
    X, y = blobs(5)
    one = small(n_jobs=1, maintenance=maintenance).fit(X, y)
    many = small(n_jobs=4, maintenance=maintenance).fit(X, y)
    assert_same_model(one, many)
    assert_array_equal(one.decision_function(X), many.decision_function(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit_of_one_problem(dtype):
    X, y = make_classification(3000, 12, flip_y=0.2, random_state=0)
    X = X.astype(dtype) + (2000 if dtype == np.float64 else 0)  # an offset that keeps it float64
    one, many = (
        # Large enough a budget for threads to help.
        BudgetedSVC(150, gamma=0.1, polish=False, max_iter=2, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 3)
    )
    assert one.support_vectors_.dtype == dtype
    assert one.profile_.merges > 500
    assert_same_model(one, many)


def sparse_and_dense(dtype=np.float32):
    X = sp.random_array((600, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    X = X.astype(dtype)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > np.asarray(X[:, 20:].sum(axis=1)).ravel()
    return X, X.toarray(), y


def shuffled_entries(X):
    """The same matrix with every row's entries in reverse, and the largest split in two halves."""
    order = np.concatenate(
        [np.arange(b, e)[::-1] for b, e in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    )
    data, indices, indptr = X.data[order], X.indices[order], X.indptr.copy()
    i = int(np.argmax(data))
    data = np.insert(data, i, data[i] / 2)
    data[i + 1] /= 2
    indices = np.insert(indices, i, indices[i])
    indptr[indptr > i] += 1
    return sp.csr_matrix((data, indices, indptr), shape=X.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_dense_and_sparse_give_the_same_bits(dtype, maintenance):
    S, X, y = sparse_and_dense(dtype)
    dense = small(maintenance=maintenance).fit(X, y)
    sparse = small(maintenance=maintenance).fit(S, y)
    assert_same_model(dense, sparse)
    for one, other in ((dense, sparse), (sparse, dense)):
        assert_array_equal(one.decision_function(X), other.decision_function(S))


@pytest.mark.parametrize(
    "variant",
    [
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_array,
        sp.lil_array,
        sp.dok_array,
        shuffled_entries,
        lambda X: sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr), shape=X.shape),
        lambda X: X.astype(np.float64),
    ],
)
def test_the_sparse_format_does_not_matter(variant):
    S, _, y = sparse_and_dense()
    same = variant(S)
    before = copy.deepcopy(same)
    expected, clf = small().fit(S, y), small().fit(same, y)
    assert_same_model(expected, clf)
    assert_array_equal(expected.decision_function(S), clf.decision_function(same))
    if same.format == "csr":  # the user's matrix is as it was, entry by entry
        assert_array_equal(same.data, before.data)
        assert_array_equal(same.indices, before.indices)
        assert same.indices.dtype == before.indices.dtype


def test_explicit_zeros_and_empty_rows_are_zeros():
    S, X, y = sparse_and_dense()
    X[::7] = 0
    S = sp.csr_array(X)
    zeros = S.copy()
    zeros.data[::5] = 0
    assert_same_model(small().fit(zeros, y), small().fit(zeros.toarray(), y))
    assert np.diff(S.indptr).min() == 0
    assert_same_model(small().fit(S, y), small().fit(X, y))


@pytest.mark.parametrize(
    "variant",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1],
        lambda X: X.astype(np.float64),
        lambda X: X.astype(">f4"),
        np.ndarray.tolist,
        pd.DataFrame,
    ],
)
def test_memory_order_and_container_do_not_matter(variant):
    X, y = moons(dtype=np.float32)
    expected, clf = small().fit(X, y), small().fit(variant(X), y)
    assert_same_model(expected, clf)
    assert_array_equal(expected.decision_function(X), clf.decision_function(variant(X)))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_do_not_depend_on_the_batch(n_classes, n_jobs):
    X, y = blobs(n_classes)
    clf = small(n_jobs=n_jobs).fit(X, y)
    X[5] = 1e30  # not even in a batch with a row that is too large for float32
    whole = clf.decision_function(X)
    for size in (1, 3, 16, 250):
        parts = [clf.decision_function(X[i : i + size]) for i in range(0, len(X), size)]
        assert_array_equal(np.concatenate(parts), whole)
    assert_array_equal(clf.decision_function(sp.csr_array(X)), whole)
    assert_allclose(np.ravel(whole[5]), clf.intercept_, rtol=0, atol=1e-30)


# --- weights -------------------------------------------------------------------------------------


def test_rows_of_zero_weight_are_not_there():
    X, y = blobs(4)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[y == 3] = 0
    kept = weight > 0
    for rows in (X, sp.csr_array(X)):
        clf = small().fit(rows, y, sample_weight=weight)
        assert_same_model(clf, small().fit(X[kept], y[kept], sample_weight=weight[kept]))
        assert_array_equal(clf.classes_, [0, 1, 2])


def test_a_class_of_zero_weight_is_not_there():
    X, y = blobs(4)
    clf = small(class_weight={1: 0.0, 2: 2.0}).fit(X, y)
    assert_same_model(clf, small(class_weight={2: 2.0}).fit(X[y != 1], y[y != 1]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weights_are_row_weights(n_classes):
    X, y = blobs(n_classes)
    weight = np.linspace(1, 2, len(y))
    per_class = {0: 0.5, 1: 3.0}
    per_row = np.array([0.5, 3.0, 1.0])[y]
    by_class = small(class_weight=per_class).fit(X, y, sample_weight=weight)
    assert_same_model(by_class, small().fit(X, y, sample_weight=weight * per_row))
    assert differs(by_class, small().fit(X, y, sample_weight=weight))


def test_balanced_weights_are_those_of_the_class_counts():
    X, y = make_classification(800, weights=[0.9], flip_y=0.02, random_state=0)
    counts = np.bincount(y)
    by_hand = dict(enumerate(len(y) / (2 * counts)))
    balanced = small(class_weight="balanced").fit(X, y)
    assert_same_model(balanced, small(class_weight=by_hand).fit(X, y))
    plain = small().fit(X, y)
    assert np.mean(balanced.predict(X) == 1) > np.mean(plain.predict(X) == 1)
    # Counted with the weights of the rows, as if they were repeated.
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    by_hand = dict(enumerate(weight.sum() / (2 * np.bincount(y, weight))))
    balanced.fit(X, y, sample_weight=weight)
    assert_same_model(balanced, small(class_weight=by_hand).fit(X, y, sample_weight=weight))


def test_a_unit_weight_changes_nothing():
    X, y = moons()
    assert_same_model(small().fit(X, y), small().fit(X, y, sample_weight=np.ones(len(y))))


def test_integer_weights_are_roughly_repeated_rows():
    X, y = moons(2000)
    times = np.where(y == 1, 4, 1)
    weighted = BudgetedSVC(200, random_state=0).fit(X, y, sample_weight=times)
    # Four rows for one make n larger; the same alpha keeps the same balance with the loss.
    repeated = BudgetedSVC(200, random_state=0, C=2000 / times.sum()).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.95
    assert np.mean(weighted.predict(X)) > np.mean(y) + 0.02  # and the weights do count


# --- continuing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_warm_start_continues_where_the_last_fit_ended(maintenance):
    X, y = blobs(3)
    clf = small(max_iter=2, warm_start=True, maintenance=maintenance)
    clf.fit(X, y)
    profile = clf.profile_
    clf = pickle.loads(pickle.dumps(clf)).set_params(max_iter=3).fit(X, y)
    whole = small(max_iter=5, maintenance=maintenance).fit(X, y)
    assert_same_model(clf, whole)
    assert clf.n_iter_ == 3
    assert (profile + clf.profile_).merges == whole.profile_.merges
    # Without warm_start a fit starts anew.
    assert_same_model(clf.set_params(max_iter=5, warm_start=False).fit(X, y), whole)


def sure_row(clf, X, y):
    """A row beyond the margin: a step on it adds no vector."""
    sure = np.flatnonzero((2 * y - 1) * clf.decision_function(X) > 1.5)[0]
    return X[sure : sure + 1], y[sure : sure + 1]


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 1.0])
def test_a_new_alpha_does_not_make_the_model_jump(alpha):
    X, y = moons()
    clf = small().fit(X, y)
    vectors, coefficients, steps = clf.support_vectors_, clf.dual_coef_, clf.profile_.steps
    clf.set_params(alpha=alpha).partial_fit(*sure_row(clf, X, y))
    assert clf.profile_.violations == 0
    assert clf.alpha_ == alpha
    # One step of shrinking, (t - 1) / t, whatever alpha.
    assert_array_equal(clf.support_vectors_, vectors)
    assert_allclose(clf.dual_coef_, coefficients * steps / (steps + 1), rtol=1e-6)


def test_warm_start_keeps_gamma_and_follows_the_new_data():
    X, y = moons(2000)
    clf = small(warm_start=True).fit(X[:500], y[:500])
    gamma = clf.gamma_
    clf.fit(X[500:] * 1.5, y[500:])
    assert clf.gamma_ == gamma
    assert clf.alpha_ == pytest.approx(1 / (1500 * 10))


def test_warm_start_may_change_the_budget():
    X, y = moons()
    clf = small(budget=60, warm_start=True).fit(X, y)
    assert len(clf.support_vectors_) == 60
    assert len(clf.set_params(budget=10).fit(X, y).support_vectors_) == 10
    assert clf.score(X, y) > 0.8
    assert len(clf.set_params(budget=40).fit(X, y).support_vectors_) == 40


def test_warm_start_refuses_other_data():
    X, y = blobs(3)
    clf = small(warm_start=True).fit(X, y)
    before = clf.support_vectors_
    with pytest.raises(ValueError, match="X has 4 features, but BudgetedSVC is expecting 5"):
        clf.fit(X[:, :4], y)
    with pytest.raises(ValueError, match=r"continues a model of the classes .*0, 1, 2.*0, 1"):
        clf.fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"gamma=0.123 differs from the gamma_="):
        clf.set_params(gamma=0.123).fit(X, y)
    assert clf.support_vectors_ is before
    clf.set_params(gamma=clf.gamma_).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_is_one_pass(n_classes):
    X, y = blobs(n_classes)
    once = small(alpha=1e-3).partial_fit(X, y, classes=np.unique(y))
    assert_same_model(once, small(alpha=1e-3, max_iter=1).fit(X, y))
    assert once.n_iter_ == 1
    assert once.profile_.steps == len(y) * len(once.classes_ if n_classes > 2 else [1])


def test_partial_fit_in_batches_learns_like_fit():
    X, y = moons(6000)
    stream = BudgetedSVC(50, alpha=1 / 40_000, random_state=0)
    for i in range(0, 4000, 250):
        stream.partial_fit(X[i : i + 250], y[i : i + 250], classes=[0, 1])
        assert len(stream.support_vectors_) <= 50
    whole = BudgetedSVC(50, alpha=1 / 40_000, max_iter=1, random_state=0).fit(X[:4000], y[:4000])
    test = X[4000:], y[4000:]
    assert stream._states[0]["steps"] == 4000
    assert stream.score(*test) > whole.score(*test) - 0.03
    assert stream.score(*test) > 0.9


def test_partial_fit_without_alpha_takes_c_for_ten_thousand_rows():
    X, y = moons()
    clf = small(C=8.0).partial_fit(X, y, classes=[0, 1])
    assert clf.alpha_ == pytest.approx(1e-4 / 8, rel=1e-12)
    assert clf.partial_fit(X[:10], y[:10]).alpha_ == clf.alpha_
    fitted = small(C=8.0).fit(X, y)
    alpha, gamma = fitted.alpha_, fitted.gamma_
    fitted.partial_fit(3 * X[:10], y[:10])
    assert (fitted.alpha_, fitted.gamma_) == (alpha, gamma)


def test_partial_fit_takes_batches_that_lack_a_class():
    X, y = blobs(3)
    clf = small()
    for k in (2, 0, 1, 0, 1, 2):
        clf.partial_fit(X[y == k], y[y == k], classes=[0, 1, 2])
    assert clf.dual_coef_.shape[0] == 3
    assert clf.score(X, y) > 1 / 3


def test_partial_fit_refuses_what_it_cannot_know():
    X, y = moons()
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        small().partial_fit(X, y)
    with pytest.raises(
        ValueError, match="class_weight 'balanced' is not supported for partial_fit"
    ):
        small(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="has to be greater than one; got 1 class"):
        small().partial_fit(X, np.zeros(len(y)), classes=[0])
    clf = small().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y holds the label .*7.*, which is not in classes"):
        clf.partial_fit(X[:2], [1, 7])
    with pytest.raises(ValueError, match="y holds labels of another type than classes"):
        clf.partial_fit(X[:2], np.array(["a", "b"], dtype=object))


# --- callbacks, verbosity, the profile -----------------------------------------------------------


class Recorder:
    """A scikit-learn callback that remembers what it is told, and may ask to stop."""

    def __init__(self, stop_after=None):
        self.events, self.scores, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.events.append(("end", context.task_name, context.task_id))
        self.scores.append(fitted_estimator.score(X, y))
        self.metadata = metadata
        return context.parent is not None and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.max_subtasks))


def test_callbacks_see_every_pass():
    X, y = blobs(3)
    recorder = Recorder()
    clf = small(max_iter=3).set_callbacks(recorder).fit(X, y)
    passes = [(when, "pass", i) for i in range(3) for when in ("begin", "end")]
    assert recorder.events == [
        ("setup", "fit", 3),
        ("begin", "fit", 0),
        *passes,
        ("end", "fit", 0),
        ("teardown", "fit", 3),
    ]
    # After each pass the callback gets the model as it is then; the last two are the same.
    assert len(set(recorder.scores)) > 1
    assert recorder.scores[-1] == recorder.scores[-2] == clf.score(X, y)
    assert recorder.metadata is None
    assert_same_model(clf, small(max_iter=3).fit(X, y))


def test_a_callback_may_stop_the_passes():
    X, y = moons()
    weight = np.ones(len(y))
    recorder = Recorder(stop_after=2)
    clf = small(max_iter=50).set_callbacks(recorder).fit(X, y, sample_weight=weight)
    assert clf.n_iter_ == 2
    assert_same_model(clf, small(max_iter=2).fit(X, y))
    assert_array_equal(recorder.metadata["sample_weight"], weight)


def test_callbacks_see_partial_fit_and_the_names_of_a_new_fit():
    X, y = blobs(2)
    recorder = Recorder()
    clf = small(max_iter=1).fit(pd.DataFrame(X).add_prefix("x"), y).set_callbacks(recorder)
    clf.partial_fit(pd.DataFrame(X).add_prefix("x"), y)
    assert ("end", "partial_fit", 0) in recorder.events
    # Fewer features and no names: the estimators that callbacks get must not remember the old.
    clf.fit(X[:, :3], y)
    assert clf.n_features_in_ == 3
    assert not hasattr(clf, "feature_names_in_")


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = moons()
    clf = small().set_callbacks(ProgressBar()).fit(X, y)
    assert "BudgetedSVC - fit" in capsys.readouterr().out
    assert_same_model(clf, small().fit(X, y))


def test_verbose_prints_a_line_a_pass(capsys):
    X, y = moons()
    small(verbose=1, max_iter=3).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"[BudgetedSVC] pass {i}/3" for i in (1, 2, 3)
    ]
    assert "30 support vectors" in lines[-1]
    small().fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_profile_adds_up(maintenance, n_classes):
    X, y = blobs(n_classes)
    clf = small(maintenance=maintenance).fit(X, y)
    profile = clf.profile_
    assert profile.steps == 5 * len(y) * len(clf.intercept_)
    # Every violation adds a vector, every overflow takes one away.
    assert profile.violations - profile.merges - profile.removals == len(clf.support_vectors_)
    assert profile.merges * profile.removals == 0 or maintenance not in ("removal", "projection")
    assert profile.merge_frequency == (profile.merges + profile.removals) / profile.steps
    assert f"{profile.steps:,} steps" in str(profile)
    with pytest.raises(AttributeError):
        profile.steps = 0


@pytest.mark.parametrize("maintenance", STRATEGIES)
def test_profile_says_where_the_time_went(maintenance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 18)), rng.integers(0, 2, 5000)
    start = time.perf_counter()
    profile = small(budget=300, max_iter=1, maintenance=maintenance).fit(X, y).profile_
    seconds = time.perf_counter() - start
    assert 0 < profile.seconds_total < seconds
    assert profile.seconds_margin > 0
    assert profile.seconds_rest > 0
    assert (profile.seconds_solve > 0) == (maintenance not in REMOVING)
    if maintenance == "gss-precise":  # the paper's point: here the search takes all the time
        assert profile.seconds_solve > profile.seconds_margin + profile.seconds_rest


def test_profiles_of_a_stream_may_be_summed():
    X, y = moons()
    clf, total = small(), Profile()
    for half in (slice(0, 500), slice(500, 1000)):
        total += clf.partial_fit(X[half], y[half], classes=[0, 1]).profile_
    assert total.steps == 1000
    assert Profile().merge_frequency == 0
    assert "0 steps" in str(Profile())


# --- in scikit-learn's company -------------------------------------------------------------------


def test_pickle_copy_and_clone():
    X, y = blobs(3)
    clf = small().fit(X, y)
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert_same_model(twin, clf)
        assert twin.profile_ == clf.profile_
        assert_array_equal(twin.decision_function(X), clf.decision_function(X))
        twin.partial_fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    assert not hasattr(clone(clf), "classes_")
    assert_same_model(clf, small().fit(X, y))  # nothing that the twins did came back


def test_pipeline_and_feature_names():
    X, y = moons()
    frame = pd.DataFrame(X * 1000 + 1e6, columns=["left", "right"])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), small())
    assert pipeline.fit(frame, y).score(frame, y) > 0.9
    clf = pipeline[-1]
    assert_array_equal(clf.feature_names_in_, ["left", "right"])
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["right", "left"]])


def test_grid_search():
    X, y = moons()
    grid = {"C": [1e-3, 10.0], "gamma": ["scale", 1e-4], "maintenance": ["merge", "removal"]}
    search = GridSearchCV(small(), grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["gamma"] == "scale"
    assert search.best_score_ > 0.9


def test_calibration():
    X, y = moons(2000)
    weight = np.random.default_rng(0).uniform(0.5, 2, 1000)
    calibrated = CalibratedClassifierCV(small(), cv=3)
    calibrated.fit(X[:1000], y[:1000], sample_weight=weight)
    likely = calibrated.predict_proba(X[1000:])[:, 1]
    assert np.mean((likely - y[1000:]) ** 2) < 0.1


# --- threads, interrupts, memory -----------------------------------------------------------------


def test_threads_may_fit_and_predict_at_once():
    X, y = moons(2000)
    settings = [{"maintenance": name, "random_state": i} for i, name in enumerate(STRATEGIES)]
    alone = [small(**setting).fit(X, y) for setting in settings]
    shared = alone[0]
    expected = shared.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(small(**setting).fit, X, y) for setting in settings]
        values = [pool.submit(shared.decision_function, X) for _ in range(8)]
    for one, other in zip(alone, fits, strict=True):
        assert_same_model(one, other.result())
    for value in values:
        assert_array_equal(value.result(), expected)


@pytest.mark.parametrize("when", ["fit", "partial_fit"])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch, when):
    X, y = blobs(3)
    clf = small(warm_start=True).fit(X, y)
    before = dict(vars(clf))
    core_pass, calls = _core.train_pass, []

    def interrupted_pass(*arguments):
        core_pass(*arguments)
        calls.append(1)
        if len(calls) == (3 if when == "fit" else 1):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_core, "train_pass", interrupted_pass)
        with pytest.raises(KeyboardInterrupt):
            getattr(clf, when)(X, y)
    assert vars(clf).keys() == before.keys()
    assert all(vars(clf)[name] is before[name] for name in before)
    untouched = small(warm_start=True).fit(X, y)
    assert_same_model(clf, untouched)
    assert_same_model(clf.fit(X, y), untouched.fit(X, y))


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    X, y = moons()
    clf = small().fit(X, y)
    before = dict(vars(clf))
    for bad_X, bad_y in ((np.c_[X, X] * 1e200, y), (X[:, :1], np.zeros(len(y)))):
        with pytest.raises(ValueError):  # noqa: PT011
            clf.fit(bad_X, bad_y)
    assert all(vars(clf)[name] is before[name] for name in before)
    assert_same_model(clf, small().fit(X, y))


LONG_FIT = """
import signal
import numpy as np
from pocketsvm import BudgetedSVC

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200_000, 18)), rng.integers(0, 3, 200_000)
clf = BudgetedSVC(300, random_state=0, max_iter=1, n_jobs=2).fit(X[:1000], y[:1000])
before = clf.decision_function(X[:10])
print("started", flush=True)
try:
    clf.set_params(max_iter=1000).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert (clf.decision_function(X[:10]) == before).all()
clf.set_params(max_iter=1).fit(X[:1000], y[:1000])
assert (clf.decision_function(X[:10]) == before).all()
print("healthy", flush=True)
"""


def test_ctrl_c_ends_a_long_fit():
    child = subprocess.Popen([sys.executable, "-c", LONG_FIT], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "started\n"
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        start = time.perf_counter()
        assert child.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - start < 2.0  # 0.2 s on a free machine
        assert child.communicate(timeout=60)[0] == "healthy\n"
    finally:
        child.kill()
        child.wait()


def test_other_threads_run_during_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 18)), rng.integers(0, 2, 20_000)
    clf = small(budget=500, max_iter=1, maintenance="gss-precise")
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    clf.fit(X, y)
    seconds = time.perf_counter() - start
    done.set()
    ticker.join()
    assert seconds > 0.1  # long enough to say something
    assert np.max(np.diff(ticks)) < 0.5 * seconds


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_float32_rows_are_not_copied(layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 100)).astype(np.float32)  # 20 MB
    y = rng.integers(0, 2, len(X))
    if layout == "csr":
        X = sp.csr_array(X)
    clf = BudgetedSVC(10, max_iter=1, polish=False, random_state=0)
    tracemalloc.start()
    try:
        clf.fit(X, y)
        clf.decision_function(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3e6  # labels, codes, decision values: tens of bytes a row, not four hundred


MEMORY = """
import numpy as np
from pocketsvm import BudgetedSVC

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
n = 1_000_000
X = np.empty((n, 18), np.float32)
for start in range(0, n, 10_000):  # in pieces, or the peak would lie here
    X[start : start + 10_000] = rng.normal(size=(10_000, 18))
y = (X[:, 0] * X[:, 1] > 0).astype(LABELS)
# Everything that is loaded or kept once (threads, tables, BLAS) is there before the measurement.
BudgetedSVC(100, max_iter=1, polish=False, random_state=0).fit(X[:20_000], y[:20_000])
before = peak()
BudgetedSVC(100, max_iter=2, polish=False, random_state=0).fit(X, y)
print((peak() - before) / n)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
@pytest.mark.parametrize("labels", ["np.int64", "np.int8"])
def test_memory_beside_the_data(labels):
    """The growth of the peak resident size during fit, in bytes a row.

    Counted: 4 bytes a row for the order of a pass, 1 for the class codes, and what validation
    needs in between. Not counted: X and y themselves, and what is kept once per process.
    """
    script = MEMORY.replace("LABELS", labels)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 4 + 1 + 2
