"""The fastest of several runs, CPU time and memory."""

import time

import pytest

from benchmarks import measure


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


def test_another_clock_does_not_count_waiting():
    (run,) = measure.fastest({"a": lambda: time.sleep(0.2)}, 1, clock=time.process_time).values()
    assert run.seconds < 0.1


@pytest.mark.skipif(not measure.can_measure_memory(), reason="not on Linux")
def test_the_peak_memory_is_in_bytes():
    assert measure.peak_memory() > 1 << 20
