"""What the estimators share, tested on BudgetedSVC: bits, the profile, interrupts, memory."""

import copy
import pickle
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
from children import interrupt
from models import STRATEGIES, assert_same_model, blobs, differs, moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal
from reference import MERGING, REMOVING
from sklearn.base import clone

from pocketsvm import BudgetedSVC, BudgetedSVCCV, _core
from pocketsvm.estimators import base
from pocketsvm.profile import Profile
from pocketsvm.rows.checked import check_rows

# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", 1),
        ("budget", 0),
        ("budget", -5),
        ("budget", 10.5),
        ("budget", "many"),
        ("budget", None),
        ("C", 0),
        ("C", -1.0),
        ("C", np.nan),
        ("C", np.inf),
        ("C", "1"),
        ("gamma", 0),
        ("gamma", -0.5),
        ("gamma", np.nan),
        ("gamma", np.inf),
        ("gamma", "big"),
        ("gamma", None),
        ("max_iter", 0),
        ("max_iter", 2.5),
        ("maintenance", "magic"),
        ("maintenance", None),
        ("fit_intercept", "yes"),
        ("class_weight", "heavy"),
        ("class_weight", [1, 2]),
        ("alpha", 0),
        ("alpha", -1e-3),
        ("alpha", np.inf),
        ("alpha", np.nan),
        ("polish", "twice"),
        ("warm_start", "no"),
        ("n_jobs", 1.5),
        ("random_state", "luck"),
        ("verbose", "loud"),
    ],
)
def test_error_names_the_bad_parameter_and_its_value(name, value):
    X, y = moons()
    for call in (lambda clf: clf.fit(X, y), lambda clf: clf.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            call(small_svc(**{name: value}))
        message = str(caught.value)
        assert f"The '{name}' parameter of BudgetedSVC must be" in message
        assert f"Got {value!r} instead" in message


def test_parameters_can_be_numpy_scalars():
    X, y = moons()
    plain = small_svc(budget=20, C=2.0, gamma=0.5, max_iter=2).fit(X, y)
    numpy = small_svc(
        budget=np.int64(20), C=np.float32(2), gamma=np.float32(0.5), max_iter=np.int32(2)
    ).fit(X, y)
    assert_array_equal(plain.dual_coef_, numpy.dual_coef_)


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 5])
def test_same_seed_gives_same_model(n_classes):
    X, y = blobs(n_classes)
    assert_same_model(small_svc().fit(X, y), small_svc().fit(X, y))
    assert differs(small_svc().fit(X, y), small_svc(random_state=1).fit(X, y))
    generators = {state.generator.tobytes() for state in small_svc().fit(X, y)._state.states}
    assert len(generators) == (1 if n_classes == 2 else n_classes)


@STRATEGIES
def test_model_does_not_depend_on_threads(maintenance):
    X, y = blobs(5)
    one = small_svc(n_jobs=1, maintenance=maintenance).fit(X, y)
    many = small_svc(n_jobs=4, maintenance=maintenance).fit(X, y)
    assert_same_model(one, many)
    assert_array_equal(one.decision_function(X), many.decision_function(X))


def sparse_and_dense(dtype=np.float32):
    X = sp.random_array((600, 40), density=0.1, random_state=np.random.default_rng(0), format="csr")
    X = X.astype(dtype)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > np.asarray(X[:, 20:].sum(axis=1)).ravel()
    return X, X.toarray(), y


def shuffled_entries(X):
    """Return X with the entries of each row reversed, and the largest one split in two."""
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
@STRATEGIES
def test_dense_and_sparse_give_the_same_bits(dtype, maintenance):
    S, X, y = sparse_and_dense(dtype)
    dense = small_svc(maintenance=maintenance).fit(X, y)
    sparse = small_svc(maintenance=maintenance).fit(S, y)
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
def test_model_does_not_depend_on_the_sparse_format(variant):
    S, _, y = sparse_and_dense()
    same = variant(S)
    before = copy.deepcopy(same)
    expected, clf = small_svc().fit(S, y), small_svc().fit(same, y)
    assert_same_model(expected, clf)
    assert_array_equal(expected.decision_function(S), clf.decision_function(same))
    if same.format == "csr":  # the user's matrix is unchanged, entry by entry
        assert_array_equal(same.data, before.data)
        assert_array_equal(same.indices, before.indices)
        assert same.indices.dtype == before.indices.dtype


