"""Clocks, memory and child processes."""

import pytest

from pocketsvm.experiments.toolkit import measure


def test_the_fastest_run_of_each_call_is_kept():
    calls = []
    runs = measure.fastest({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 3
    assert min(run.seconds for run in runs.values()) >= 0


def test_long_calls_are_not_repeated(monkeypatch):
    monkeypatch.setattr(measure, "REPEAT_SECONDS", 0.0)
    calls = []
    measure.fastest({"a": lambda: calls.append("a")}, 3)
    assert calls == ["a"]


def test_a_timed_call_returns_its_value():
    assert measure.timed(lambda: 7).value == 7


def test_the_machine_and_versions_are_known():
    assert measure.machine()["cores"] >= 1
    assert measure.cpu_model()
    assert "numpy" in measure.versions()
    assert measure.versions(("no-such-package",)) == {}


@pytest.mark.skipif(not measure.can_measure_memory(), reason="not on Linux")
def test_the_peak_memory_is_in_bytes():
    assert measure.peak_memory() > 1 << 20
