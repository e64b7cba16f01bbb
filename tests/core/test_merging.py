"""Tests of the merging problem: golden section search and tables against the exact optimum."""

import time

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import MergeTable, _core, golden_section, merge_table

TWO_MODES = np.exp(-2)  # below this kappa, s(h) may have two modes
TABLES = pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
shares = st.floats(0, 1)
kappas = st.floats(0, 1)


def points(n=100_000, lowest_kappa=0.0, seed=0):
    """Return pairs of m and kappa: random, on the borders, and approaching kappa = 1."""
    rng = np.random.default_rng(seed)
    m, kappa = rng.random(n), rng.uniform(lowest_kappa, 1, n)
    kappa[: n // 8] = 1 - (1 - lowest_kappa) * 10 ** rng.uniform(-9, 0, n // 8)
    m[-800:-400], m[-400:] = rng.choice([0.0, 0.5, 1.0], (2, 400))
    kappa[-600:-200] = rng.choice([lowest_kappa, 1.0], 400)
    return m, kappa


def optimum(m, kappa):
    g = reference.exponent(kappa)
    h = reference.best_h(m, g)
    return h, reference.wd(m, g, h)


# --- the reference itself ------------------------------------------------------------------------


def test_reference_finds_the_best_h():
    m, kappa = points(3000)
    g = reference.exponent(kappa)
    everywhere = reference.s(np.linspace(0, 1, 2001)[:, None], m, g)
    assert np.all(reference.s(reference.best_h(m, g), m, g) >= everywhere.max(axis=0) - 1e-15)


def test_closed_form_equals_the_distance_in_feature_space():
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, x = rng.uniform(0.1, 3, 2), rng.normal(size=(2, 3))
        gamma = 10 ** rng.uniform(-2, 0.5)
        m, g = a[0] / a.sum(), gamma * np.sum((x[0] - x[1]) ** 2)
        h = reference.best_h(m, g)
        all_x = np.vstack([x, h * x[0] + (1 - h) * x[1]])
        c = np.append(a, -a.sum() * reference.s(h, m, g))
        kernel = np.exp(-gamma * np.sum((all_x[:, None] - all_x) ** 2, axis=2))
        assert_allclose(a.sum() ** 2 * reference.wd(m, g, h), c @ kernel @ c, rtol=1e-8, atol=1e-13)


# --- accuracy ------------------------------------------------------------------------------------


# docs/method.md states the bounds of the next two tests and of the relative error of wd.


@TABLES
def test_table_h_is_accurate_to_four_digits(scaled):
    m, kappa = points(lowest_kappa=0.2)
    one_mode = kappa < 1  # at kappa = 1 every h is optimal; the limit is m
    h = MergeTable(scaled=scaled).h(m, kappa)
    assert_allclose(h[one_mode], optimum(m, kappa)[0][one_mode], rtol=0, atol=5e-5)
    assert_allclose(h[~one_mode], m[~one_mode], rtol=0, atol=1e-12)


@TABLES
def test_table_h_is_least_accurate_at_the_cusp(scaled):
    rng = np.random.default_rng(3)
    cusp = np.array([[0.5], [TWO_MODES]])
    near = cusp + rng.uniform(-0.01, 0.01, (2, 50_000))
    m, kappa = np.hstack([near, points(lowest_kappa=0.01)])
    inner = (m != 0.5) & (kappa < 1)  # at m = 1/2 two maxima may tie
    h, best = MergeTable(scaled=scaled).h(m, kappa), optimum(m, kappa)[0]
    assert_allclose(h[inner], best[inner], rtol=0, atol=0.03)


@TABLES
def test_table_h_is_nearly_optimal_everywhere(scaled):
    m, kappa = points()
    h = MergeTable(scaled=scaled).h(m, kappa)
    s = reference.s(h, m, reference.exponent(kappa))
    assert np.all(s >= reference.s(optimum(m, kappa)[0], m, reference.exponent(kappa)) - 1e-3)


@TABLES
def test_table_wd_is_accurate_to_four_digits(scaled):
    m, kappa = points()
    wd = MergeTable(scaled=scaled).wd(m, kappa)
    assert_allclose(wd, optimum(m, kappa)[1], rtol=0, atol=1e-4)


def test_scaled_wd_has_a_small_relative_error():
    rng = np.random.default_rng(2)
    m = np.concatenate([rng.random(40_000), 10 ** rng.uniform(-3, 0, 10_000)])
    kappa = 1 - (1 - TWO_MODES) * np.concatenate(
        [rng.random(25_000), 10 ** rng.uniform(-7, 0, 25_000)]
    )
    exact = optimum(m, kappa)[1]
    assert_allclose(MergeTable(scaled=True).wd(m, kappa), exact, rtol=4e-4, atol=1e-24)


@pytest.mark.parametrize("size", [100, 400])
@TABLES
def test_tables_interpolate_as_the_reference_does(scaled, size):
    m, kappa = points(20_000)
    table, expected = MergeTable(size=size, scaled=scaled), reference.table(size)
    g = reference.exponent(kappa)
    expected_wd = expected.scaled_wd if scaled else expected.plain_wd
    assert_allclose(table.wd(m, kappa), expected_wd(m, g), rtol=1e-9, atol=1e-12)
    # At the cusp, s is flat, and the optimum is known only to 1e-5.
    away = np.abs(kappa - TWO_MODES) > 1.5 / size
    assert_allclose(table.h(m, kappa)[away], expected.h(m, g)[away], rtol=0, atol=1e-7)


def test_precise_golden_section_finds_the_optimum():
    m, kappa = points(20_000)
    best = optimum(m, kappa)[0]
    # Select points with one mode that is not hidden by rounding; see best_h for the derivative.
    folded = np.clip(np.minimum(best, 1 - best), 1e-300, None)
    curved = 1 / (folded * (1 - folded)) - 2 * reference.exponent(kappa) > 0.01
    sharp = curved & (kappa > 0) & (kappa < 1 - 1e-8)
    assert_allclose(golden_section(m, kappa, 1e-10)[0][sharp], best[sharp], rtol=0, atol=1e-6)


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_precise_golden_section_is_accurate_near_kappa_one(distance):
    m = np.linspace(0, 1, 201)
    h, wd = golden_section(m, 1 - distance, 1e-10)
    best_h, best_wd = optimum(m, 1 - distance)
    assert_allclose(h, best_h, rtol=0, atol=1e-6)
    assert_allclose(wd, best_wd, rtol=1e-6, atol=1e-21)


@pytest.mark.parametrize("eps", [0.1, 0.01, 1e-4])
def test_golden_section_equals_the_reference(eps):
    m, kappa = points(20_000)
    m, kappa = m[(kappa > 1e-3) & (kappa < 0.999)], kappa[(kappa > 1e-3) & (kappa < 0.999)]
    g = reference.exponent(kappa)
    h, wd = golden_section(m, kappa, eps)
    assert_allclose(h, reference.golden_section(m, g, eps), rtol=0, atol=1e-9)
    assert_allclose(wd, reference.wd(m, g, h), rtol=1e-6, atol=1e-15)


def test_golden_section_stops_within_its_tolerance():
    m, kappa = points(20_000, lowest_kappa=0.2)
    m, kappa = m[kappa < 0.999], kappa[kappa < 0.999]
    error = np.abs(golden_section(m, kappa)[0] - optimum(m, kappa)[0])
    assert 1e-3 < error.max() <= 0.005 + 1e-9  # the default eps = 0.01 is the final bracket width


# --- limits, symmetry, folding -------------------------------------------------------------------


@TABLES
def test_tables_are_correct_at_the_limits(scaled):
    table = MergeTable(scaled=scaled)
    m, kappa = np.linspace(0, 1, 1001), np.linspace(0, 1, 1001)
    assert_allclose(table.h(m, 1.0), m, rtol=0, atol=1e-12)
    assert_array_equal(table.wd(m, 1.0), 0)
    assert_allclose(table.h(m, 0.0), np.where(m > 0.5, 1, 0), rtol=0, atol=1e-12)
    assert_allclose(table.wd(m, 0.0), np.minimum(m, 1 - m) ** 2, rtol=0, atol=1e-5)
    for end in (0.0, 1.0):
        inside = kappa < 1  # at kappa = 1, h = m as well
        assert_array_equal(table.h(end, kappa)[inside], end)
        assert_allclose(table.wd(end, kappa), 0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("eps", [0.01, 1e-10])
def test_golden_section_is_correct_at_the_limits(eps):
    m, kappa = np.linspace(0, 1, 101), np.linspace(0, 1, 101)
    h, wd = golden_section(m, 0.0, eps)
    assert_allclose(h, np.where(m > 0.5, 1, 0), rtol=0, atol=eps)
    assert_allclose(wd, np.minimum(m, 1 - m) ** 2, rtol=0, atol=1e-12)
    h, wd = golden_section(m, 1.0, eps)
    assert np.all((h >= 0) & (h <= 1))
    assert_array_equal(wd, 0)
    for end in (0.0, 1.0):
        h, wd = golden_section(end, kappa[:-1], eps)
        assert_allclose(h, end, rtol=0, atol=eps)
        assert np.all(wd >= 0)


def solvers():
    yield "plain", MergeTable(scaled=False).h, MergeTable(scaled=False).wd
    yield "scaled", MergeTable(scaled=True).h, MergeTable(scaled=True).wd
    for eps in (0.01, 1e-10):
        yield (
            f"golden-{eps}",
            lambda m, kappa, eps=eps: golden_section(m, kappa, eps)[0],
            lambda m, kappa, eps=eps: golden_section(m, kappa, eps)[1],
        )


SOLVERS = pytest.mark.parametrize(("h", "wd"), [pytest.param(*s[1:], id=s[0]) for s in solvers()])
# These solvers are exact and monotone; golden section search with a coarse eps is neither.
PRECISE = pytest.mark.parametrize(
    "wd", [pytest.param(s[2], id=s[0]) for s in solvers() if s[0] != "golden-0.01"]
)


@SOLVERS
@given(m=shares, kappa=kappas)
def test_partners_are_interchangeable(h, wd, m, kappa):
    m = min(m, 1 - m)  # the next two lines round m so that m + other is exactly 1
    other = 1 - m
    m = 1 - other
    assert wd(m, kappa) == pytest.approx(wd(other, kappa), rel=1e-12, abs=1e-15)
    if m != 0.5:
        assert h(m, kappa) == pytest.approx(1 - h(other, kappa), rel=0, abs=1e-12)


@SOLVERS
@given(m=shares, kappa=kappas)
def test_h_and_wd_are_between_zero_and_one(h, wd, m, kappa):
    assert 0 <= h(m, kappa) <= 1
    assert 0 <= wd(m, kappa) <= 1


@PRECISE
@given(m=shares, two=st.tuples(kappas, kappas))
def test_merging_closer_vectors_loses_less(wd, m, two):
    assert wd(m, max(two)) <= wd(m, min(two)) + 1e-14


@given(m=shares, kappa=kappas)
def test_merged_coefficient_is_at_least_the_larger_one(m, kappa):
    _, wd = golden_section(m, kappa, 1e-10)
    s = np.sqrt(m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - wd)
    assert s >= max(m, 1 - m) - 1e-9


@given(
    a=st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)),
    distance=st.floats(0.01, 3),
    gamma=st.floats(0.01, 10),
)
def test_wd_equals_the_distance_in_feature_space(a, distance, gamma):
    a_i, a_j = a
    kernel = lambda d: np.exp(-gamma * d**2)  # noqa: E731
    h, wd = golden_section(a_i / (a_i + a_j), kernel(distance), 1e-10)
    # x_i = distance, x_j = 0, z = h distance
    k_iz, k_jz = kernel((1 - h) * distance), kernel(h * distance)
    a_z = a_i * k_iz + a_j * k_jz
    squared = a_i**2 + a_j**2 - a_z**2 + 2 * a_i * a_j * kernel(distance)
    assert (a_i + a_j) ** 2 * wd == pytest.approx(squared, rel=1e-6, abs=1e-12 * (a_i + a_j) ** 2)


