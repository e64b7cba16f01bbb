"""The profile of a training: what it did and how long each part took."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, sub
from typing import Any

__all__ = ["Profile"]


@dataclass(frozen=True)
class Profile:
    """What training did and how long each part took, summed over the binary problems.

    Attributes
    ----------
    steps : int
        Number of rows processed, over all passes.

    violations : int
        Number of steps that added a support vector, because the row was inside the margin, or
        outside the tube of a regression.

    merges, removals : int
        How often the budget overflowed and two support vectors were merged, or one was removed.

    seconds_total : float
        Seconds of native training, without polishing. The times of problems that are trained in
        parallel are added up.

    seconds_margin : float
        Seconds spent on kernel rows and margins.

    seconds_solve : float
        Seconds spent on solving the merging problem (the paper's A).

    seconds_rest : float
        Seconds spent on the rest of budget maintenance (the paper's B).

    seconds_polish : float
        Seconds spent on polishing, in wall-clock time.

    solver_steps : int
        Number of steps in which polishing changed the coefficients.

    moves : int
        Number of steps in which polishing moved the support vectors; 0 if they stayed.

    objective_before, objective_after : float
        The objective of the polished problem before and after polishing.

    gradient_norm : float
        The norm of its gradient after polishing, divided by the sum of the row weights.

    seconds_scales : float
        Seconds spent on learning feature scales, in wall-clock time.

    scales : str
        What was found about feature scales, and why ``feature_scales="auto"`` weighs all features
        alike, if it does; empty if none were to be learnt.
    """

    steps: int = 0
    violations: int = 0
    merges: int = 0
    removals: int = 0
    seconds_total: float = 0.0
    seconds_margin: float = 0.0
    seconds_solve: float = 0.0
    seconds_rest: float = 0.0
    seconds_polish: float = 0.0
    solver_steps: int = 0
    moves: int = 0
    objective_before: float = 0.0
    objective_after: float = 0.0
    gradient_norm: float = 0.0
    seconds_scales: float = 0.0
    scales: str = ""

    @property
    def merge_frequency(self) -> float:
        """The share of steps that overflowed the budget."""
        return (self.merges + self.removals) / self.steps if self.steps else 0.0

    def __add__(self, other: "Profile") -> "Profile":
        return self._with(add, other)

    def __sub__(self, other: "Profile") -> "Profile":
        return self._with(sub, other)

    def _with(self, operation: Callable[[Any, Any], Any], other: "Profile") -> "Profile":
        """Add or subtract the numbers; keep the words."""
        numbers = {name: value for name, value in vars(self).items() if name != "scales"}
        found = {name: operation(value, getattr(other, name)) for name, value in numbers.items()}
        return Profile(**found, scales=self.scales or other.scales)

    def __str__(self) -> str:
        share = self.violations / self.steps if self.steps else 0.0
        return (
            f"{self.steps:,} steps, {self.violations:,} added a vector ({share:.1%}), "
            f"{self.merges:,} merges, {self.removals:,} removals "
            f"(merge frequency {self.merge_frequency:.1%})\n"
            f"{self.seconds_total:.3f} s: margins {self.seconds_margin:.3f} s, "
            f"merging {self.seconds_solve:.3f} s to solve (A) "
            f"and {self.seconds_rest:.3f} s for the rest (B)"
            + (f"\n{self.polish_line()}" if self.seconds_polish else "")
            + (f"\n{self.scales_line()}" if self.scales else "")
        )

    def scales_line(self) -> str:
        """Tell about feature scales in one line."""
        return f"feature scales in {self.seconds_scales:.3f} s: {self.scales}"

    def polish_line(self) -> str:
        """Describe the polishing in one line."""
        moves = f"vectors moved in {self.moves} steps, " if self.moves else ""
        return (
            f"polished in {self.seconds_polish:.3f} s: {self.solver_steps} steps, {moves}"
            f"objective {self.objective_before:.6g} to {self.objective_after:.6g}"
        )
