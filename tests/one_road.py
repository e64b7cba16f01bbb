"""What the tests of the one road share: rows as batches, and what warnings and models say."""

import re
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

N, NAMES = 3000, list("abcd")
# With these budgets, the sample of 512 rows per support vector holds all of the N rows, or some.
ALL, SOME = 20, 4


def problem(n=N):
    """Return rows of four features, and two classes that are not linear in them."""
    X = np.random.default_rng(0).normal(size=(n, 4)).round(3)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


class Batches:
    """Batches of arrays, which may be None, as a user would write them."""

    def __init__(self, *arrays, size=450):
        self.arrays, self.size = arrays, size

    def batches(self):
        for begin in range(0, self.arrays[0].shape[0], self.size):
            rows = slice(begin, begin + self.size)
            yield tuple(None if array is None else array[rows] for array in self.arrays)


@contextmanager
def recorded():
    """Yield a list of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def about(caught, *kinds):
    """Return the warnings of these classes."""
    kinds = kinds or ("ScaleWarning", "TargetWarning")
    return [warning for warning in caught if type(warning.message).__name__ in kinds]


def gist(warning):
    """Return the class of a warning, the first words of its message, and the columns it names."""
    message = str(warning.message)
    columns = re.findall(r"column \d+", message, re.IGNORECASE)
    return type(warning.message).__name__, message.split()[0], [each.lower() for each in columns]


def assert_same_decisions(one, other, X):
    """Assert that two models have the same vectors and give the same decision values."""
    assert_array_equal(one.support_vectors_, other.support_vectors_)
    assert_array_equal(values_of(one, X), values_of(other, X))


def values_of(model, X):
    """Return decision values, or predictions of a model that has none."""
    return getattr(model, "decision_function", model.predict)(X)


def vectors_of(model):
    """Return the support vectors that the passes have found, before they were polished."""
    return model.to_model().training.vectors.vectors


def flowers(n=N, seed=0):
    """Return a table with missing numbers and words, and labels that depend on all columns."""
    random = np.random.default_rng(seed)
    size, height = random.normal(5.0, 2.0, n).round(3), random.normal(100.0, 30.0, n).round(2)
    colour = random.choice(["red", "blue", "white"], n, p=[0.5, 0.3, 0.2])
    score = (size - 5.0) / 2.0 + (height - 100.0) / 30.0 + 2.0 * (colour == "blue")
    size[random.uniform(size=n) < 0.1] = np.nan
    height[random.uniform(size=n) < 0.05] = np.nan
    frame = pd.DataFrame({"size": size, "colour": colour, "height": height})
    frame.loc[random.uniform(size=n) < 0.1, "colour"] = np.nan
    return frame, np.where(score > 0.5, "yes", "no")


def prepared(machine, impute="median"):
    """Return a pipeline that prepares the columns of `flowers` for a machine."""
    numbers = make_pipeline(SimpleImputer(strategy=impute), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = [("numbers", numbers, ["size", "height"]), ("texts", words, ["colour"])]
    return make_pipeline(ColumnTransformer(columns), machine)