@pytest.mark.parametrize(
    ("h", "slack"),
    [
        pytest.param(h, 0.005 if name == "golden-0.01" else 1e-6, id=name)
        for name, h, _ in solvers()
    ],
)
def test_equal_coefficients_use_the_lower_mode(h, slack):
    kappa = np.linspace(0, 1, 2001)[1:-1]
    assert np.all(h(0.5, kappa) <= 0.5 + slack)
    assert np.all(h(0.5 + 1e-9, kappa) >= 0.5 - slack)
    assert_allclose(h(0.5, kappa), h(0.5 - 1e-9, kappa), rtol=0, atol=slack + 1e-4)


@TABLES
def test_tables_do_not_interpolate_across_two_modes(scaled):
    table = MergeTable(scaled=scaled)
    m = 0.5 + np.linspace(-0.004, 0.004, 161)[:, None]
    kappa = np.linspace(0.001, TWO_MODES - 0.02, 200)
    g = reference.exponent(kappa)
    reached = reference.wd(m, g, table.h(m, kappa))
    assert_allclose(reached, reference.wd(m, g, reference.best_h(m, g)), rtol=1e-2)


# --- shapes --------------------------------------------------------------------------------------


def calls():
    yield "h", MergeTable().h
    yield "wd", MergeTable().wd
    yield "golden_section-h", lambda m, kappa: golden_section(m, kappa)[0]
    yield "golden_section-wd", lambda m, kappa: golden_section(m, kappa)[1]


