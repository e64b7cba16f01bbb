"""Small data sets instead of the paper's."""

import pytest
from paper_data import use_two_sets


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with the only two data sets."""
    return use_two_sets(tmp_path, monkeypatch)
