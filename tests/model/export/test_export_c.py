"""Exports to C, compiled and run."""

import shutil
import subprocess
from dataclasses import replace

import export_models as models
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.model import Model
from pocketsvm.model.export import export_c

PROGRAM = """\
#include <stdio.h>
#include "model.h"

int main(void)
{
    FLOAT x[MODEL_FEATURES], values[MODEL_OUTPUTS];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        model_decision(x, values);
        for (int o = 0; o < MODEL_OUTPUTS; ++o) printf("%.17g ", (double)values[o]);
        printf("%.17g\\n", (double)model_predict(x));
    }
    return 0;
}
"""


@pytest.fixture
def compile_c(tmp_path):
    """Compile a program; return a function that gives it rows and reads the numbers it prints."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler cc")

    def compile_program(program, real="float"):
        (tmp_path / "main.c").write_text(program)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-DFLOAT={real}"]
        subprocess.run(
            [compiler, *flags, "-o", "program", "main.c", "-lm"], check=True, cwd=tmp_path
        )

        def run(X):
            done = subprocess.run([tmp_path / "program"], input=X.tobytes(), capture_output=True)
            return np.array([line.split() for line in done.stdout.splitlines()], dtype=float)

        return run

    return compile_program


@pytest.fixture
def run_c(compile_c):
    """Decision values and predictions by a program around model.h."""

    def run(X, real="float"):
        table = compile_c(PROGRAM, real)(X)
        return table[:, :-1], table[:, -1]

    return run


@pytest.mark.parametrize("setting", models.SEVERAL)
def test_c_decides_the_same(tmp_path, run_c, setting):
    clf, X = models.fitted(**setting)
    export_c(clf, tmp_path / "model.h")
    values, labels = run_c(X)
    expected = clf.decision_function(X).reshape(len(X), -1)
    assert_allclose(values, expected, rtol=0, atol=models.tolerance(clf))
    models.assert_same_labels(labels, clf, X)


def test_c_of_a_float64_model_takes_double(tmp_path, run_c):
    clf, X = models.float64_model()
    export_c(clf, tmp_path / "model.h")
    values, labels = run_c(X, real="double")
    assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=models.tolerance(clf))
    assert_array_equal(labels, clf.predict(X))


# scikit-learn's check of finite rows adds up all numbers, which may give inf - inf.
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
@models.WITHOUT_INTERCEPT
def test_c_gives_far_rows_the_same_class(tmp_path, run_c, setting):
    clf, X = models.fitted(**setting, polish=False, fit_intercept=False)
    far = models.far_rows(clf, X)
    export_c(clf, tmp_path / "model.h")
    values, labels = run_c(far, real="float" if far.dtype == np.float32 else "double")
    expected = clf.decision_function(far).reshape(len(far), -1)
    assert (expected != 0).all()
    assert_allclose(values, expected, rtol=1e-4)
    assert_array_equal(labels, clf.predict(far))


@models.REGRESSIONS
def test_c_regression(tmp_path, run_c, setting):
    model, X = models.regression(**setting)
    export_c(model, tmp_path / "model.h")
    values, predicted = run_c(X)
    assert_array_equal(values[:, 0], predicted)
    assert_allclose(predicted, model.predict(X), rtol=1e-7, atol=models.tolerance(model))


@models.POLISHED
def test_c_finds_the_same_outliers(tmp_path, run_c, polish):
    model, X = models.novelty(polish=polish)
    assert export_c(model, tmp_path / "model.h").labels == [-1, 1]
    values, labels = run_c(X)
    assert_allclose(values[:, 0], model.decision_function(X), rtol=0, atol=models.tolerance(model))
    models.assert_same_labels(labels, model, X)


def test_c_counts_a_value_of_zero_as_normal(tmp_path, run_c):
    """As predict does; without vectors, all values are the intercept."""
    model = replace(
        Model.of(models.novelty()[0]),
        vectors=np.zeros((1, 2), dtype=np.float32),
        dual_coef=np.zeros((1, 1)),
        intercept=np.zeros(1),
    )
    export_c(model, tmp_path / "model.h")
    assert_array_equal(run_c(np.ones((3, 2), dtype=np.float32))[1], 1)


@models.POLISHED
def test_c_ranking(tmp_path, run_c, polish):
    model, X = models.ranking(polish=polish)
    assert export_c(model, tmp_path / "model.h").labels is None
    values, predicted = run_c(X)
    assert_array_equal(values[:, 0], predicted)
    assert_allclose(predicted, model.predict(X), rtol=0, atol=models.tolerance(model))


def test_c_scales(tmp_path, run_c):
    model, X, labels = models.scaled()
    export_c(model, tmp_path / "model.h")
    values, predicted = run_c(X)
    assert_allclose(values, models.exact(model, X), rtol=0, atol=models.tolerance(model))
    assert_array_equal(predicted, labels)


CODES = """\
#include <stdio.h>
#include <string.h>
#include "model.h"

