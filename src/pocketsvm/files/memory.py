"""Memory: what a fit or a file will allocate, compared with what there is."""

import os
from pathlib import Path
from typing import Any

import numpy as np

# Copies of all vectors, in float32, that training holds at least: those of the passes, the state
# and the model. Polishing takes more.
LEAST_COPIES = 3
BYTES = 4
GIB = 2**30
# So little that the system is not asked: that takes longer than to train on few rows.
LITTLE = 2**20
# Control groups: the limit of a container, and what it uses.
LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_memory() -> int | None:
    """Return the bytes that this process can still allocate; None if the system does not tell."""
    found = []
    for limit_path, used_path in LIMITS:
        limit, used = _number(limit_path), _number(used_path)
        if limit is not None and used is not None:
            found.append(limit - used)
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=None)


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text()) if os.path.exists(path) else None
    except (OSError, ValueError):  # "max" means that there is no limit
        return None


def memory_problem(n_vectors: int, n_features: int) -> str | None:
    """Say that training needs more memory than there is; None if there may be enough."""
    needed = LEAST_COPIES * BYTES * n_vectors * n_features
    available = available_memory() if needed > LITTLE else None
    if available is None or needed <= available:
        return None
    return (
        f"training needs at least {needed / GIB:,.1f} GiB of memory, and {available / GIB:,.1f} "
        f"GiB are there: support vectors are dense, and {n_vectors:,} of them have {n_features:,} "
        "features each. Use a smaller budget, or fewer features (TruncatedSVD, FeatureHasher)."
    )


def check_memory(n_vectors: int, X: Any) -> None:
    """Raise MemoryError before anything is allocated that there is no memory for."""
    if problem := memory_problem(n_vectors, X.shape[1]):
        if not isinstance(X, np.ndarray):
            problem += (
                f" The rows use {len(np.unique(X.indices)):,} of the features: ColumnTransformer"
                "([('used', 'passthrough', np.unique(X.indices))], sparse_threshold=1) leaves out "
                "the others."
            )
        raise MemoryError(problem[0].upper() + problem[1:])
