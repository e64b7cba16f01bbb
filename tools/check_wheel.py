"""Check that a wheel has what the package needs, and nothing else.

    python tools/check_wheel.py dist/*.whl

Benchmarks, tests and tools stay in the repository.
"""

import re
import sys
import zipfile
from pathlib import Path

ALLOWED = re.compile(r"pocketsvm/|pocketsvm-[^/]+\.dist-info/")
# Folders of the repository must not be copied into the package, either.
FORBIDDEN = re.compile(r"/(benchmarks?|experiments|study|tests|tools)(/|\.)")
NEEDED = (
    r"pocketsvm/_core\.[\w.-]*so",
    r"pocketsvm/_core\.pyi",
    r"pocketsvm/py\.typed",
    r"pocketsvm/paper/remarks\.md",
    r"pocketsvm/paper/datasets/paper\.toml",
    r"pocketsvm/paper/toolkit/templates/page\.html",
    r"pocketsvm-[^/]+\.dist-info/licenses/LICENSE",
)


def problems(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    wrong = [name for name in names if not ALLOWED.match(name) or FORBIDDEN.search(name)]
    missing = [one for one in NEEDED if not any(re.fullmatch(one, name) for name in names)]
    return [f"{name} does not belong into the wheel" for name in wrong] + [
        f"there is no {pattern}" for pattern in missing
    ]


if __name__ == "__main__":
    found = [problem for wheel in sys.argv[1:] for problem in problems(Path(wheel))]
    print(*found, sep="\n", file=sys.stderr)
    sys.exit(bool(found) or len(sys.argv) < 2)
