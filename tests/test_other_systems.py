"""Without the calls that only POSIX has, as on Windows, the package works."""

import subprocess
import sys

WITHOUT_POSIX = """
import os, sys
sys.modules["fcntl"] = None
for name in ("fchmod", "fork", "forkpty", "pread", "register_at_fork"):
    delattr(os, name)

import tempfile
from pathlib import Path
import numpy as np
from sklearn.datasets import dump_svmlight_file
from pocketsvm import BudgetedSVC, load_model, load_svmlight, open_dataset, save_model

random = np.random.default_rng(0)
X = random.normal(size=(3000, 4))
y = (X[:, 0] > 0).astype(int)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder)
    dump_svmlight_file(X, y, str(path / "rows.svm"), zero_based=False)
    read, labels = load_svmlight(path / "rows.svm")
    assert (labels == y).all() and abs(read - X).max() < 1e-5
    model = BudgetedSVC(4, random_state=0).fit(open_dataset(path / "rows.svm"))
    for _ in range(2):
        save_model(model, path / "model.psvm")
    assert (load_model(path / "model.psvm").predict(read) == model.predict(read)).all()
    assert sorted(each.name for each in path.iterdir()) == ["model.psvm", "rows.svm"]
print("done")
"""


def test_the_package_works_without_calls_of_posix():
    child = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True)
    assert child.stdout == "done\n", child.stderr
