"""Mini-batches: all backends make the same steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from solver_problems import GAMMA, class_problem, coupled_problem, value_problem

from pocketsvm import BudgetedSVC
from pocketsvm.backends.batches import Batches, Start, Unknowns
from pocketsvm.training.settings import Choices

PROBLEMS = {
    "two classes": class_problem,
    "three classes": lambda **changes: class_problem(n_classes=3, **changes),
    "coupled classes": coupled_problem,
    "values": value_problem,
}
NAMES = "logs", "vectors", "coefficients", "intercepts"


def start_of(vectors, sample, centre):
    random, n_outputs = np.random.default_rng(0), sample.loss.n_outputs
    unit = np.sqrt(GAMMA)
    unknowns = Unknowns(
        random.normal(0, 0.2, vectors.shape[1]),
        (vectors - centre) * unit,
        random.normal(size=(len(vectors), n_outputs)),
        random.normal(size=n_outputs),
    )
    rates = Unknowns(*map(np.array, (0.1, 0.03, 0.05, 0.05)))
    return Start(unknowns.map(lambda array: array.astype(np.float32)), rates, unit, centre)


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_steps_are_those_of_the_cpu(backend, make, layout):
    vectors, sample = make(n=400, layout=layout)
    start = start_of(vectors, sample, sample.rows.dense().mean(axis=0))
    mine, native = backend.batches(sample, start), Batches(sample, start, 1)
    order = np.random.default_rng(1).permutation(400)
    for number in range(1, 9):
        chosen = order[40 * number : 40 * number + 40]
        for batches in (mine, native):
            batches.step(chosen, 0.1 * number, number)
        assert_allclose(mine.loss(order), native.loss(order), rtol=1e-4)
    for name in NAMES:
        expected = getattr(native.unknowns, name)
        # A step of Adam is a ratio, which rounding changes where gradients are tiny.
        assert_allclose(getattr(mine.unknowns, name), expected, rtol=0.02, atol=0.02)


def test_a_thorough_fit_refines_scales(device, monkeypatch):
    initialise = Choices.__init__
    monkeypatch.setattr(
        Choices, "__init__", lambda self, **given: initialise(self, **{"batches": 100, **given})
    )
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6))
    y = np.sin(2 * X[:, 0]) > X[:, 1]
    options = {"feature_scales": "learn", "polish": "thorough", "random_state": 0, "C": 10.0}
    found = [BudgetedSVC(20, device=each, **options).fit(X, y) for each in ("cpu", device)]
    scores = [machine.score(X, y) for machine in found]
    assert_allclose(scores[1], scores[0], atol=0.02)
    assert found[1].feature_scales_[2:].max() < 0.5 * found[1].feature_scales_[:2].min()
