"""Print the oldest supported version of every dependency, as constraints for pip.

python tools/oldest.py > constraints.txt

A lower bound in pyproject.toml, such as ``numpy>=2.0``, becomes ``numpy==2.0``. Extras of a
dependency are left out, because pip accepts none in constraints.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)")


def constraints() -> list[str]:
    """Return one line per dependency of the package, and of its extras but those of the pages."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"]]
    for name, dependencies in extras.items():
        if name != "docs":
            needed += [one for one in dependencies if not one.startswith(project["name"])]
    bounds = [BOUND.fullmatch(one) for one in needed]
    assert all(bounds), f"every dependency needs a lower bound and nothing else: {needed}"
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    print(*constraints(), sep="\n")
