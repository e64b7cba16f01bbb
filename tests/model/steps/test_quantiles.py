"""The quantiles of the normal distribution against SciPy."""

import numpy as np
from numpy.polynomial import polynomial
from numpy.testing import assert_allclose
from scipy.stats import norm

from pocketsvm.model.steps.quantiles import COEFFICIENTS, LIMIT, THRESHOLD


def test_the_polynomials_give_the_quantiles_of_the_normal_distribution():
    tail = np.geomspace(LIMIT, 0.5, 2000)
    shares = np.concatenate([tail, 1 - tail])
    centred = shares - 0.5
    middle, outer = (
        (polynomial.Polynomial(above), polynomial.Polynomial(below))
        for above, below in COEFFICIENTS
    )
    squares = THRESHOLD**2 - centred**2
    roots = np.sqrt(-np.log(np.minimum(shares, 1 - shares))) - 1.6
    found = np.where(
        np.abs(centred) <= THRESHOLD,
        centred * middle[0](squares) / middle[1](squares),
        np.sign(centred) * outer[0](roots) / outer[1](roots),
    )
    assert_allclose(found, norm.ppf(shares), rtol=1e-13, atol=1e-13)
