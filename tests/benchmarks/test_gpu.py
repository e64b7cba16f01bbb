"""The benchmark of GPUs: what it does without one, and its data."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import gpu


def test_nothing_is_measured_without_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr(gpu, "DEVICE", "cuda:99")
    assert gpu.measure(True) == []
    assert 'Skipped: device="cuda:99"' in capsys.readouterr().out


def test_the_cases_of_accuracy_can_be_fitted():
    for case in (gpu.novelties(), gpu.queries()):
        small = type(case.machine)(**case.machine.get_params() | {"budget": 10, "random_state": 0})
        case.fit(small)
        assert 50 < case.score(small) <= 100


def test_files_are_read_as_often_as_asked(tmp_path):
    pytest.importorskip("pyarrow")
    from benchmarks.storage import write_rows

    paths = write_rows(Path(tmp_path), [300, 700], file_rows=400)
    assert [len(found) for found in paths.values()] == [1, 2]
    assert gpu.read(paths[700]) == 700


def test_generated_rows_are_of_two_classes_that_overlap():
    X, y = gpu.noisy_shell(2000)
    assert X.shape == (2000, 18)
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert 0.35 < np.mean(y > 0) < 0.65
