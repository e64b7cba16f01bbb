"""All backends: what the solver asks of them, compared with NumPy in float64."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from exact_objective import Objective
from loss_formulas import formula
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from solver_problems import GAMMA, PROBLEMS, class_problem, coupled_problem, value_problem

from pocketsvm.backends.native import Native
from pocketsvm.backends.torch_rows import is_tensor
from pocketsvm.solving.class_losses import CLASS_LOSSES
from pocketsvm.solving.newton import minimise
from pocketsvm.solving.positions import Positions
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.scans import LENGTHS, read, read_along
from pocketsvm.solving.value_losses import VALUE_LOSSES
from pocketsvm.training.settings import Choices

MAKERS = PROBLEMS | {"coupled classes": coupled_problem}
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
# Kernel values are float32, and sums are float64.
SINGLE = {"rtol": 2e-5, "atol": 2e-5}


def random_point(n_outputs, n_vectors, seed=1):
    return np.random.default_rng(seed).normal(size=(n_outputs, n_vectors + 1))


def losses():
    """Return rows with every loss of single rows."""
    vectors, sample = class_problem(n_classes=3)
    for name in CLASS_LOSSES:
        for positives in ([1], [0, 1, 2]):
            loss = CLASS_LOSSES[name].of(sample.loss.codes, positives, 0.5)
            yield f"{name} {len(positives)}", vectors, replace(sample, loss=loss)
    vectors, sample = value_problem()
    for name in VALUE_LOSSES:
        for parameters in ([0.3], [0.3, 0.3]):
            widths = [0.2] * len(parameters)
            loss = VALUE_LOSSES[name].of(sample.loss.targets, parameters, widths)
            yield f"{name} {len(parameters)}", vectors, replace(sample, loss=loss)


LOSSES = {name: given for name, *given in losses()}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_values_and_their_sums(backend, layout, dtype):
    vectors, sample = class_problem(layout=layout, dtype=dtype, offset=3)
    rows = backend.kernel_rows(vectors, sample.rows, 2, sample.rows.core.dtype)
    exact = rbf_kernel(sample.rows.dense().astype(float), vectors.astype(float), gamma=GAMMA)
    point, slopes = random_point(2, 12), np.random.default_rng(2).normal(size=(300, 2))
    assert_allclose(rows.decisions_of([point])[0], exact @ point[:, :-1].T + point[:, -1], **SINGLE)
    pull = np.column_stack([slopes.T @ exact, slopes.sum(axis=0)])
    assert_allclose(rows.pull_of(slopes), pull, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n", [1, 300])
def test_a_reading_sums_losses(backend, name, n):
    vectors, sample = LOSSES[name]
    sample = sample.take(np.arange(n))
    point = random_point(sample.loss.n_outputs, 12)
    losses, pull, near = read(vectors, point, sample, backend)
    exact = Objective(vectors, sample)
    decisions = exact.decisions(point)
    expected = sample.c @ formula(sample.loss).values(decisions)
    assert_allclose(losses, np.atleast_1d(expected), rtol=1e-5)
    slopes = sample.c[:, None] * formula(sample.loss).derivatives(decisions)[0]
    assert_allclose(pull[:, :-1], slopes.T @ exact.k, rtol=1e-4, atol=1e-3)
    assert_allclose(pull[:, -1], slopes.sum(axis=0), rtol=1e-4, atol=1e-3)
    assert_array_equal(near, sample.loss.near(decisions, 2.0, 1))


@pytest.mark.parametrize("name", LOSSES)
def test_a_reading_along_a_direction(backend, name):
    vectors, sample = LOSSES[name]
    point, direction = (random_point(sample.loss.n_outputs, 12, seed) for seed in (1, 2))
    losses = read_along(vectors, point, direction, sample, backend)
    for length, loss in zip(LENGTHS, losses, strict=True):
        expected, _, _ = read(vectors, point + length * direction, sample, backend)
        assert_allclose(loss, expected, rtol=1e-5)


def test_rows_in_many_parts(backend, monkeypatch):
    vectors, sample = class_problem(n=1000, n_classes=3)
    point = random_point(3, 12)
    whole = read(vectors, point, sample, backend)
    if not isinstance(backend, Native):
        from pocketsvm.backends import torch_rows

        monkeypatch.setattr(torch_rows, "MOST_VALUES", 64)
        monkeypatch.setattr(torch_rows, "LEAST_VALUES", 64)
        monkeypatch.setattr(torch_rows, "_most_values", {})
        monkeypatch.setattr(torch_rows, "MOST_RESIDENT", 0.0)
        monkeypatch.setattr(torch_rows, "STAGED_AT_ONCE", 256)
    again = replace(sample, rows=sample.rows.take(np.arange(1000)))
    for found, expected in zip(read(vectors, point, again, backend), whole, strict=True):
        assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def test_no_rows(backend):
    vectors, sample = class_problem(n_classes=3)
    rows = backend.kernel_rows(vectors, sample.rows.take(np.arange(0)), 3, np.float32)
    assert rows.decisions_of([random_point(3, 12)])[0].shape == (0, 3)
    assert_array_equal(rows.pull_of(np.empty((0, 3))), np.zeros((3, 13)))


def test_the_penalty(backend):
    vectors, _ = class_problem(offset=100)
    matrix = rbf_kernel(vectors - vectors.mean(axis=0), gamma=GAMMA) + 1e-6 * np.eye(12)
    penalty, beta = backend.penalty(vectors, GAMMA), random_point(2, 11)
    assert_allclose(penalty.product(beta), beta @ matrix, rtol=1e-10, atol=1e-11)
    found = penalty.forces(beta, vectors)
    total, pull = (each.cpu().numpy() if is_tensor(each) else each for each in found)
    np.fill_diagonal(matrix, 0.0)
    weights = matrix * (beta.T @ beta)
    assert_allclose(total, weights.sum(axis=1), rtol=1e-8)
    assert_allclose(pull, weights @ vectors, rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_hessian_and_its_factor(backend, fit_intercept):
    vectors, sample = class_problem()
    random = np.random.default_rng(3)
    exact = np.column_stack([rbf_kernel(sample.rows.dense(), vectors, gamma=GAMMA), np.ones(300)])
    matrix = np.zeros((13, 13))
    matrix[:12, :12] = rbf_kernel(vectors, gamma=GAMMA) + 1e-6 * np.eye(12)
    hessian = backend.row_hessian(12, 300)
    rows = backend.kernel_rows(vectors, sample.rows, 1, np.float32)
    for curvatures in (random.uniform(size=300), random.uniform(size=300)):
        curvatures[::3] = 0.0
        change = rows.changes([hessian], curvatures[:, None], np.zeros(300))
        for at, kernel in rows.blocks():
            change(at, kernel)
    full = matrix + (exact.T * curvatures) @ exact
    factor = backend.penalty(vectors, GAMMA).factor(hessian, 1e-9, fit_intercept)
    right = random.normal(size=(2, 13))
    if not fit_intercept:
        full[12], full[:, 12], full[12, 12] = 0.0, 0.0, 1.0
        right[:, 12] = 0.0
    assert_allclose(factor.solve(right) @ full, right, rtol=1e-4, atol=1e-4)


def test_a_matrix_without_a_factor(backend):
    vectors, _ = class_problem()
    hessian = backend.row_hessian(12, 1)
    rows = backend.kernel_rows(vectors, class_problem()[1].rows.take(np.arange(1)), 1, np.float32)
    for _, kernel in rows.blocks():
        hessian.add(kernel, np.array([np.inf]))
    with pytest.raises(FloatingPointError, match="must be finite"):
        backend.penalty(vectors, GAMMA).factor(hessian, 1.0, True)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_systems_of_several_outputs_are_solved_like_single_ones(backend, fit_intercept):
    vectors, sample = class_problem()
    random = np.random.default_rng(4)
    rows = backend.kernel_rows(vectors, sample.rows, 3, np.float32)
    curvatures = random.uniform(size=(3, 300)) * (random.uniform(size=(3, 300)) < 0.4)
    curvatures[2] *= 1e18  # rounding makes this one indefinite
    hessians = [backend.row_hessian(12, 300) for _ in curvatures]
    for weights in (np.roll(curvatures, 1, axis=1), curvatures):
        changes = rows.changes(hessians, weights.T, np.zeros(300))
        for at, kernel in rows.blocks():
            changes(at, kernel)
    right, least = random.normal(size=(3, 13)), [0.5, 1e9, 0.5]
    found = backend.penalty(vectors, GAMMA).solve_each(hessians, least, fit_intercept, right)
    for k in range(3):
        alone = backend.row_hessian(12, 300)
        for at, kernel in rows.blocks():
            alone.add(kernel, curvatures[k, at])
        factor = backend.penalty(vectors, GAMMA).factor(alone, least[k], fit_intercept)
        expected = factor.solve(right[k : k + 1])[0]
        assert_allclose(found[k], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_newtons_method_finds_the_minimum(backend, make, layout):
    vectors, sample = make(layout=layout)
    problem = Problem(vectors, sample, True, backend)
    found = minimise(problem, problem.zero(), np.random.default_rng(0), 1e-7)
    native = Problem(vectors, sample, True, Native())
    best = minimise(native, native.zero(), np.random.default_rng(0), 1e-7)
    assert_allclose(found.objective, best.objective, rtol=1e-5)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_slope_in_the_positions(backend, make, layout):
    vectors, sample = (
        make(layout=layout, offset=10) if make is class_problem else make(layout=layout)
    )
    point = random_point(sample.loss.n_outputs, 12)
    random = np.random.default_rng(0)
    slopes = [
        Positions(vectors, point, sample, True, each, random, Choices(), 1e-4).slope
        for each in (backend, Native())
    ]
    assert_allclose(slopes[0], slopes[1], rtol=1e-3, atol=1e-5 * np.abs(slopes[1]).max())


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decisions(backend, layout, dtype):
    vectors, sample = class_problem(layout=layout, dtype=dtype)
    point = random_point(3, 12)
    coefficients, intercepts = np.ascontiguousarray(point[:, :-1]), point[:, -1].copy()
    found = backend.decide(vectors, coefficients, intercepts, GAMMA, sample.rows.checked)
    exact = rbf_kernel(sample.rows.dense().astype(float), vectors.astype(float), gamma=GAMMA)
    assert found.dtype == np.float64
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(found, exact @ coefficients.T + intercepts, atol=tolerance, rtol=tolerance)


def test_a_backend_can_be_pickled_and_compared(backend):
    assert pickle.loads(pickle.dumps(backend)) == backend
    assert replace(backend, n_threads=3) != backend
