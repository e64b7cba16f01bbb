"""The results of one part as a JSON file: its tables, and how they were measured."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pocketsvm._replacing import replacing
from pocketsvm.paper.toolkit.measure import git
from pocketsvm.paper.toolkit.tables import Table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# The trees of the product: a record of other ones says so.
TREES = ("src", "native")
# What a measurement depends on; the results themselves are not a part of it.
MEASURED = ("src", "native", "benchmarks", "CMakeLists.txt", "pyproject.toml")
NOT_MEASURED = ":(exclude)benchmarks/results"
CHANGED = "-changed"


@dataclass(frozen=True)
class Record:
    """The tables of one part, and how they were measured.

    Attributes
    ----------
    tables : list of Table
        What was measured.

    commit : str or None
        The commit that last changed what is measured, with `CHANGED` after it if files differ from
        it; None outside a repository.

    date, command : str
        When it was measured, and the command that measures it again.

    seconds : float
        How long that took.

    quick : bool
        Whether sizes were small.

    machine, versions : dict
        The machine, and the versions of packages.
    """

    tables: list[Table]
    commit: str | None
    date: str
    command: str
    seconds: float
    quick: bool
    machine: dict[str, Any]
    versions: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Return the record in a file."""
        record = json.loads(path.read_text())
        return cls(**record | {"tables": [Table(**table) for table in record["tables"]]})

    def write(self, path: Path) -> None:
        """Write the record to a file, which is replaced in one step."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(json.dumps(asdict(self), indent=1, ensure_ascii=False).encode() + b"\n")

    @property
    def provenance(self) -> str:
        """How the tables were measured, in one paragraph."""
        m = self.machine
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        commit = f", commit {self.commit[:12]}" if self.commit else ""
        return (
            f"Measured by `{self.command}` on {self.date} in {self.seconds:,.0f} s: {m['cpu']}, "
            f"{m['cores']} cores, {m['instruction_set']}, {m['system']} · Python {m['python']}, "
            f"{versions}{commit}."
        )

    def changed_since(self, root: Path = ROOT) -> list[str]:
        """Return the folders of the product that differ from what was measured.

        Without git, or if the commit is not in the history, there are none.
        """
        commit = (self.commit or "").removesuffix(CHANGED)
        if not commit:
            return []
        now, then = (
            [git(root, "rev-parse", "--verify", "--quiet", f"{of}:{name}") for name in TREES]
            for of in ("HEAD", commit)
        )
        return [name for name, a, b in zip(TREES, now, then, strict=True) if a and b and a != b]

    def is_of(self, commit: str | None) -> bool:
        """Whether the files of this commit were measured, and none that differ from it."""
        return commit is not None and not commit.endswith(CHANGED) and self.commit == commit


def measured_commit(root: Path = ROOT) -> str | None:
    """Return the commit that last changed what is measured; see `Record`."""
    commit = git(root, "log", "-1", "--format=%H", "--", *MEASURED, NOT_MEASURED)
    if not commit:
        return None
    changes = git(root, "status", "--porcelain", "--", *MEASURED, NOT_MEASURED)
    return commit + CHANGED if changes else commit
