"""A model in integers on emulated microcontrollers: builds, runs and compares it.

    python examples/microcontroller/run.py [FOLDER]

Needs ``gcc-arm-none-eabi`` and ``qemu-system-arm``. Both programs print the labels of some rows,
and a checksum of the decision values of 100,000 rows of arbitrary bits. They must be those of
`pocketsvm.model.integers`. With the packages ``emlearn`` and ``micromlgen``, their models of the
same data run, too.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pocketsvm import compress
from pocketsvm.model.export import export_c
from pocketsvm.model.export.c_integers import folded
from pocketsvm.model.export.common import Exportable

HERE = Path(__file__).parent
N_MIXED = 100_000
FNV = 0x100000001B3
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class Board:
    """A board that qemu emulates.

    Attributes
    ----------
    cpu, machine : str
        The processor, and qemu's name of the board.

    flash, ram : str
        The sizes of its memory.

    clock : int
        Ticks of the processor's clock a second.
    """

    cpu: str
    machine: str
    flash: str
    ram: str
    clock: int

    def build(self, folder: Path, main: Path = HERE / "main.c", *, hosted: bool = False) -> Path:
        """Compile a program, without any library but the compiler's own unless it is hosted."""
        program = folder / f"{self.cpu}.elf"
        flags = ["-Os", f"-mcpu={self.cpu}", "-mthumb", "-fno-tree-loop-distribute-patterns"]
        flags += (
            ["-nostartfiles", "-fno-exceptions"]
            if hosted
            else [*STRICT, "-ffreestanding", "-nostdlib"]
        )
        group = ["-Wl,--start-group", "-lm", "-lc", "-lgcc", "-lnosys", "-Wl,--end-group"]
        libraries = group if hosted else ["-lgcc"]
        sizes = [f"-Wl,--defsym=FLASH_SIZE={self.flash},--defsym=RAM_SIZE={self.ram}"]
        sources = [str(main), str(HERE / "board.c"), f"-I{folder}", f"-I{HERE}"]
        link = ["-T", str(HERE / "board.ld"), *sizes, "-Wl,--no-warn-rwx-segments", *libraries]
        command = ["arm-none-eabi-gcc", *flags, *sources, "-o", str(program), *link]
        subprocess.run(command, check=True)
        return program

    def run(self, program: Path) -> list[list[int]]:
        """Run a program; return the numbers that it prints, for each line."""
        command = ["qemu-system-arm", "-M", self.machine, "-nographic", "-monitor", "none"]
        # One instruction takes a nanosecond, so that the clock counts instructions.
        command += ["-serial", "null", "-icount", "shift=0", "-semihosting", "-kernel"]
        command += [str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        lines = (done.stdout or done.stderr).splitlines()
        return [[int(word, 16) for word in line.split()] for line in lines]


BOARDS = (
    Board("cortex-m0", "microbit", "256K", "16K", 16_000_000),
    Board("cortex-m3", "mps2-an385", "4M", "4M", 25_000_000),
)


def mixed(x):
    """Return arbitrary numbers, as the function of this name in main.c does."""
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def checksum(integers, n_features: int, n_rows: int) -> int:
    """Return the checksum of the decision values of the rows that main.c makes."""
    n_columns = len(integers.features)
    rows = np.empty((n_rows, n_columns), dtype=np.int16)
    pairs = np.arange((n_rows + 1) // 2, dtype=np.uint64)[:, None] * (n_columns + n_features)
    plain = mixed(pairs + np.arange(n_columns, dtype=np.uint64)).astype(np.uint32)
    shifts = (np.arange(len(plain)) % 12)[:, None]
    rows[::2] = (plain.view(np.int32) >> 16) >> shifts
    later = pairs[: n_rows // 2] + n_columns + np.arange(n_features, dtype=np.uint64)
    rows[1::2] = integers.rows(mixed(later).astype(np.uint32).view(np.float32))
    total = 0
    for value in integers.decisions(rows).ravel().tolist():
        total = (total * FNV + value) & 0xFFFFFFFFFFFFFFFF
    return total


def write_rows(X, folder: Path) -> None:
    """Write rows.h."""
    lines = ",\n".join("{" + ", ".join(f"{x!r}f" for x in row) + "}" for row in X.tolist())
    text = f"#define N_ROWS {len(X)}\n#define N_MIXED {N_MIXED}\n"
    (folder / "rows.h").write_text(
        f"{text}static const float rows[N_ROWS][{X.shape[1]}] = {{\n{lines}}};\n"
    )


def size_of(program: Path) -> int:
    """Return the bytes of flash of a program."""
    done = subprocess.run(
        ["arm-none-eabi-size", str(program)], capture_output=True, text=True, check=True
    )
    return sum(map(int, done.stdout.splitlines()[1].split()[:2]))


def problem():
    """Return the rows and labels of training and test."""
    X, y = load_breast_cancer(return_X_y=True)
    X = np.round(X[:, :10], 3).astype(np.float32)
    return train_test_split(X, y, stratify=y, random_state=0)


def main(folder: Path) -> None:
    """Train, compress, export, build and run."""
    X_train, X_test, y_train, y_test = problem()
    svc = make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train)
    small = compress(svc, X_train, budget=20, dtype="int8", random_state=0)
    exported = export_c(small, folder / "model.h", X=X_test)
    write_rows(X_test, folder)
    integers = folded(Exportable.of(small))
    expected = small.classes_[(integers.decisions(integers.rows(X_test))[:, 0] > 0).astype(int)]
    print(f"SVC {svc.score(X_test, y_test):.4f}, in integers {np.mean(expected == y_test):.4f}")
    print(f"{exported.table_size} bytes of constants")
    for board in BOARDS:
        program = board.build(folder)
        labels, (total, ticks) = board.run(program)
        if labels != expected.tolist() or total != checksum(integers, X_test.shape[1], N_MIXED):
            raise SystemExit(f"{board.cpu}: not the decisions of pocketsvm.model.integers")
        each = ticks * (1_000_000_000 // board.clock) / len(X_test)
        print(f"{board.cpu}: the same bits, {each:,.0f} instructions a prediction")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name))
