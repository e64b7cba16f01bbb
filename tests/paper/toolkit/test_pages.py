"""Pages as Markdown and HTML."""

from html_page import Page

from pocketsvm.paper.toolkit.pages import Picture, write_html, write_markdown
from pocketsvm.paper.toolkit.tables import LONG_TABLE, Cell, Table, headings


def test_pages_escape_what_they_show(tmp_path):
    table = Table("t", "a < b", headings("x & y", "z"))
    table.add("<i>", Cell("1", "<2", "-1", beyond=True))
    blocks = ["# Title & more", "**bold** `code <`", table]
    text = write_html(blocks, tmp_path, "page").read_text()
    Page(text)
    assert "<h1>Title &amp; more</h1>" in text
    assert "<strong>bold</strong> <code>code &lt;</code>" in text
    assert '<th scope="row">&lt;i&gt;</th>' in text
    assert "&lt;2 <strong>-1</strong>" in text
    assert "| 1<br><sub><2, **-1**</sub> |" in write_markdown(blocks, tmp_path, "page").read_text()


def test_pictures_are_beside_the_markdown_page_and_inside_the_html_page(tmp_path):
    blocks = ["# Title", Picture("dot.svg", "A dot", b"<svg></svg>")]
    page = write_markdown(blocks, tmp_path, "page").read_text()
    assert page == "# Title\n\n![A dot](images/dot.svg)\n\n*A dot.*\n"
    assert (tmp_path / "images" / "dot.svg").read_bytes() == b"<svg></svg>"
    assert Page(write_html(blocks, tmp_path, "page").read_text()).addresses == [
        "data:,",
        "data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=",
    ]


def test_long_tables_are_collapsed(tmp_path):
    table = Table("t", "", headings("x"))
    for k in range(LONG_TABLE):
        table.add(str(k))
    for page in (write_markdown([table], tmp_path, "p"), write_html(["#", table], tmp_path, "p")):
        assert f"<details><summary>{LONG_TABLE} rows</summary>" in page.read_text()


def test_links_in_html_are_plain_text(tmp_path):
    text = write_html(["# Title", "See [the study](study.md)."], tmp_path, "page").read_text()
    assert "<p>See the study.</p>" in text
