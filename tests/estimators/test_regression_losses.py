"""The losses of `BudgetedSVR`: squared error, Huber, quantiles; several targets."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_score

from pocketsvm import BudgetedSVR, BudgetedSVRCV, load_model
from pocketsvm.rows.scales import TargetWarning

LOSSES = ("squared_error", "huber", "quantile")
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES)
QUANTILES = [0.1, 0.5, 0.9]


def friedman(n=400, noise=0.5):
    X, y = make_friedman1(n, n_features=5, noise=noise, random_state=0)
    return X, y


def wedge(n=4000, seed=0):
    """Return targets whose noise grows with the first feature, and their quantiles."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 2))
    return X, np.sin(4 * X[:, 0]) + (0.1 + X[:, 0]) * random.normal(size=n)


def svr(budget=40, C=10.0, **parameters):
    return BudgetedSVR(budget, C, **{"epsilon": 1.0, "random_state": 0} | parameters)


def test_squared_error_with_all_rows_as_vectors_is_kernel_ridge():
    X, y = friedman(120)
    y = y - y.mean()
    model = svr(120, 10.0, gamma=0.5, loss="squared_error", fit_intercept=False).fit(X, y)
    exact = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y)
    assert len(model.support_vectors_) == 120
    assert_allclose(model.predict(X), exact.predict(X), atol=0.02 * y.std())


def test_huber_lies_between_the_median_and_the_mean():
    X, y = friedman()
    y = y + 30 * (np.random.default_rng(1).uniform(size=len(y)) < 0.1)  # outliers above
    clean = friedman()[1]

    def bias(**loss):
        return np.mean(svr(60, **loss).fit(X, y).predict(X) - clean)

    median, huber = bias(epsilon=0.0), bias(loss="huber")
    assert abs(median) < huber + 0.3
    assert huber < 0.5 * bias(loss="squared_error")
    wide = svr(60, loss="huber", epsilon=1e3).fit(X, y).predict(X)
    assert_allclose(wide, svr(60, loss="squared_error").fit(X, y).predict(X), rtol=1e-3)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_one_quantile_covers_its_share(quantile):
    shares = []
    for seed in range(6):
        X, y = wedge(seed=seed)
        found = svr(50, 1.0, loss="quantile", quantile=quantile).fit(X, y).predict(X)
        assert found.shape == y.shape
        shares.append(np.mean(y <= found))
    assert abs(np.mean(shares) - quantile) < 0.03


def test_quantiles_follow_the_noise_and_do_not_cross():
    X, y = wedge()
    model = svr(60, 1.0, loss="quantile", quantile=QUANTILES).fit(X, y)
    found = model.predict(X)
    assert found.shape == (len(X), 3)
    assert (np.diff(found, axis=1) >= 0).all()
    assert_allclose(np.mean(y[:, None] <= found, axis=0), QUANTILES, atol=0.04)
    width = found[:, 2] - found[:, 0]
    right = X[:, 0] > 0.8
    assert width[right].mean() > 2 * width[X[:, 0] < 0.2].mean()
    assert_array_equal(model._quantile, QUANTILES)
    assert svr(60, 1.0, loss="quantile", quantile=[0.5]).fit(X, y).predict(X).shape == (len(X), 1)


def test_score_of_quantiles_is_the_share_of_the_pinball_loss_that_is_saved():
    X, y = wedge()
    model = svr(60, 1.0, loss="quantile", quantile=[0.1, 0.9]).fit(X, y)
    found = model.predict(X)
    saved = [
        1
        - mean_pinball_loss(y, found[:, k], alpha=q)
        / mean_pinball_loss(y, np.full(len(y), np.quantile(y, q)), alpha=q)
        for k, q in enumerate((0.1, 0.9))
    ]
    assert_allclose(model.score(X, y), np.mean(saved), rtol=1e-3)
    weight = np.random.default_rng(0).uniform(size=len(y))
    assert model.score(X, y, weight) != model.score(X, y)
    assert cross_val_score(model, X, y, cv=2).min() > 0.05


@pytest.mark.parametrize(
    ("quantile", "message"),
    [
        (0.0, "'quantile' parameter"),
        (1.0, "'quantile' parameter"),
        (1.5, "'quantile' parameter"),
        ([0.5, 0.1], "that increase, got"),
        ([0.5, 0.5], "that increase, got"),
        ([0.5, 1.0], "between 0 and 1"),
        ([], "between 0 and 1"),
        ([[0.5]], "between 0 and 1"),
    ],
)
def test_bad_quantiles_are_refused(quantile, message):
    with pytest.raises(ValueError, match=message):
        svr(loss="quantile", quantile=quantile).fit(*wedge(100))


