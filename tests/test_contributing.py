"""CONTRIBUTING.md names what exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
DEFINED = set(re.findall(r"^ *(?:def|class) (\w+)", SOURCE, re.M))


def section(title):
    """Return the text of a section."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


WAYS = re.split(r"^\d\. ", section("Five ways through the code"), flags=re.M)[1:]


def test_there_are_five_ways():
    assert len(WAYS) == 5


@pytest.mark.parametrize("way", WAYS, ids=[way.split("**")[1] for way in WAYS])
def test_ways_name_what_exists_in_few_steps(way):
    assert way.count("→") <= 10
    names = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", way)}
    assert names <= DEFINED


def test_paths_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`((?:src|native|tests|benchmarks|tools)/[\w/.]+)`", text))
    assert len(paths) > 10
    missing = {path for path in paths if not (ROOT / path).exists()}
    assert missing <= {"native/losses/my_loss.hpp"}  # an example