CALLS = pytest.mark.parametrize("call", [pytest.param(c[1], id=c[0]) for c in calls()])


@CALLS
def test_scalar_input_gives_scalar_output(call):
    assert isinstance(call(0.3, 0.7), float)


@CALLS
def test_arrays_of_any_shape_broadcast(call):
    m, kappa = np.linspace(0, 1, 3)[:, None], np.linspace(0, 1, 8).reshape(2, 1, 4)
    answer = call(m, kappa)
    assert answer.shape == (2, 3, 4)
    assert answer.dtype == np.float64
    assert answer[1, 2, 3] == call(float(m[2, 0]), float(kappa[1, 0, 3]))


@CALLS
def test_any_memory_order_and_dtype_is_accepted(call):
    m, kappa = np.random.default_rng(3).random((2, 7, 5))
    expected = call(m, kappa)
    assert_array_equal(call(np.asfortranarray(m), kappa[::-1][::-1]), expected)
    assert_array_equal(call(m.T, kappa.T), expected.T)
    assert_array_equal(call(m.tolist(), kappa.tolist()), expected)
    assert_array_equal(call([0, 1], [1, 1]), call(np.array([0.0, 1.0]), np.ones(2)))
    single = m.astype(np.float32)
    assert_array_equal(call(single, kappa), call(single.astype(float), kappa))


