"""The algorithm in plain NumPy and float64: the reference that the tests compare with.

The merging problem of a pair depends on ``m``, the share of the vector that ``h`` multiplies, and
on ``g = gamma d^2 = -ln(kappa)``. All functions take ``g`` instead of kappa, because kappa loses
its significant digits near 1.
"""

from copy import deepcopy
from functools import cache
from typing import NamedTuple

import numpy as np

GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
MERGING = ("gss", "gss-precise", "lookup-h", "lookup-wd", "merge")
REMOVING = ("removal",)  # strategies that drop a vector and change no other


# --- the merging problem -------------------------------------------------------------------------


def exponent(kappa):
    """Return g = -ln(kappa), which is infinite at kappa = 0."""
    with np.errstate(divide="ignore"):
        return -np.log(np.asarray(kappa, dtype=float))


def _loss(h, m, g):
    """Return e(h) = 1 - s(h) without cancellation."""
    g = np.minimum(g, 1e308)  # avoids infinity times zero; the limit is zero
    return -m * np.expm1(-g * (1 - h) ** 2) - (1 - m) * np.expm1(-g * h**2)


def s(h, m, g):
    """Return the function to maximise: m kappa^((1-h)^2) + (1-m) kappa^(h^2)."""
    return 1 - _loss(h, m, g)


def wd(m, g, h):
    """Return the squared weight degradation of merging at h, for coefficients that sum to one."""
    e = _loss(h, m, g)
    return 2 * e - e**2 + 2 * m * (1 - m) * np.expm1(-g)


def best_h(m, g):
    """Return the exact optimum. If m = 1/2 and there are two modes, return the one at h <= 1/2.

    s increases where logit(m) - logit(h) - g (1 - 2h) > 0. For m <= 1/2 this function of h is
    convex on (0, 1/2], infinite at 0 and at most 0 at 1/2. It changes sign once, and bisection
    finds where.
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
    """Return h from a golden section search that stops at a bracket of eps.

    At kappa = 0 it returns the limit. For m <= 1/2 the search is on [0, 1/2], where s has one mode
    (see best_h). On a wider interval with m = 1/2, it would compare points that are mirror images,
    and rounding would choose the mode.
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
    """Bilinear tables of h, wd and q = wd / (m (1-m) (1-kappa))^2 over m <= 1/2 and kappa."""

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


# Each loss has the name that it has in the core. It returns its value at the decision value f, and
# minus its slope there.


def hinge(y, f, parameter=None):
    """Return max(0, 1 - y f) for labels y of -1 and +1, and minus its slope."""
    loss = 1 - y * f
    return np.maximum(loss, 0), np.where(loss > 0, y, 0)


def epsilon_insensitive(y, f, parameter):
    """Return max(0, |y - f| - epsilon), and minus its slope; the parameter is epsilon."""
    loss = np.abs(y - f) - parameter
    return np.maximum(loss, 0), np.where(loss > 0, np.sign(y - f), 0)


def squared_hinge(y, f, _=None):
    """max(0, 1 - y f)^2; passes bound the slope below the margin -3, which tests do not reach."""
    loss = np.maximum(1 - y * f, 0)
    return loss**2, 2 * y * loss


def log_loss(y, f, _=None):
    """log(1 + exp(-y f))"""
    return np.log1p(np.exp(-y * f)), y / (1 + np.exp(y * f))


def squared_error(y, f, _=None):
    """(y - f)^2 / 2"""
    return (y - f) ** 2 / 2, y - f


def huber(y, f, parameter):
    """(y - f)^2 / 2 up to an error of `parameter`, and a line beyond."""
    size = np.abs(y - f)
    line = parameter * size - parameter**2 / 2
    return np.where(size <= parameter, size**2 / 2, line), np.clip(y - f, -parameter, parameter)


def quantile(y, f, parameter):
    """The pinball loss."""
    above = np.where(y > f, parameter, parameter - 1)
    return above * (y - f), above


class Event(NamedTuple):
    """One event of budget maintenance, with the slot numbers before the event."""

    step: int
    first: int
    second: int
    h: float
    coefficient: float
    degradation: float