int main(void)
{
    char text[100];
    int feature;
    while (scanf("%d %99[^\\n]", &feature, text) == 2)
        printf("%g\\n", model_code(feature, strcmp(text, "NULL") ? text : 0));
    return 0;
}
"""


@pytest.mark.parametrize("texts", [True, False])
def test_c_prepares_numbers_and_texts(tmp_path, run_c, compile_c, texts):
    clf, X = models.prepared(texts)
    export_c(clf, tmp_path / "model.h")
    rows = X.to_numpy(dtype=object, copy=True)
    for k in (1, 3):
        if not texts:
            rows[:, k] = 0
            continue
        known = X.iloc[:, k].notna().to_numpy()
        given = "\n".join(f"{k} {text}" for text in np.where(known, rows[:, k], "NULL"))
        rows[:, k] = compile_c(CODES)(np.array(given.encode()))[:, 0]
        assert sorted(set(rows[known, k])) == ([-1, 0, 1, 2] if k == 1 else [0, 1])
        assert_array_equal(np.isnan(rows[:, k].astype(float)), ~known)
    values, labels = run_c(rows.astype(np.float32))
    tolerance = models.tolerance(clf)
    assert_allclose(values[:, 0], clf.decision_function(X), rtol=0, atol=tolerance)
    models.assert_same_labels(labels, clf, X)


def test_c_spells_any_label_and_name(tmp_path, run_c):
    labels = ['a" ??/ \\ */ %d', "long label of many words, " * 10, "ä\n\0"]
    clf, X = models.fitted(3, labels=np.array(sorted(labels), dtype=object))
    clf.feature_names_in_ = np.array(["*/ int main;", "??/\n#error"], dtype=object)
    exported = export_c(clf, tmp_path / "model.h")
    assert exported.labels == [0, 1, 2]
    _, positions = run_c(X)
    del clf.feature_names_in_
    assert_array_equal(clf.classes_[positions.astype(int)], clf.predict(X))
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\n'
        "int main(void) { for (int i = 0; i < 3; ++i) puts(model_labels[i]); return 0; }\n"
    )
    subprocess.run(["cc", "-std=c99", "-o", "spell", "main.c", "-lm"], check=True, cwd=tmp_path)
    spelled = subprocess.run([tmp_path / "spell"], capture_output=True).stdout.decode()
    assert spelled == "".join(f"{label.rstrip(chr(0))}\n" for label in sorted(labels))


def test_c_tells_its_size(tmp_path):
    clf, _ = models.fitted(3)
    exported = export_c(clf, tmp_path / "model.h", name="iris_2")
    n_vectors, n_features = clf.support_vectors_.shape
    assert exported.table_size == 4 * (n_vectors * (n_features + 3) + 3 + 3)
    text = (tmp_path / "model.h").read_text()
    assert f"Tables: {exported.table_size:,} bytes" in text
    assert "static inline int iris_2_predict(const float *x)" in text
    assert "malloc" not in text


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("iris_2.h", "iris_2"),
        ("tumours-v2.1.h", "tumours_v2_1"),
        ("2 moons.h", "model_2_moons"),
        ("_x.h", "x"),
        ("größe.h", "gr_e"),
        ("日本.h", "model"),
    ],
)
def test_c_takes_its_name_from_the_file(tmp_path, file, name):
    clf, _ = models.fitted()
    export_c(clf, tmp_path / file)
    text = (tmp_path / file).read_text()
    assert f"#ifndef {name.upper()}_H\n" in text
    assert f"static inline int {name}_predict(const float *x)" in text
    export_c(clf, tmp_path / file, name="chosen")
    assert "static inline int chosen_predict(const float *x)" in (tmp_path / file).read_text()


TWO_MODELS = """\
#include <stdio.h>
#include "moons.h"
#include "blobs.h"
#include "moons.h"

