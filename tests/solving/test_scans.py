"""Scans: sums over all rows, in one chunk or in many."""

from dataclasses import replace

import numpy as np
import pytest
from loss_formulas import ramp, ramp_derivatives
from models import checked_rows
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from solver_problems import PROBLEMS, in_numpy

from pocketsvm import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR, _core
from pocketsvm.backends.native import Native
from pocketsvm.rows.checked import Rows
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.runs import ByRelevance, Runs
from pocketsvm.rows.source import ChunkSource, Scanner
from pocketsvm.rows.survey import AtHand
from pocketsvm.solving import scans as scans_module
from pocketsvm.solving.sample import sample_of
from pocketsvm.solving.scans import (
    LENGTHS,
    Recipe,
    Scans,
    in_memory,
    read,
    read_along,
    shares_of,
    standing_for,
)

SEED = 7


def somewhere(sample, n_vectors=12):
    """Return some rows as vectors, and a point without an intercept."""
    shape = sample.loss.n_outputs, n_vectors
    coefficients = np.random.default_rng(0).normal(size=shape)
    return sample.rows.dense()[:n_vectors].copy(), np.pad(coefficients, [(0, 0), (0, 1)])


def places(part, sample):
    """Return the positions in the sample of the rows of a part of it."""
    numbers = {row.tobytes(): k for k, row in enumerate(sample.rows.dense())}
    return np.array([numbers[row.tobytes()] for row in part.rows.dense()], dtype=int)


# --- the drawn rows -------------------------------------------------------------------------------


@pytest.fixture
def sample(monkeypatch):
    """A sample of which some rows are near at `somewhere`."""
    monkeypatch.setattr(scans_module, "LEAST_OTHERS", 50)
    return PROBLEMS["two classes"](n=1000)[1]


def drawn(sample, most_near, seed=SEED):
    """Return what a reading at `somewhere` draws, and which rows are near."""
    vectors, point = somewhere(sample)
    point *= 5
    return in_memory(sample, Native()).first(vectors, point, (most_near, most_near), seed), read(
        vectors, point, sample, Native()
    )[2]


def test_all_near_rows_are_drawn_if_they_fit(sample):
    found, near = drawn(sample, 1000)
    chosen = places(found.near, sample)
    assert 300 < np.count_nonzero(near) < 900
    assert found.is_complete
    assert found.n_near == np.count_nonzero(near)
    assert_array_equal(chosen, np.unique(chosen))
    assert_array_equal(chosen[near[chosen]], np.flatnonzero(near))
    assert_allclose(found.near.c[near[chosen]], sample.c[near])


@pytest.mark.parametrize("most_near", [1000, 200])
def test_drawn_rows_have_the_weight_of_all(sample, most_near):
    found, near = drawn(sample, most_near)
    assert found.is_complete == (most_near == 1000)
    is_near = near[places(found.near, sample)]
    assert is_near.any()
    assert not is_near.all()
    assert len(is_near) < 2.3 * max(most_near, 1000 * found.is_complete)
    assert_allclose(found.near.c[is_near].sum(), sample.c[near].sum())
    assert_allclose(found.near.c[~is_near].sum(), sample.c[~near].sum())


def test_shares_keep_the_number_of_rows_within_the_limit():
    for n_near in (0, 10, 500, 5000, 90_000):
        for most_near in (100, 1000, 10_000):
            near_share, other_share = shares_of(n_near, 100_000, (most_near, most_near))
            n_drawn = near_share * n_near + other_share * (100_000 - n_near)
            assert 0 <= near_share <= 1
            assert 0 < other_share <= 1
            assert n_drawn <= most_near + max(most_near, scans_module.LEAST_OTHERS) + 1
            assert (near_share == 1) == (n_near <= most_near)


def test_a_row_is_drawn_by_its_position_and_the_seed(sample, monkeypatch):
    found, near = drawn(sample, 200)
    chosen = places(found.near, sample)
    assert_array_equal(places(drawn(sample, 200)[0].near, sample), chosen)
    other = places(drawn(sample, 200, seed=8)[0].near, sample)
    assert not np.array_equal(other, chosen)
    # More near rows are drawn besides, none is replaced.
    more = places(drawn(sample, 300)[0].near, sample)
    assert set(chosen[near[chosen]]) < set(more)