def scramble(z):
    """Return the output of splitmix64 for a counter."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


class Reference:
    """One problem with one output, trained row by row with any loss.

    ``step`` makes its own decisions. To replay the decisions of the core, call ``advance``. If it
    returns True, the budget is exceeded: check the core's decision with ``criterion`` and
    ``degradations``, and ``apply`` it.
    """

    def __init__(
        self,
        *,
        n_features,
        budget,
        gamma,
        alpha,
        maintenance,
        fit_intercept,
        loss=hinge,
        parameter=None,
        half_life=np.inf,
    ):
        self.half_life = half_life
        self.loss, self.parameter = loss, parameter
        self.budget, self.gamma, self.alpha = budget, gamma, alpha
        self.maintenance, self.fit_intercept = maintenance, fit_intercept
        self.vectors = np.empty((0, n_features))
        self.coefficients = np.empty(0)
        self.births = np.empty(0, dtype=int)
        self.bias, self.steps, self.violations, self.events = 0.0, 0, 0, []
        self.weight = 0.0

    @property
    def size(self):
        return len(self.coefficients)

    def load(self, state):
        """Copy a state of the core."""
        self.vectors = np.array(state["vectors"], dtype=float)
        self.coefficients = np.array(state["coefficients"], dtype=float)
        self.births = np.array(state["births"], dtype=int)
        self.bias, self.steps, self.weight = state["bias"], state["steps"], state["weight"]

    def exponents(self, x):
        """Return g of x and each support vector."""
        return self.gamma * np.sum((self.vectors - x) ** 2, axis=1)

    def decision(self, x):
        if self.steps == 0:
            return 0.0
        return (self.coefficients @ np.exp(-self.exponents(x)) + self.bias) / (
            self.alpha * self.weight
        )

    def step(self, x, y, weight=1.0):
        if self.advance(x, y, weight):
            self.apply(*self.decide())

    def advance(self, x, y, weight=1.0):
        """Make a step without maintenance; return whether the budget is exceeded."""
        slope = float(self.loss(y, self.decision(x), self.parameter)[1])
        self.steps += 1
        decay = 2 ** (-1 / self.half_life)  # the newest row has weight 1, and all others lose some
        self.weight = decay * self.weight + 1
        self.coefficients *= decay
        self.bias *= decay
        if slope:
            self.violations += 1
            self.vectors = np.vstack([self.vectors, x])
            self.coefficients = np.append(self.coefficients, slope * weight)
            self.births = np.append(self.births, self.steps)
            if self.fit_intercept:
                self.bias += slope * weight
        return self.size > self.budget

    def advance_pair(self, x, z, sign, weight=1.0):
        """Make a step with a pair of rows, of which x is more relevant if the sign is +1.

        Yields after each of the two vectors that takes the set over its budget.
        """
        difference = self.decision(x) - self.decision(z)
        self.steps += 1
        self.weight += 1
        if sign * difference >= 1:
            return
        self.violations += 1
        for row, coefficient in ((z, -sign * weight), (x, sign * weight)):
            self.vectors = np.vstack([self.vectors, row])
            self.coefficients = np.append(self.coefficients, coefficient)
            self.births = np.append(self.births, self.steps)
            if self.size > self.budget:
                yield

    def decide(self):
        """Return the first partner, second partner and h, or (slot, -1, 0) without a merge."""
        first = self.first_partner()
        if self.maintenance not in MERGING:
            return first, -1, 0.0
        m, g, _ = self.pairs(first)
        h = self.solve_h(m, g)
        second = int(np.argmin(self.criterion(first, h)))
        return first, second, h[second]

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
        """Return a mask of possible second partners: all other slots of the same sign."""
        equal_sign = (self.coefficients > 0) == (self.coefficients[first] > 0)
        equal_sign[first] = False
        return equal_sign

    def pairs(self, first):
        """Return m, g and the sum of magnitudes for the first partner and each slot."""
        magnitude = np.abs(self.coefficients)
        scale = magnitude[first] + magnitude
        return magnitude[first] / scale, self.exponents(self.vectors[first]), scale

    def solve_h(self, m, g):
        """Return h as computed by the strategy."""
        if self.maintenance == "gss":
            return golden_section(m, g, 0.01)
        if self.maintenance == "gss-precise":
            return golden_section(m, g, 1e-10)
        return table().h(m, g)

    def criterion(self, first, h=None):
        """Return the strategy's WD for each slot; infinite if it is not a candidate."""
        m, g, scale = self.pairs(first)
        closed_form = scale**2 * wd(m, g, self.solve_h(m, g) if h is None else h)
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
        """Return the exact minimum of WD for each slot; infinite if it is not a candidate."""
        m, g, scale = self.pairs(first)
        return np.where(self.candidates(first), scale**2 * wd(m, g, best_h(m, g)), np.inf)

    def asked(self, maintenance, first):
        """Return the second partner and WD that another strategy chooses for this first partner."""
        other = deepcopy(self)
        other.maintenance = maintenance
        if maintenance not in MERGING:
            return -1, other._drop(first)
        second = int(np.argmin(other.criterion(first)))
        m, g, scale = (values[second] for values in other.pairs(first))
        return second, scale**2 * wd(m, g, other.solve_h(m, g))

    def apply(self, first, second, h):
        """Merge (if second >= 0), remove or project, and record the event."""
        if second >= 0:
            coefficient, degradation = self._merge(first, second, h)
        else:
            coefficient, degradation = 0.0, self._drop(first)
        self.events.append(Event(self.steps, first, second, h, coefficient, degradation))
        last = self.size - 1  # moves to the free slot
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
    """The decisions of several strategies in the states of one run, counted as in the core."""

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
