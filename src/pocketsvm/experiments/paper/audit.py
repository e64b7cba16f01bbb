"""The audit behind the paper's Table 3: what several strategies decide in the same state.

One strategy is followed; the others are asked, at every maintenance event, what they would do with
its first partner. `gss-precise` is the measure of all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...estimators import BudgetedSVC

__all__ = ["AuditRow", "audit"]

PRECISE = "gss-precise"


@dataclass(frozen=True)
class AuditRow:
    """What one strategy would have done at the maintenance events of a training run.

    Attributes
    ----------
    strategy : str
        Its name.

    events, merges : int
        How often it was asked, and how often it would have merged. Strategies that do not merge
        have no partner, hence neither equal nor tied decisions.

    equal, tied : mapping of str to int
        By the name of another strategy, how often both would have merged with the same partner, or
        with different ones whose least weight degradations are the same but for rounding.

    factor : float
        Weight degradation over that of `gss-precise`, the mean over `factors` events. Those are
        all but the ones in which `gss-precise` loses nothing: it merges two equal vectors.

    factors : int
        See `factor`.

    factor_of_sums : float
        The sum of all weight degradations over the sum of `gss-precise`'s.

    merge_frequency : float
        The share of the run's steps that overflowed the budget.
    """

    strategy: str
    events: int
    merges: int
    equal: Mapping[str, int]
    tied: Mapping[str, int]
    factor: float
    factors: int
    factor_of_sums: float
    merge_frequency: float

    def equal_share(self, other: str = PRECISE, ties: bool = False) -> float:
        """Return the share of events decided like the other strategy, or as well (`ties`)."""
        equal = self.equal[other] + (self.tied[other] if ties else 0)
        return equal / self.merges if self.merges else float("nan")


def audit(
    X: Any,
    y: Any,
    *,
    budget: int,
    C: float,
    gamma: float,
    max_iter: int = 1,
    follow: str = PRECISE,
    strategies: Iterable[str] | None = None,
    seed: int = 0,
) -> list[AuditRow]:
    """Train as the paper does, and ask several strategies for their decisions on the way.

    Parameters
    ----------
    X, y
        Rows and labels of two classes, as for `BudgetedSVC.fit`.

    budget, C, gamma, max_iter
        As for `BudgetedSVC`; without polishing and bias, as in the paper.

    follow : str, default="gss-precise"
        The strategy that decides. It chooses the first partner for all of them.

    strategies : iterable of str, default=None
        Those that are asked; None means all. `gss-precise` is always among them.

    seed : int, default=0
        It decides the order of the rows.

    Returns
    -------
    list of AuditRow
        In the order of ``strategies``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm.experiments.paper.audit import audit
    >>> X, y = make_moons(1000, noise=0.3, random_state=0)
    >>> rows = audit(X, y, budget=20, C=10, gamma=2, strategies=["merge", "gss"])
    >>> for row in rows:
    ...     print(row.strategy, row.equal_share() > 0.9, row.factor < 1.1)
    merge True True
    gss True True
    gss-precise True True
    """
    names = list(dict.fromkeys(_core.strategies() if strategies is None else strategies))
    if PRECISE not in names:
        names.append(PRECISE)
    if (n_classes := len(np.unique(y))) != 2:
        raise ValueError(f"y must have two classes, got {n_classes}")
    model = _AuditedSVC(
        budget,
        C,
        gamma=gamma,
        max_iter=max_iter,
        maintenance=follow,
        polish=False,
        fit_intercept=False,
        random_state=seed,
    )
    model._asked = names
    model.fit(X, y)
    frequency = model.profile_.merge_frequency
    return [_row(name, counts, frequency) for name, counts in model._trainer.audit().items()]


class _AuditedSVC(BudgetedSVC):
    """A training run like any other, whose trainer has an observer."""

    _asked: list[str]
    _trainer: _core.Trainer

    def _make_trainer(self, *arguments: Any, **options: Any) -> _core.Trainer:
        self._trainer = super()._make_trainer(*arguments, **options)
        self._trainer.observe(self._asked)
        return self._trainer


def _row(name: str, counts: dict[str, Any], merge_frequency: float) -> AuditRow:
    return AuditRow(
        strategy=name,
        events=counts["events"],
        merges=counts["merges"],
        equal=counts["equal"],
        tied=counts["tied"],
        factor=_ratio(counts["factor"], counts["factors"]),
        factors=counts["factors"],
        factor_of_sums=_ratio(counts["degradation"], counts["least_degradation"]),
        merge_frequency=merge_frequency,
    )


def _ratio(total: float, parts: float) -> float:
    return total / parts if parts else float("nan")
