"""Polishing ends within 1e-3 of the optimum for its vectors, by an independent float64 solver.

Those marked as slow take seconds to minutes each: `make pytest ARGS="-m slow"`.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from convergence import assert_converged, judged
from ranking import graded
from rows.datasets import Batches
from sklearn.datasets import make_classification, make_friedman1

from benchmarks.data_sets import TASKS
from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR
from pocketsvm.training.settings import Choices

slow = pytest.mark.slow


def overlapping(n=3000, n_features=6, seed=0):
    """Return rows of two classes that overlap."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    signal = np.square(X[:, : n_features // 2]).sum(axis=1) - n_features // 2
    return X, (signal + random.normal(size=n) > 0).astype(int)


def separable(n=3000, n_features=3, gap=0.05, seed=0):
    """Return rows of two classes with a gap between them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    side = np.sin(2 * X[:, 0]) + X[:, 1]
    X[:, 1] += gap * np.sign(side)
    return X, (side > 0).astype(int)


def of_classes(n=3000, n_classes=10):
    return make_classification(
        n, 10, n_informative=8, n_classes=n_classes, class_sep=1.0, flip_y=0.05, random_state=0
    )


def rare(n=25_000):
    """Return rows of which one in 500 is positive."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    score = X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n)
    return X, (score > np.quantile(score, 0.998)).astype(int)