def test_a_model_for_which_no_row_is_near_is_read(sample):
    vectors, point = somewhere(sample)
    point[:] = 0.0
    sample = sample.take(np.flatnonzero(sample.loss.codes == 0))
    point[0, -1] = -50.0  # no row has a loss
    found = in_memory(sample, Native()).first(vectors, point, (100, 100), SEED)
    assert found.n_near == 0
    assert found.is_complete
    assert_allclose(found.near.c.sum(), sample.c.sum())


def test_some_rows_stand_for_those_that_are_not_near(monkeypatch):
    monkeypatch.setattr(scans_module, "LEAST_OTHERS", 50)
    sample = PROBLEMS["two classes"](n=1000)[1]
    near = np.arange(1000) % 10 == 0
    found = standing_for(sample, near, np.random.default_rng(0))
    chosen = places(found, sample)
    assert_array_equal(chosen[near[chosen]], np.flatnonzero(near))
    assert 60 < np.count_nonzero(~near[chosen]) < 140
    assert_allclose(found.c[near[chosen]], sample.c[near])
    assert_allclose(found.c[~near[chosen]].sum(), sample.c[~near].sum())
    assert standing_for(sample, np.ones(1000, dtype=bool), np.random.default_rng(0)) is sample


# --- the core's sums, against those of blocks -----------------------------------------------------


@pytest.fixture(params=PROBLEMS)
def chunk(request):
    """Vectors, rows and two points."""
    vectors, sample = PROBLEMS[request.param](n=1000)
    random = np.random.default_rng(0)
    return vectors, sample, *random.normal(size=(2, sample.loss.n_outputs, len(vectors) + 1))


def test_the_core_sums_at_a_point_as_blocks_do(chunk):
    vectors, sample, point, _ = chunk
    core, blocks = (read(vectors, point, each, Native()) for each in (sample, in_numpy(sample)))
    for mine, other in zip(core[:2], blocks[:2], strict=True):
        assert_allclose(mine, other, rtol=1e-12, atol=1e-10)
    assert_array_equal(core[2], blocks[2])


def test_the_core_sums_along_a_direction_as_blocks_do(chunk):
    vectors, sample, point, direction = chunk
    losses = read_along(vectors, point, direction, sample, Native())
    other_losses = read_along(vectors, point, direction, in_numpy(sample), Native())
    assert losses.shape == (len(LENGTHS), sample.loss.n_outputs)
    assert_allclose(losses, other_losses, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 64, 4095, 4096, 4097, 9000])
def test_bits_do_not_depend_on_threads(n):
    vectors, sample = PROBLEMS["four classes"](n=n, n_vectors=min(n, 12))
    point = np.random.default_rng(0).normal(size=(4, len(vectors) + 1))
    one, three = (read(vectors, point, sample, Native(n_threads)) for n_threads in (1, 3))
    for mine, other in zip(one, three, strict=True):
        assert_array_equal(mine, other)


