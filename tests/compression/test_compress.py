"""`compress`: budgets, bytes and tolerances; scikit-learn's machines, files, pipelines."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
    compress,
    load_model,
    load_svmlight,
    save_model,
)
from pocketsvm.model.export import export_libsvm


def moons(n=1500, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def blobs(n=1500, seed=0):
    return make_blobs(n, centers=4, cluster_std=2.0, random_state=seed)


def waves(n=1500, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def agreement(one, other, X):
    return np.mean(one.predict(X) == other.predict(X))


# --- classification -------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC(C=10), NuSVC(nu=0.3)], ids=["SVC", "NuSVC"])
@pytest.mark.parametrize("with_rows", [True, False])
def test_two_classes(machine, with_rows):
    X, y = moons()
    machine.fit(X, y)
    small = compress(machine, X if with_rows else None, budget=20, random_state=0)
    assert type(small) is BudgetedSVC
    assert small.support_vectors_.shape == (20, 2)
    assert agreement(small, machine, moons(seed=1)[0]) > 0.985
    report = small.compression_
    assert (report.vectors_before, report.vectors) == (len(machine.support_vectors_), 20)
    assert report.bytes == 20 * 3 * 4 + 4 + 8
    assert report.measured_on == ("held-out rows" if with_rows else "its support vectors")


@pytest.mark.parametrize("labels", [np.array([-1, 1]), np.array(["no", "yes"], dtype=object)])
def test_labels_stay(labels):
    X, y = moons()
    svc = SVC(C=10).fit(X, labels[y])
    small = compress(svc, budget=30)
    assert_array_equal(small.classes_, labels)
    assert agreement(small, svc, X) > 0.98


def test_pairs_of_several_classes_become_one_output_per_class():
    X, y = blobs()
    svc = SVC(C=10).fit(X, y)
    X_test = blobs(seed=0)[0]
    for rows in (X, None):
        small = compress(svc, rows, budget=40, random_state=0)
        assert small.dual_coef_.shape == (4, 40)
        assert agreement(small, svc, X_test) > 0.97
        assert small.compression_.largest_change is None


def test_several_outputs_without_rows():
    X, y = blobs()
    big = BudgetedSVC(200, C=10, random_state=0).fit(X, y)
    small = compress(big, budget=40)
    assert small.dual_coef_.shape == (4, 40)
    assert agreement(small, big, X) > 0.99


@pytest.mark.parametrize("sparse", [False, True])
def test_a_large_budget_keeps_the_machine(sparse):
    X, y = moons(300)
    X = sp.csr_array(X) if sparse else X
    svc = SVC().fit(X, y)
    small = compress(svc, budget=300)
    assert len(small.support_vectors_) == len(svc.support_)
    assert_allclose(small.decision_function(X), svc.decision_function(X), rtol=1e-4, atol=1e-4)
    assert small.compression_.agreement == 1.0


def test_labels_can_be_the_targets():
    X, y = moons()
    svc = SVC(C=10).fit(X, y)
    better = compress(svc, X, 1 - y, budget=20, targets="labels", random_state=0)
    assert better.compression_.score > 0.7 > 0.3 > better.compression_.score_before


# --- other tasks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVR(C=10), NuSVR(C=10)], ids=["SVR", "NuSVR"])
@pytest.mark.parametrize("with_rows", [True, False])
def test_regression(machine, with_rows):
    X, y = waves()
    machine.fit(X, y)
    args = (X, y) if with_rows else ()
    small = compress(machine, *args, budget=60, random_state=0)
    assert type(small) is BudgetedSVR
    X_test, y_test = waves(seed=1)
    assert small.score(X_test, y_test) > machine.score(X_test, y_test) - 0.02
    assert small.compression_.agreement > 0.98
    if with_rows:
        assert small.compression_.score > 0.95


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_regression_keeps_its_values_between_the_rows(with_rows):
    """Also where rows are rare, as in the tails of this distribution."""
    random = np.random.default_rng(0)
    X, X_test = random.standard_t(2.5, size=(4000, 5)).reshape(2, 2000, 5)
    y = X[:, 0] + 3 * np.sin(X[:, 1]) + X[:, 2] * np.tanh(X[:, 3])
    svr = SVR(C=100, gamma=0.1, epsilon=0.05).fit(X, y)
    budget = len(svr.support_) // 10
    small = compress(svr, X if with_rows else None, budget=budget, random_state=0)
    values = svr.predict(X_test)
    assert np.var(small.predict(X_test) - values) < 0.065 * np.var(values)


@pytest.mark.parametrize("with_rows", [True, False])
def test_cpusmall_loses_little_at_a_tenth(with_rows):
    folder = Path(os.environ.get("POCKETSVM_DATA", "."))
    if not (folder / "cpusmall.gz").exists():
        pytest.skip("cpusmall is not in $POCKETSVM_DATA")
    (X, y), (X_test, y_test) = (load_svmlight(folder / f"cpusmall{s}.gz") for s in ("", ".t"))
    scaler = StandardScaler().fit(X.toarray())
    X, X_test = scaler.transform(X.toarray()), scaler.transform(X_test.toarray())
    svr = SVR(C=100, epsilon=1.0).fit(X, y)
    budget = len(svr.support_) // 10
    small = compress(svr, X if with_rows else None, budget=budget, random_state=0)
    assert r2_score(y_test, small.predict(X_test)) >= svr.score(X_test, y_test) - 0.003


@pytest.mark.parametrize("with_rows", [True, False])
def test_novelty(with_rows):
    X = waves()[0]
    machine = OneClassSVM(nu=0.1, gamma=0.5).fit(X)
    small = compress(machine, X if with_rows else None, budget=30, random_state=0)
    assert type(small) is BudgetedOneClassSVM
    others = np.concatenate([waves(seed=1)[0], 2.5 * waves(seed=2)[0]])
    truth = machine.predict(others)
    assert roc_auc_score(truth, small.decision_function(others)) > 0.995
    assert agreement(small, machine, others) > (0.95 if with_rows else 0.8)


def test_own_models_become_smaller():
    X, y = moons()
    big = BudgetedSVC(100, C=10, loss="log_loss", random_state=0).fit(X, y)
    small = compress(big, X, budget=15, random_state=0)
    assert small.get_params()["loss"] == "log_loss"
    assert_allclose(small.predict_proba(X), big.predict_proba(X), atol=0.05)
    X, y = waves()
    big = BudgetedRanker(60, C=10, random_state=0).fit(X, (y > 0).astype(int))
    small = compress(big, X, budget=20, random_state=0)
    assert np.corrcoef(small.predict(X), big.predict(X))[0, 1] > 0.99


def test_several_targets_and_quantiles():
    X, y = waves()
    big = BudgetedSVR(80, loss="quantile", quantile=[0.1, 0.9], random_state=0).fit(X, y)
    small = compress(big, X, budget=40, random_state=0)
    assert small.predict(X).shape == (1500, 2)
    assert (np.diff(small.predict(X), axis=1) >= 0).all()


# --- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_constant_output_stays_constant(with_rows):
    X, y = waves()
    model = BudgetedSVR(40, C=10, epsilon=0.01, random_state=0)
    model.fit(X, np.column_stack([y, np.ones(len(X))]))
    assert not model.dual_coef_[1].any()
    small = compress(model, X if with_rows else None, budget=30, random_state=0)
    assert_allclose(small.predict(X)[:, 1], 1)
    assert np.square(small.predict(X)[:, 0] - model.predict(X)[:, 0]).mean() < 0.05


def test_bytes_give_the_largest_budget_that_fits():
    X, y = moons()
    svc = SVC(C=10).fit(X, y)
    small = compress(svc, X, bytes=311, dtype="float32", random_state=0)
    # 12 bytes a vector, 4 for the intercept, 8 for the labels
    assert len(small.support_vectors_) == 24
    assert small.compression_.bytes == 300
    # In integers: 4 bytes a vector; 10 for each feature, a table of 130, 8 and 8.
    smaller = compress(svc, X, bytes=311, random_state=0)
    assert smaller.compression_.dtype == "int8"
    assert len(smaller.support_vectors_) == 36
    assert smaller.compression_.bytes == 310
    assert agreement(smaller, svc, X) > 0.98


def test_a_tolerance_finds_a_small_budget():
    X, y = moons(3000)
    svc = SVC(C=10).fit(X, y)
    strict = compress(svc, X, tolerance=0.005, random_state=0)
    loose = compress(svc, X, tolerance=0.05, random_state=0)
    assert strict.compression_.agreement >= 0.995
    assert loose.compression_.agreement >= 0.95
    assert len(loose.support_vectors_) < len(strict.support_vectors_) < 60
    assert strict.budget == len(strict.support_vectors_)


# --- files and pipelines --------------------------------------------------------------------------


def test_libsvm_files(tmp_path):
    X, y = moons(400)
    X = np.column_stack([X, np.zeros(len(X))])  # a feature that the file does not mention
    clf = BudgetedSVC(60, C=10, random_state=0).fit(X, y)
    path = tmp_path / "two.model"
    export_libsvm(clf, path)
    small = compress(path, budget=60)
    assert_allclose(
        small.decision_function(X[:, :2]), clf.decision_function(X), rtol=1e-3, atol=1e-3
    )
    small = compress(str(path), X, budget=15, random_state=0)
    assert small.n_features_in_ == 3
    assert agreement(small, clf, X) > 0.97
    same = compress(path, X.tolist(), budget=15, random_state=0)
    assert_array_equal(same.support_vectors_, small.support_vectors_)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        compress(path, X[:, 0], budget=15)


@pytest.mark.parametrize("kind", ["several", "value", "novelty"])
def test_libsvm_files_of_other_tasks(tmp_path, kind):
    path = tmp_path / "m.model"
    X, y = blobs(600) if kind == "several" else waves(600)
    machine = {
        "several": BudgetedSVC(40, random_state=0),
        "value": BudgetedSVR(40, C=10, random_state=0),
        "novelty": BudgetedOneClassSVM(40, nu=0.1, random_state=0),
    }[kind].fit(X, y)
    export_libsvm(machine, path)
    small = compress(path, X, budget=30, random_state=0)
    if kind == "value":
        assert np.square(small.predict(X) - machine.predict(X)).mean() < 0.02
    else:
        assert agreement(small, machine, X) > 0.97


def test_own_files(tmp_path):
    X, y = moons()
    save_model(BudgetedSVC(80, C=10, random_state=0).fit(X, y), tmp_path / "m.psvm")
    small = compress(tmp_path / "m.psvm", X, budget=15, random_state=0)
    small.save(tmp_path / "s.psvm")
    again = load_model(tmp_path / "s.psvm")
    assert_array_equal(again.decision_function(X), small.decision_function(X))


def test_pipelines_keep_their_steps():
    X, y = moons()
    X = X * [1.0, 100.0]
    pipeline = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    small = compress(pipeline, X, budget=20, random_state=0)
    assert list(small.named_steps) == ["standardscaler", "svc"]
    assert small[0] is pipeline[0]
    assert agreement(small, pipeline, X) > 0.98
    assert small.compression_.vectors == 20


def mixed_frame(n_rows=1000):
    """Return rows with two columns of numbers and one of words, and their classes."""
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    numbers = random.normal(size=(2, n_rows))
    job = random.choice(["x", "y"], n_rows)
    X = pd.DataFrame({"a": numbers[0], "b": numbers[1], "job": job})
    y = np.where((X.a**2 + X.b**2 > 1.4) ^ (X.job == "x"), "p", "q")
    return X, pd.Series(y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "options",
    [
        {"budget": 20},
        {"budget": 20, "targets": "labels"},
        {"bytes": 600},
        {"budget": 20, "dtype": "float16"},
        {"tolerance": 0.05},
    ],
)
@pytest.mark.parametrize("n_rows", [1000, 600])
def test_pipelines_take_columns_by_name(options, n_rows, tmp_path):
    X, y = mixed_frame()
    by_name = [("n", StandardScaler(), ["a", "b"]), ("t", OneHotEncoder(), ["job"])]
    pipeline = make_pipeline(ColumnTransformer(by_name), SVC(C=10)).fit(X, y)
    some = slice(0, n_rows)
    small = compress(pipeline, X.iloc[some], y.iloc[some], random_state=0, **options)
    assert agreement(small, pipeline, X) > 0.9
    save_model(small, tmp_path / "s.psvm")
    again = compress(tmp_path / "s.psvm", X, budget=10, random_state=0)
    assert agreement(again, small, X) > 0.9
    assert_array_equal(load_model(tmp_path / "s.psvm").predict(X), small.predict(X))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("steps", [[], [StandardScaler()]])
@pytest.mark.parametrize("machine", [SVC(C=10), BudgetedSVC(80, C=10, feature_scales=[1.0, 2.0])])
def test_pipelines_take_frames_of_numbers(steps, machine):
    X, y = mixed_frame()
    X = X[["a", "b"]]
    pipeline = make_pipeline(*steps, machine).fit(X, y)
    for frames in (False, True):
        if frames and steps:
            pipeline[0].set_output(transform="pandas")
            pipeline.fit(X, y)
        small = compress(pipeline, X, budget=20, random_state=0)
        assert agreement(small, pipeline, X) > 0.9


def test_rows_of_a_pipeline_are_checked():
    X, y = mixed_frame()
    X = X[["a", "b"]]
    pipeline = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        compress(pipeline, X[["b", "a"]], budget=20)
    with pytest.raises(ValueError, match="X contains NaN"):
        compress(pipeline, X.where(X.a < 2), budget=20)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_training_goes_on(n_classes, tmp_path):
    X, y = moons() if n_classes == 2 else blobs()
    small = compress(SVC(C=10).fit(X, y), X, budget=30, random_state=0)
    before = small.score(X, y)
    small.save(tmp_path / "m.psvm")
    again = load_model(tmp_path / "m.psvm").partial_fit(X, y)
    assert again.score(X, y) > before - 0.1
    assert len(again.support_vectors_) <= 30


def test_the_seed_decides():
    X, y = moons()
    svc = SVC(C=10).fit(X, y)
    one, other = (compress(svc, X, budget=15, random_state=3) for _ in range(2))
    assert_array_equal(one.decision_function(X), other.decision_function(X))


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of budget, bytes and tolerance, got 0"),
        ({"budget": 5, "bytes": 100}, "got 2"),
        ({"budget": 1}, "budget must be an integer of at least 2, got 1"),
        ({"budget": 5.0}, "budget must be an integer"),
        ({"budget": 2**70}, f"budget must be at most 2147483647, got {2**70}"),
        (
            {"bytes": 40},
            r"bytes=40 is too small: 2 vectors of 2 features and 1 output take 174 bytes in int8",
        ),
        ({"bytes": 35, "dtype": "float32"}, r"bytes=35 is too small: .* 36 bytes in float32"),
        ({"tolerance": 1.5}, "between 0 and 1"),
        ({"tolerance": 1e-9, "targets": "labels"}, "Labels need rows"),
        ({"budget": 5, "dtype": "int4"}, "dtype must be one of"),
        ({"budget": 5, "targets": "both"}, "targets must be"),
        ({"budget": 5, "y": np.zeros(3)}, "give X"),
    ],
)
def test_parameters_are_checked(options, message):
    svc = SVC().fit(*moons(100))
    with pytest.raises(ValueError, match=message):
        compress(svc, **options)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "precomputed"])
def test_other_kernels_are_refused(kernel):
    X, y = moons(100)
    svc = SVC(kernel=kernel).fit(X @ X.T if kernel == "precomputed" else X, y)
    with pytest.raises(ValueError, match=f"this SVC has kernel='{kernel}'"):
        compress(svc, budget=5)


def test_what_is_no_machine_is_refused(tmp_path):
    X, y = moons(100)
    with pytest.raises(TypeError, match="got StandardScaler"):
        compress(StandardScaler().fit(X), budget=5)
    with pytest.raises(NotFittedError):
        compress(SVC(), budget=5)
    pipeline = make_pipeline(FunctionTransformer(np.abs), SVC()).fit(X, y)
    with pytest.raises((TypeError, ValueError), match="FunctionTransformer"):
        compress(pipeline, budget=5)
    with pytest.raises(FileNotFoundError):
        compress(tmp_path / "none.model", budget=5)


@pytest.mark.parametrize("machine", [SVR(), BudgetedSVR(10)], ids=["SVR", "BudgetedSVR"])
def test_a_machine_without_vectors_is_refused(machine):
    X, _ = moons(100)
    machine.fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="no support vectors"):
        compress(machine, X, budget=5)


def test_a_report_can_be_read():
    X, y = moons()
    svc = SVC().fit(X, y)
    assert f"on {len(svc.support_)} support vectors\n" in str(compress(svc, budget=20).compression_)
    report = compress(svc, X, budget=20, random_state=0).compression_
    assert "% on 150 held-out rows\n" in str(report)


def test_rows_are_checked():
    X, y = moons(100)
    svc = SVC().fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        compress(svc, np.zeros((50, 3)), budget=5)
    with pytest.raises(ValueError, match="inconsistent"):
        compress(svc, X, y[:50], budget=5)
    for targets in ("model", "labels"):
        with pytest.raises(ValueError, match=r"y holds 2, which is no class .* are 0, 1"):
            compress(svc, X, 2 * y, budget=5, targets=targets)
    with pytest.raises(ValueError, match="y holds '1'"):
        compress(svc, X, np.full(100, "1"), budget=5)
    machine = OneClassSVM().fit(X)
    with pytest.raises(ValueError, match=r"y holds 0, which is no class .* are -1, 1"):
        compress(machine, X, y, budget=5)
    with pytest.raises(ValueError, match="too few"):
        compress(svc, X[:3], budget=5)
    with pytest.raises(
        ValueError, match="is too small: a model with 4 outputs needs at least 8 vectors"
    ):
        compress(SVC().fit(*blobs(100)), budget=7)
    svc = SVC(C=10).fit(*blobs(400))
    with pytest.raises(ValueError, match=r"Only 1 of the 4 classes"):
        compress(svc, np.tile(blobs(400)[0][:1], (50, 1)), budget=20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "neither a model of pocketsvm"),
        ("svm_type c_svc\nkernel_type linear\nSV\n", "header has no line"),
        ("{head}kernel_type linear\n{rest}", "its kernel is linear"),
        ("{head}kernel_type rbf\n{rest}1 1:nan\n", "vectors, and its header"),
        *[
            (f"{{head}}kernel_type rbf\n{name}\n{{rest}}", f"line 3, '{name}', has no value")
            for name in ("svm_type", "gamma", "total_sv", "nr_class")
        ],
    ],
)
def test_damaged_libsvm_files_are_refused(tmp_path, text, message):
    X, y = moons(100)
    path = tmp_path / "m.model"
    export_libsvm(BudgetedSVC(10, random_state=0).fit(X, y), path)
    good = path.read_text()
    head, rest = good.split("kernel_type rbf\n")
    path.write_text(text.format(head=head, rest=rest))
    with pytest.raises(ValueError, match=message) as raised:
        compress(path, budget=5)
    assert str(path) in str(raised.value)
