"""The algorithm in plain NumPy and float64, written for reading: the oracle of the tests.

The merging problem of one pair is stated by ``m``, the share of the vector that ``h`` multiplies,
and by ``g = gamma d^2 = -ln(kappa)``. Near kappa = 1 only ``g`` has digits left, so all functions
take it.
"""

from copy import deepcopy
from functools import cache
from typing import NamedTuple

import numpy as np

GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
MERGING = ("gss", "gss-precise", "lookup-h", "lookup-wd", "merge")
REMOVING = ("removal",)  # they drop a vector and change no other


# --- the merging problem -------------------------------------------------------------------------


def exponent(kappa):
    """g = -ln(kappa), infinite at kappa = 0."""
    with np.errstate(divide="ignore"):
        return -np.log(np.asarray(kappa, dtype=float))


def _loss(h, m, g):
    """e(h) = 1 - s(h), without the cancellation."""
    g = np.minimum(g, 1e308)  # so that infinity times zero is zero, its limit
    return -m * np.expm1(-g * (1 - h) ** 2) - (1 - m) * np.expm1(-g * h**2)


def s(h, m, g):
    """What is maximised: m kappa^((1-h)^2) + (1-m) kappa^(h^2)."""
    return 1 - _loss(h, m, g)


def wd(m, g, h):
    """The squared weight degradation of merging at h, for coefficients that sum to one."""
    e = _loss(h, m, g)
    return 2 * e - e**2 + 2 * m * (1 - m) * np.expm1(-g)


def best_h(m, g):
    """The true optimum; at m = 1/2 with two modes, the one at h <= 1/2.

    s rises where logit(m) - logit(h) - g (1 - 2h) > 0. For m <= 1/2 that function of h is convex on
    (0, 1/2], infinite at 0 and at most 0 at 1/2: it changes sign once, and bisection finds where.
    No h above 1/2 is better, since s(h) - s(1-h) = (1 - 2m) (kappa^(h^2) - kappa^((1-h)^2)).
    """
    m, g = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(g, dtype=float))
    folded = np.minimum(m, 1 - m)
    lower, upper = np.zeros(m.shape), np.full(m.shape, 0.5)
    with np.errstate(divide="ignore"):
        share = np.log(folded) - np.log1p(-folded)
        for _ in range(60):
            h = (lower + upper) / 2
            rising = share - (np.log(h) - np.log1p(-h)) - g * (1 - 2 * h) > 0
            lower, upper = np.where(rising, h, lower), np.where(rising, upper, h)
    h = np.where(g == 0, folded, np.where((folded == 0) | np.isinf(g), 0.0, (lower + upper) / 2))
    return np.where(m > 0.5, 1 - h, h)


def golden_section(m, g, eps):
    """h by golden section search down to a bracket of eps; the limit at kappa = 0.

    For m <= 1/2 the search is on [0, 1/2], where s has one mode (see best_h). Any wider, and at
    m = 1/2 it meets pairs of points that are mirror images: rounding would choose the mode.
    """
    m, g = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(g, dtype=float))
    folded = np.minimum(m, 1 - m)
    lower, upper = np.zeros(m.shape), np.full(m.shape, 0.5)
    x1, x2 = upper - GOLDEN_RATIO * (upper - lower), lower + GOLDEN_RATIO * (upper - lower)
    e1, e2 = _loss(x1, folded, g), _loss(x2, folded, g)
    while np.max(upper - lower, initial=0) > eps:
        left = e1 <= e2
        lower, upper = np.where(left, lower, x1), np.where(left, x2, upper)
        inner = np.where(
            left, upper - GOLDEN_RATIO * (upper - lower), lower + GOLDEN_RATIO * (upper - lower)
        )
        e = _loss(inner, folded, g)
        x1, x2 = np.where(left, inner, x2), np.where(left, x1, inner)
        e1, e2 = np.where(left, e, e2), np.where(left, e1, e)
    h = np.where(np.exp(-g) == 0, 0.0, (lower + upper) / 2)
    return np.where(m > 0.5, 1 - h, h)


