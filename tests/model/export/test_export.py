"""What all exports have in common."""

import doctest
import importlib
import re
import subprocess
import sys

import pytest
from export_models import fitted
from sklearn.exceptions import NotFittedError

from pocketsvm import BudgetedSVC
from pocketsvm.model.export import FORMATS, export_model, export_onnx

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", ["", ".c", ".libsvm", ".onnx"])
def test_the_examples_in_the_docstrings_run(name):
    if name == ".onnx":
        pytest.importorskip("onnx")
    module = importlib.import_module(f"pocketsvm.model.export{name}")
    failed, attempted = doctest.testmod(module, optionflags=OPTIONS)
    assert failed == 0
    assert attempted > 0


@pytest.mark.parametrize("to", FORMATS)
def test_export_model_names_the_format(tmp_path, to):
    if to == "onnx":
        pytest.importorskip("onnx")
    clf, _ = fitted(labels=[10, 20])
    path = tmp_path / "model"
    exported = export_model(clf, path, to)
    content = path.read_bytes()
    FORMATS[to](clf, path)
    assert path.read_bytes() == content
    assert exported.path == str(path)
    assert exported.file_size == len(content)
    assert exported.labels == [10, 20]


def test_what_cannot_be_exported(tmp_path):
    with pytest.raises(
        ValueError, match="to must be one of 'libsvm', 'onnx', 'c', 'js', got 'pmml'"
    ):
        export_model(fitted()[0], tmp_path / "model", to="pmml")
    with pytest.raises(NotFittedError):
        export_model(BudgetedSVC(), tmp_path / "model", to="c")
    with pytest.raises(TypeError, match="Expected a fitted estimator of pocketsvm, got str"):
        export_model("model", tmp_path / "model", to="libsvm")
    assert not list(tmp_path.iterdir())


def test_exporting_without_onnx_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'pocketsvm[onnx]'")):
        export_onnx(fitted()[0], tmp_path / "model.onnx")


def test_exports_load_nothing_before_they_are_asked(tmp_path):
    script = "import sys, pocketsvm.model.export; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
