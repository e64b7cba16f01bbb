"""What a prediction takes on microcontrollers beside the models of two other packages.

    python examples/microcontroller/peers.py

Compares the model of ``run.py`` in integers with emlearn's random forest in integers and with
micromlgen's SVC in floating point, on the same rows. Needs ``emlearn`` and ``micromlgen``, the
compilers of ``run.py``, and the library newlib with headers of C++
(``libnewlib-arm-none-eabi`` and ``libstdc++-arm-none-eabi-dev``).
"""

import tempfile
from pathlib import Path

import emlearn
import numpy as np
from micromlgen import port
from run import BOARDS, problem, size_of, write_rows
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pocketsvm import compress
from pocketsvm.model.export import export_c

# Programs that predict all rows of rows.h and print the ticks and the number of ones.
PROGRAM = """\
extern "C" {{
#include "board.h"
}}
#include "rows.h"
{include}
int main(void)
{{
    uint32_t ones = 0;
    start_ticks();
    for (int i = 0; i < N_ROWS; ++i) ones += (uint32_t)predict(rows[i]);
    print_hex(ticks());
    print_hex(ones);
    print("\\n");
    return 0;
}}
"""
FORESTS = (3, 10, 30)
BUDGETS = (8, 20)  # the accuracy of the forests, and that of the SVC


def programs(folder: Path):
    """Yield the name, the accuracy and the program of each model, and write their headers."""
    X_train, X_test, y_train, y_test = problem()
    svc = make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train)
    for budget in BUDGETS:
        small = compress(svc, X_train, budget=budget, dtype="int8", random_state=0)
        export_c(small, folder / "model.h")
        text = "static int predict(const float *x)\n{\n    int16_t row[MODEL_COLUMNS];\n"
        text += "    model_quantise(x, row);\n    return model_predict(row);\n}\n"
        yield (
            f"pocketsvm, {budget} vectors in int8",
            small.score(X_test, y_test),
            PROGRAM.format(include=f'#include "model.h"\n{text}'),
        )
    # The forest takes integers: each feature becomes a number of 16 bits.
    scale = 30_000 / np.abs(X_train).max(axis=0)
    for n_trees in FORESTS:
        forest = RandomForestClassifier(n_trees, random_state=0)
        forest.fit((X_train * scale).astype(np.int16), y_train)
        emlearn.convert(forest, method="inline", dtype="int16_t").save(
            name="forest", file=str(folder / "forest.h")
        )
        factors = ", ".join(f"{factor!r}f" for factor in scale.tolist())
        text = f"static const float factors[] = {{{factors}}};\n"
        text += "static int predict(const float *x)\n{\n    int16_t row[10];\n"
        text += "    for (int i = 0; i < 10; ++i) row[i] = (int16_t)(x[i] * factors[i]);\n"
        text += "    return forest_predict(row, 10);\n}\n"
        yield (
            f"emlearn, forest of {n_trees} trees",
            forest.score((X_test * scale).astype(np.int16), y_test),
            PROGRAM.format(include=f'#include "forest.h"\n{text}'),
        )
    scaler = svc[0]
    plain = SVC(gamma=svc[-1]._gamma).fit(scaler.transform(X_train), y_train)
    (folder / "svm.h").write_text(port(plain))
    numbers = {"mean": scaler.mean_, "spread": scaler.scale_}
    text = "".join(
        f"static const float {name}[] = {{{', '.join(f'{x!r}f' for x in values.tolist())}}};\n"
        for name, values in numbers.items()
    )
    text += "static int predict(const float *x)\n{\n    float row[10];\n"
    text += "    for (int i = 0; i < 10; ++i) row[i] = (x[i] - mean[i]) / spread[i];\n"
    text += "    Eloquent::ML::Port::SVM svm;\n    return svm.predict(row);\n}\n"
    yield (
        f"micromlgen, SVC of {len(plain.support_)} vectors",
        plain.score(scaler.transform(X_test), y_test),
        PROGRAM.format(include=f'#include <math.h>\n#include "svm.h"\n{text}'),
    )


def main(folder: Path) -> None:
    """Build and run all models."""
    _, X_test, _, _ = problem()
    write_rows(X_test, folder)
    print(f"{'model':<34} accuracy  flash M0  instructions M0  instructions M3")
    for name, accuracy, text in programs(folder):
        (folder / "peer.cpp").write_text(text)
        counts, flash = [], 0
        for board in BOARDS:
            program = board.build(folder, folder / "peer.cpp", hosted=True)
            flash = flash or size_of(program)
            ((ticks, _ones),) = board.run(program)
            counts.append(ticks * (1_000_000_000 // board.clock) / len(X_test))
        flash -= X_test.astype(np.float32).nbytes
        print(f"{name:<34} {accuracy:8.4f} {flash:9,} {counts[0]:16,.0f} {counts[1]:16,.0f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
