"""Helpers for the tests of both estimators."""

from numpy.testing import assert_array_equal


def assert_same_model(one, other):
    """Assert that vectors, coefficients, intercepts and the state of the passes are identical."""
    names = ["support_vectors_", "dual_coef_", "intercept_", "gamma_", "alpha_"]
    for name in names + ["classes_"] * hasattr(one, "classes_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    for a, b in zip(one._states, other._states, strict=True):
        for key in a:
            assert_array_equal(a[key], b[key])


def expected_failures(estimator):
    """Return the scikit-learn checks that are expected to fail, with the reason."""
    reason = "a weight scales one step; a repeated row makes two steps in another random order"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }
