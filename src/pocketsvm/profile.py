"""What training did and where its time went."""

from dataclasses import dataclass, fields

__all__ = ["Profile"]


@dataclass(frozen=True)
class Profile:
    """What training did and where its time went, summed over the binary problems.

    Attributes
    ----------
    steps : int
        Rows looked at.

    violations : int
        Steps that added a support vector, because the row was inside the margin, or outside the
        tube of a regression.

    merges, removals : int
        Times the budget overflowed and two support vectors were merged, or one was dropped.

    seconds_total : float
        Seconds in native training, polishing apart. Problems trained side by side count each for
        itself.

    seconds_margin : float
        Seconds spent on kernel rows and margins.

    seconds_solve : float
        Seconds spent on solving the merging problem (the paper's A).

    seconds_rest : float
        Seconds spent on the rest of budget maintenance (the paper's B).

    seconds_polish : float
        Seconds spent on polishing, by the clock on the wall.

    newton_steps : int
        Newton steps made in polishing.

    moves : int
        Steps in which polishing has moved the support vectors; 0 where they stayed.

    objective_before, objective_after : float
        The objective of the polished problem before and after; see `pocketsvm.polish`.

    gradient_norm : float
        The norm of its gradient at the end, over the sum of the row weights.
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
    newton_steps: int = 0
    moves: int = 0
    objective_before: float = 0.0
    objective_after: float = 0.0
    gradient_norm: float = 0.0

    @property
    def merge_frequency(self) -> float:
        """The share of steps that overflowed the budget."""
        return (self.merges + self.removals) / self.steps if self.steps else 0.0

    def __add__(self, other: "Profile") -> "Profile":
        return Profile(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Profile") -> "Profile":
        return Profile(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

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
        )

    def polish_line(self) -> str:
        """Tell of the polishing in one line."""
        moves = f"vectors moved in {self.moves} steps, " if self.moves else ""
        return (
            f"polished in {self.seconds_polish:.3f} s: {self.newton_steps} Newton steps, {moves}"
            f"objective {self.objective_before:.6g} to {self.objective_after:.6g}"
        )
