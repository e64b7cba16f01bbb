"""The plan of the runs."""

from paper_data import a_problem, row

from pocketsvm import _core
from pocketsvm.paper.protocol import Setting, default_strategies, plan
from pocketsvm.paper.tables import accuracy, time_saved

STRATEGIES = default_strategies()


def test_strategies_take_turns_within_a_run():
    setting = Setting(("gss", "merge"), runs=2, parts=("paper",))
    tasks = plan([a_problem()], setting)
    order = [(task.budget, task.seed, task.strategy) for task in tasks]
    assert order == [(b, run, s) for b in (100, 500) for run in (0, 1) for s in ("gss", "merge")]


def test_a_new_strategy_needs_no_edit(monkeypatch):
    monkeypatch.setattr(_core, "strategies", lambda: ["mine", "merge", "gss", "removal"])
    assert default_strategies() == ["gss-precise", "gss", "lookup-h", "lookup-wd", "mine", "merge"]
    setting = Setting(default_strategies())
    parts = {task.part for task in plan([a_problem()], setting) if "mine" in task.strategies}
    assert parts == {"paper", "audit", "defaults"}
    rows = [row("paper", strategy, accuracy=80.0) for strategy in setting.strategies]
    for table in (accuracy(rows, [a_problem()], setting, "paper"), time_saved([], [], setting)):
        assert "mine" in table.headings


def test_generated_rows_are_for_time_alone():
    tasks = plan([a_problem("SUSY", 4_500_000, generated=True)], Setting(STRATEGIES))
    assert {task.part for task in tasks} == {"paper"}


def test_huge_sets_get_one_pass_and_no_more():
    tasks = plan([a_problem("SUSY", 4_500_000)], Setting(STRATEGIES))
    assert {task.part for task in tasks} == {"paper", "audit"}
