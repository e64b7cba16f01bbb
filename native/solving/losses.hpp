// The losses of the solver: values, slopes and curvatures of rows.
#pragma once

#include <cmath>

#include "../core.hpp"
#include "../memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

// A loss at a decision value.
struct Bend {
    double value, slope, curvature;
};

// max(0, u) with its kink rounded off, `width` to either side.
struct RoundedRamp {
    double width;

    // Without branches, which processors predict badly here. NaN stays NaN.
    POCKETSVM_INLINE Bend at(double u) const {
        const double slope = smaller(1.0, larger(0.0, (u + width) / (2 * width)));
        const bool bent = (u > -width) & (u < width);
        return {width * slope * slope + larger(u - width, 0.0), slope, double(bent) / (2 * width)};
    }
};

// ----- the loss of a row in one output; near: it has a slope, or would have one within `reach`

// ramp(1 - y f), where y is +1 or -1
struct HingeLoss {
    double y, width;

    POCKETSVM_INLINE Bend at(double f) const {
        const Bend bend = RoundedRamp{width}.at(1 - y * f);
        return {bend.value, -y * bend.slope, bend.curvature};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return 1 - y * f > -reach * width; }
};

// max(0, 1 - y f)^2
struct SquaredHingeLoss {
    double y, width;

    POCKETSVM_INLINE Bend at(double f) const {
        const double u = 1 - y * f, excess = u > 0 ? u : 0;
        return {excess * excess, -2 * y * excess, u > 0 ? 2.0 : 0.0};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return 1 - y * f > -reach * width; }
};

// log(1 + exp(-y f))
struct LogisticLoss {
    double y, width;

    POCKETSVM_INLINE Bend at(double f) const {
        const double u = -y * f, e = std::exp(u < 0 ? u : -u);
        const double share = (u < 0 ? e : 1) / (1 + e);
        return {(u > 0 ? u : 0) + std::log1p(e), -y * share, e / ((1 + e) * (1 + e))};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return y * f < reach * width; }
};

// down ramp(low - f) + up ramp(f - high)
struct TubeLoss {
    double low, high, down, up, width;

    POCKETSVM_INLINE Bend at(double f) const {
        const Bend below = RoundedRamp{width}.at(low - f), above = RoundedRamp{width}.at(f - high);
        return {down * below.value + up * above.value, up * above.slope - down * below.slope,
                down * below.curvature + up * above.curvature};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const {
        return (down > 0 && low - f > -reach * width) || (up > 0 && f - high > -reach * width);
    }
};

// (y - f)^2 / 2, and a line beyond epsilon
struct HuberLoss {
    double y, epsilon;

    POCKETSVM_INLINE Bend at(double f) const {
        const double r = f - y, size = r < 0 ? -r : r;
        if (size <= epsilon) return {r * r / 2, r, 1};
        return {epsilon * (size - epsilon / 2), r < 0 ? -epsilon : epsilon, 0};
    }
    POCKETSVM_INLINE bool near(double, double) const { return true; }
};

// ----- the loss of a row in all outputs

// One loss for each output; Element returns that of a row and an output.
template <class Element>
struct EachOutput {
    static constexpr bool coupled = false;
    Element element;
    std::size_t n_outputs;

    // Calls use(o, bend) for every output.
    template <class Use>
    POCKETSVM_INLINE void at(std::size_t row, const double* f, Use use) const {
        for (std::size_t o = 0; o < n_outputs; ++o) use(o, element(row, o).at(f[o]));
    }
    POCKETSVM_INLINE bool near(std::size_t row, const double* f, double reach) const {
        bool near = false;
        for (std::size_t o = 0; o < n_outputs; ++o) near |= element(row, o).near(f[o], reach);
        return near;
    }
};

// log sum_o exp(f_o) - f_y, one loss of all outputs. The curvatures are a diagonal bound on the
// second derivative diag(p) - p p', where p are the probabilities.
template <class Code>
struct SoftmaxLoss {
    static constexpr bool coupled = true;
    const Code* codes;
    std::size_t n_outputs;
    double width;