@CALLS
def test_empty_input_gives_empty_output(call):
    assert call(np.empty(0), np.empty(0)).shape == (0,)


# --- bad input -----------------------------------------------------------------------------------


@CALLS
@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, np.nan, np.inf, -np.inf])
def test_values_outside_the_unit_interval_are_rejected(call, value):
    with pytest.raises(ValueError, match=r"\bm\b"):
        call(np.array([0.5, value]), 0.5)
    with pytest.raises(ValueError, match=r"\bkappa\b"):
        call(0.5, np.array([0.5, value]))


@CALLS
def test_shapes_that_do_not_broadcast_are_rejected(call):
    with pytest.raises(ValueError, match=r"\bm\b.*\bkappa\b"):
        call(np.full(3, 0.5), np.full(4, 0.5))


@pytest.mark.parametrize("eps", [0, -0.01, np.nan])
def test_tolerance_that_is_not_positive_is_rejected(eps):
    with pytest.raises(ValueError, match=r"\beps\b"):
        golden_section(0.5, 0.5, eps)


@pytest.mark.parametrize("eps", [1e-17, 1e-300])
def test_search_ends_with_a_tolerance_below_rounding(eps):
    with np.errstate(all="raise"):
        h, _ = golden_section(0.3, 0.7, eps)
    assert h == pytest.approx(reference.best_h(0.3, reference.exponent(0.7)), abs=1e-6)


@pytest.mark.parametrize("size", [-400, 0, 1, 3, 401])
def test_size_that_is_odd_or_not_positive_is_rejected(size):
    with pytest.raises(ValueError, match=r"\bsize\b"):
        MergeTable(size=size)


@pytest.mark.parametrize("size", ["400", 400.5, None])
def test_size_that_is_not_an_integer_is_rejected(size):
    with pytest.raises((TypeError, ValueError)):
        MergeTable(size=size)


# --- speed and plot ------------------------------------------------------------------------------


def test_table_is_built_at_its_first_use_and_only_once(monkeypatch):
    built, build = [], _core.MergeTable

    def counted(*arguments):
        built.append(arguments)
        return build(*arguments)

    monkeypatch.setattr(_core, "MergeTable", counted)
    merge_table._native_table.cache_clear()
    one, other = MergeTable(size=22), MergeTable(size=22)
    assert built == []
    assert one.h(0.3, 0.4) == other.h(0.3, 0.4)
    assert one.wd(0.3, 0.4) == other.wd(0.3, 0.4)
    assert built == [(22, True)]


@pytest.mark.timing
def test_table_is_built_in_half_a_second():
    start = time.perf_counter()
    _core.MergeTable(400, True)  # the object in Python builds nothing before its first use
    assert time.perf_counter() - start < 0.5  # 0.05 s on a free machine


def test_plot_draws_the_two_graphs_of_the_paper():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes

    axes = np.ravel(MergeTable(size=40).plot())
    assert len(axes) == 2
    assert all(isinstance(axis, Axes) for axis in axes)
    plt.close("all")