def test_explicit_zeros_and_empty_rows_count_as_zeros():
    S, X, y = sparse_and_dense()
    X[::7] = 0
    S = sp.csr_array(X)
    zeros = S.copy()
    zeros.data[::5] = 0
    assert_same_model(small_svc().fit(zeros, y), small_svc().fit(zeros.toarray(), y))
    assert np.diff(S.indptr).min() == 0
    assert_same_model(small_svc().fit(S, y), small_svc().fit(X, y))


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
def test_model_does_not_depend_on_memory_order_or_container(variant):
    X, y = moons(dtype=np.float32)
    expected, clf = small_svc().fit(X, y), small_svc().fit(variant(X), y)
    assert_same_model(expected, clf)
    assert_array_equal(expected.decision_function(X), clf.decision_function(variant(X)))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_do_not_depend_on_the_batch(n_classes, n_jobs):
    X, y = blobs(n_classes)
    clf = small_svc(n_jobs=n_jobs).fit(X, y)
    X[5] = 1e30  # a row too large for float32 in the same batch
    whole = clf.decision_function(X)
    for size in (1, 3, 16, 250):
        parts = [clf.decision_function(X[i : i + size]) for i in range(0, len(X), size)]
        assert_array_equal(np.concatenate(parts), whole)
    assert_array_equal(clf.decision_function(sp.csr_array(X)), whole)
    assert_allclose(np.ravel(whole[5]), clf.intercept_, rtol=0, atol=1e-30)


def test_concurrent_fit_and_predict():
    X, y = moons(2000)
    settings = [
        {"maintenance": name, "random_state": i} for i, name in enumerate(_core.strategies())
    ]
    alone = [small_svc(**setting).fit(X, y) for setting in settings]
    shared = alone[0]
    expected = shared.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(small_svc(**setting).fit, X, y) for setting in settings]
        values = [pool.submit(shared.decision_function, X) for _ in range(8)]
    for one, other in zip(alone, fits, strict=True):
        assert_same_model(one, other.result())
    for value in values:
        assert_array_equal(value.result(), expected)


def test_pickle_copy_and_clone():
    X, y = blobs(3)
    clf = small_svc().fit(X, y)
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert_same_model(twin, clf)
        assert twin.profile_ == clf.profile_
        assert_array_equal(twin.decision_function(X), clf.decision_function(X))
        twin.partial_fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    assert not hasattr(clone(clf), "classes_")
    assert_same_model(clf, small_svc().fit(X, y))  # changes to the copies do not affect clf


# --- the profile ----------------------------------------------------------------------------------


def test_verbose_prints_one_line_per_pass(capsys):
    X, y = moons()
    small_svc(verbose=1, max_iter=3).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"[BudgetedSVC] pass {i}/3" for i in (1, 2, 3)
    ]
    assert "30 support vectors" in lines[-1]
    small_svc().fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("n_classes", [2, 3])
@STRATEGIES
def test_profile_counts_are_consistent(maintenance, n_classes):
    X, y = blobs(n_classes)
    clf = small_svc(maintenance=maintenance).fit(X, y)
    profile = clf.profile_
    assert profile.steps == 5 * len(y) * len(clf.intercept_)
    # Each violation adds a vector, and each maintenance event removes one.
    assert profile.violations - profile.merges - profile.removals == len(clf.support_vectors_)
    if maintenance not in MERGING:
        assert profile.merges == 0
    assert profile.merge_frequency == (profile.merges + profile.removals) / profile.steps
    assert f"{profile.steps:,} steps" in str(profile)
    with pytest.raises(AttributeError):
        profile.steps = 0


@STRATEGIES
def test_profile_times_are_consistent(maintenance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 18)), rng.integers(0, 2, 5000)
    start = time.perf_counter()
    profile = small_svc(budget=300, max_iter=1, maintenance=maintenance).fit(X, y).profile_
    seconds = time.perf_counter() - start
    assert 0 < profile.seconds_total < seconds
    assert profile.seconds_margin > 0
    assert profile.seconds_rest > 0
    assert (profile.seconds_solve > 0) == (maintenance not in REMOVING)
    if maintenance == "gss-precise":  # as in the paper, the search dominates the time
        assert profile.seconds_solve > profile.seconds_margin + profile.seconds_rest


def test_profiles_of_a_stream_can_be_summed():
    X, y = moons(1000)
    clf, total = small_svc(), Profile()
    for half in (slice(0, 500), slice(500, 1000)):
        total += clf.partial_fit(X[half], y[half], classes=[0, 1]).profile_
    assert total.steps == 1000
    assert Profile().merge_frequency == 0
    assert "0 steps" in str(Profile())


# --- interrupts and other threads -----------------------------------------------------------------


@pytest.mark.parametrize("when", ["fit", "partial_fit"])
def test_interrupted_fit_leaves_the_estimator_unchanged(monkeypatch, when):
    X, y = blobs(3)
    clf = small_svc(warm_start=True).fit(X, y)
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
    untouched = small_svc(warm_start=True).fit(X, y)
    assert_same_model(clf, untouched)
    assert_same_model(clf.fit(X, y), untouched.fit(X, y))


def test_failed_fit_leaves_the_estimator_unchanged():
    X, y = moons()
    clf = small_svc().fit(X, y)
    before = dict(vars(clf))
    for bad_X, bad_y in ((np.c_[X, X] * 1e200, y), (X[:, :1], np.zeros(len(y)))):
        with pytest.raises(ValueError):  # noqa: PT011
            clf.fit(bad_X, bad_y)
    assert all(vars(clf)[name] is before[name] for name in before)
    assert_same_model(clf, small_svc().fit(X, y))


