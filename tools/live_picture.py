"""Write the script of the live picture on the site's first page.

    python tools/live_picture.py build/live/live.js

trains models with several budgets on two noisy spirals, exports them with `export_js`, and writes
them with the rows and with `tools/live_picture.js`, which draws them. Pages may be opened as files,
where a browser loads no modules: each model becomes a function that returns what it exports.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from pocketsvm import BudgetedSVC
from pocketsvm.model.export import export_js

BUDGETS = (2, 4, 8, 12, 16, 24, 32, 48, 64)
N_ROWS, N_SHOWN = 20_000, 400
DRAWING = Path(__file__).with_suffix(".js")


def spirals(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two noisy spirals, and which one each belongs to."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n_rows)
    angle = np.sqrt(random.random(n_rows)) * 3 * np.pi
    radius = angle / (3 * np.pi)
    turned = angle + np.pi * y
    X = np.column_stack([radius * np.cos(turned), radius * np.sin(turned)])
    return X + 0.07 * random.normal(size=X.shape), y


def model(budget: int) -> tuple[str, dict[str, object]]:
    """Return the module of a model as a function, and what the page says about it."""
    X, y = spirals(N_ROWS, seed=0)
    clf = BudgetedSVC(budget, C=10, gamma=12, polish="thorough", random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        exported = export_js(clf, Path(folder) / "model.js")
        text = Path(exported.path).read_text()
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    X_test, y_test = spirals(N_ROWS, seed=1)
    shown = {
        "vectors": np.round(clf.support_vectors_, 4).tolist(),
        "accuracy": round(100 * clf.score(X_test, y_test), 1),
        "bytes": 4 * (clf.support_vectors_.size + clf.dual_coef_.size + 1),
    }
    return f"(() => {{\n{text}\nreturn {{ decision, predict }};\n}})()", shown


def write(path: Path) -> None:
    """Write the script."""
    X, y = spirals(N_SHOWN, seed=2)
    found = [model(budget) for budget in BUDGETS]
    models = ",\n".join(f"{{ ...{function}, ...{json.dumps(shown)} }}" for function, shown in found)
    rows = json.dumps(np.column_stack([X.round(4), y]).tolist())
    path.parent.mkdir(parents=True, exist_ok=True)
    data = f"const rows = {rows};\nconst models = [{models}];\n"
    path.write_text(f"(() => {{\n{data}{DRAWING.read_text()}}})();\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
