"""The regularisation lambda, and the ranges in which training is numerically safe."""

import math

# partial_fit cannot know the length of its stream: without `alpha`, it assumes this many rows if
# all of them count the same. This says what C means there.
ASSUMED_STREAM_ROWS = 10_000
# 1 / alpha scales every coefficient, and decision values are summed in the precision of the rows.
ALPHA_RANGE = (1e-30, 1e30)
# If C times the largest weight is above `HEAVIEST`, weights may differ by this factor at most: rows
# of all weights in between would have to be separated, one weight after the other.
WEIGHT_RATIO, HEAVIEST = 1e12, 1e7
# The range of the largest coefficient of a model that is continued, in units of the weight of a
# new row: outside of it, the old model or the new rows would be lost in rounding.
COEFFICIENT_RANGE = (1e-15, 1e15)


def regularisation(
    C: float,
    alpha: float | None,
    n_rows: int | None,
    *,
    weight_unit: float,
    previous: float | None = None,
    half_life: float = math.inf,
) -> float:
    """Return lambda: `alpha` if given, else 1 / (n C).

    For a stream (`n_rows` is None), the `previous` lambda of the model stays in use. Without one, n
    is the weight of all rows of an endless stream with this half-life, or `ASSUMED_STREAM_ROWS`.
    """
    if alpha is not None:
        value, origin = float(alpha), f"alpha={alpha!r}"
    elif n_rows is None and previous is not None:
        value, origin = previous, "The previous fit"
    else:
        # Two divisions, because n C may overflow.
        value = 1.0 / (n_rows or _stream_rows(half_life)) / float(C)
        origin = f"C={C!r}"
    check_alpha(value, weight_unit, origin)
    return value


def _stream_rows(half_life: float) -> float:
    # The sum over k >= 0 of 2^(-k / half_life).
    return (
        ASSUMED_STREAM_ROWS if half_life == math.inf else -1 / math.expm1(-math.log(2) / half_life)
    )


def check_alpha(alpha: float, weight_unit: float, origin: str) -> None:
    """Refuse a regularisation that would take decision values out of float32's range."""
    if not ALPHA_RANGE[0] <= alpha / weight_unit <= ALPHA_RANGE[1]:
        weights = "" if weight_unit == 1.0 else f" for weights of about {weight_unit:.3g}"
        raise ValueError(
            f"{origin} makes the regularisation alpha={alpha:.3g}{weights}; for weights of about "
            f"one it must lie in [{ALPHA_RANGE[0]:g}, {ALPHA_RANGE[1]:g}]."
        )


def check_weight_ratio(least: float, most: float, C: float) -> None:
    """Refuse weights that differ by too many orders of magnitude for a C as large as this."""
    if most > WEIGHT_RATIO * least and C * most > HEAVIEST:
        raise ValueError(
            f"The weights of rows range from {least:.3g} to {most:.3g}, and C is {C:.3g}. If C "
            f"times the largest weight is above {HEAVIEST:g}, weights may differ by a factor of at "
            f"most {WEIGHT_RATIO:g}: set the smallest weights to zero, or limit the largest ones."
        )


def check_continuation(largest_coefficient: float) -> None:
    """Refuse a change of alpha or weights so large that the old model and new rows cannot mix."""
    low, high = COEFFICIENT_RANGE
    if not low <= largest_coefficient <= high:
        raise ValueError(
            "alpha or the weights differ too much from those of the model to be continued: its "
            f"largest coefficient would be {largest_coefficient:.3g} times that of a new row. "
            "Fit with warm_start=False."
        )
