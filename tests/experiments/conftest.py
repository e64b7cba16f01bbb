"""Small data sets instead of the paper's."""

import pytest
from small import make_set, small_source

from pocketsvm.experiments.datasets import files, registry
from pocketsvm.experiments.paper import protocol, tables


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the only two data sets."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("POCKETSVM_DATA", str(folder))
    data_sets = tuple(make_set(folder, name) for name in ("ONE", "TWO"))
    monkeypatch.setattr(registry, "DATA_SETS", data_sets)
    for module in (protocol, tables):
        monkeypatch.setattr(module, "CURVE_BUDGETS", (10, 30))
    return folder


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
