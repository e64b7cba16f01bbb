"""What the tests of the command line share."""

from numpy.testing import assert_array_equal

from pocketsvm.model.preparation import split

FAST = ["-B", "20", "--max-iter", "3"]


def write_csv(path, names, X, labels):
    rows = [
        ",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), labels, strict=True)
    ]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")


def assert_same_model(one, other):
    parts = ((*steps, machine) for steps, machine in map(split, (one, other)))
    for a, b in zip(*parts, strict=True):
        names = ("support_vectors_", "dual_coef_", "intercept_", "gamma_", "mean_", "scale_")
        for name in names:
            assert_array_equal(getattr(a, name, None), getattr(b, name, None))
