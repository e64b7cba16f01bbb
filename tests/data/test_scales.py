"""Columns of very different scales give a warning."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import LAYOUTS, moons, small_svc


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_very_different_scale_give_a_warning(layout, dtype):
    X, y = moons()
    X = np.column_stack([X, np.full(len(X), 7.0)])  # constant columns are ignored
    scaled = layout((X * [1.0, 5000.0, 1.0]).astype(dtype))
    message = r"column 1 ranges over .*, column 0 over .*StandardScaler"
    with pytest.warns(UserWarning, match=message) as caught:
        small_svc().fit(scaled, y)
    assert caught[0].filename == __file__
    small_svc().fit(layout((X * [1.0, 300.0, 1.0]).astype(dtype)), y)


def test_harmless_scales_give_no_warning():
    random = np.random.default_rng(0)
    n = 6000
    y = np.arange(n) % 2
    rare = sp.random_array((n, 300), density=1e-3, format="csr", random_state=random)
    rare.data[:] = 1.0
    small_svc().fit(sp.csr_array(sp.hstack([y[:, None], rare])), y)  # binary, some rare
    rare.data[:] = random.uniform(size=len(rare.data)) ** 9
    small_svc().fit(rare, y)  # columns with few values
    outliers = np.column_stack([y, random.standard_cauchy(n) ** 3])
    small_svc().fit((outliers - outliers.mean(axis=0)) / outliers.std(axis=0), y)
    small_svc().fit(np.column_stack([y + 1.6e9, y]), y)  # an offset does not affect the scale
