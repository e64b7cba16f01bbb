"""What the tests of both estimators share."""

from numpy.testing import assert_array_equal


def assert_same_model(one, other):
    """The same bits: vectors, coefficients, intercepts, and the state that passes continue from."""
    names = ["support_vectors_", "dual_coef_", "intercept_", "gamma_", "alpha_"]
    for name in names + ["classes_"] * hasattr(one, "classes_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    for a, b in zip(one._states, other._states, strict=True):
        for key in a:
            assert_array_equal(a[key], b[key])


def expected_failures(estimator):
    """Those of scikit-learn's checks that cannot hold, and why."""
    reason = "a weight scales a row's step, a repeated row makes two, in another random order"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }
