"""Quantiles of the scores of all rows: exact, and by histograms."""

import numpy as np
import pytest
from models import checked_rows, ready_rows
from numpy.testing import assert_allclose

from pocketsvm import BudgetedOneClassSVM
from pocketsvm.backends.native import Native
from pocketsvm.model.prediction import decision_values
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.source import ChunkSource, Scanner
from pocketsvm.rows.survey import AtHand
from pocketsvm.solving import scores
from pocketsvm.solving.sample import sample_of
from pocketsvm.solving.scans import Recipe, Scans, in_memory
from pocketsvm.solving.scores import lower_quantile, score_quantile

N = 1000
SHARES = [0.0, 0.01, 0.3, 0.5, 0.999, 1.0]


class Scored:
    """Rows, their weights and scores, and their scans in one chunk and in chunks."""

    def __init__(self, X, weight=None, coefficients=None, size=77):
        self.vectors = X[:9].copy()
        if coefficients is None:
            coefficients = np.random.default_rng(1).normal(size=9)
        self.dual_coef = np.atleast_2d(coefficients)
        machine = BudgetedOneClassSVM(20)
        task, parameters = machine._what(), machine._parameters()
        at_hand = AtHand(checked_rows(X), np.zeros(len(X)), weight)
        _, targets = task.targets(at_hand, parameters, None)
        settings = task.adapted(parameters.settings(0.1))
        ready = ready_rows(X, 0.5)
        self.sample = sample_of(ready, targets, settings)
        self.one = in_memory(self.sample, Native())

        def read():
            for at in range(0, len(X), size):
                some = slice(at, at + size)
                part = None if weight is None else weight[some]
                yield Chunk(X[some], np.zeros(len(X[some])), part, "rows")

        nothing = targets.take(np.arange(0), np.empty(0))
        recipe = Recipe(nothing, 0.5, ready.core.dtype, len(X), settings)
        scanner = Scanner(ChunkSource(read))
        self.many = Scans(scanner, recipe, len(X), 1.0, Native(), is_one_chunk=False)
        self.weight = np.ones(len(X)) if weight is None else weight
        self.scores = decision_values(
            self.vectors, self.dual_coef, np.zeros(1), 0.5, ready.checked, Native()
        )[:, 0]

    def quantile(self, share, *, is_one_chunk=False):
        scans = self.one if is_one_chunk else self.many
        return score_quantile(scans, self.vectors, self.dual_coef, share)

    def share_below(self, value):
        return np.average(self.scores < value, weights=self.weight)


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def scored(request):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(N, 2)), random.uniform(0.5, 2.0, N)
    return Scored(X, weight if request.param else None)


@pytest.fixture
def few_compared(monkeypatch):
    """Compare few scores, so that histograms come first."""
    monkeypatch.setattr(scores, "MOST_COMPARED", 20)
    monkeypatch.setattr(scores, "BINS", 16)


@pytest.mark.parametrize("share", SHARES)
def test_the_share_of_the_weight_is_below(scored, share):
    value = scored.quantile(share, is_one_chunk=True)
    largest = scored.weight.max() / scored.weight.sum()
    assert share - largest <= scored.share_below(value) <= share + 1e-9
    ordered = np.sort(scored.scores)
    if 0 < share < 0.99:  # in the middle of a gap
        above = np.searchsorted(ordered, value)
        assert_allclose(value, (ordered[above - 1] + ordered[above]) / 2, rtol=1e-12)


@pytest.mark.parametrize("share", SHARES)
def test_chunks_give_the_number_of_all_rows(scored, share):
    value = scored.quantile(share)
    assert_allclose(value, scored.quantile(share, is_one_chunk=True), rtol=1e-9)


@pytest.mark.usefixtures("few_compared")
@pytest.mark.parametrize("share", SHARES)
def test_histograms_find_the_share_too(scored, share):
    value = scored.quantile(share)
    largest = scored.weight.max() / scored.weight.sum()
    assert share - largest <= scored.share_below(value) <= share + 1e-9


def test_histograms_read_the_rows_few_times(scored, monkeypatch):
    scans, scan = [], Scanner.scan
    monkeypatch.setattr(Scanner, "scan", lambda *given: scans.append(given) or scan(*given))
    scored.quantile(0.3)
    assert len(scans) == 1
    monkeypatch.setattr(scores, "MOST_COMPARED", N - 1)
    scored.quantile(0.3)
    assert len(scans) == 3  # a histogram, and the scores of one bin


def test_scores_of_one_chunk_need_no_histogram(scored, monkeypatch):
    value = scored.quantile(0.3, is_one_chunk=True)
    monkeypatch.setattr(scores, "MOST_COMPARED", 0)
    monkeypatch.setattr(scores, "BINS", 0)
    assert scored.quantile(0.3, is_one_chunk=True) == value


@pytest.mark.usefixtures("few_compared")
@pytest.mark.parametrize("coefficients", [np.ones(9), -np.ones(9), np.zeros(9)])
@pytest.mark.parametrize("share", SHARES)
def test_equal_scores_are_not_below(coefficients, share):
    """All kernel values are one, so that scores are the bound of all possible ones."""
    found = Scored(np.ones((N, 2), dtype=np.float32), coefficients=coefficients)
    value = found.quantile(share)
    assert found.share_below(value) == 0
    assert_allclose(value, coefficients.sum(), rtol=1e-3, atol=1e-30)


@pytest.mark.usefixtures("few_compared")
@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_many_ties_are_on_one_side(share):
    """A fifth of the rows is equal, and those with lower scores are a fifth as well."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 2))
    order = np.argsort(Scored(X).scores)
    X[order[N // 5 : 2 * N // 5]] = X[order[N // 5]]
    X[:9] = random.normal(size=(9, 2))
    found = Scored(X)
    below = found.share_below(found.quantile(share))
    exact = found.share_below(found.quantile(share, is_one_chunk=True))
    assert abs(below - exact) <= 1 / N + 1e-9
    assert below <= share + 1e-9


def test_quantiles_of_some_of_the_values_count_the_others():
    values, weights = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0, 1.0])
    assert lower_quantile(values, weights, 0.4) == 1.5
    assert lower_quantile(values, weights, 0.3) == 1.0
    assert lower_quantile(values, weights, 0.6) == 2.5
    assert lower_quantile(values, weights, 0.4, below=2.0, total=10.0) == 1.5
    assert lower_quantile(values, weights, 0.1, below=2.0, total=10.0) == 1.0
    assert lower_quantile(values, weights, 1.0, below=2.0, total=10.0) == 4.0


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_share_of_the_weight_is_below_the_quantile(share):
    random = np.random.default_rng(1)
    values, weights = random.normal(size=500), random.uniform(0.5, 2, 500)
    below = weights[values < lower_quantile(values, weights, share)].sum() / weights.sum()
    assert share - 2 * 2 / 500 < below <= share + 1e-9
    ones = np.ones(500)
    assert np.sum(values < lower_quantile(values, ones, share)) == pytest.approx(500 * share)


def test_quantile_of_few_rows():
    values, ones = np.array([3.0, 1.0, 2.0]), np.ones(3)
    assert lower_quantile(values, ones, 0.1) == 1.0
    assert lower_quantile(values, ones, 1 / 3) == 1.5
    assert lower_quantile(values, ones, 1.0) == 3.0
