"""The tools: those that build the site, and the one that fuzzes model files."""

import json
import random
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from mkdocs.exceptions import PluginError

TOOLS = Path(__file__).parents[1] / "tools"
GOLDEN = sorted(Path(__file__).parent.glob("golden/**/*.psvm"))
PROGRAM = '''"""A title

A text.
"""

from matplotlib import pyplot as plt

plt.plot([1, 2])
print("three")
'''
FUNCTION = '''def function(X, gamma="scale", a=1, b=1):
    """Return something.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    gamma : {"scale", "auto"} or float, \\
            default="scale"
        A number.

    a, b : int, default=1
        Numbers.

    Returns
    -------
    found : dict of {str: array-like}
        Something.

    See Also
    --------
    one : The first.
    two, three : Others.
    """
'''


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)


def program(folder, text):
    path = folder / "plot_some_thing.py"
    path.write_text(text)
    return path


def test_a_program_of_the_gallery_becomes_a_page(tmp_path):
    import gallery

    shown = gallery.show(program(tmp_path, PROGRAM), tmp_path)
    assert (tmp_path / "some-thing.png").read_bytes().startswith(b"\x89PNG")
    page = shown.page()
    assert page.startswith("# A title\n\nA text.\n\n![A title](some-thing.png)\n")
    assert "```text\nthree\n```" in page
    assert "```python\nfrom matplotlib" in page
    assert f"took {shown.seconds:.1f} seconds" in page
    assert "](some-thing.md)" in shown.card()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "plot_some_thing.py fails:(?s:.*)ZeroDivisionError"),
        ("import warnings; warnings.warn('old')", "UserWarning: old"),
        ("print('no picture')", "must draw one figure"),
    ],
)
def test_a_program_that_fails_warns_or_draws_nothing_is_an_error(text, message, tmp_path):
    import gallery

    with pytest.raises(RuntimeError, match=message):
        gallery.show(program(tmp_path, text), tmp_path)


def test_the_gallery_has_programs_with_titles_and_texts():
    import gallery

    shown = [gallery.Shown(path, "", 0.0) for path in gallery.programs()]
    assert len(shown) >= 12
    for one in shown:
        title, text = one.docstring
        assert title, one.name
        assert text, one.name


def test_a_module_stands_for_its_public_names():
    import site_hooks

    page = site_hooks.on_page_markdown("# Export\n\n::: pocketsvm.model.export\n")
    assert "| [`export_c`][pocketsvm.model.export.export_c] | Write" in page
    assert "| `FORMATS` | `('libsvm', 'onnx', 'c', 'js')` |" in page
    assert "\n::: pocketsvm.model.export.Exported\n" in page


def test_formulas_become_mathml():
    import site_hooks

    inline = site_hooks.on_page_content(r'<span class="arithmatex">\(a &lt; b\)</span>')
    assert inline.startswith('<span class="formula-inline" data-search-exclude><math')
    assert "<mo>&#x0003C;</mo>" in inline
    block = site_hooks.on_page_content('<div class="arithmatex">\\[\nx^2\n\\]</div>')
    assert 'display="block"' in block
    assert "<msup>" in block
    with pytest.raises(PluginError, match=r"cannot be written as MathML: .*arg"):
        site_hooks.on_page_content(r'<span class="arithmatex">\(\arg\max x\)</span>')


def test_literal_blocks_of_docstrings_have_one_colon_before_them():
    import site_hooks

    assert site_hooks.on_page_content("<p>As in::</p>") == "<p>As in:</p>"


def test_the_api_pages_show_what_docstrings_write(tmp_path):
    griffe = pytest.importorskip("griffe")
    import written_docstrings

    (tmp_path / "some.py").write_text(FUNCTION)
    extensions = griffe.load_extensions(written_docstrings.WrittenDocstrings)
    module = griffe.load(
        "some", search_paths=[tmp_path], extensions=extensions, docstring_parser="numpy"
    )
    _, parameters, returned, others = module["function"].docstring.parsed
    assert [(one.name, one.annotation, one.value) for one in parameters.value] == [
        ("X", "{array-like, sparse matrix} of shape (n_samples, n_features)", None),
        ("gamma", '{"scale", "auto"} or float', '"scale"'),
        ("a", "int", "1"),
        ("b", "int", "1"),
    ]
    assert returned.value[0].annotation == "dict of {str: array-like}"
    assert others.value.contents == "- `one`: The first.\n- `two, three`: Others."


def test_the_check_finds_broken_links_and_outside_requests(tmp_path):
    import check_site

    (tmp_path / "a.css").write_text("b { background: url(https://example.org/b.png) }")
    (tmp_path / "llms.txt").write_text("- [A](index.html)\n- [B](lost.md)\n")
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="#top">1</a> <a href="index.html#top">2</a>'
        '<a href="#lost">3</a> <a href="lost.html">4</a> <a href="https://example.org">5</a>'
        '<script src="https://example.org/s.js"></script><img src="lost.png">'
        '<link rel="canonical" href="https://example.org/">'
    )
    found = [one.removeprefix(f"{tmp_path}/") for one in check_site.problems(tmp_path)]
    assert found == [
        "index.html: there is no heading #lost",
        "index.html: there is no lost.html",
        "index.html: there is no lost.png",
        "index.html: loads https://example.org/s.js",
        "a.css: loads https://example.org/b.png",
        "llms.txt: there is no lost.md",
    ]


def test_a_wheel_has_the_package_and_no_benchmark(tmp_path):
    import check_wheel

    package = ["_core.abi3.so", "_core.pyi", "py.typed", "fit.py", "paper/remarks.md"]
    package += ["paper/datasets/paper.toml", "paper/toolkit/templates/page.html"]
    names = [f"pocketsvm/{name}" for name in package]
    names.append("pocketsvm-0.2.0.dist-info/licenses/LICENSE")

    def problems_of(names):
        path = tmp_path / "a.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "")
        return check_wheel.problems(path)

    assert problems_of(names) == []
    for name in ("benchmarks/speed.py", "pocketsvm/benchmarks/speed.py", "pocketsvm/study.py"):
        assert problems_of([*names, name]) == [f"{name} does not belong into the wheel"]
    for k, name in enumerate(names):
        if not name.endswith("fit.py"):
            assert len(problems_of(names[:k] + names[k + 1 :])) == 1


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_fuzzing_accepts_models_of_every_kind(tmp_path, path):
    import fuzz_models

    target = fuzz_models.Target(tmp_path)
    target(path.read_bytes())
    assert target.n_models == 1


@pytest.mark.filterwarnings("ignore:Found unknown categories", "ignore:overflow encountered")
@pytest.mark.parametrize("name", ["prepared-steps-v3", "sigmoid-v3", "temperature-v3"])
def test_changed_files_are_refused_or_hold_a_model_that_works(tmp_path, name):
    import fuzz_models

    target, rng = fuzz_models.Target(tmp_path), random.Random(0)
    content = next(path for path in GOLDEN if path.stem == name).read_bytes()
    for _ in range(400):
        target(fuzz_models.mutate(content, rng))
    assert 10 < target.n_models < 300


def test_models_of_the_live_picture_predict():
    import live_picture

    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    function, shown = live_picture.model(24)
    X, y = live_picture.spirals(200, seed=3)
    program = f"const m = {function}; console.log(JSON.stringify({X.tolist()}.map(m.predict)))"
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, check=True)
    assert np.mean(np.array(json.loads(done.stdout)) == y) > 0.95
    assert len(shown["vectors"]) == 24
