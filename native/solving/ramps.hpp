// Losses made of ramps: values, slopes and curvatures.
#pragma once

#include "../core.hpp"
#include "../simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// max(0, u) with its kink rounded off, `width` to either side.
struct RoundedRamp {
    double width;

    POCKETSVM_INLINE double slope(double u) const {
        const double slope = (u + width) / (2 * width);
        return slope < 0 ? 0 : slope > 1 ? 1 : slope;
    }
    POCKETSVM_INLINE double value(double u) const {
        const double s = slope(u), rest = u - width;
        return width * s * s + (rest > 0 ? rest : 0);
    }
    POCKETSVM_INLINE double curvature(double u) const {
        return (u > -width) & (u < width) ? 1 / (2 * width) : 0;
    }
};

// The loss of a row in one output: ramp(1 - y f), where y is +1 or -1.
struct ClassLoss {
    double y;

    POCKETSVM_INLINE double value(double f, RoundedRamp ramp) const {
        return ramp.value(1 - y * f);
    }
    POCKETSVM_INLINE double slope(double f, RoundedRamp ramp) const {
        return -y * ramp.slope(1 - y * f);
    }
    POCKETSVM_INLINE double curvature(double f, RoundedRamp ramp) const {
        return ramp.curvature(1 - y * f);
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return 1 - y * f > -reach; }
};

// The loss of a row in one output: down ramp(low - f) + up ramp(f - high).
struct ValueLoss {
    double low, high, down, up;

    POCKETSVM_INLINE double value(double f, RoundedRamp ramp) const {
        return down * ramp.value(low - f) + up * ramp.value(f - high);
    }
    POCKETSVM_INLINE double slope(double f, RoundedRamp ramp) const {
        return up * ramp.slope(f - high) - down * ramp.slope(low - f);
    }
    POCKETSVM_INLINE double curvature(double f, RoundedRamp ramp) const {
        return down * ramp.curvature(low - f) + up * ramp.curvature(f - high);
    }
    POCKETSVM_INLINE bool near(double f, double reach) const {
        return (down > 0 && low - f > -reach) || (up > 0 && f - high > -reach);
    }
};

// Calls the function with another one, which returns the loss of a row and an output.
template <class Function>
void with_losses(const Ramps& ramps, Function function) {
    const auto of_classes = [&](const auto* codes) {
        function([&ramps, codes](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
            return ClassLoss{codes[row] == ramps.positives[o] ? 1.0 : -1.0};
        });
    };
    if (ramps.codes == nullptr)
        function([&ramps](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
            const double y = ramps.targets[row * ramps.n_targets + (ramps.n_targets > 1 ? o : 0)];
            return ValueLoss{y - ramps.epsilon, y + ramps.epsilon, ramps.down[o], ramps.up[o]};
        });
    else if (ramps.wide_codes)
        of_classes(static_cast<const std::int32_t*>(ramps.codes));
    else
        of_classes(static_cast<const std::int8_t*>(ramps.codes));
}

// The losses of some rows, summed with their weights, and the weighted slopes of each row. Arrays
// start with the first row of all.
inline void ramp_slopes(const Ramps& ramps, const Chunk& rows, const double* decisions,
                        double* losses, double* slopes) {
    const std::size_t n_outputs = ramps.n_outputs;
    const RoundedRamp ramp{ramps.width};
    for (std::size_t o = 0; o < n_outputs; ++o) losses[o] = 0;
    with_losses(ramps, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            for (std::size_t o = 0; o < n_outputs; ++o) {
                const double f = decisions[i * n_outputs + o];
                const auto of_row = loss(i, o);
                losses[o] += rows.c[i] * of_row.value(f, ramp);
                slopes[i * n_outputs + o] = rows.c[i] * of_row.slope(f, ramp);
            }
    });
}

// The first and second derivative of the weighted losses along a change of the decision values, at
// one length for each output.
inline void ramps_along(const Ramps& ramps, const Chunk& rows, const double* decisions,
                        const double* change, const double* lengths, double* first,
                        double* second) {
    const std::size_t n_outputs = ramps.n_outputs;
    const RoundedRamp ramp{ramps.width};
    for (std::size_t o = 0; o < n_outputs; ++o) first[o] = second[o] = 0;
    with_losses(ramps, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            for (std::size_t o = 0; o < n_outputs; ++o) {
                const double step = change[i * n_outputs + o], weighted = rows.c[i] * step;
                const double f = decisions[i * n_outputs + o] + lengths[o] * step;
                const auto of_row = loss(i, o);
                first[o] += of_row.slope(f, ramp) * weighted;
                second[o] += of_row.curvature(f, ramp) * step * weighted;
            }
    });
}

}  // namespace pocketsvm::POCKETSVM_SET
