"""The public classes of warnings and errors are those that users meet."""

import warnings

import numpy as np
import pytest

from pocketsvm import BudgetedSVC, BudgetedSVR, exceptions, load_svmlight


def test_warnings_can_be_filtered_by_their_class():
    X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 1e6]
    y = np.arange(200) % 2
    with pytest.warns(exceptions.ScaleWarning):
        BudgetedSVC(10, random_state=0).fit(X, y)
    with pytest.warns(exceptions.TargetWarning):
        BudgetedSVR(10, random_state=0).fit(X / [1.0, 1e6], 1e5 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ScaleWarning)
        BudgetedSVC(10, random_state=0).fit(X, y)


def test_bad_files_can_be_caught_by_the_class(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 1:2\n0 one\n")
    with pytest.raises(exceptions.DataError, match="line 2"):
        load_svmlight(path)
