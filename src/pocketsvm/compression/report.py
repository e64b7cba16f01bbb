"""What a compression has lost."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Report:
    """What a compression has lost, on rows that it has not seen if there are any.

    Attributes
    ----------
    vectors_before, vectors : int
        The number of support vectors.

    bytes_before, bytes : int
        The bytes of all numbers: of the given model in float64, and in the type of the model.

    dtype : str
        The type of the model.

    measured_on : str
        "held-out rows", or "its support vectors" if no rows were given.

    n_measured : int
        Their number.

    agreement : float
        The share of rows with the same label. For numbers, it is one minus the mean squared change
        over the variance of the given model's values.

    largest_change : float or None
        The largest change of a decision value; None if outputs have another meaning, as those of
        classes have where pairs of classes voted.

    score_before, score : float or None
        Accuracy, or the coefficient of determination, if y was given.

    seconds : float
        How long it took.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from pocketsvm import compress
    >>> X, y = make_moons(1000, noise=0.3, random_state=0)
    >>> report = compress(SVC().fit(X, y), X, budget=20, dtype="int8", random_state=0).compression_
    >>> report.vectors, report.bytes, report.measured_on
    (20, 246, 'held-out rows')
    """

    vectors_before: int
    vectors: int
    bytes_before: int
    bytes: int
    dtype: str
    measured_on: str
    n_measured: int
    agreement: float
    largest_change: float | None
    score_before: float | None
    score: float | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by their names."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"vectors         {self.vectors_before:,} -> {self.vectors:,}",
            f"bytes           {self.bytes_before:,} -> {self.bytes:,} ({self.dtype})",
            f"agreement       {100 * self.agreement:.2f} % on {self.n_measured:,} "
            f"{self.measured_on.removeprefix('its ')}",
        ]
        if self.largest_change is not None:
            lines.append(f"largest change  {self.largest_change:.3g} of a decision value")
        if self.score is not None and self.score_before is not None:
            lines.append(f"score           {self.score_before:.4f} -> {self.score:.4f}")
        return "\n".join([*lines, f"seconds         {self.seconds:.1f}"])
