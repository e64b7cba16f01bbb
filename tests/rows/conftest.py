"""What the tests of rows share: folders for the files and caches of a data set."""

import tempfile

import pytest


@pytest.fixture
def own_temporary_folder(tmp_path, monkeypatch):
    """Give each test a folder for caches, and check that none is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


@pytest.fixture
def folder(tmp_path):
    """A folder for the files of a data set."""
    path = tmp_path / "rows"
    path.mkdir()
    return path