class Table:
    """h, wd and q = wd / (m (1-m) (1-kappa))^2 on a grid of m <= 1/2 and kappa; bilinear."""

    def __init__(self, size=400):
        self.size = size
        m = np.arange(size // 2 + 1)[:, None] / size
        kappa = np.arange(size + 1)[None, :] / size
        g = exponent(kappa)
        self._h = best_h(m, g)
        self._wd = np.where(kappa == 1, 0.0, wd(m, g, self._h))
        with np.errstate(divide="ignore", invalid="ignore"):
            self._q = self._wd / (m * (1 - m) * (1 - kappa)) ** 2
            at_m_0 = (1 - kappa**2 - 2 * kappa**2 * np.where(kappa > 0, g, 0)) / (1 - kappa) ** 2
        self._q[0] = at_m_0
        self._q[:, 0] = 1 / (1 - m[:, 0]) ** 2
        self._q[:, -1] = 2

    def _lookup(self, values, m, kappa):
        row, column = np.minimum(m, 1 - m) * self.size, kappa * self.size
        i = np.minimum(np.asarray(row).astype(int), self.size // 2 - 1)
        j = np.minimum(np.asarray(column).astype(int), self.size - 1)
        u, v = row - i, column - j
        low = (1 - v) * values[i, j] + v * values[i, j + 1]
        high = (1 - v) * values[i + 1, j] + v * values[i + 1, j + 1]
        return (1 - u) * low + u * high

    def h(self, m, g):
        h = self._lookup(self._h, m, np.exp(-g))
        return np.where(m > 0.5, 1 - h, h)

    def plain_wd(self, m, g):
        return self._lookup(self._wd, m, np.exp(-g))

    def scaled_wd(self, m, g):
        return self._lookup(self._q, m, np.exp(-g)) * (m * (1 - m) * np.expm1(-g)) ** 2


table = cache(Table)


# --- training ------------------------------------------------------------------------------------


def hinge(y, decision):
    """Minus the slope of max(0, 1 - y f) at f."""
    return y if y * decision < 1 else 0


def epsilon_insensitive(y, decision, epsilon):
    """Minus the slope of max(0, |y - f| - epsilon) at f."""
    return np.sign(y - decision) * (abs(y - decision) > epsilon)


# By the names that the core knows. A loss on target values takes its parameter, too.
LOSSES = {"hinge": hinge, "epsilon_insensitive": epsilon_insensitive}


class Event(NamedTuple):
    """One act of budget maintenance; slots are those of before it."""

    step: int
    first: int
    second: int
    h: float
    coefficient: float
    degradation: float


def scramble(z):
    """What splitmix64 makes of its counter."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


class Reference:
    """One problem, binary or of any loss, trained row by row.

    ``step`` decides by itself. To replay another's decisions, call ``advance`` and, where it says
    that the budget has overflowed, judge the decision (``criterion``, ``degradations``) and
    ``apply`` it.
    """

    def __init__(self, *, n_features, budget, gamma, alpha, maintenance, fit_intercept, loss=hinge):
        self.loss = loss
        self.budget, self.gamma, self.alpha = budget, gamma, alpha
        self.maintenance, self.fit_intercept = maintenance, fit_intercept
        self.vectors = np.empty((0, n_features))
        self.coefficients = np.empty(0)
        self.births = np.empty(0, dtype=int)
        self.bias, self.steps, self.violations, self.events = 0.0, 0, 0, []

    @property
    def size(self):
        return len(self.coefficients)

    def load(self, state):
        """Take over a state of the core."""
        self.vectors = np.array(state["vectors"], dtype=float)
        self.coefficients = np.array(state["coefficients"], dtype=float)
        self.births = np.array(state["births"], dtype=int)
        self.bias, self.steps = state["bias"], state["steps"]

    def exponents(self, x):
        """g of x with every support vector."""
        return self.gamma * np.sum((self.vectors - x) ** 2, axis=1)

    def decision(self, x):
        if self.steps == 0:
            return 0.0
        return (self.coefficients @ np.exp(-self.exponents(x)) + self.bias) / (
            self.alpha * self.steps
        )

    def step(self, x, y, weight=1.0):
        if self.advance(x, y, weight):
            self.apply(*self.decide())

    def advance(self, x, y, weight=1.0):
        """A step without maintenance; returns whether the budget has overflowed."""
        slope = self.loss(y, self.decision(x))
        self.steps += 1
        if slope:
            self.violations += 1
            self.vectors = np.vstack([self.vectors, x])
            self.coefficients = np.append(self.coefficients, slope * weight)
            self.births = np.append(self.births, self.steps)
            if self.fit_intercept:
                self.bias += slope * weight
        return self.size > self.budget

    def decide(self):
        """First partner, second partner and h; (slot, -1, 0) where nothing is merged."""
        first = self.first_partner()
        if self.maintenance not in MERGING:
            return first, -1, 0.0
        second = int(np.argmin(self.criterion(first)))
        m, g, _ = self.pairs(first)
        return first, second, self.solve_h(m, g)[second]

    def first_partner(self):
        slots = np.arange(self.size)
        first = self._smallest(slots)
        if self.maintenance in MERGING and not self.candidates(first).any():
            other_sign = (self.coefficients > 0) != (self.coefficients[first] > 0)
            first = self._smallest(slots[other_sign])
        return first

    def _smallest(self, slots):
        magnitude = np.abs(self.coefficients[slots])
        tied = slots[magnitude == magnitude.min()]
        if self.maintenance == "removal":
            return int(tied[np.argmin(self.births[tied])])
        if self.maintenance == "merge" and self.births[-1] <= 20 * self.size:
            return int(tied[scramble(int(self.births[-1])) % len(tied)])
        if self.maintenance == "merge" and tied[-1] == self.size - 1:
            return int(tied[-1])
        return int(tied[0])

    def candidates(self, first):
        """Which slots may be the second partner: all others of the same sign."""
        equal_sign = (self.coefficients > 0) == (self.coefficients[first] > 0)
        equal_sign[first] = False
        return equal_sign

    def pairs(self, first):
        """m, g and the sum of magnitudes of the first partner with every slot."""
        magnitude = np.abs(self.coefficients)
        scale = magnitude[first] + magnitude
        return magnitude[first] / scale, self.exponents(self.vectors[first]), scale

    def solve_h(self, m, g):
        """h as the strategy finds it."""
        if self.maintenance == "gss":
            return golden_section(m, g, 0.01)
        if self.maintenance == "gss-precise":
            return golden_section(m, g, 1e-10)
        return table().h(m, g)

    def criterion(self, first):
        """WD with every slot as the strategy computes it; infinite where it is no candidate."""
        m, g, scale = self.pairs(first)
        closed_form = scale**2 * wd(m, g, self.solve_h(m, g))
        if self.maintenance == "lookup-wd":
            value = scale**2 * table().plain_wd(m, g)
        elif self.maintenance == "merge":
            value = scale**2 * table().scaled_wd(m, g)
            near = value <= value[self.candidates(first)].min() * (1 + 4e-5)
            value = np.where(near, closed_form, value)
        else:
            value = closed_form
        return np.where(self.candidates(first), value, np.inf)

    def degradations(self, first):
        """The exact minimum of WD with every slot; infinite where it is no candidate."""
        m, g, scale = self.pairs(first)
        return np.where(self.candidates(first), scale**2 * wd(m, g, best_h(m, g)), np.inf)

    def asked(self, maintenance, first):
        """What another strategy would do with that partner: the second one, and its WD."""
        other = deepcopy(self)
        other.maintenance = maintenance
        if maintenance not in MERGING:
            return -1, other._drop(first)
        second = int(np.argmin(other.criterion(first)))
        m, g, scale = (values[second] for values in other.pairs(first))
        return second, scale**2 * wd(m, g, other.solve_h(m, g))

    def apply(self, first, second, h):
        """Merge (second >= 0), remove or project, and record what it did."""
        if second >= 0:
            coefficient, degradation = self._merge(first, second, h)
        else:
            coefficient, degradation = 0.0, self._drop(first)
        self.events.append(Event(self.steps, first, second, h, coefficient, degradation))
        last = self.size - 1  # fills the hole
        for values in (self.vectors, self.coefficients, self.births):
            values[first] = values[last]
        self.vectors, self.coefficients, self.births = (
            self.vectors[:last],
            self.coefficients[:last],
            self.births[:last],
        )
        return self.events[-1]

    def _merge(self, first, second, h):
        m, g, scale = (values[second] for values in self.pairs(first))
        coefficient = np.sign(self.coefficients[first]) * scale * s(h, m, g)
        self.vectors[second] = h * self.vectors[first] + (1 - h) * self.vectors[second]
        self.coefficients[second] = coefficient
        self.births[second] = self.steps
        return coefficient, scale**2 * wd(m, g, h)

    def _drop(self, slot):
        dropped = self.coefficients[slot]
        if self.maintenance in REMOVING:
            return dropped**2
        others = np.arange(self.size) != slot
        kernel = np.exp([-self.exponents(x)[others] for x in self.vectors])
        ridge = 1e-8 * np.eye(others.sum())
        beta = np.linalg.solve(kernel[others] + ridge, dropped * kernel[slot])
        self.coefficients[others] += beta
        return dropped**2 - 2 * dropped * beta @ kernel[slot] + beta @ kernel[others] @ beta


# --- the audit -----------------------------------------------------------------------------------


class Audit:
    """What several strategies would do in the states of one run, counted as the core counts."""

    def __init__(self, names):
        self.counts = {
            name: {
                "events": 0,
                "merges": 0,
                "factors": 0,
                "factor": 0.0,
                "degradation": 0.0,
                "least_degradation": 0.0,
                "equal": dict.fromkeys(names, 0),
                "tied": dict.fromkeys(names, 0),
            }
            for name in names
        }

    def ask(self, state):
        first = state.first_partner()
        if not state.candidates(first).any():
            return
        least = state.degradations(first)
        answers = {name: state.asked(name, first) for name in self.counts}
        precise = answers["gss-precise"][1]
        for name, (second, degradation) in answers.items():
            counts = self.counts[name]
            counts["events"] += 1
            counts["merges"] += second >= 0
            counts["degradation"] += degradation
            counts["least_degradation"] += precise
            if precise > 0:
                counts["factors"] += 1
                counts["factor"] += degradation / precise
            for other, (other_second, _) in answers.items():
                if second < 0 or other_second < 0:
                    continue
                tied = abs(least[second] - least[other_second]) <= 1e-9 * least[second]
                counts["equal"][other] += second == other_second
                counts["tied"][other] += second != other_second and tied
