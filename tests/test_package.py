"""The package as a whole: what it exports, its examples, its optional parts."""

import doctest
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pocketsvm
from pocketsvm import MergeTable, _core
from pocketsvm.cli.app import run

ROOT = Path(__file__).parents[1]
MODULES = [
    "pocketsvm",
    *(
        module.name
        for module in pkgutil.walk_packages(pocketsvm.__path__, "pocketsvm.")
        if not module.name.endswith(("._core", ".__main__"))
    ),
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


def test_public_names_exist_and_have_an_example():
    assert sorted(pocketsvm.__all__) == [
        "BudgetedOneClassSVM",
        "BudgetedRanker",
        "BudgetedSVC",
        "BudgetedSVCCV",
        "BudgetedSVR",
        "BudgetedSVRCV",
        "MergeTable",
        "compress",
        "golden_section",
        "load_model",
        "load_svmlight",
        "open_dataset",
        "save_model",
        "show_versions",
        "trusted_types",
    ]
    for name in pocketsvm.__all__:
        thing = getattr(pocketsvm, name)
        assert ">>> " in thing.__doc__, f"{name} has no example"


@pytest.mark.parametrize("estimator", [pocketsvm.BudgetedSVC, pocketsvm.BudgetedSVR])
def test_every_parameter_is_documented(estimator):
    described, _, _ = estimator.__doc__.partition("See Also")
    documented = re.findall(r"^    (\w+) : ", described, flags=re.MULTILINE)
    parameters = list(inspect.signature(estimator).parameters)
    assert documented[: len(parameters)] == parameters
    fitted = estimator(max_iter=1).fit([[0.0], [1.0]], [0, 1])
    names = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    public = {name for name in names if hasattr(fitted, name)}
    assert public | {"feature_names_in_"} == set(documented[len(parameters) :])


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert pocketsvm.__version__ == project["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [project["version"]]


# --- the names of the strategies -----------------------------------------------------------------


@pytest.mark.parametrize("estimator", [pocketsvm.BudgetedSVC, pocketsvm.BudgetedSVR])
def test_the_docstrings_list_all_strategies(estimator):
    listed = re.search(r"^    maintenance : \{([^}]*)\}", estimator.__doc__, re.MULTILINE)
    assert re.findall(r'"([\w-]+)"', listed.group(1)) == _core.strategies()


def test_the_page_of_merging_lists_all_strategies():
    page = (ROOT / "docs" / "merging.md").read_text()
    table = page.partition("| `maintenance` |")[2].partition("\n\n")[0]
    assert re.findall(r'^\| `"([\w-]+)"` \|', table, re.MULTILINE) == _core.strategies()


def test_the_help_of_the_command_lists_all_strategies(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # no name is split at the end of a line
    run(["train", "--help"])
    line = re.search(r"--maintenance.*?overflows: (.*?)\.", capsys.readouterr().out)
    assert line.group(1).split(", ") == _core.strategies()


def test_show_versions(capsys):
    pocketsvm.show_versions()
    shown = capsys.readouterr().out
    assert f"pocketsvm: {pocketsvm.__version__}" in shown
    assert f"numpy: {np.__version__}" in shown
    assert _core.instruction_set() in _core.instruction_sets()
    assert f"instruction set: {_core.instruction_set()}" in shown


@pytest.mark.parametrize(
    ("statement", "unloaded"),
    [
        ("import pocketsvm; pocketsvm.__version__", ("numpy", "sklearn", "pocketsvm._core")),
        ("from pocketsvm import *; BudgetedSVC(), save_model", ("matplotlib", "typer")),
    ],
)
def test_public_names_load_when_they_are_used(statement, unloaded):
    script = f"import sys; {statement}; print([name for name in {unloaded} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_unloaded_names_are_listed_and_unknown_ones_refused():
    script = "import pocketsvm; print(*dir(pocketsvm))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert {*pocketsvm.__all__, "__version__"} <= set(done.stdout.split())
    with pytest.raises(AttributeError, match="module 'pocketsvm' has no attribute 'nothing'"):
        _ = pocketsvm.nothing


# --- the merge table's Python side ---------------------------------------------------------------


def test_native_tables_are_cached_and_not_pickled():
    from pocketsvm.merge_table import _native_table

    assert _native_table(40, True) is _native_table(40, True)
    table = MergeTable(40)
    twin = pickle.loads(pickle.dumps(table))
    assert repr(twin) == "MergeTable(size=40, scaled=True)"
    m = np.linspace(0, 1, 7)
    assert_array_equal(twin.h(m, 0.5), table.h(m, 0.5))
    assert not np.array_equal(MergeTable(40, scaled=False).wd(m, 0.9), table.wd(m, 0.9))


@pytest.mark.parametrize("size", [1, 3, 0, -2, 4098, 10.0, "400", None])
def test_a_wrong_table_size_is_an_error(size):
    with pytest.raises(
        ValueError, match=re.escape(f"size must be an even number from 2 to 4096, got {size!r}")
    ):
        MergeTable(size)


def test_plot_draws_both_graphs():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    axes = MergeTable(100).plot()
    assert axes.shape == (2,)
    assert [axis.get_xlabel() for axis in axes] == ["$m$", "$m$"]
    assert MergeTable(100).plot(axes)[0] is axes[0]
    axes[0].figure.canvas.draw()
    plt.close(axes[0].figure)


def test_plot_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'pocketsvm[plot]'")):
        MergeTable(40).plot()
