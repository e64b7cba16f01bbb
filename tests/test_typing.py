"""Type checkers see the types of the installed package in a user's script."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[1]
# scikit-learn has no types: its users tell mypy so.
SETTINGS = "[mypy]\nstrict = true\n\n[mypy-sklearn.*]\nignore_missing_imports = true\n"
ATTRIBUTES = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from pocketsvm import BudgetedSVC, BudgetedSVR, MergeTable, load_svmlight
from pocketsvm.plots import BoundaryDisplay
from pocketsvm.profile import Profile

X, y = load_svmlight("rows.svm")
classifier = assert_type(BudgetedSVC(budget=10).fit(X, y), BudgetedSVC)
assert_type(classifier.partial_fit(X, y), BudgetedSVC)
assert_type(classifier.support_vectors_, NDArray[np.floating[Any]])
assert_type(classifier.dual_coef_, NDArray[np.float64])
assert_type(classifier.intercept_, NDArray[np.float64])
assert_type(classifier.classes_, NDArray[Any])
assert_type(classifier.n_iter_, int)
assert_type(classifier.profile_, Profile)
assert_type(classifier.profile_.merge_frequency, float)
assert_type(classifier.predict(X), NDArray[Any])

regressor = assert_type(BudgetedSVR(budget=10).fit(X, y), BudgetedSVR)
assert_type(regressor.support_vectors_, NDArray[np.floating[Any]])
assert_type(regressor.predict(X), NDArray[np.float64])

assert_type(BoundaryDisplay.from_estimator(classifier, X), BoundaryDisplay)
assert_type(MergeTable().size, int)
"""
MISTAKES = """
from pocketsvm import BudgetedSVC, MergeTable

BudgetedSVC(bugdet=10)
BudgetedSVC(budget=10).profile_.merge_frequence
MergeTable(size="large")
"""


def check(tmp_path: Path, **scripts: str) -> str:
    """Return what mypy says about scripts outside the repository, without its cache."""
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "mypy", *(f"{name}.py" for name in scripts)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout


def test_a_script_of_a_user_is_checked(tmp_path):
    readme = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    said = check(tmp_path, readme=example, attributes=ATTRIBUTES, mistakes=MISTAKES)
    lines = said.splitlines()
    assert [line for line in lines if not line.startswith("mistakes.py")] == lines[-1:]
    assert 'Unexpected keyword argument "bugdet"' in said
    assert '"Profile" has no attribute "merge_frequence"' in said
    assert 'incompatible type "str"; expected "int"' in said