    POCKETSVM_INLINE std::size_t own(std::size_t row) const { return std::size_t(codes[row]); }

    // The whole value stands in the output of the row's class.
    template <class Use>
    POCKETSVM_INLINE void at(std::size_t row, const double* f, Use use) const {
        const double log_sum = log_of_sum(f);
        for (std::size_t o = 0; o < n_outputs; ++o) {
            const double share = std::exp(f[o] - log_sum);
            const bool is_own = o == own(row);
            use(o, Bend{is_own ? log_sum - f[o] : 0, is_own ? share - 1 : share,
                        2 * share * (1 - share)});
        }
    }
    POCKETSVM_INLINE bool near(std::size_t row, const double* f, double reach) const {
        return log_of_sum(f) - f[own(row)] > std::log1p(std::exp(-reach * width));
    }

  private:
    double log_of_sum(const double* f) const {
        double largest = f[0], sum = 0;
        for (std::size_t o = 1; o < n_outputs; ++o) largest = f[o] > largest ? f[o] : largest;
        for (std::size_t o = 0; o < n_outputs; ++o) sum += std::exp(f[o] - largest);
        return largest + std::log(sum);
    }
};

// ----- which loss it is

template <class Element, class Function>
POCKETSVM_INLINE void with_outputs(const Losses& losses, Element element, Function function) {
    function(EachOutput<Element>{element, losses.n_outputs});
}

template <class Loss, class Code, class Function>
void with_classes(const Losses& losses, const Code* codes, Function function) {
    const auto element = [&losses, codes](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
        return Loss{2 * double(codes[row] == losses.positives[o]) - 1, losses.widths[o]};
    };
    with_outputs(losses, element, function);
}

template <class Code, class Function>
void with_codes(const Losses& losses, const Code* codes, Function function) {
    if (losses.kind == LossKind::softmax)
        function(SoftmaxLoss<Code>{codes, losses.n_outputs, losses.widths[0]});
    else if (losses.kind == LossKind::log_loss)
        with_classes<LogisticLoss>(losses, codes, function);
    else if (losses.kind == LossKind::squared_hinge)
        with_classes<SquaredHingeLoss>(losses, codes, function);
    else
        with_classes<HingeLoss>(losses, codes, function);
}

// Calls the function with the loss of a row in all outputs.
template <class Function>
void with_losses(const Losses& losses, Function function) {
    const auto target = [&losses](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
        return losses.targets[row * losses.n_targets + (losses.n_targets > 1 ? o : 0)];
    };
    const auto tube = [&losses, target](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
        const double y = target(row, o);
        return TubeLoss{y - losses.epsilon, y + losses.epsilon, losses.down[o], losses.up[o],
                        losses.widths[o]};
    };
    const auto huber = [&losses, target](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
        return HuberLoss{target(row, o), losses.epsilon};
    };
    if (losses.kind == LossKind::tube)
        with_outputs(losses, tube, function);
    else if (losses.kind == LossKind::huber)
        with_outputs(losses, huber, function);
    else if (losses.wide_codes)
        with_codes(losses, static_cast<const std::int32_t*>(losses.codes), function);
    else
        with_codes(losses, static_cast<const std::int8_t*>(losses.codes), function);
}

// The losses of some rows, summed with their weights, and the weighted slopes of each row. Arrays
// start with the first row of all.
inline void loss_slopes(const Losses& losses, const Chunk& rows, const double* decisions,
                        double* sums, double* slopes) {
    const std::size_t n_outputs = losses.n_outputs;
    // Not summed up in place: threads that write next to each other slow each other down.
    Buffer<double> totals(losses.n_losses());
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            loss.at(i, decisions + i * n_outputs, [&](std::size_t o, const Bend& bend) {
                totals[loss.coupled ? 0 : o] += rows.c[i] * bend.value;
                slopes[i * n_outputs + o] = rows.c[i] * bend.slope;
            });
    });
    for (std::size_t k = 0; k < totals.size(); ++k) sums[k] = totals[k];
}

