"""Tests of the core's decision values: equal to NumPy's, and independent of batches."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import _core

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
LAYOUTS = pytest.mark.parametrize("layout", ["dense", "csr"])


def model(n_sv=50, d=18, n_outputs=1, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    vectors = np.where(rng.random((n_sv, d)) < 0.4, 0, rng.normal(size=(n_sv, d))).astype(dtype)
    return vectors, rng.normal(size=(n_outputs, n_sv)), rng.normal(size=n_outputs)


def some_rows(n=100, d=18, dtype="float64", seed=1):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, 0, rng.normal(size=(n, d))).astype(dtype)
    X[: n // 10] = 0  # empty rows
    return X


def expected(vectors, coefficients, intercepts, gamma, X):
    difference = X[:, None].astype(float) - vectors.astype(float)
    return np.exp(-gamma * np.sum(difference**2, axis=2)) @ coefficients.T + intercepts


@DTYPES
@LAYOUTS
@pytest.mark.parametrize("n_outputs", [1, 3, 10])
@pytest.mark.parametrize("n_sv", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("d", [1, 18, 70])
def test_decision_values_match_numpy(n_sv, d, n_outputs, layout, dtype, core_rows):
    parts = model(n_sv, d, n_outputs, dtype)
    X = some_rows(d=d, dtype=dtype)
    values = _core.decide(*parts, 1 / d, core_rows(X, layout), 1)
    assert values.shape == (100, n_outputs)
    assert values.dtype == np.float64
    scale = np.abs(parts[1]).sum(axis=1).max()
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    assert_allclose(values, expected(*parts, 1 / d, X), rtol=0, atol=tolerance * scale)


@DTYPES
@LAYOUTS
@pytest.mark.parametrize("n_outputs", [1, 4])
def test_values_do_not_depend_on_batches(n_outputs, layout, dtype, core_rows):
    parts = model(100, 18, n_outputs, dtype)
    X = some_rows(300, dtype=dtype)
    whole = _core.decide(*parts, 0.1, core_rows(X, layout), 1)
    for i in (0, 1, 37, 299):
        assert_array_equal(
            _core.decide(*parts, 0.1, core_rows(X[i : i + 1], layout), 1)[0], whole[i]
        )
    for batch in (slice(1, None), slice(0, 299), slice(100, 117), slice(None, None, 3)):
        assert_array_equal(_core.decide(*parts, 0.1, core_rows(X[batch], layout), 1), whole[batch])
    shuffled = np.random.default_rng(0).permutation(300)
    values = _core.decide(*parts, 0.1, core_rows(X[shuffled], layout), 1)
    assert_array_equal(values, whole[shuffled])


@DTYPES
@LAYOUTS
def test_outputs_do_not_affect_each_other(layout, dtype, core_rows):
    vectors, coefficients, intercepts = model(100, 18, 5, dtype)
    rows = core_rows(some_rows(dtype=dtype), layout)
    whole = _core.decide(vectors, coefficients, intercepts, 0.1, rows, 1)
    for k in range(5):
        one = _core.decide(vectors, coefficients[k : k + 1], intercepts[k : k + 1], 0.1, rows, 1)
        assert_array_equal(one[:, 0], whole[:, k])


@DTYPES
@pytest.mark.parametrize("d", [1, 17, 70])
def test_dense_and_sparse_rows_give_the_same_bits(d, dtype, core_rows):
    parts, X = model(100, d, 2, dtype), some_rows(d=d, dtype=dtype)
    dense = _core.decide(*parts, 1 / d, core_rows(X, "dense"), 1)
    assert_array_equal(_core.decide(*parts, 1 / d, core_rows(X, "csr"), 1), dense)


@DTYPES
@LAYOUTS
def test_values_do_not_depend_on_threads(layout, dtype, core_rows):
    parts = model(100, 18, 2, dtype)
    rows = core_rows(some_rows(5003, dtype=dtype), layout)
    one = _core.decide(*parts, 0.1, rows, 1)
    for n_threads in (2, 3, 8):
        assert_array_equal(_core.decide(*parts, 0.1, rows, n_threads), one)


def test_concurrent_predictions(core_rows):
    parts = model(100, 18, 2)
    rows = core_rows(some_rows(3000))
    alone = _core.decide(*parts, 0.1, rows, 1)
    answers = [None] * 4

    def predict(k):
        answers[k] = _core.decide(*parts, 0.1, rows, 2)

    workers = [threading.Thread(target=predict, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for answer in answers:
        assert_array_equal(answer, alone)


@DTYPES
@LAYOUTS
def test_support_vector_is_at_distance_zero_from_itself(layout, dtype, core_rows):
    vectors, _, _ = model(20, 18, 1, dtype)
    identity = np.eye(20)
    values = _core.decide(vectors, identity, np.zeros(20), 0.5, core_rows(vectors, layout), 1)
    assert_allclose(np.diag(values), 1, rtol=0, atol=1e-5 if dtype == "float32" else 1e-12)
    assert np.all(values <= 1)
    assert np.all(values >= 0)


@DTYPES
@LAYOUTS
@pytest.mark.parametrize("gamma", [0.1, 1e6, 1e30])
def test_value_far_from_all_vectors_is_the_intercept(gamma, layout, dtype, core_rows):
    parts = model(50, 4, 2, dtype)
    far = np.array([[1, 0, 0, 0], [0, -1, 1, 0], [1, 1, 1, 1], [-1, 0, 0, 1]], dtype=dtype)
    largest = np.finfo(dtype).max
    for size in (1e4, np.sqrt(largest) / 10, np.sqrt(largest) * 10, largest):
        X = (far * np.array(size, dtype=dtype)).astype(dtype)
        values = _core.decide(*parts, gamma, core_rows(X, layout), 1)
        assert_allclose(values, np.tile(parts[2], (4, 1)), rtol=0, atol=1e-12)


@DTYPES
@LAYOUTS
def test_values_are_finite_if_norms_overflow(layout, dtype, core_rows):
    largest = np.finfo(dtype).max
    vectors = np.array([[largest, 0], [-largest, largest], [1, 1], [0, 0]], dtype=dtype)
    X = np.vstack([vectors, -vectors])
    values = _core.decide(vectors, np.eye(4), np.zeros(4), 1.0, core_rows(X, layout), 1)
    assert np.all((values >= 0) & (values <= 1))


@DTYPES
@LAYOUTS
def test_tiny_values_and_subnormals_are_at_distance_zero(layout, dtype, core_rows):
    tiny = np.finfo(dtype).smallest_subnormal
    X = np.array([[tiny, 0], [-tiny, tiny], [0, 0]], dtype=dtype)
    values = _core.decide(X, np.eye(3), np.zeros(3), 1.0, core_rows(X, layout), 1)
    assert_array_equal(values, 1)


def test_empty_input_gives_empty_output(core_rows):
    assert _core.decide(*model(5, 3, 2), 1.0, core_rows(np.empty((0, 3))), 1).shape == (0, 2)


@LAYOUTS
def test_model_without_vectors_predicts_the_intercept(layout, core_rows):
    values = _core.decide(
        np.empty((0, 3)),
        np.empty((2, 0)),
        np.array([1.5, -2]),
        1.0,
        core_rows(np.ones((4, 3)), layout),
        1,
    )
    assert_array_equal(values, np.tile([1.5, -2], (4, 1)))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("vectors", np.zeros((5, 2))),
        ("vectors", np.zeros((5, 4))),
        ("vectors", np.zeros((6, 3))),
        ("vectors", np.zeros((5, 3), np.float32)),
        ("vectors", np.zeros((5, 6))[:, ::2]),
        ("vectors", np.zeros(15)),
        ("coefficients", np.zeros((2, 4))),
        ("coefficients", np.zeros((2, 6))),
        ("coefficients", np.zeros((3, 5))),
        ("coefficients", np.zeros(5)),
        ("intercepts", np.zeros(1)),
        ("intercepts", np.zeros(3)),
    ],
)
def test_arrays_of_the_wrong_size_are_rejected(argument, value):
    arguments = {
        "vectors": np.zeros((5, 3)),
        "coefficients": np.zeros((2, 5)),
        "intercepts": np.zeros(2),
        "gamma": 1.0,
        "rows": _core.Rows.dense(np.zeros((4, 3))),
        "n_threads": 1,
    }
    with pytest.raises((ValueError, TypeError), match=r"vectors|coefficients|intercepts|features"):
        _core.decide(**(arguments | {argument: value}))
