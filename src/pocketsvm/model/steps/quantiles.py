"""Quantiles of the normal distribution in C and ONNX: Wichura's algorithm AS 241 (PPND16).

M. J. Wichura (1988), "The percentage points of the normal distribution", Applied Statistics 37.
With p - 1/2 = q, the quantile is q times a ratio of polynomials of THRESHOLD² - q² where |q| is at
most THRESHOLD, and a ratio of polynomials of sqrt(-log(min(p, 1 - p))) - 1.6 in the tails, as far
out as `QuantileTransformer` goes.
"""

import numpy as np

# `QuantileTransformer` gives this range around its lowest and highest quantile, and as wide a range
# of shares, the same value.
WIDTH = 1e-7
LIMIT = float(WIDTH - np.spacing(1))
THRESHOLD = 0.425
COEFFICIENTS = (
    (
        (
            *(3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3),
            *(1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4),
            *(3.3430575583588128105e4, 2.5090809287301226727e3),
        ),
        (
            *(1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3),
            *(2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4),
            5.2264952788528545610e3,
        ),
    ),
    (
        (
            *(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0),
            *(3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1),
            *(2.27238449892691845833e-2, 7.74545014278341407640e-4),
        ),
        (
            *(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1),
            *(1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4),
            1.05075007164441684324e-9,
        ),
    ),
)


def _list(coefficients: tuple[float, ...]) -> str:
    return ",\n        ".join(map(repr, coefficients))


NORMAL_QUANTILE = f"""\
/* The number that a share p of the normal distribution is below: algorithm AS 241. */
static inline double {{name}}_normal_quantile(double p)
{{{{
    static const double middle[16] = {{{{
        {_list(COEFFICIENTS[0][0] + COEFFICIENTS[0][1])}}}}};
    static const double tail[16] = {{{{
        {_list(COEFFICIENTS[1][0] + COEFFICIENTS[1][1])}}}}};
    p = p < {LIMIT!r} ? {LIMIT!r} : p > {1 - LIMIT!r} ? {1 - LIMIT!r} : p;
    const double q = p - 0.5;
    const int is_middle = fabs(q) <= {THRESHOLD};
    const double *c = is_middle ? middle : tail;
    const double r =
        is_middle ? {THRESHOLD**2!r} - q * q : sqrt(-log(q < 0 ? p : 1 - p)) - 1.6;
    double above = 0, below = 0;
    for (int k = 7; k >= 0; --k) {{{{
        above = above * r + c[k];
        below = below * r + c[8 + k];
    }}}}
    return (is_middle ? q : q < 0 ? -1 : 1) * above / below;
}}}}
"""