int main(void)
{
    float x[MOONS_FEATURES == BLOBS_FEATURES ? MOONS_FEATURES : -1];
    while (fread(x, sizeof x, 1, stdin) == 1)
        printf("%d %d\\n", moons_predict(x), blobs_predict(x));
    return 0;
}
"""


def test_a_program_can_include_two_models(tmp_path, compile_c):
    moons, X = models.fitted(2, labels=[3, 4])
    blobs, _ = models.fitted(3, labels=[5, 6, 7])
    export_c(moons, tmp_path / "moons.h")
    export_c(blobs, tmp_path / "blobs.h")
    table = compile_c(TWO_MODELS)(X)
    models.assert_same_labels(table[:, 0], moons, X)
    models.assert_same_labels(table[:, 1], blobs, X)


def test_two_models_of_the_same_name_do_not_compile(tmp_path, compile_c, capfd):
    for n_classes, file in (2, "moons.h"), (3, "blobs.h"):
        export_c(models.fitted(n_classes)[0], tmp_path / file, name="twin")
    with pytest.raises(subprocess.CalledProcessError):
        compile_c('#include "moons.h"\n#include "blobs.h"\n')
    assert "Two models have the name twin" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["", "2d", "a-b", "a b", "ä", "_x", "a;"])
def test_c_names_must_be_identifiers(tmp_path, name):
    with pytest.raises(ValueError, match="name must be an identifier of C"):
        export_c(models.fitted()[0], tmp_path / "model.h", name=name)


def test_c_numbers_beyond_float_are_refused(tmp_path):
    model = Model.of(models.fitted()[0])
    with pytest.raises(ValueError, match="too large for float32"):
        export_c(replace(model, intercept=np.array([1e39])), tmp_path / "model.h")


PROBABILITIES = PROGRAM.replace("values[MODEL_OUTPUTS]", "values[MODEL_OUTPUTS + 1]").replace(
    "MODEL_OUTPUTS; ++o", "N_CLASSES; ++o"
)


@models.LOG_LOSS
def test_c_probabilities(tmp_path, compile_c, n_classes):
    clf, X = models.fitted(n_classes, loss="log_loss")
    export_c(clf, tmp_path / "model.h")
    program = PROBABILITIES.replace("N_CLASSES", str(n_classes))
    table = compile_c(program.replace("model_decision", "model_probabilities"))(X)
    models.assert_same_probabilities(table[:, :-1], clf, X)
    models.assert_same_labels(table[:, -1], clf, X)


@models.SEVERAL_VALUES
def test_c_several_values(tmp_path, compile_c, kind):
    model, X = models.several_values(kind)
    export_c(model, tmp_path / "model.h")
    program = PROGRAM.replace("model_decision", "model_predict")
    program = program.replace("(double)model_predict(x)", "(double)values[0]")
    found = compile_c(program)(X)[:, :-1]
    assert_allclose(found, model.predict(X), rtol=1e-6, atol=models.tolerance(model))


@models.WEIGHTED
def test_c_multiplies_the_feature_scales_in(tmp_path, run_c, kind):
    clf, X = models.weighted(kind)
    exported = export_c(clf, tmp_path / "model.h")
    values, labels = run_c(X, real="double" if kind == "float64" else "float")
    expected = clf.decision_function(X).reshape(len(X), -1)
    assert_allclose(values, expected, rtol=0, atol=3 * models.tolerance(clf))
    assert np.mean(labels == clf.predict(X)) > 0.995
    if kind == "two classes":  # two of six features do not count
        n_vectors = len(clf.support_vectors_)
        assert exported.table_size == 4 * (n_vectors * 5 + 1 + 4 + 4 + 2)
