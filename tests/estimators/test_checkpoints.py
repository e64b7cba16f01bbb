"""Checkpoints: a fit that was killed resumes, and ends with the same bits."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from models import assert_same_model, blobs, moons
from numpy.testing import assert_array_equal
from sklearn.base import clone

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR, save_model
from pocketsvm.callbacks import Checkpoint
from pocketsvm.estimators import checkpoint_file
from pocketsvm.estimators.checkpoint_file import read_checkpoint, write_checkpoint
from pocketsvm.training.settings import Choices

N = 4000


class InterruptedFitError(Exception):
    pass


class StopAfter:
    """A callback that ends a fit with an error after some passes."""

    def __init__(self, n):
        self.n = n

    def setup(self, estimator, context): ...

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        # A pass is kept when its task has ended: the error comes in the next one.
        if context.task_name == "pass" and context.task_id == self.n:
            raise InterruptedFitError


class Batches:
    """Rows in batches; the k-th one that is read, of all scans, ends the fit with an error."""

    def __init__(self, *arrays, fatal=None, size=450, kill=False):
        self.arrays, self.fatal, self.size, self.kill = arrays, fatal, size, kill
        self.n_read = 0

    def batches(self):
        for begin in range(0, self.arrays[0].shape[0], self.size):
            if self.n_read == self.fatal:
                if self.kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise InterruptedFitError
            self.n_read += 1
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


def problem(n_classes=2):
    X = np.random.default_rng(0).normal(size=(N, 4))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.digitize(score, [0.0, 1.0][: n_classes - 1])


def halves():
    """Return rows that are easy to learn, so that the passes do not end early."""
    X = np.random.default_rng(0).normal(size=(N, 4))
    X[:, 0] += 2 * np.sign(X[:, 0])
    return X, X[:, 0] > 0


CASES = {
    "two classes": lambda: (BudgetedSVC(15, random_state=0), *moons()),
    "three classes": lambda: (BudgetedSVC(15, random_state=0), *blobs(3)),
    "passes only": lambda: (BudgetedSVC(15, polish=False, random_state=0), *moons()),
    "sparse": lambda: (BudgetedSVC(15, random_state=0), sp.csr_array(moons()[0]), moons()[1]),
    "a sample": lambda: (BudgetedSVC(4, random_state=0), *halves()),
    "regression": lambda: (BudgetedSVR(15, C=10, random_state=0), *moons()),
    "novelties": lambda: (BudgetedOneClassSVM(15, polish=False, random_state=0), moons()[0], None),
    "ranking": lambda: (BudgetedRanker(15, random_state=0), *blobs(3)),
}


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fit_in_memory_goes_on_with_the_same_bits(case, n, tmp_path):
    model, X, y = case()
    expected = case()[0].fit(X, y)
    n = min(n, expected.n_iter_ - 1)
    checkpoint = Checkpoint(tmp_path / "state", every=0)
    model.set_callbacks(checkpoint, StopAfter(n))
    with pytest.raises(InterruptedFitError):
        model.fit(X, y)
    assert read_checkpoint(checkpoint.path)[1].vectors.n_passes == n
    assert not hasattr(model, "dual_coef_")
    model.set_callbacks(checkpoint).fit(X, y)
    assert_same_model(model, expected)
    assert model.n_iter_ == expected.n_iter_
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("fatal", [13, 22, 31])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_on_disk_goes_on_in_the_middle_of_a_reading(fatal, n_classes, tmp_path):
    X, y = problem(n_classes)
    y = np.array(["a", "bc", "d"])[y]
    model = BudgetedSVC(2 * n_classes, random_state=0)
    whole = Batches(X, y)
    expected = model.fit(whole)
    again = BudgetedSVC(**model.get_params()).set_callbacks(Checkpoint(tmp_path / "state", every=0))
    rows = Batches(X, y, fatal=min(fatal, whole.n_read - 1))
    with pytest.raises(InterruptedFitError):
        again.fit(rows)
    reached = rows.n_read
    rows.fatal = None
    again.fit(rows)
    assert_same_model(again, expected)
    # The survey is made again, and the rows before the interruption are read, but not summed up.
    assert rows.n_read - reached <= whole.n_read
    assert not os.listdir(tmp_path)


def test_what_has_been_summed_up_is_not_summed_up_again(tmp_path, monkeypatch):
    from pocketsvm.solving import scans as elsewhere

    X, y = problem()
    whole = Batches(X, y)
    model = BudgetedSVC(4, random_state=0).set_callbacks(Checkpoint(tmp_path / "state", every=0))
    BudgetedSVC(4, random_state=0).fit(whole)
    rows = Batches(X, y, fatal=whole.n_read - 1)
    with pytest.raises(InterruptedFitError):
        model.fit(rows)
    read = []
    for name in ("read", "read_along"):
        plain = getattr(elsewhere, name)
        monkeypatch.setattr(
            elsewhere,
            name,
            lambda *arguments, plain=plain: (
                read.append(arguments[-2].rows.n_rows) or plain(*arguments)
            ),
        )
    rows.fatal = None
    model.fit(rows)
    # Of all batches only the last one; the sample, which is larger, is in memory.
    assert [n_rows for n_rows in read if n_rows <= 450] == [N % 450]


def test_sparse_weighted_rows_and_regressions_on_disk(tmp_path):
    X, _ = problem()
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0))
    y, weight = X.toarray()[:, 0] ** 2, np.arange(N) % 3 + 0.5
    model = BudgetedSVR(4, C=5, random_state=0)
    whole = Batches(X, y, weight)
    expected = BudgetedSVR(**model.get_params()).fit(whole)
    rows = Batches(X, y, weight, fatal=whole.n_read - 3)
    model.set_callbacks(Checkpoint(tmp_path / "state", every=0))
    with pytest.raises(InterruptedFitError):
        model.fit(rows)
    rows.fatal = None
    assert_same_model(model.fit(rows), expected)


PROGRAM = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from test_checkpoints import Batches, problem
from pocketsvm import BudgetedSVC, save_model
from pocketsvm.callbacks import Checkpoint
fatal = int(sys.argv[1])
model = BudgetedSVC(4, random_state=0).set_callbacks(Checkpoint("state", every=0))
model.fit(Batches(*problem(), fatal=fatal if fatal >= 0 else None, kill=True))
save_model(model.set_callbacks(), "model.psvm")
"""