// The weighted curvature of some rows, the mean over the outputs.
inline void loss_curvatures(const Losses& losses, const Chunk& rows, const double* decisions,
                            double* curvatures) {
    const std::size_t n_outputs = losses.n_outputs;
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            double sum = 0;
            loss.at(i, decisions + i * n_outputs,
                    [&](std::size_t, const Bend& bend) { sum += bend.curvature; });
            curvatures[i] = rows.c[i] * sum / double(n_outputs);
        }
    });
}

// The first and second derivative of the weighted losses along a change of the decision values, at
// one length for each loss. If one loss couples the outputs, the sums over them are those of it.
inline void losses_along(const Losses& losses, const Chunk& rows, const double* decisions,
                         const double* change, const double* lengths, double* first,
                         double* second) {
    const std::size_t n_outputs = losses.n_outputs;
    Buffer<double> slopes(n_outputs), bends(n_outputs), f(n_outputs, Unwritten());
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            const double c = rows.c[i], *step = change + i * n_outputs;
            for (std::size_t o = 0; o < n_outputs; ++o)
                f[o] = decisions[i * n_outputs + o] + lengths[loss.coupled ? 0 : o] * step[o];
            double mean = 0;  // of the steps, weighted with the probabilities
            loss.at(i, f.data(), [&](std::size_t o, const Bend& bend) {
                slopes[o] += bend.slope * step[o] * c;
                double curvature = bend.curvature;
                if constexpr (loss.coupled) {
                    curvature = bend.slope + (o == loss.own(i) ? 1 : 0);
                    mean += curvature * step[o];
                }
                bends[o] += curvature * step[o] * step[o] * c;
            });
            if constexpr (loss.coupled) bends[loss.own(i)] -= mean * mean * c;
        }
    });
    for (std::size_t o = 0; o < n_outputs; ++o) {
        first[o] = slopes[o];
        second[o] = bends[o];
    }
}

// ----- one output on its own

// The losses of one of several outputs; no loss couples them.
inline Losses losses_of(Losses losses, std::size_t output) {
    losses.n_outputs = 1;
    for (const double** each : {&losses.widths, &losses.down, &losses.up})
        if (*each != nullptr) *each += output;
    if (losses.positives != nullptr) losses.positives += output;
    return losses;
}

// The weighted losses of rows in one output, and the weighted slope and curvature of each row.
inline double loss_bends(const Losses& losses, const Chunk& rows, const double* decisions,
                         double* slopes, double* curvatures) {
    double total = 0;
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            loss.at(i, decisions + i, [&](std::size_t, const Bend& bend) {
                total += rows.c[i] * bend.value;
                slopes[i] = rows.c[i] * bend.slope;
                curvatures[i] = rows.c[i] * bend.curvature;
            });
    });
    return total;
}

// How far to go along a step, on which the objective has this slope at the start. The losses of one
// output change with their decision values, and the rest is linear and quadratic in the length.
// Newton's method on the slope is kept within a bracket of the minimum.
inline double minimum_along(const Losses& losses, const Chunk& rows, const double* decisions,
                            const double* change, double start, double linear, double quadratic) {
    constexpr double flat = 0.1;
    constexpr int most_trials = 30;
    double length = 1, low = 0, high = __builtin_inf();
    for (int trial = 0; trial < most_trials; ++trial) {
        double slope, bend;
        losses_along(losses, rows, decisions, change, &length, &slope, &bend);
        slope += linear + length * quadratic;
        bend += quadratic;
        if (std::fabs(slope) <= -flat * start) return length;
        (slope < 0 ? low : high) = length;
        const double newton = length - slope / bend;
        const double middle = high == __builtin_inf() ? 2 * length : (low + high) / 2;
        length = newton > low && newton < high ? newton : middle;
    }
    return low;
}

}  // namespace pocketsvm::POCKETSVM_SET
