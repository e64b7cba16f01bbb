"""Progress and messages."""

import io
import re

from rich.console import Console

from pocketsvm.cli import console


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        console,
        "Console",
        lambda **_: Console(file=screen, force_terminal=True, width=80, legacy_windows=False),
    )
    monkeypatch.setenv("TERM", "xterm")
    with console.Reporter(quiet=False).task("training", total=4) as task:
        task.advance(1000)
    assert "25%" in screen.getvalue()
    assert "rows/s, 0:00:00 left" in screen.getvalue()


def test_progress_is_lines_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    reporter = console.Reporter(quiet=False)
    with reporter.task("training", total=4) as task:
        task.advance(1000)
    with reporter.task("predicting") as task:
        task.advance(1000, 1000)
    first, second = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"training: 25%, [0-9,]+ rows/s, 0:00:00 left", first)
    assert re.fullmatch(r"predicting: 1,000 rows, [0-9,]+ rows/s", second)


def test_a_task_may_turn_out_to_have_more_parts(monkeypatch, capsys):
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0)
    with console.Reporter(quiet=False).task("training", total=3) as task:
        task.total = 4
        task.advance(1000, 3.0)
    assert capsys.readouterr().err.startswith("training: 75%, ")
