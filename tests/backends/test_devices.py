"""`device`: the same models on all devices, and errors that say what is missing."""

import pickle
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVCCV,
    BudgetedSVR,
    load_model,
    open_dataset,
)
from pocketsvm.backends import torch_rows
from pocketsvm.backends.devices import backend_of, device_of

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2000, 4)).astype(np.float32)
SQUARES = np.square(X).sum(axis=1) + 0.3 * RANDOM.normal(size=2000)
CODES = np.digitize(SQUARES, [2, 4])
FITS = {
    "hinge": (BudgetedSVC(20), CODES > 0, {}),
    "three classes": (BudgetedSVC(20), CODES, {}),
    "log loss": (BudgetedSVC(20, loss="log_loss"), CODES, {}),
    "squared hinge": (BudgetedSVC(20, loss="squared_hinge"), CODES > 0, {}),
    "moved": (BudgetedSVC(8, polish="thorough"), CODES > 0, {}),
    "exact": (BudgetedSVC(2000), CODES > 0, {}),
    "values": (BudgetedSVR(20), SQUARES, {}),
    "quantiles": (BudgetedSVR(20, loss="quantile", quantile=[0.1, 0.9]), SQUARES, {}),
    "huber": (BudgetedSVR(20, loss="huber"), SQUARES, {}),
    "novelty": (BudgetedOneClassSVM(20, nu=0.2), None, {}),
    "ranking": (BudgetedRanker(10), CODES, {"qid": np.arange(2000) // 20}),
}


def fitted(name, device, rows=X, n=2000):
    machine, y, more = FITS[name]
    machine = type(machine)(**machine.get_params()).set_params(random_state=0, device=device)
    more = {key: value[:n] for key, value in more.items()}
    return machine.fit(rows[:n], None if y is None else y[:n], **more)


@pytest.mark.parametrize("name", FITS)
def test_a_device_fits_the_model_of_the_cpu(device, name):
    n = 400 if name == "exact" else 2000
    here, there = fitted(name, "cpu", n=n), fitted(name, device, n=n)
    objectives = [each.profile_.objective_after for each in (there, here)]
    assert_allclose(*objectives, rtol=0.02 if there.profile_.moves else 1e-4)
    values = [each._decision_values(X) for each in (there, there.set_params(device="cpu"))]
    limit = 1e-4 * np.abs(here.dual_coef_).sum()
    assert_allclose(*values, atol=limit, rtol=0)
    if not there.profile_.moves:
        assert_allclose(values[0], here._decision_values(X), atol=30 * limit, rtol=0)


@pytest.mark.parametrize("name", ["hinge", "values", "log loss"])
def test_layouts_agree_on_a_device(device, name):
    dense, sparse = (fitted(name, device, layout(X)) for layout in (np.asarray, sp.csr_array))
    assert_allclose(dense.profile_.objective_after, sparse.profile_.objective_after, rtol=1e-2)


def test_the_same_seed_gives_the_same_model(device):
    one, two = (fitted("three classes", device) for _ in range(2))
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.support_vectors_, two.support_vectors_)


def test_probabilities(device):
    machine = fitted("log loss", device)
    there, here = machine.predict_proba(X), machine.set_params(device="cpu").predict_proba(X)
    assert_allclose(there, here, atol=1e-5)


def test_rows_that_were_shifted(device):
    machine = BudgetedSVC(20, random_state=0, device=device, gamma=0.2).fit(X + 1000, CODES > 0)
    here = machine.decision_function(X + 1000)
    assert_allclose(here, machine.set_params(device="cpu").decision_function(X + 1000), atol=1e-4)
    assert machine.score(X + 1000, CODES > 0) > 0.85


def test_float64_rows(device):
    machine = BudgetedSVC(20, random_state=0, device=device, gamma=1e-9).fit(X, CODES > 0)
    here = machine.decision_function(X)
    assert_allclose(
        here, machine.set_params(device="cpu").decision_function(X), rtol=1e-3, atol=1e-3
    )


def test_data_sets(device, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([CODES > 0, X]), delimiter=",")
    rows = open_dataset(path, label=1)
    one, two = (BudgetedSVC(3, random_state=0, device=each).fit(rows) for each in ("cpu", device))
    assert_allclose(two.profile_.objective_after, one.profile_.objective_after, rtol=0.02)
    assert_allclose(two.decision_function(rows), two.decision_function(X), atol=1e-5)


def test_a_search(device):
    search = BudgetedSVCCV(10, gammas=[0.1, 0.5], Cs=[1.0], cv=2, random_state=0, device=device)
    search.fit(X, CODES > 0)
    assert search.best_estimator_.device == device
    twin = BudgetedSVCCV(10, gammas=[0.1, 0.5], Cs=[1.0], cv=2, random_state=0).fit(X, CODES > 0)
    assert_allclose(search.scores_, twin.scores_, atol=0.01)


def test_a_saved_model_does_not_keep_the_device(device, tmp_path):
    machine = fitted("hinge", device)
    machine.save(tmp_path / "model.psvm")
    loaded = load_model(tmp_path / "model.psvm")
    assert loaded.device == "cpu"
    assert_allclose(loaded.decision_function(X), machine.decision_function(X), atol=1e-4)


def test_a_stream_on_a_device(device):
    machine = BudgetedSVC(20, random_state=0, device=device, reservoir=500)
    machine.partial_fit(X, CODES > 0, classes=[False, True])
    twin = BudgetedSVC(20, random_state=0).partial_fit(X, CODES > 0, classes=[False, True])
    assert_array_equal(machine.dual_coef_, twin.dual_coef_)
    machine.polish_stream()
    assert machine.score(X, CODES > 0) > 0.8


def test_memory_that_runs_out_makes_parts_smaller(device, monkeypatch):
    torch = torch_rows.imported()
    exponential, limit = torch.Tensor.exp_, 4000

    def limited(self):
        if self.numel() > limit:
            raise torch.OutOfMemoryError("test")
        return exponential(self)

    machine = fitted("hinge", device)
    expected = machine.decision_function(X)
    monkeypatch.setattr(torch.Tensor, "exp_", limited)
    monkeypatch.setattr(torch_rows, "LEAST_VALUES", 256)
    monkeypatch.setattr(torch_rows, "_most_values", {})
    monkeypatch.setattr(torch_rows, "_after_errors", {})
    with pytest.warns(RuntimeWarning, match="ran out of memory: smaller parts"):
        assert_allclose(machine.decision_function(X), expected, atol=1e-5)
    with warnings.catch_warnings():  # it is said once
        warnings.simplefilter("error")
        machine.decision_function(X)
    limit = 0
    with pytest.raises(MemoryError, match=r'use a smaller budget, or device="cpu"'):
        machine.decision_function(X)


def test_a_budget_beyond_the_memory_is_refused(device, monkeypatch):
    backend = backend_of(device, 1)
    monkeypatch.setattr("pocketsvm.backends.torch.free_bytes", lambda device: 1000)
    with pytest.raises(MemoryError, match="A budget of 20 needs 12,800 bytes"):
        backend.penalty(X[:20], 0.1)


# --- without torch --------------------------------------------------------------------------------


@pytest.fixture
def torch(monkeypatch):
    """A torch that is not there; attributes can be set on what is returned."""

    class Cuda:
        is_available = staticmethod(lambda: False)
        device_count = staticmethod(lambda: 0)

    found = SimpleNamespace(__version__="2.9.1+cpu", cuda=Cuda)
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "torch:cpu"])
def test_no_torch(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=f'device="{device}" needs PyTorch: it cannot be imported'
    ):
        BudgetedSVC(20, device=device).fit(X, CODES)


