"""The formulas of losses of rows, on a device of torch."""

import copy
from dataclasses import dataclass
from typing import Any

from .base import ClassFormula, Formula
from .torch_rows import imported, tensor


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Losses of rows, their slopes and curvatures (n_rows, n_outputs).

    The losses are one for each row if outputs are coupled.
    """

    values: Any
    slopes: Any
    curvatures: Any


class DeviceLosses:
    """The losses of some rows."""

    def __init__(self, formula: Formula, at: slice, device: str) -> None:
        torch = imported()
        self.formula = formula
        if isinstance(formula, ClassFormula):
            codes = tensor(formula.codes[at], device, torch.int64)[:, None]
            positives: Any = formula.positives[0]  # a number, which need not be copied
            if len(formula.positives) > 1:
                positives = torch.tensor(formula.positives, device=device)
            self.y = codes if self.coupled else (codes == positives).double() * 2 - 1
            return
        self.y = tensor(formula.targets[at], device, torch.float64)
        factors = formula.down, formula.up, formula.widths
        self.down, self.up, self.widths = (tensor(each, device) for each in factors)

    def take(self, chosen: Any) -> "DeviceLosses":
        """Return the losses of the rows at these positions, a tensor."""
        found = copy.copy(self)
        found.y = self.y[chosen]
        return found

    @property
    def coupled(self) -> bool:
        """Whether a row has one loss of all its decision values."""
        return self.formula.name == "softmax"

    def derivatives(self, f: Any) -> Derivatives:
        """Return the losses at decision values, and their derivatives."""
        derivatives: Derivatives = getattr(self, f"_{self.formula.name}")(f)
        return derivatives

    def near(self, f: Any, reach: float) -> Any:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        torch, formula = imported(), self.formula
        if isinstance(formula, ClassFormula):
            if formula.name == "softmax":
                least = torch.log1p(torch.exp(torch.tensor(-reach * formula.width)))
                return self._own_loss(f)[:, 0] > least.item()
            if formula.name == "log_loss":
                return (self.y * f < reach * formula.width).any(dim=1)
            return (1 - self.y * f > -reach * formula.width).any(dim=1)
        if formula.name == "huber":
            return torch.ones(len(f), dtype=torch.bool, device=f.device)
        below, above = self._sides(f)
        least = -reach * self.widths
        is_near = ((self.down > 0) & (below > least)) | ((self.up > 0) & (above > least))
        return is_near.any(dim=1)

    def _hinge(self, f: Any) -> Derivatives:
        ramp = _ramp(1 - self.y * f, self.formula.width)  # type: ignore[union-attr]
        return Derivatives(ramp.values, -self.y * ramp.slopes, ramp.curvatures)

    def _squared_hinge(self, f: Any) -> Derivatives:
        excess = (1 - self.y * f).clamp_min(0)
        return Derivatives(excess.square(), -2 * self.y * excess, 2.0 * (excess > 0))

    def _log_loss(self, f: Any) -> Derivatives:
        torch, u = imported(), -self.y * f
        share = torch.sigmoid(u)
        return Derivatives(
            torch.nn.functional.softplus(u, threshold=1e3),
            -self.y * share,
            share * torch.sigmoid(-u),
        )

    def _softmax(self, f: Any) -> Derivatives:
        shares = imported().softmax(f, dim=1)
        slopes = shares.scatter_add(1, self.y, -shares.new_ones(self.y.shape))
        return Derivatives(self._own_loss(f), slopes, 2 * shares * (1 - shares))

    def _own_loss(self, f: Any) -> Any:
        return f.logsumexp(dim=1, keepdim=True) - f.gather(1, self.y)

    def _tube(self, f: Any) -> Derivatives:
        below, above = (_ramp(u, self.widths) for u in self._sides(f))
        return Derivatives(
            self.down * below.values + self.up * above.values,
            self.up * above.slopes - self.down * below.slopes,
            self.down * below.curvatures + self.up * above.curvatures,
        )

    def _sides(self, f: Any) -> tuple[Any, Any]:
        epsilon = self.formula.epsilon  # type: ignore[union-attr]
        return self.y - epsilon - f, f - self.y - epsilon

    def _huber(self, f: Any) -> Derivatives:
        epsilon = self.formula.epsilon  # type: ignore[union-attr]
        residuals = f - self.y
        slopes = residuals.clamp(-epsilon, epsilon)
        return Derivatives(
            slopes * (residuals - slopes / 2), slopes, (residuals.abs() <= epsilon).double()
        )


def _ramp(u: Any, width: Any) -> Derivatives:
    """Return max(0, u) with its kink rounded off."""
    slopes = ((u + width) / (2 * width)).clamp(0, 1)
    values = width * slopes.square() + (u - width).clamp_min(0)
    return Derivatives(values, slopes, (u.abs() < width) / (2 * width))
