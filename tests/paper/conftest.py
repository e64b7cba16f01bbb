"""Small data sets instead of the paper's."""

import pytest
from paper_data import small_source, use_two_sets

from pocketsvm.paper.datasets import files, registry


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the only two data sets."""
    return use_two_sets(tmp_path, monkeypatch)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no other folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POCKETSVM_DATA", raising=False)
    return files.cache_folder()


@pytest.fixture
def small(monkeypatch):
    """The only data set."""
    published = registry.named("SUSY").published
    data_set = registry.DataSet("SMALL", 1, 1, (2, 3), 1, (small_source(),), published)
    monkeypatch.setattr(registry, "DATA_SETS", (data_set,))
    return data_set
