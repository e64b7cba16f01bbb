"""The audit behind the paper's Table 3: what several strategies decide in the same state.

Training follows one strategy. At every maintenance event the others are asked what they would do
with the same first partner. `gss-precise` is the reference.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_X_y

from .. import _core
from ..profile import Profile
from .passes import new_trainer, run_passes, two_classes

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
        choose no partner, so they have neither equal nor tied decisions.

    equal, tied : mapping of str to int
        By the name of another strategy: how often both would have merged with the same partner, or
        with different ones whose weight degradations are equal up to rounding.

    factor : float
        Weight degradation divided by that of `gss-precise`: the mean over those events in which
        `gss-precise` loses something, that is, does not merge two equal vectors.

    factors : int
        The number of events in that mean.

    factor_of_sums : float
        The sum of all weight degradations divided by the sum of those of `gss-precise`.

    merge_frequency : float
        The share of the steps that exceeded the budget.
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
        """Return the share of events with the same partner, or one that is as good (`ties`)."""
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
    """Train as the paper does, and ask several strategies for their decisions.

    Parameters
    ----------
    X, y
        Rows and labels of two classes, as for `BudgetedSVC.fit`.

    budget, C, gamma, max_iter
        As for `BudgetedSVC`; as in the paper, there is no polishing and no intercept.

    follow : str, default="gss-precise"
        The strategy that training uses. It chooses the first partner for all of them.

    strategies : iterable of str, default=None
        The strategies that are asked; None means all. `gss-precise` is always added.

    seed : int, default=0
        Determines the order of the rows.

    Returns
    -------
    list of AuditRow
        In the order of ``strategies``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm.paper.audit import audit
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
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    data = two_classes(X, y, C, gamma)
    # The same seed as in BudgetedSVC, whose run this is.
    trainer_seed = int(check_random_state(seed).randint(2**63, dtype=np.uint64))
    trainer = new_trainer(
        data, budget=budget, maintenance=follow, seed=trainer_seed, observed=names
    )
    run_passes(trainer, data, max_iter)
    frequency = Profile(**trainer.profile()).merge_frequency
    return [_row(name, counts, frequency) for name, counts in trainer.audit().items()]


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
