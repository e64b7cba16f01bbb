"""Check the built site: its links lead somewhere, and it loads nothing from elsewhere.

python tools/check_site.py build/site

prints what is wrong, one line each, and fails if there is anything.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

# What a browser loads when it opens a page, by element. A link element loads only for some uses.
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
UNLOADED = {"canonical", "next", "prev", "alternate"}
CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


def problems(site: Path) -> list[str]:
    """Return everything that is wrong with the site."""
    pages = {
        path: BeautifulSoup(path.read_text(), "html.parser")
        for path in sorted(site.rglob("*.html"))
    }
    anchors = {path: _anchors(page) for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        if path.name != "404.html":  # its links start at the root of the server
            found += [f"{path}: {one}" for one in _broken_links(path, page, anchors)]
            found += [f"{path}: loads {one}" for one in _loaded(page) if urlsplit(one).netloc]
    for path in sorted(site.rglob("*.css")):
        urls = ["".join(match) for match in CSS_URL.findall(path.read_text())]
        found += [f"{path}: loads {url}" for url in urls if urlsplit(url).netloc]
    for link in MARKDOWN_LINK.findall((site / "llms.txt").read_text()):
        if not (site / link).is_file():
            found.append(f"{site / 'llms.txt'}: there is no {link}")
    return found


def _anchors(page: BeautifulSoup) -> set[str]:
    return {str(tag["id"]) for tag in page.find_all(id=True)}


def _loaded(page: BeautifulSoup) -> list[str]:
    """Return the addresses that a browser requests for a page."""
    urls = []
    for tag in page.find_all(list(LOADING)):
        assert isinstance(tag, Tag)
        if not UNLOADED & set(tag.get_attribute_list("rel")):
            urls.append(str(tag.get(LOADING[tag.name], "")))
    return urls


def _broken_links(path: Path, page: BeautifulSoup, anchors: dict[Path, set[str]]) -> list[str]:
    """Return the links and sources of a page that lead to no file or to no heading."""
    broken = []
    links = [str(tag["href"]) for tag in page.find_all("a", href=True)]
    for link in [*links, *_loaded(page)]:
        url = urlsplit(link)
        if url.scheme or url.netloc or link == "#":
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            broken.append(f"there is no {link}")
        elif url.fragment and target in anchors and unquote(url.fragment) not in anchors[target]:
            broken.append(f"there is no heading {link}")
    return broken


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
