"""BLAS runs on one thread during a fit, also if several fits run at the same time."""

from concurrent.futures import ThreadPoolExecutor

from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info

from pocketsvm import BudgetedSVC


def test_concurrent_fits_are_reproducible_and_keep_blas_settings():
    X, y = make_classification(6000, 10, n_informative=6, random_state=0)

    def fit(seed):
        return BudgetedSVC(60, random_state=seed % 2).fit(X, y).dual_coef_

    alone = [fit(0), fit(1)]
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit, range(8)))
    for seed, coefficients in enumerate(together):
        assert_array_equal(coefficients, alone[seed % 2])
    assert [library["num_threads"] for library in threadpool_info()] == before
