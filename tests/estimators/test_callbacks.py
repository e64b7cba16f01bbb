"""scikit-learn's callbacks: they see every pass, and can stop training."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from callbacks import Recorder
from models import assert_same_model, blobs, moons, small_svc
from numpy.testing import assert_array_equal


def test_callbacks_see_every_pass():
    X, y = blobs(3)
    recorder = Recorder()
    clf = small_svc(max_iter=3).set_callbacks(recorder).fit(X, y)
    passes = [(when, "pass", i) for i in range(3) for when in ("begin", "end")]
    assert recorder.events == [
        ("setup", "fit", 3),
        ("begin", "fit", 0),
        *passes,
        ("end", "fit", 0),
        ("teardown", "fit", 3),
    ]
    # The callback gets the model after each pass; the last two calls see the same model.
    assert len(set(recorder.scores)) > 1
    assert recorder.scores[-1] == recorder.scores[-2] == clf.score(X, y)
    assert recorder.metadata is None
    assert_same_model(clf, small_svc(max_iter=3).fit(X, y))


def test_callback_can_stop_the_passes():
    X, y = moons()
    weight = np.ones(len(y))
    recorder = Recorder(stop_after=2)
    clf = small_svc(max_iter=50).set_callbacks(recorder).fit(X, y, sample_weight=weight)
    assert clf.n_iter_ == 2
    assert_same_model(clf, small_svc(max_iter=2).fit(X, y))
    assert_array_equal(recorder.metadata["sample_weight"], weight)


class BreakingTheIndices:
    """A callback that points the indices of X far outside of its columns."""

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        X.indices[:] = 2**30
        X.indptr[1:] = 2**30

    def teardown(self, estimator, context): ...


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("polish", [True, False])
def test_callback_may_change_the_indices(polish, layout, dtype):
    X, y = blobs(3)
    X = layout(X.astype(dtype))
    expected = small_svc(polish=polish).fit(X.copy(), y)
    clf = small_svc(polish=polish).set_callbacks(BreakingTheIndices()).fit(X, y)
    assert X.indices[0] == 2**30  # what the callback got is not a copy
    assert_same_model(clf, expected)


def test_callback_may_change_the_indices_during_partial_fit():
    X, y = blobs(3)
    sparse = sp.csr_array(X)
    clf = small_svc().set_callbacks(BreakingTheIndices()).partial_fit(sparse, y, classes=range(3))
    assert_same_model(clf, small_svc().partial_fit(X, y, classes=range(3)))


def test_callbacks_see_partial_fit_and_the_names_of_a_new_fit():
    X, y = blobs(2)
    recorder = Recorder()
    clf = small_svc(max_iter=1).fit(pd.DataFrame(X).add_prefix("x"), y).set_callbacks(recorder)
    clf.partial_fit(pd.DataFrame(X).add_prefix("x"), y)
    assert ("end", "partial_fit", 0) in recorder.events
    # The estimators passed to callbacks must not keep the feature names of the previous fit.
    clf.fit(X[:, :3], y)
    assert clf.n_features_in_ == 3
    assert not hasattr(clf, "feature_names_in_")


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = moons()
    clf = small_svc().set_callbacks(ProgressBar()).fit(X, y)
    assert "BudgetedSVC - fit" in capsys.readouterr().out
    assert_same_model(clf, small_svc().fit(X, y))