def test_bad_combinations_are_refused():
    X, y = wedge(200)
    two = np.column_stack([y, -y])
    with pytest.raises(ValueError, match="3 quantiles need one target, but y has 2 columns"):
        svr(loss="quantile", quantile=QUANTILES).fit(X, two)
    with pytest.raises(ValueError, match=r"budget=4 is too small for 3 outputs.*at least 6"):
        svr(4, loss="quantile", quantile=QUANTILES).fit(X, y)
    with pytest.raises(ValueError, match="'loss' parameter of BudgetedSVR must be a str among"):
        svr(loss="absolute").fit(X, y)
    model = svr(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"continues a model with n_outputs=1.* give 2"):
        model.fit(X, two)
    model.set_params(loss="quantile", quantile=QUANTILES)
    with pytest.raises(ValueError, match=r"continues a model with n_outputs=1.* give 3"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"loss='quantile' differs from loss='epsilon_insens"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", *LOSSES])
@pytest.mark.parametrize("polish", [True, False])
def test_several_targets(loss, polish):
    X, y = friedman(600)
    both = np.column_stack([y, 100 - 10 * y])
    setting = {"loss": loss, "polish": polish, "alpha": 1e-4 if polish else 1e-2}
    model = svr(100, **setting).fit(X, both)
    found = model.predict(X)
    assert found.shape == both.shape
    assert model.dual_coef_.shape[0] == 2
    correlations = [np.corrcoef(found[:, k], both[:, k])[0, 1] for k in range(2)]
    assert min(correlations) > (0.95 if polish else 0.6)
    assert model.score(X, both) > (0.7 if polish else 0.0)
    one = svr(100, **setting).fit(X, both[:, :1])
    assert one.predict(X).shape == y.shape


@EVERY_LOSS
def test_last_iterates_learn(loss):
    X, y = friedman(3000)
    model = svr(60, loss=loss, polish=False, alpha=1e-3).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.8


@EVERY_LOSS
def test_dense_and_sparse_rows_and_threads_give_the_same_bits(loss):
    X, y = friedman(300)
    expected = svr(loss=loss).fit(X, y).predict(X)
    assert_array_equal(svr(loss=loss).fit(sp.csr_array(X), y).predict(X), expected)
    assert_array_equal(svr(loss=loss, n_jobs=3).fit(X, y).predict(X), expected)


@EVERY_LOSS
def test_streams_and_warm_starts(loss):
    X, y = friedman(3000)
    quantile = QUANTILES if loss == "quantile" else 0.5
    model = svr(60, loss=loss, quantile=quantile, alpha=1e-3, warm_start=True)
    for begin in range(0, 3000, 500):
        model.partial_fit(X[begin : begin + 500], y[begin : begin + 500])
    streamed = model.score(X, y)
    assert streamed > 0.2
    assert model.fit(X, y).score(X, y) > streamed


@EVERY_LOSS
def test_weights_count(loss):
    X, y = friedman(900)  # enough for vectors to move, whether rows are repeated or not
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    found = svr(30, loss=loss).fit(X, y, sample_weight=weight)
    expected = svr(30, loss=loss).fit(X[repeated], y[repeated])
    # The vectors differ, because a repeated row makes two steps; the models hardly do.
    differences = np.abs(found.predict(X) - expected.predict(X))
    assert np.quantile(differences, 0.99) < 0.4 * y.std()
    assert abs(found.score(X, y, weight) - expected.score(X, y, weight)) < 0.05


@pytest.mark.parametrize("quantile", [0.9, QUANTILES, tuple(QUANTILES), np.array(QUANTILES)])
def test_a_file_keeps_the_quantiles(tmp_path, quantile):
    X, y = wedge(300)
    model = svr(12, loss="quantile", quantile=quantile).fit(X, y)
    model.save(tmp_path / "model.psvm")
    twin = load_model(tmp_path / "model.psvm")
    assert_array_equal(twin.predict(X), model.predict(X))
    assert_array_equal(np.ravel(twin.quantile), np.ravel(quantile))
    assert_array_equal(twin.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


@pytest.mark.parametrize("loss", ["squared_error", "huber", "epsilon_insensitive"])
def test_a_file_keeps_several_targets(tmp_path, loss):
    X, y = friedman()
    both = np.column_stack([y, y**2])
    model = svr(20, 100.0, loss=loss).fit(X, both)
    model.save(tmp_path / "model.psvm")
    twin = load_model(tmp_path / "model.psvm")
    assert_array_equal(twin.predict(X), model.predict(X))
    twin.partial_fit(X, both)


def test_constant_targets():
    X = friedman(100)[0]
    for loss in LOSSES:
        assert_allclose(svr(loss=loss).fit(X, np.full(100, 3.0)).predict(X), 3.0, atol=1e-6)


def test_the_huber_loss_needs_a_positive_epsilon():
    with pytest.raises(ValueError, match="epsilon must be positive"):
        svr(loss="huber", epsilon=0).fit(*friedman())


def test_quantiles_must_be_numbers():
    with pytest.raises(ValueError, match="a list of such numbers that increase"):
        svr(loss="quantile", quantile=["low", 0.5]).fit(*friedman())


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error", "huber"])
@pytest.mark.parametrize("quantile", [0.9, [0.1, 0.9]])
def test_other_losses_predict_no_quantiles(loss, quantile):
    X, y = wedge()
    model = svr(20, loss=loss, quantile=quantile)
    with pytest.raises(ValueError, match=r"quantile=.*0\.9.* needs loss='quantile', got loss="):
        model.fit(X, y)
    with pytest.raises(ValueError, match="needs loss='quantile'"):
        model.partial_fit(X, y)
    search = BudgetedSVRCV(20, loss=loss, quantile=quantile)
    with pytest.raises(ValueError, match="needs loss='quantile'"):
        search.fit(X, y)


def test_the_warning_about_large_targets_tells_the_distance_from_the_median():
    """Around a quantile, the distances are larger."""
    X, y = friedman()
    y = y - np.median(y)
    y *= 100 / np.median(np.abs(y))
    with pytest.warns(TargetWarning, match="median distance from their median is 100:"):
        svr(20, 0.1, loss="quantile", quantile=[0.01, 0.99]).fit(X, y)
    with pytest.warns(TargetWarning, match="median distance from zero is 100:"):
        svr(20, 0.1, fit_intercept=False).fit(X, y)
