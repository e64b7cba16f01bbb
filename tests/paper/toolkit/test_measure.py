"""Clocks, and the description of the machine."""

from pocketsvm.paper.toolkit import measure


def test_a_timed_call_returns_its_value():
    assert measure.timed(lambda: 7).value == 7


def test_the_machine_and_versions_are_known():
    assert measure.machine()["cores"] >= 1
    assert measure.cpu_model()
    assert "numpy" in measure.versions()
    assert measure.versions(("no-such-package",)) == {}
