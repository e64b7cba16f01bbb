"""The pages: their examples print what they show, their links exist, the API is up to date."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from sybil.example import SybilFailure

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    import examples

    if page.name == "api.md":
        pytest.skip("its examples are those of the docstrings, which run in test_package.py")
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
        if link and "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_api_reference_is_up_to_date():
    import api_reference

    assert api_reference.PAGE.read_text() == api_reference.page(), "run make docs"
