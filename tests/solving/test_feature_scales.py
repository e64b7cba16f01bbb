"""Feature scales learnt on the rows at hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1, make_hastie_10_2, make_moons

from pocketsvm.backends.small_model import SmallModel
from pocketsvm.rows.checked import checked_rows
from pocketsvm.solving.feature_scales import _drawn, learned_scales
from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.ranking import rank_targets
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training.settings import Choices, Parameters


def parameters(seed=0):
    return Parameters(
        budget=100,
        max_iter=1,
        maintenance="merge",
        polish=True,
        n_threads=1,
        random_state=np.random.RandomState(seed),
    )


def scales_of(X, y, *, auto=False, weights=None, numeric=False):
    rows = checked_rows(X)
    if numeric:
        rows, targets = value_targets(rows, y, weights, "squared_error", (0.0,))
    else:
        rows, targets = class_targets(rows, y, weights, None, "hinge")
    return learned_scales(rows, targets, parameters(), auto=auto).scales


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(2000, noise=0.2, random_state=1)
    return np.c_[X, np.random.default_rng(1).normal(size=(2000, 6))], y


@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_the_gradient_agrees_with_finite_differences(penalty):
    random = np.random.default_rng(0)
    model = SmallModel(
        X=random.normal(size=(200, 4)).astype(np.float32),
        values=random.normal(size=(200, 2)),
        c=2.0 * random.uniform(0.5, 1.5, 200),
        penalty=penalty,
    )
    point = np.append(random.normal(-0.5, 0.3, 4), random.normal(size=10 * 4))
    _, gradient = model.objective(point)
    change = 1e-3 * np.eye(len(point))
    differences = [
        (model.objective(point + c)[0] - model.objective(point - c)[0]) / 2e-3 for c in change
    ]
    # Kernel values have single precision.
    np.testing.assert_allclose(gradient, differences, atol=2e-3 * np.abs(gradient).max())


def test_columns_of_noise_get_small_scales(moons):
    X, y = moons
    scales = scales_of(X, y) * X.std(axis=0)
    assert scales[2:].max() < 0.1 * scales[:2].min()
    np.testing.assert_array_equal(scales_of(X, y, auto=True) > 0, True)


def test_scales_follow_units_exactly_if_these_are_powers_of_two(moons):
    X, y = moons
    units = 2.0 ** np.array([3, -20, 0, 1, 60, -60, 5, 2])
    np.testing.assert_array_equal(scales_of(X * units, y), scales_of(X, y) / units)


def test_offsets_do_not_matter(moons):
    X, y = moons
    np.testing.assert_allclose(scales_of(X + 1000.0, y), scales_of(X, y), rtol=0.05)


def test_constant_columns_get_zero(moons):
    X, y = moons
    constant = np.full((len(X), 1), 0.1)
    with_constant = np.hstack([X[:, :2], constant, X[:, 2:], 0 * constant])
    scales = scales_of(with_constant, y)
    np.testing.assert_array_equal(scales[[2, -1]], 0.0)
    np.testing.assert_array_equal(np.delete(scales, [2, 9]), scales_of(X, y))
    np.testing.assert_array_equal(scales_of(np.ones((len(X), 3)), y), 1.0)
    assert scales_of(np.ones((len(X), 3)), y, auto=True) is None


def test_sparse_rows_have_the_same_scales(moons):
    X, y = moons
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    X[:, 4] = 0.0
    np.testing.assert_array_equal(scales_of(sp.csr_array(X), y), scales_of(X, y))


def test_rows_of_higher_weight_count_more():
    """One half of the rows needs the first column, the other half the second."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 2))
    y = np.where(np.arange(2000) % 2, np.sin(3 * X[:, 0]), np.sin(3 * X[:, 1]))
    first = np.arange(2000) % 2 == 1
    scales = [
        scales_of(X, y, weights=np.where(first, weight, 1 / weight), numeric=True)
        for weight in (10.0, 0.1)
    ]
    assert scales[0][0] > 3 * scales[0][1]
    assert scales[1][1] > 3 * scales[1][0]


def test_auto_keeps_one_gamma_where_features_are_alike():
    X, y = make_hastie_10_2(3000, random_state=0)
    assert scales_of(X, y, auto=True) is None


def test_auto_learns_nothing_from_few_rows(moons):
    X, y = moons
    n_rows = Choices().least_scale_rows
    assert scales_of(X[: n_rows - 1], y[: n_rows - 1], auto=True) is None
    assert scales_of(X[:n_rows], y[:n_rows], auto=True) is not None


def test_several_targets_and_large_targets():
    X, y = make_friedman1(1500, n_features=8, noise=0.5, random_state=0)
    alone = scales_of(X, y, numeric=True)
    np.testing.assert_allclose(
        scales_of(X, 1e6 + 1e9 * y, numeric=True), alone, rtol=0.1, atol=0.01
    )
    rows, targets = value_targets(checked_rows(X), np.c_[y, -y], None, "squared_error", (0.0, 0.0))
    both = learned_scales(rows, targets, parameters(), auto=False).scales
    assert both[5:].max() < 0.3 * both[:5].min()


def test_ranking_compares_rows_of_a_query():
    """Relevance depends on one column; another one tells the offset of a query."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(150), 10)
    X = random.normal(size=(1500, 3))
    X[:, 1] = random.normal(size=150)[qid]
    y = np.round(2 * np.sin(2 * X[:, 0]) + 5 * X[:, 1])
    rows, targets = rank_targets(checked_rows(X), y, qid, None)
    scales = learned_scales(rows, targets, parameters(), auto=False).scales
    assert scales[1:].max() < 0.4 * scales[0]


def test_too_many_features():
    X = np.random.default_rng(0).normal(size=(50, Choices().most_scale_features + 1))
    y = np.arange(50) % 2
    with pytest.raises(ValueError, match="takes at most 1,024 features"):
        scales_of(X, y)
    X[:, -1] = 0.0
    assert scales_of(sp.csr_array(X), y).shape == (X.shape[1],)


def test_the_sample_stands_for_all_rows_and_has_rows_of_rare_classes():
    n_rows = 5 * Choices().most_scale_rows
    X = np.random.default_rng(0).normal(size=(n_rows, 1))
    y = (X[:, 0] > 3.0).astype(int)
    rows, targets = class_targets(checked_rows(X), y, None, None, "hinge")
    drawn, some = _drawn(rows, targets, Choices(), np.random.default_rng(0))
    assert drawn.n_rows == pytest.approx(Choices().most_scale_rows, rel=0.01)
    weights, is_rare = some.row_weight(), some.codes == 1
    assert is_rare.sum() == y.sum()
    assert weights[is_rare].sum() / weights.sum() == pytest.approx(y.mean())