def test_kill_9_on_disk(tmp_path):
    """The process dies again and again; each one comes further than the one before."""
    from pocketsvm import load_model

    expected = BudgetedSVC(4, random_state=0).fit(Batches(*problem()))
    for fatal in (10, 15, 20, -1):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(fatal)],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == (0 if fatal < 0 else -signal.SIGKILL), done.stderr
        assert (tmp_path / "state").exists() == (fatal >= 0)
    assert_same_model(load_model(tmp_path / "model.psvm"), expected)


def test_a_checkpoint_of_another_fit_is_refused_by_name(tmp_path):
    X, y = moons()
    path = tmp_path / "state"
    model = BudgetedSVC(15, random_state=0).set_callbacks(Checkpoint(path, every=0), StopAfter(1))
    with pytest.raises(InterruptedFitError):
        model.fit(X, y)
    kept = path.read_bytes()

    def refused(message, X=X, y=y, **parameters):
        other = BudgetedSVC(**{"budget": 15, "random_state": 0} | parameters)
        other.set_callbacks(Checkpoint(path))
        with pytest.raises(ValueError, match=message):
            other.fit(X, y)
        assert path.read_bytes() == kept

    refused("state is the checkpoint of another fit.*budget 15, and this fit has 16", budget=16)
    refused("random_state 0, and this fit has 1", random_state=1)
    refused("for other rows", X=X + 1e-9)
    refused("another order", X=X[::-1], y=y[::-1])
    refused("for other rows", y=1 - y)
    refused("random_state that is an int, got None", random_state=None)
    refused("random_state that is an int", random_state=np.random.RandomState(0))
    regression = BudgetedSVR(15, random_state=0).set_callbacks(Checkpoint(path))
    with pytest.raises(ValueError, match="estimator BudgetedSVC, and this fit has BudgetedSVR"):
        regression.fit(X, y)
    # Threads do not change the model.
    model.set_params(n_jobs=2, verbose=0).set_callbacks(Checkpoint(path)).fit(X, y)
    assert_same_model(model, BudgetedSVC(15, random_state=0).fit(X, y))


def test_other_files_are_refused(tmp_path):
    X, y = moons()
    path = tmp_path / "state"
    model = BudgetedSVC(15, random_state=0).fit(X, y)
    save_model(model, path)
    model.set_callbacks(Checkpoint(path))
    with pytest.raises(ValueError, match="it is a model file, not a checkpoint"):
        model.fit(X, y)
    model.set_callbacks(Checkpoint(path, every=0), StopAfter(2))
    path.unlink()
    with pytest.raises(InterruptedFitError):
        model.fit(X, y)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="state cannot be loaded: its checksum"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="every=-1"):
        Checkpoint(path, every=-1)


def test_a_fit_that_is_short_writes_nothing(tmp_path):
    X, y = moons()
    model = BudgetedSVC(15, random_state=0).set_callbacks(Checkpoint(tmp_path / "no" / "folder"))
    assert_same_model(model.fit(X, y), BudgetedSVC(15, random_state=0).fit(X, y))


