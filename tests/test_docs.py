"""The pages: their examples run as printed, their links lead somewhere, the API is up to date."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_examples_run_as_printed(page, tmp_path, monkeypatch):
    import examples

    if page.name == "api.md":
        pytest.skip("its examples are those of the docstrings, which run in test_package.py")
    monkeypatch.chdir(tmp_path)
    examples.run_page(page)
    plt.close("all")
    for picture in tmp_path.glob("*.png"):
        assert (ROOT / "docs" / "images" / picture.name).exists(), "run make docs"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#]*)#?[^)]*\)", text):
        if link and "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_api_reference_is_up_to_date():
    import api_reference

    assert api_reference.PAGE.read_text() == api_reference.page(), "run make docs"
