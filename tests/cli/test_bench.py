"""``pocketsvm bench``."""

from pocketsvm.cli import bench
from pocketsvm.cli.app import run


def test_bench_calls_itself_by_its_command(capfd):
    assert run(["bench", "--help"]) == 0
    assert capfd.readouterr().out.startswith("usage: pocketsvm bench ")


def test_bench_outside_of_a_checkout_says_where_to_go(call, monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "BENCHMARKS", tmp_path / "run.py")
    code, _, err = call("bench", "--quick")
    assert code == 1
    assert "make bench" in err
    (tmp_path / "run.py").write_text("import sys; sys.exit(len(sys.argv))")
    assert call("bench", "--quick", "--help")[0] == 3
