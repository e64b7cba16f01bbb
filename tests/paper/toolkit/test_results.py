"""Results on disk, and the stamp of the program that made them."""

import pytest

from pocketsvm.paper.protocol import COLUMNS, open_results
from pocketsvm.paper.toolkit import results


def test_numbers_survive_the_file(tmp_path):
    kept = open_results(tmp_path)
    line = dict.fromkeys(COLUMNS)
    line |= {"part": "paper", "budget": 10, "C": 2**-7, "accuracy": 100 / 3, "steps": 5}
    kept.add([line])
    (found,) = open_results(tmp_path).of([line])
    assert found == {name: value for name, value in line.items() if value is not None}
    assert open_results(tmp_path).of([line | {"budget": 20}]) == [None]
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_failed_write_loses_nothing(tmp_path, monkeypatch):
    kept = open_results(tmp_path)
    kept.add([{"part": "paper", "budget": 10}])
    before = kept.path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        kept.add([{"part": "paper", "budget": 20}])
    assert kept.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_the_stamp_changes_with_any_source_of_a_fit(tmp_path, monkeypatch):
    before = results.program()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new.py").write_text("changed = True\n")
    package = type("Package", (), {"__path__": [str(tmp_path)]})
    monkeypatch.setattr(results, "import_module", lambda name: package)
    assert results.program.__wrapped__() != before
    assert results.program() == before
