"""Exported models of prepared rows, run by a C program and by onnxruntime."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from pocketsvm.model.export import export_c, export_onnx
from pocketsvm.model.export.common import Exportable

PROGRAM = """\
#include <stdio.h>
#include "model.h"

int main(void)
{
    GIVEN x[MODEL_FEATURES];
    REAL values[MODEL_OUTPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        const double label = model_predict(x);
        model_FUNCTION(x, values);
        fwrite(&label, sizeof label, 1, stdout);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) {
            const double value = values[o];
            fwrite(&value, sizeof value, 1, stdout);
        }
    }
    return 0;
}
"""


def without_unused_texts(X, texts):
    """Return rows with zeros in the columns of text that no step uses."""
    unused = [c for k, c in enumerate(X.columns) if k not in texts and X[c].dtype == "str"]
    return X.assign(**dict.fromkeys(unused, 0.0))


def run_c(clf, X, folder, function="decision"):
    """Return the labels and values of a C program."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")
    export_c(clf, folder / "model.h")
    header = (folder / "model.h").read_text()
    given = re.search(r"model_predict\(const (\w+) \*x\)", header)[1]
    real = re.search(rf"model_{function}\(const \w+ \*x, (\w+) \*out\)", header)[1]
    program = PROGRAM.replace("GIVEN", given).replace("REAL", real).replace("FUNCTION", function)
    (folder / "main.c").write_text(program)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([compiler, *flags, "-o", "program", "main.c", "-lm"], check=True, cwd=folder)
    rows = np.empty(X.shape, dtype="float32" if given == "float" else "float64")
    texts = Exportable.of(clf).inputs.texts
    X = without_unused_texts(X, texts)
    for k, column in enumerate(X.columns):
        if k not in texts:
            rows[:, k] = X[column]
            continue
        codes = {text: code for code, text in enumerate(texts[k])}
        rows[:, k] = [np.nan if t != t else codes.get(t, -1) for t in X[column]]
    done = subprocess.run([folder / "program"], input=rows.tobytes(), capture_output=True)
    table = np.frombuffer(done.stdout).reshape(len(X), -1)
    return table[:, 0], table[:, 1:]


def run_onnx(clf, X, folder):
    """Return all outputs of onnxruntime."""
    pytest.importorskip("onnx", reason="onnx is not there: pip install 'pocketsvm[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not there")
    export_onnx(clf, folder / "svm.onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        folder / "svm.onnx", options, providers=["CPUExecutionProvider"]
    )
    texts = [X.columns[k] for k in Exportable.of(clf).inputs.texts]
    X = without_unused_texts(X, Exportable.of(clf).inputs.texts)
    given = {"texts": X[texts].fillna("").to_numpy(object)} if texts else {}
    for each in session.get_inputs():
        if each.name == "X":
            dtype = "float32" if each.type == "tensor(float)" else "float64"
            given["X"] = X.drop(columns=texts).to_numpy(dtype)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))