def values(n=3000):
    X, y = make_friedman1(n, noise=1.0, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


# --- a part, in every run -------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("make", [overlapping, separable])
def test_two_classes(make, C):
    assert_converged(judged(BudgetedSVC(40, C, random_state=0), *make(1000)))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_losses_on_classes(loss, n_classes):
    found = judged(BudgetedSVC(30, 10.0, loss=loss, random_state=0), *of_classes(800, n_classes))
    assert_converged(found)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error", "huber", "quantile"])
def test_losses_on_values(loss):
    assert_converged(judged(BudgetedSVR(30, 10.0, loss=loss, random_state=0), *values(800)))


def test_ranking():
    X, y, qid = graded(60)
    found = judged(BudgetedRanker(30, 10.0, random_state=0), X, y.astype(float), qid=qid)
    assert_converged(found)


def test_novelty():
    assert_converged(judged(BudgetedOneClassSVM(30, random_state=0), overlapping(1500)[0], None))


@pytest.mark.parametrize("kind", ["rows", "sparse rows", "batches"])
def test_more_rows_than_the_passes_see(kind):
    X, y = overlapping(6000)
    assert len(X) > Choices().rows_per_vector * 10
    data = Batches(X, y) if kind == "batches" else None
    X = sp.csr_array(X) if kind == "sparse rows" else X
    found = judged(BudgetedSVC(10, 10.0, random_state=0), X, y, data=data)
    assert not found.solved_all
    assert_converged(found)


def test_few_heavy_rows():
    machine = BudgetedSVC(100, 1e3, class_weight="balanced", random_state=0)
    found = judged(machine, *rare())
    assert_converged(found)
    assert found.estimator.profile_.solver_steps > 50


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("C", [1e5, 1e6])
def test_as_many_vectors_as_rows_and_a_large_c(C, loss):
    assert_converged(judged(BudgetedSVC(300, C, loss=loss, random_state=0), *overlapping(300)))


@pytest.mark.parametrize("C", [1e3, 1e4, 1e5])
def test_as_many_vectors_as_values_and_a_large_c(C):
    assert_converged(judged(BudgetedSVR(300, C, random_state=0), *values(300)))


def test_the_judge_finds_what_is_left():
    found = judged(BudgetedSVC(30, 10.0, random_state=0), *overlapping(800))
    profile = found.estimator.profile_
    assert found.excess == pytest.approx(found.reported, abs=1e-4)
    assert profile.objective_before > 1.01 * profile.objective_after


# --- all cases ------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("C", [1.0, 10.0, 100.0, 1e3])
@pytest.mark.parametrize("budget", [20, 100, 400])
@pytest.mark.parametrize("make", [overlapping, separable])
def test_two_classes_for_any_c(make, budget, C, seed):
    assert_converged(judged(BudgetedSVC(budget, C, random_state=seed), *make(4000, seed=seed)))


@slow
@pytest.mark.parametrize("gamma", [0.01, 5.0])
@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("make", [overlapping, separable])
def test_wide_and_narrow_kernels(make, C, gamma):
    assert_converged(judged(BudgetedSVC(100, C, gamma=gamma, random_state=0), *make(4000)))


@slow
@pytest.mark.parametrize("polish", [True, "thorough"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_ten_classes(loss, C, polish):
    budget = 30 if loss == "log_loss" else 100
    n_classes = 5 if loss == "log_loss" else 10
    machine = BudgetedSVC(budget, C, loss=loss, polish=polish, random_state=0)
    assert_converged(judged(machine, *of_classes(4000, n_classes)))


@slow
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3])
def test_many_rows_that_are_nearly_separable(gap, C):
    X, y = separable(60_000, gap=gap)
    found = judged(BudgetedSVC(40, C, random_state=0), X, y)
    assert not found.solved_all
    assert_converged(found)


@slow
@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("budget", [20, 100])
def test_a_rare_class(budget, C, weight):
    machine = BudgetedSVC(budget, C, class_weight=weight, random_state=0)
    assert_converged(judged(machine, *rare()))


@slow
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("budget", [20, 100, 400])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error", "huber", "quantile"])
def test_regressions(loss, budget, C):
    assert_converged(judged(BudgetedSVR(budget, C, loss=loss, random_state=0), *values(4000)))


@slow
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error", "huber"])
def test_several_targets(loss, C):
    X, y = values(4000)
    Y = np.column_stack([y, X[:, 0] * X[:, 1], np.sin(3 * X[:, 2])])
    assert_converged(judged(BudgetedSVR(60, C, loss=loss, random_state=0), X, Y))


@slow
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
def test_several_quantiles(C):
    machine = BudgetedSVR(60, C, loss="quantile", quantile=[0.05, 0.5, 0.95], random_state=0)
    assert_converged(judged(machine, *values(4000)))


@slow
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("budget", [20, 100])
def test_rankings(budget, C):
    X, y, qid = graded(300)
    found = judged(BudgetedRanker(budget, C, random_state=0), X, y.astype(float), qid=qid)
    assert_converged(found)


@slow
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("budget", [20, 100])
def test_novelties(budget, nu):
    X, _ = overlapping(6000)
    assert_converged(judged(BudgetedOneClassSVM(budget, nu=nu, random_state=0), X, None))


@slow
@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_vectors_as_rows(seed):
    X, y = overlapping(2900, seed=seed)
    X, y, X_test, y_test = X[:900], y[:900], X[900:], y[900:]
    scores = []
    for C in 10.0 ** np.arange(7):
        found = judged(BudgetedSVC(900, C, random_state=0), X, y)
        assert_converged(found, may_warn=C > 1e3)
        scores.append((found.estimator.score(X, y), found.estimator.score(X_test, y_test)))
    on_rows = [score for score, _ in scores]
    assert on_rows == sorted(on_rows)


@slow
@pytest.mark.parametrize("kind", ["rows", "sparse rows", "batches"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("make", [overlapping, separable])
def test_all_rows(make, C, kind):
    X, y = make(40_000)
    data = Batches(X, y, size=4500) if kind == "batches" else None
    X = sp.csr_array(X) if kind == "sparse rows" else X
    found = judged(BudgetedSVC(50, C, random_state=0), X, y, data=data)
    assert not found.solved_all
    assert_converged(found)


@slow
@pytest.mark.parametrize("C", [1.0, 100.0, 1e3])
@pytest.mark.parametrize("kind", ["rows", "batches"])
def test_all_rows_of_other_tasks(kind, C):
    X, y = values(20_000)
    for machine, targets in (
        (BudgetedSVR(20, C, random_state=0), y),
        (BudgetedSVR(20, C, loss="huber", random_state=0), y),
        (BudgetedSVR(20, C, loss="quantile", quantile=0.9, random_state=0), y),
        (BudgetedSVC(20, C, random_state=0), np.digitize(y, [-0.5, 0.5])),
        (BudgetedSVC(20, C, loss="log_loss", random_state=0), np.digitize(y, [-0.5, 0.5])),
    ):
        data = Batches(X, targets, size=3000) if kind == "batches" else None
        found = judged(machine, X, targets, data=data)
        assert not found.solved_all
        assert_converged(found)


@slow
def test_sparse_rows():
    random = np.random.default_rng(0)
    X = sp.random_array((4000, 2000), density=0.005, random_state=random, format="csr")
    y = (np.asarray(X[:, :300].sum(axis=1)).ravel() > 0.75).astype(int)
    for C in (1.0, 100.0, 1e3):
        assert_converged(judged(BudgetedSVC(100, C, random_state=0), X, y))


@slow
@pytest.mark.parametrize("polish", [True, "thorough"])
@pytest.mark.parametrize(
    ("name", "budget"),
    [
        *(("IJCNN", budget) for budget in (20, 100, 500)),
        *(("PHISHING", budget) for budget in (100, 500)),
        *(("ADULT", budget) for budget in (100,)),
        *(("WEB", budget) for budget in (100,)),
        *(("SUSY", budget) for budget in (100,)),
        *(("letter", budget) for budget in (100, 520)),
        *(("cpusmall", budget) for budget in (100, 500)),
    ],
)
def test_real_sets(name, budget, polish):
    task = TASKS[name]()
    if task is None:
        pytest.skip(f"{name} is not in $POCKETSVM_DATA")
    X, y, *_ = task.rows
    parameters = {"gamma": task.gamma, "polish": polish, "random_state": 0}
    machine = (
        BudgetedSVC(budget, task.C, **parameters)
        if task.epsilon is None
        else BudgetedSVR(budget, task.C, epsilon=task.epsilon, **parameters)
    )
    assert_converged(judged(machine, X, y))