LONG_FIT = """
import signal
import numpy as np
from pocketsvm import BudgetedSVC

signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent process may ignore it
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


def interrupted_fit():
    """Interrupt a fit of many minutes; return the seconds until it stops."""
    lines, seconds = interrupt(LONG_FIT, delay=0.5)
    assert lines == ["started", "interrupted", "healthy"]
    return seconds


def test_ctrl_c_stops_a_long_fit():
    interrupted_fit()


@pytest.mark.timing
def test_ctrl_c_stops_a_fit_within_two_seconds():
    assert interrupted_fit() < 2  # 0.2 s on a free machine


LOWERED_BUDGET = """
import signal
import numpy as np
from pocketsvm import BudgetedSVC

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(6000, 20)), rng.integers(0, 2, 6000)
clf = BudgetedSVC(6000, gamma=0.3, max_iter=1, polish=False, random_state=0).fit(X, y)
before = clf.decision_function(X[:10])
clf.set_params(budget=2, maintenance="projection", warm_start=True)
print("started", flush=True)
try:
    clf.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert (clf.decision_function(X[:10]) == before).all()
print("healthy", flush=True)
"""


def test_ctrl_c_stops_lowering_the_budget():
    # Without interruption, it would take longer than the child may run.
    lines, _ = interrupt(LOWERED_BUDGET, delay=0.5)
    assert lines == ["started", "interrupted", "healthy"]


def test_other_threads_run_during_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 18)), rng.integers(0, 2, 20_000)
    clf = small_svc(budget=500, max_iter=1, maintenance="gss-precise")
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
    assert seconds > 0.1  # long enough for a meaningful count
    assert np.max(np.diff(ticks)) < 0.5 * seconds


# --- memory ---------------------------------------------------------------------------------------


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
    assert peak < 4e6  # labels, codes, decision values: tens of bytes per row, not 400


MEMORY = """
import numpy as np
from pocketsvm import BudgetedSVC

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
n = 400_000
X = np.empty((n, 18), np.float32)
for start in range(0, n, 10_000):  # in chunks, so that the peak is not reached here
    X[start : start + 10_000] = rng.normal(size=(10_000, 18))
y = (X[:, 0] * X[:, 1] > 0).astype(LABELS)
# Everything that is loaded once (threads, tables, BLAS) is loaded before the measurement.
BudgetedSVC(100, max_iter=1, polish=False, random_state=0).fit(X[:20_000], y[:20_000])
before = peak()
BudgetedSVC(100, max_iter=2, polish=False, random_state=0).fit(X, y)
print((peak() - before) / n)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
@pytest.mark.parametrize("labels", ["np.int64", "np.int8"])
def test_memory_in_addition_to_the_data(labels):
    """Measure the growth of the peak resident size during fit, in bytes per row.

    This includes 4 bytes per row for the order of a pass, 1 for the class codes, and temporary
    arrays of the validation. It does not include X, y and memory allocated once per process.
    """
    script = MEMORY.replace("LABELS", labels)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 4 + 1 + 2


@pytest.mark.parametrize("name", ["budget", "max_iter"])
def test_numbers_beyond_the_core_are_refused_by_name(name):
    X, y = moons()
    with pytest.raises(ValueError, match=rf"The '{name}' parameter .* must be an int in the range"):
        BudgetedSVC(**{name: 2**63}).fit(X, y)


def test_a_prediction_uses_one_model_if_another_thread_fits_meanwhile(monkeypatch):
    X, y = moons()
    clf, other = small_svc().fit(X, y), small_svc().fit(np.column_stack([X, X]), y)
    expected = clf.decision_function(X)

    def check(estimator, *arguments, **options):
        clf._model = other._model
        return check_rows(estimator, *arguments, **options)

    monkeypatch.setattr(base, "check_rows", check)
    assert_array_equal(clf.decision_function(X), expected)


class Appearing(str):
    """The name of an attribute: whoever looks at it lets another attribute appear."""

    attributes: dict

    def __hash__(self):
        return super().__hash__()

    def __eq__(self, other):
        self.attributes[f"_appeared_{len(self.attributes)}"] = None
        return super().__eq__(other)

    def endswith(self, *arguments):
        return self == "" or super().endswith(*arguments)


def test_attributes_may_appear_while_a_search_is_looked_at():
    """As they do if another thread fits the same search."""
    search = BudgetedSVCCV(10)
    name = Appearing("_name")
    name.attributes = vars(search)
    vars(search)["_model"] = vars(search)[name] = None
    assert search._fitted() == {"_model": None}


def test_rows_can_be_predicted_while_another_thread_fits():
    X, y = moons()
    clf = BudgetedSVC(10, random_state=0).fit(X, y)
    expected, errors = clf.predict(X), []

    def fit():
        try:
            for _ in range(20):
                clf.fit(X, y)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=fit)
    thread.start()
    while thread.is_alive():
        assert_array_equal(clf.predict(X), expected)
    thread.join()
    assert not errors
