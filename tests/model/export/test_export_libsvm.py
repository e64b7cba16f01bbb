"""Exports to LIBSVM, run by LIBSVM itself."""

import export_models as models
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons

from pocketsvm import BudgetedSVC
from pocketsvm.model.export import export_libsvm


@pytest.fixture
def run_libsvm(tmp_path):
    """Labels and decision values by LIBSVM itself."""
    svmutil = pytest.importorskip(
        "libsvm.svmutil", reason="LIBSVM is not there: pip install libsvm-official"
    )

    def run(path, X):
        model = svmutil.svm_load_model(str(path))
        y, _, values = svmutil.svm_predict([], np.asarray(X, dtype=np.float64), model, "-q")
        return np.array(y), np.array(values)

    return run


@pytest.mark.parametrize("setting", models.SEVERAL)
def test_libsvm_decides_the_same(tmp_path, run_libsvm, setting):
    clf, X = models.fitted(**setting)
    export_libsvm(clf, tmp_path / "svm.model")
    labels, values = run_libsvm(tmp_path / "svm.model", X)
    models.assert_same_labels(labels, clf, X)
    expected = models.exact(clf, X)
    if len(clf.classes_) > 2:  # all pairs, the later class first
        first, second = np.triu_indices(len(clf.classes_), 1)
        expected = expected[:, ::-1]
        expected = expected[:, first] - expected[:, second]
    sums = np.abs(clf.dual_coef_).sum()
    assert_allclose(values, expected, rtol=0, atol=1e-14 * sums)
    if len(clf.classes_) == 2:
        assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=1e-6 * sums)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_libsvm_gives_a_tie_to_the_first_class(tmp_path, run_libsvm, n_classes):
    """As predict does; so far from all vectors that every value is zero, all classes tie."""
    clf, X = models.fitted(n_classes, labels=[5, 3, 4][:n_classes], fit_intercept=False)
    export_libsvm(clf, tmp_path / "svm.model")
    labels, values = run_libsvm(tmp_path / "svm.model", 1e5 * X)
    assert_array_equal(values, 0)
    assert_array_equal(labels, 3)


def test_libsvm_takes_sparse_and_float64_vectors(tmp_path, run_libsvm):
    X, y = load_digits(return_X_y=True)
    clf = BudgetedSVC(60, max_iter=2, random_state=0).fit(X, y)
    export_libsvm(clf, tmp_path / "svm.model")
    assert_array_equal(run_libsvm(tmp_path / "svm.model", X[:200])[0], clf.predict(X[:200]))
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = BudgetedSVC(30, gamma=1.0, polish=False, random_state=0).fit(X + 1e5, y)
    assert clf.support_vectors_.dtype == np.float64
    export_libsvm(clf, tmp_path / "svm.model")
    values = run_libsvm(tmp_path / "svm.model", X + 1e5)[1]
    difference = np.abs(values[:, 0] - clf.decision_function(X + 1e5))
    assert difference.max() < models.tolerance(clf)


def test_libsvm_repeats_a_vector_only_if_several_classes_need_it(tmp_path):
    for polish, copies in ((False, 1), (True, 3)):
        clf, _ = models.fitted(4, polish=polish)
        export_libsvm(clf, tmp_path / "svm.model")
        text = (tmp_path / "svm.model").read_text()
        assert f"total_sv {copies * len(clf.support_vectors_)}\n" in text


@pytest.mark.parametrize("labels", [["a", "b"], [0, 2**40]])
def test_libsvm_labels_that_are_no_integers_are_positions(tmp_path, run_libsvm, labels):
    clf, X = models.fitted(labels=labels)
    assert export_libsvm(clf, tmp_path / "svm.model").labels == [0, 1]
    found = run_libsvm(tmp_path / "svm.model", X)[0].astype(int)
    assert_array_equal(clf.classes_[found], clf.predict(X))


@models.REGRESSIONS
def test_libsvm_regression(tmp_path, run_libsvm, setting):
    model, X = models.regression(**setting)
    assert export_libsvm(model, tmp_path / "svm.model").labels is None
    found = run_libsvm(tmp_path / "svm.model", X)[0]
    assert_allclose(found, model.predict(X), rtol=1e-15, atol=0.1 * models.tolerance(model))
    if len(model.support_vectors_):
        assert_allclose(
            found, models.exact(model, X)[:, 0], rtol=0, atol=1e-8 * models.tolerance(model)
        )


def test_libsvm_has_no_place_for_scaling(tmp_path):
    with pytest.raises(ValueError, match=r"hold the preparation .*StandardScaler.*C or ONNX"):
        export_libsvm(models.scaled()[0], tmp_path / "svm.model")


@models.LOG_LOSS
def test_libsvm_probabilities(tmp_path, n_classes):
    svmutil = pytest.importorskip("libsvm.svmutil")
    clf, X = models.fitted(n_classes, loss="log_loss")
    export_libsvm(clf, tmp_path / "svm.model")
    model = svmutil.svm_load_model(str(tmp_path / "svm.model"))
    rows = np.asarray(X, dtype=np.float64)
    labels, _, found = svmutil.svm_predict([], rows, model, "-b 1 -q")
    order = np.argsort(model.get_labels())
    # LIBSVM couples the probabilities of pairs by an iteration that ends at 0.005.
    assert_allclose(np.array(found)[:, order], clf.predict_proba(X), atol=5e-3)
    models.assert_same_labels(labels, clf, X)


@models.SEVERAL_VALUES
def test_libsvm_has_no_place_for_several_values(tmp_path, kind):
    model, _ = models.several_values(kind)
    if len(model.intercept_) == 1:
        export_libsvm(model, tmp_path / "svm.model")
        return
    with pytest.raises(ValueError, match=r"one output for a regression.*C or ONNX"):
        export_libsvm(model, tmp_path / "svm.model")


@models.POLISHED
def test_libsvm_finds_the_same_outliers(tmp_path, run_libsvm, polish):
    model, X = models.novelty(polish=polish)
    exported = export_libsvm(model, tmp_path / "svm.model")
    assert exported.labels == [-1, 1]
    assert (tmp_path / "svm.model").read_text().startswith("svm_type one_class\n")
    labels, values = run_libsvm(tmp_path / "svm.model", X)
    assert_allclose(values, models.exact(model, X), rtol=0, atol=1e-12 * model.dual_coef_.sum())
    models.assert_same_labels(labels, model, X)


def test_libsvm_has_no_place_for_a_ranking(tmp_path):
    model, _ = models.ranking()
    with pytest.raises(ValueError, match=r"no type for ranking. Export the model to C or ONNX"):
        export_libsvm(model, tmp_path / "svm.model")
    assert not (tmp_path / "svm.model").exists()


def test_libsvm_has_no_place_for_feature_scales(tmp_path):
    clf, _ = models.weighted("two classes")
    with pytest.raises(ValueError, match=r"cannot hold feature scales\. Export .* to C or ONNX"):
        export_libsvm(clf, tmp_path / "svm.model")