def test_outputs_may_have_targets_and_factors_of_their_own():
    vectors, sample = PROBLEMS["values"](n=500)
    random = np.random.default_rng(0)
    targets, point = random.normal(size=(500, 3)), random.normal(size=(3, len(vectors) + 1))
    down, up, width = [0.1, 0.5, 1.0], [0.9, 0.5, 0.0], 0.2
    losses = _core.RowLosses.values("tube", targets, 0.05, down, up, [width] * 3)
    rows = vectors, sample.rows.gamma, sample.rows.core
    common = point[:, :-1].copy(), point[:, -1].copy(), np.empty(0), 2.0, 1
    sums, pull, near = _core.read_losses(*rows, losses, sample.c, *common)
    f = _core.kernel_block(*rows, 0, 500, 1) @ point[:, :-1].T + point[:, -1]
    below, above = ramp(targets - 0.05 - f, width), ramp(f - targets - 0.05, width)
    (rise, _), (fall, _) = (
        ramp_derivatives(u, width) for u in (targets - 0.05 - f, f - targets - 0.05)
    )
    c = sample.c[:, None]
    assert_allclose(sums[0], (c * (down * below + up * above)).sum(axis=0))
    assert_allclose(pull[:, -1], (c * (up * fall - down * rise)).sum(axis=0))
    is_near = (targets - 0.05 - f > -0.4) | ((f - targets - 0.05 > -0.4) & (np.array(up) > 0))
    assert_array_equal(near, is_near.any(axis=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": np.ones(9)}, "one entry per row, 10"),
        ({"coefficients": np.ones((2, 3))}, "must have 1 rows and 3 columns, got 2 and 3"),
        ({"coefficients": np.ones((1, 4))}, "must have 1 rows and 3 columns, got 1 and 4"),
        ({"lengths": np.ones(1)}, "must have 2 rows and 3 columns, got 1 and 3"),
        ({"intercepts": np.ones(2)}, "intercepts must have 1 entries, got 2"),
        ({"vectors": np.ones((3, 3))}, "must have 3 features"),
        ({"gamma": -1.0}, "gamma"),
    ],
)
def test_the_core_refuses_wrong_sizes(changes, message):
    good = {
        "vectors": np.ones((3, 2)),
        "gamma": 1.0,
        "rows": _core.Rows.dense(np.ones((10, 2))),
        "losses": _core.RowLosses.classes("hinge", np.zeros(10, np.int8), [1], 0.5),
        "c": np.ones(10),
        "coefficients": np.ones((1, 3)),
        "intercepts": np.ones(1),
        "lengths": np.empty(0),
        "reach": 1.0,
        "n_threads": 1,
    }
    _core.read_losses(**good)
    with pytest.raises(ValueError, match=message):
        _core.read_losses(**good | changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: _core.RowLosses.classes("hinge", np.zeros(3), [1], 0.5),
            "codes must be int8 or int32",
        ),
        (
            lambda: _core.RowLosses.classes("hinge", np.zeros(3, np.int8), [], 0.5),
            "at least 1 output",
        ),
        (lambda: _core.RowLosses.classes("hinge", np.zeros(3, np.int8), [1], 0.0), "width"),
        (
            lambda: _core.RowLosses.values("tube", np.ones((3, 1)), 0, [1], [1, 1], [1]),
            "same length",
        ),
        (
            lambda: _core.RowLosses.values("tube", np.ones((3, 2)), 0, [1] * 3, [1] * 3, [1] * 3),
            "1 column or",
        ),
    ],
)
def test_the_core_refuses_wrong_losses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_total_is_that_of_all_weights(chunk):
    _, sample, *_ = chunk
    found = in_memory(sample, Native(2))
    assert_allclose(found.total_c, sample.c.sum())
    assert found.n_rows == len(sample.c)


# --- chunks ---------------------------------------------------------------------------------------

N = 600


def machine_and_data(task):
    """Return an estimator, and rows, targets, weights and queries for it."""
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(N, 3)), random.uniform(0.5, 2.0, N)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * random.normal(size=N)
    classes = np.digitize(y, [-0.5, 0.5])
    if task == "two classes":
        return BudgetedSVC(20, class_weight={False: 1.0, True: 3.0}), X, y > 0, weight, None
    if task == "three classes":
        return BudgetedSVC(20, class_weight={0: 2.0}), X, classes, weight, None
    if task == "probabilities":
        return BudgetedSVC(20, loss="log_loss"), X, classes, None, None
    if task == "values":
        return BudgetedSVR(20, epsilon=0.3), X, y, weight, None
    if task == "several values":
        return BudgetedSVR(20, loss="huber"), X, np.column_stack([y, X[:, 2]]), None, None
    if task == "quantiles":
        return BudgetedSVR(20, loss="quantile", quantile=[0.1, 0.9]), X, y, weight, None
    if task == "novelty":
        return BudgetedOneClassSVM(20, nu=0.2), X, np.zeros(N), weight, None
    X, y, qid = graded(60, 10, n_features=3)
    y[qid < 7] = 1  # queries without a pair
    return BudgetedRanker(20), X, y.astype(float), random.uniform(0.5, 2.0, 60)[qid], qid


TASKS = [
    "two classes",
    "three classes",
    "probabilities",
    "values",
    "several values",
    "quantiles",
    "novelty",
    "ranking",
]


