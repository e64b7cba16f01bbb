"""The pages: their examples print what they show, their links exist, the API is complete."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from sybil.example import SybilFailure

import pocketsvm
from pocketsvm import BudgetedSVC

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
API = sorted((ROOT / "docs" / "api").glob("*.md"))
# These pages are made when the site is built: `make site` checks the links to them.
MADE = re.compile(r"(\.\./)*(gallery/|changelog\.md)")
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    import examples

    monkeypatch.chdir(tmp_path)
    examples.run_page(page)
    plt.close("all")
    for picture in tmp_path.glob("*.png"):
        assert (ROOT / "docs" / "images" / picture.name).exists(), "run make docs"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "line 5.*print\n3\n\nand prints\n2"),
        ("```console\n$ echo one \\\n  two\none\n```\n", "print\none\n\nand prints\none two"),
        ("```console\n$ echo lost >&2; exit 3\n```\n", "fails with\nlost"),
        ("\n```python\n1 / 0\n```\n", "division by zero"),
    ],
)
def test_a_wrong_example_is_an_error(page, message, tmp_path):
    import examples

    path = tmp_path / "page.md"
    path.write_text(page)
    with pytest.raises((SybilFailure, ZeroDivisionError), match=f"(?s){message}"):
        examples.run_page(path)
    path.write_text(f"<!-- skip: start -->\n\n{page}")
    examples.run_page(path)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#]*)#?[^)]*\)", text):
        if link and "://" not in link and not MADE.match(link):
            assert (page.parent / link).exists(), link


MOST_LINES, MOST_ROWS = 300, 40


def longest_table(text):
    """Return the number of rows of the longest table that is not folded."""
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return max((table.count("\n") - 2 for table in tables), default=0)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_pages_and_tables_are_short(page):
    text = page.read_text()
    assert text.count("\n") <= (120 if page.name == "README.md" else MOST_LINES)
    assert longest_table(text) <= MOST_ROWS


def test_folded_tables_may_be_long():
    table = "| a |\n|---|\n" + 41 * "| 1 |\n"
    assert longest_table(f"One\n\n{table}\nTwo\n") == 41
    assert longest_table(f"<details>\n\n{table}\n</details>\n\n| a |\n|---|\n| 1 |\n") == 1


def test_the_page_of_the_command_line_is_what_the_commands_say():
    import command_page

    written = (ROOT / "docs" / "command-line.md").read_text()
    assert written == command_page.page(), "run make docs"
    for command in ("train", "tune", "data fetch", "reproduce"):
        assert f"# {command}\n" in written
    assert "| `-B`, `--budget` | integer from 2 | Maximum number of support vectors." in written
    assert "| `--seed` | integer from 0 to 4294967295 |" in written
    assert not re.search(r"\x1b|[╭│╰]", written)


def texts_of(tree):
    """Return the texts in a program, with ``...`` in place of values that are filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [getattr(part, "value", None) for part in node.values]
            yield "".join(part if isinstance(part, str) else "..." for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def begins_with(text, beginning):
    """Tell whether a text begins like this, where ``...`` in the beginning matches anything."""
    pattern = ".*".join(map(re.escape, beginning.split("...")))
    return re.match(pattern, text, flags=re.DOTALL) is not None


TREES = [
    ast.parse(path.read_text())
    for path in sorted((ROOT / "src" / "pocketsvm").rglob("*.py"))
    if "paper" not in path.parts
]
ENTRIES = dict(
    re.findall(
        r"^### (.*)\n\n((?:(?!^#).*\n)*)",
        (ROOT / "docs" / "troubleshooting.md").read_text(),
        flags=re.MULTILINE,
    )
)
OF_OTHERS = {  # messages of other packages, and how to cause them
    "Input X contains NaN": lambda fit: fit([[float("nan")], [1]], [0, 1]),
    "could not convert string to float": lambda fit: fit([["a"], ["b"]], [0, 1]),
    "Unknown label type: continuous": lambda fit: fit([[1], [2]], [0.5, 1.5]),
    "This '...' has no attribute 'predict_proba'": lambda fit: (
        fit([[1], [2]], [0, 1]).predict_proba
    ),
}


def test_messages_in_troubleshooting_are_those_of_the_package():
    texts = {text for tree in TREES for text in texts_of(tree)}
    assert len(ENTRIES) > 40
    for beginning, explanation in ENTRIES.items():
        if "This message is" in explanation:
            assert beginning in OF_OTHERS, beginning
        else:
            assert any(begins_with(text, beginning) for text in texts), beginning


@pytest.mark.parametrize("beginning", OF_OTHERS)
def test_messages_of_other_packages_in_troubleshooting(beginning):
    assert "This message is" in ENTRIES[beginning]
    with pytest.raises((ValueError, AttributeError)) as found:
        OF_OTHERS[beginning](BudgetedSVC(budget=2, random_state=0).fit)
    assert begins_with(str(found.value), beginning)


def test_every_warning_is_in_troubleshooting():
    warnings = []
    for tree in TREES:
        for call in ast.walk(tree):
            name = isinstance(call, ast.Call) and getattr(call.func, "attr", None)
            name = name or (isinstance(call, ast.Call) and getattr(call.func, "id", None))
            if name == "warn" and isinstance(call.args[0], ast.Constant | ast.JoinedStr):
                warnings.append(next(texts_of(call.args[0])))
    assert len(warnings) >= 10
    for warning in warnings:
        assert any(begins_with(warning, beginning) for beginning in ENTRIES), warning


def test_tests_that_the_pages_name_exist():
    named = [
        found
        for page in PAGES
        for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text())
    ]
    assert len(named) > 10
    for file, name in named:
        assert f"\ndef {name}(" in (ROOT / file).read_text(), f"{file}::{name}"


@pytest.mark.parametrize("page", API, ids=[page.name for page in API])
def test_public_names_have_an_example(page):
    """In their docstring, which runs in test_package.py, or on their page, which runs above."""
    text = page.read_text()
    code = "".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    for name in re.findall(r"^::: (.*)$", text, flags=re.MULTILINE):
        module = importlib.import_module(name)
        for public in module.__all__:
            thing = getattr(module, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                used = len(re.findall(rf"\b{public}\b", code)) >= 2  # imported and used
                assert ">>> " in thing.__doc__ or used, public


def test_every_public_module_has_a_page():
    listed = {name for page in API for name in re.findall(r"(?m)^::: (.*)$", page.read_text())}
    index = (ROOT / "docs" / "api" / "index.md").read_text()
    assert set(re.findall(r"\[`([\w.]+)`\]\(", index)) == listed
    assert {"pocketsvm", "pocketsvm.plots", "pocketsvm.model.export"} <= listed
    by_task = set(re.findall(r"\]\[([\w.]+)\]", index))
    for public in pocketsvm.__all__:
        assert f"pocketsvm.{public}" in by_task
