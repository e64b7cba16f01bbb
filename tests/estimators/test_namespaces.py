"""Arrays of other libraries: scikit-learn's array API checks, and rows on a GPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import _yield_array_api_checks

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    BudgetedSVRCV,
)
from pocketsvm.backends.devices import device_of
from pocketsvm.backends.torch_rows import is_tensor
from pocketsvm.estimators import namespaces

FEW = {"gammas": [0.1], "Cs": [1.0], "cv": 2}
MACHINES = [
    BudgetedSVC(10),
    BudgetedSVC(10, loss="log_loss"),
    BudgetedSVC(10, feature_scales=[0.5, 1.5] * 5),
    BudgetedSVR(10),
    BudgetedSVR(10, loss="quantile", quantile=[0.2, 0.8]),
    BudgetedOneClassSVM(10),
    BudgetedRanker(10),
]
SEARCHES = [BudgetedSVCCV(10, **FEW), BudgetedSVRCV(10, **FEW)]  # their attributes stay in NumPy
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3)).astype(np.float32)
Y = np.square(X).sum(axis=1)
CODES = np.digitize(Y, [2, 4])


def named(check):
    given = [str(value) for value in check.keywords.values()]
    return " ".join([check.func.__name__, *given])


@pytest.fixture(autouse=True)
def scipy_dispatches(monkeypatch):
    """Let scikit-learn take arrays of other libraries."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


def has_cuda():
    try:
        return bool(device_of("cuda"))
    except (ImportError, RuntimeError):
        return False


CHECKS = [
    check
    for check in _yield_array_api_checks(BudgetedSVC())
    # A model is in the memory of the CPU, and predicts the arrays of any library.
    if check.func.__name__ != "check_array_api_same_namespace"
]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("check", CHECKS, ids=named)
def test_scikit_learns_array_api_checks(machine, check):
    assert get_tags(machine).array_api_support
    if isinstance(machine, BudgetedRanker) and "mixed" in check.func.__name__:
        pytest.skip("a ranker's weights belong to queries")
    if "cuda" in named(check) and not has_cuda():
        pytest.skip("there is no CUDA")
    # The values of a GPU agree to rounding errors of float32.
    check(type(machine).__name__, machine, check_values="cuda" not in named(check))


def test_predictions_of_any_namespace():
    xp = pytest.importorskip("array_api_strict")
    machine = BudgetedSVC(10, random_state=0).fit(X, CODES)
    with config_context(array_api_dispatch=True):
        found = machine.predict(xp.asarray(X))
        assert found.__array_namespace__() is xp
        assert_array_equal(machine.predict(X), np.asarray(found._array))
        twin = BudgetedSVC(10, random_state=0).fit(xp.asarray(X), xp.asarray(CODES))
        assert_array_equal(twin.predict(X), machine.predict(X))


def test_labels_that_are_texts_stay_in_numpy():
    xp = pytest.importorskip("array_api_strict")
    y = np.array(["a", "b", "c"])[CODES]
    with config_context(array_api_dispatch=True):
        machine = BudgetedSVC(10, random_state=0).fit(xp.asarray(X), y)
        assert_array_equal(machine.predict(xp.asarray(X)), machine.predict(X))


# --- rows on a GPU --------------------------------------------------------------------------------


@pytest.fixture(params=["torch:cpu", "cuda"])
def there(request, monkeypatch):
    """Return a function that moves rows to a device, and the name of the device."""
    try:
        device = device_of(request.param)
    except (ImportError, RuntimeError) as error:
        pytest.skip(str(error))
    import torch

    if device == "torch:cpu":  # as if it were a GPU
        monkeypatch.setattr(
            namespaces, "device_name", lambda X: "torch:cpu" if is_tensor(X) else None
        )
    return lambda array: torch.tensor(array, device=device.removeprefix("torch:")), device


@pytest.mark.parametrize("machine", MACHINES + SEARCHES, ids=str)
def test_rows_on_a_device_are_fitted_and_predicted_there(machine, there, monkeypatch):
    move, device = there
    y = Y if isinstance(machine, (BudgetedSVR, BudgetedSVRCV)) else CODES
    machine = type(machine)(**machine.get_params()).set_params(random_state=0)
    if machine.feature_scales is not None:
        machine.set_params(feature_scales=[1.0, 2.0, 0.5])
    seen = []
    monkeypatch.setattr(namespaces, "_fit", watched(namespaces._fit, seen))
    with config_context(array_api_dispatch=True):
        machine.fit(move(X), move(y))
        found = machine.predict(move(X))
    assert seen == [device]
    assert machine.device == "cpu"
    assert found.device == move(X).device
    assert_allclose(found.cpu().numpy(), machine.predict(X), rtol=1e-4, atol=1e-4)
    twin = type(machine)(**machine.get_params()).fit(X, y)
    assert np.corrcoef(np.ravel(twin.predict(X)), np.ravel(machine.predict(X)))[0, 1] > 0.95


def watched(fit, seen):
    def watch(method, estimator, device, *args, **kwargs):
        seen.append(device)
        return fit(method, estimator, device, *args, **kwargs)

    return watch


def test_decision_values_of_rows_on_a_device(there):
    move, _ = there
    machine = BudgetedSVC(10, random_state=0).fit(X, CODES)
    with config_context(array_api_dispatch=True):
        values = machine.decision_function(move(X))
        assert machine.score(move(X), move(CODES)) == machine.score(X, CODES)
        wrong = [(X[:, :2], "X has 2 features, but BudgetedSVC is expecting 3"), (X[0], "2D array")]
        for rows, message in [*wrong, (X * np.nan, "contains NaN or infinity")]:
            with pytest.raises(ValueError, match=message):
                machine.predict(move(rows))
    assert_allclose(values.cpu().numpy(), machine.decision_function(X), atol=1e-5)


def test_pipelines_on_a_device(there):
    move, _ = there
    pipeline = make_pipeline(StandardScaler(), BudgetedSVC(10, random_state=0))
    with config_context(array_api_dispatch=True):
        pipeline.fit(move(X), move(CODES))
        assert pipeline.score(move(X), move(CODES)) > 0.8