def test_an_old_torch(torch):
    torch.__version__ = "2.4.1"
    with pytest.raises(ImportError, match=r"version 2\.4\.1 is too old\. Install PyTorch 2\.5"):
        BudgetedSVC(20, device="cuda").fit(X, CODES)


def test_no_cuda(torch):
    with pytest.raises(RuntimeError, match=r"PyTorch 2\.9\.1\+cpu finds no CUDA device"):
        BudgetedSVC(20, device="cuda").fit(X, CODES)


def test_a_device_that_does_not_exist(torch):
    torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 2
    assert device_of("cuda") == device_of("auto") == "cuda:0"
    assert device_of("cuda:1") == "cuda:1"
    with pytest.raises(
        RuntimeError, match=r'"cuda:2" does not exist: .* 2 CUDA devices, .* "cuda:1"'
    ):
        device_of("cuda:2")


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:-1", "CPU", ""])
def test_unknown_devices_are_refused(device):
    with pytest.raises(ValueError, match="'device' parameter must be 'cpu', 'cuda'"):
        BudgetedSVC(20, device=device).fit(X, CODES)


@pytest.mark.parametrize("verbose", [0, 1])
def test_auto_says_what_it_took(torch, verbose, capsys):
    machine = BudgetedSVC(20, device="auto", verbose=verbose, random_state=0).fit(X, CODES > 0)
    assert_array_equal(machine.decision_function(X), fitted("hinge", "cpu").decision_function(X))
    assert ("device cpu" in capsys.readouterr().out) == bool(verbose)


def test_a_pickle_loads_without_a_gpu(torch):
    machine = fitted("hinge", "cpu").set_params(device="cuda")
    loaded = pickle.loads(pickle.dumps(machine))
    with pytest.raises(RuntimeError, match="finds no CUDA device"):
        loaded.predict(X)
    assert loaded.set_params(device="cpu").score(X, CODES > 0) > 0.8


def test_torch_is_not_imported_for_the_cpu():
    code = (
        "import sys, pocketsvm; pocketsvm.BudgetedSVC(2).fit([[0], [1]], [0, 1]).predict([[0]]); "
        "sys.exit('torch' in sys.modules)"
    )
    assert not subprocess.run([sys.executable, "-c", code]).returncode


def test_dask_refuses_other_devices():
    DaskBudgetedSVC = pytest.importorskip("pocketsvm.dask").DaskBudgetedSVC

    with pytest.raises(ValueError, match="device='cuda' is not possible with Dask"):
        DaskBudgetedSVC(20, device="cuda").fit(None, None)


def test_batches_share_the_matrix_of_their_vectors(device):
    last, backend = torch_rows.LastMatrix(), backend_of(device, 1)
    dtype, vectors = backend.dtype("float32"), X[:5].copy()
    first = last.of(vectors, 0.5, backend.on, dtype)
    assert last.of(vectors, 0.5, backend.on, dtype) is first
    second = last.of(vectors, 0.25, backend.on, dtype)
    assert second is not first
    other = vectors.copy()
    assert last.of(other, 0.25, backend.on, dtype) is not second
    del other
    assert last._last is None