class Case:
    """The scans of the same rows in one chunk and in many, at a point and along a direction."""

    def __init__(self, task, size):
        machine, X, y, weight, qid = machine_and_data(task)
        task, parameters = machine._what(), machine._parameters()
        rows, targets = task.targets(AtHand(checked_rows(X), y, weight, qid), parameters, None)
        settings = task.adapted(parameters.settings(1e-3))
        ready = Rows(rows, rows.core("float64"), 0.5)
        self.sample = sample_of(ready, targets, settings)
        self.one = in_memory(self.sample, Native())

        def read():
            for at in range(0, len(X), size):
                some = slice(at, at + size)
                yield Chunk(
                    X[some],
                    y[some],
                    None if weight is None else weight[some],
                    "rows",
                    None if qid is None else qid[some],
                )

        source = ChunkSource(read)
        scanner = Scanner(source) if qid is None else Scanner(Runs(source), wrap=ByRelevance)
        nothing = replace(targets, **self._learnt(targets)).take(np.arange(0), np.empty(0))
        recipe = Recipe(nothing, 0.5, "float64", rows.n_rows, settings)
        total_c = self.sample.total_c
        self.many = Scans(
            scanner, recipe, rows.n_rows, total_c, Native(), is_one_chunk=False, part=self.sample
        )
        self.vectors, self.point = somewhere(self.sample)
        self.point[:, -1] = 0.0 if targets.task == "ranking" else 0.1
        self.direction = np.roll(self.point, 1, axis=1)

    @staticmethod
    def _learnt(targets):
        """What the targets of a chunk must know of all."""
        return {"known_spreads": targets.spreads()} if targets.task == "regression" else {}

    def first(self, most_near):
        return (
            each.first(self.vectors, self.point, (most_near, most_near), SEED)
            for each in (self.one, self.many)
        )


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


SIZES = pytest.mark.parametrize("size", [3, 77, N])


def assert_same_rows(one, many, sample):
    """Assert that two samples hold the same rows, with the same weights and losses."""
    assert_array_equal(places(one, sample), places(many, sample))
    assert_allclose(one.c, many.c)
    decisions = np.random.default_rng(0).normal(size=(one.n_rows, sample.loss.n_outputs))
    for mine, other in zip(
        one.derivatives(decisions, 1), many.derivatives(decisions, 1), strict=True
    ):
        assert_allclose(mine, other, rtol=1e-9)


@SIZES
def test_sums_of_chunks_are_those_of_all_rows(task, size):
    case = Case(task, size)
    one, many = case.first(N)
    assert_allclose(one.losses, many.losses)
    assert_allclose(one.pull, many.pull, rtol=1e-9, atol=1e-9 * np.abs(one.pull).max())
    along = [each.along(case.vectors, case.point, case.direction) for each in (case.one, case.many)]
    assert_allclose(*along, rtol=1e-9)


@SIZES
def test_near_rows_of_chunks_are_those_of_all_rows(task, size):
    case = Case(task, size)
    one, many = case.first(N)
    assert one.n_near == many.n_near
    assert one.is_complete
    assert many.is_complete
    assert_same_rows(one.near, many.near, case.sample)
    if task != "ranking":
        assert_allclose(many.near.c.sum(), case.sample.c.sum())


@SIZES
def test_shares_of_the_near_rows_of_chunks_are_those_of_all_rows(task, size):
    case = Case(task, size)
    one, many = case.first(100)
    assert one.n_near == many.n_near > 100
    assert not many.is_complete
    if task == "ranking":  # a query is drawn by its position among all rows, which differs here
        sizes = np.unique(many.near.loss.queries.numbers, return_counts=True)[1]
        assert_array_equal(sizes, 10)
        return
    assert_same_rows(one.near, many.near, case.sample)
    assert_allclose(many.near.c.sum(), case.sample.c.sum())


def test_chunks_without_a_near_row_are_represented_by_the_sample():
    case = Case("novelty", 77)
    case.point[:, -1] = 1e3
    found = case.many.first(case.vectors, case.point, (N, N), SEED)
    assert found.n_near == 0
    assert_allclose(found.near.c.sum(), case.sample.c.sum())
