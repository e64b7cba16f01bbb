"""Memory: training that cannot fit is refused before anything is allocated."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from pocketsvm import BudgetedSVC, load_model, save_model
from pocketsvm.files import memory


@pytest.fixture
def little(monkeypatch):
    """A machine with 12 MB: 1,000 vectors of 1,000 features take as much three times."""
    monkeypatch.setattr(memory, "available_memory", lambda: 12_000_000)


def wide(n_features, n_rows=2000):
    random = np.random.default_rng(0)
    columns = np.resize(random.permutation(n_features), 2 * n_rows)  # two in each row
    values = random.random(2 * n_rows, dtype=np.float32)
    X = sp.csr_array((values, columns, np.arange(n_rows + 1) * 2), shape=(n_rows, n_features))
    X.sort_indices()
    return X, np.arange(n_rows) % 2


def test_training_that_needs_more_memory_than_there_is_is_refused(little):
    clf = BudgetedSVC(1000, max_iter=1, polish=False, random_state=0)
    clf.fit(*wide(1000))
    message = "Training needs at least .* GiB of memory.*1,000 of them have 1,001 features"
    with pytest.raises(MemoryError, match=message):
        clf.fit(*wide(1001))
    clf.fit(*wide(10_000, 100))  # there are at most 100 vectors
    clf.set_params(budget=100).fit(*wide(10_000))


def test_columns_that_no_row_uses_can_be_left_out_as_the_message_says(little, tmp_path):
    X, y = wide(100_000)
    clf = BudgetedSVC(1000, max_iter=1, polish=False, random_state=0)
    X = sp.csr_array((X.data, X.indices // 100 * 100, X.indptr), shape=X.shape)
    X.sum_duplicates()
    with pytest.raises(MemoryError, match="The rows use 986 of the features: ColumnTransformer"):
        clf.fit(X, y)
    used = ColumnTransformer([("used", "passthrough", np.unique(X.indices))], sparse_threshold=1)
    model = make_pipeline(used, clf).fit(X, y)
    assert model.n_features_in_ == 100_000
    assert model[-1].support_vectors_.shape[1] == 986
    save_model(model, tmp_path / "m.psvm")
    loaded = load_model(tmp_path / "m.psvm")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_system_that_does_not_tell_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert memory.memory_problem(10**6, 10**9) is None


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    (tmp_path / "max").write_text("3000000\n")
    (tmp_path / "current").write_text("1000000\n")
    paths = str(tmp_path / "max"), str(tmp_path / "current")
    monkeypatch.setattr(memory, "LIMITS", (paths, ("/none", "/none")))
    assert memory.available_memory() == 2_000_000
    (tmp_path / "max").write_text("max\n")
    assert memory.available_memory() != 2_000_000