def test_warm_starts_go_on(tmp_path):
    X, y = moons()
    first = BudgetedSVC(15, random_state=0, warm_start=True).fit(X, y)
    expected = BudgetedSVC(**first.get_params())
    expected.__dict__.update(vars(first))
    expected.fit(X, y)
    checkpoint = Checkpoint(tmp_path / "state", every=0)
    with pytest.raises(InterruptedFitError):
        first.set_callbacks(checkpoint, StopAfter(2)).fit(X, y)
    first.set_callbacks(checkpoint).fit(X, y)
    assert_array_equal(first._state.vectors, expected._state.vectors)
    assert_array_equal(first.dual_coef_, expected.dual_coef_)


def kept(path, **changes):
    """Write the checkpoint of a fit that was interrupted, with other values."""
    X, y = halves()
    clf = BudgetedSVC(4, random_state=0).set_callbacks(Checkpoint(path, every=0), StopAfter(1))
    with pytest.raises(InterruptedFitError):
        clf.fit(X, y)
    identity, progress = read_checkpoint(path)
    for name, value in changes.items():
        setattr(progress, name, value)
    write_checkpoint(path, identity, progress)
    return BudgetedSVC(4, random_state=0).set_callbacks(Checkpoint(path, every=0)), X, y


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"passes_done": 1}, "its passes_done is not what a fit writes"),
        ({"part_rows": -1}, "its part_rows is not what"),
        ({"sums": None}, "its sums is not what"),
        ({"vectors": None, "passes_done": True}, "its passes are complete, but have no result"),
        ({"vectors": [1.0]}, "its passes have another result than vectors"),
    ],
)
def test_a_checkpoint_with_other_values_is_refused(changes, problem, tmp_path):
    path = tmp_path / "a.checkpoint"
    clf, X, y = kept(path, **changes)
    with pytest.raises(ValueError, match=rf"a\.checkpoint.*{problem}"):
        clf.fit(X, y)


def test_a_checkpoint_with_arrays_that_do_not_fit_is_refused(tmp_path):
    path = tmp_path / "a.checkpoint"
    clf, X, y = kept(path)
    identity, progress = read_checkpoint(path)
    state = progress.vectors.states[0]
    for name in ("coefficients", "births", "generator"):
        wrong = replace(state, **{name: getattr(state, name)[1:]})
        progress.vectors = replace(progress.vectors, states=(wrong,))
        write_checkpoint(path, identity, progress)
        with pytest.raises(ValueError, match=r"a\.checkpoint.*do not fit each other"):
            clf.fit(X, y)


def test_a_checkpoint_that_lacks_a_value_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    clf, X, y = kept(path)
    monkeypatch.setitem(checkpoint_file.KINDS, "PassState", checkpoint_file.VectorSet)
    with pytest.raises(ValueError, match=r"a\.checkpoint.*do not belong together"):
        clf.fit(X, y)


def test_a_fit_goes_on_if_its_checkpoint_cannot_be_written(tmp_path):
    X, y = problem()
    clf = BudgetedSVC(15, random_state=0)
    expected = clf.fit(X, y)
    clf = BudgetedSVC(15, random_state=0)
    clf.set_callbacks(Checkpoint(tmp_path / "missing" / "a.checkpoint", every=0))
    with pytest.warns(UserWarning, match=r"a\.checkpoint cannot be written: .* The fit continues"):
        found = clf.fit(X, y)
    assert_same_model(found, expected)


def test_mini_batches_after_the_passes_end_with_the_same_bits(tmp_path, monkeypatch):
    """A fit that is resumed after its passes draws nothing for them."""
    choices = Choices(batches=60, batch_rows=256, most_loss=0.0, rows_per_vector=60)
    fit = sys.modules["pocketsvm.fit"]
    monkeypatch.setattr(BudgetedSVC, "_choices", choices)
    tried, refined = [], fit._refined
    monkeypatch.setattr(
        fit, "_refined", lambda *given, **more: _kept(tried, refined(*given, **more))
    )
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 30))
    y = np.hypot(X[:, 0], X[:, 1]) + 0.5 * random.normal(size=4000) > 1.2
    model = BudgetedSVC(210, polish="thorough", random_state=0)
    expected = clone(model).fit(X, y)
    path = tmp_path / "state"
    stopped = clone(model).set_callbacks(Checkpoint(path, every=0))
    with monkeypatch.context() as context:
        context.setattr(fit, "solve", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            stopped.fit(X, y)
    assert path.exists()
    resumed = clone(model).set_callbacks(Checkpoint(path, every=0)).fit(X, y)
    assert len(tried) == 2
    one, other = tried
    assert (one is None) is (other is None)
    if one is not None:
        assert_array_equal(one[1], other[1])
    assert_same_model(resumed, expected)


def _kept(found, value):
    found.append(value)
    return value


def _interrupt(*given):
    raise KeyboardInterrupt
