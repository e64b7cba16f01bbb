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
    POCKETSVM_INLINE double curvature(double slope) const {
        return slope > 0 && slope < 1 ? 1 / (2 * width) : 0;
    }
};

// The loss of one row in one output: down ramp(low - f) + up ramp(f - high).
struct TwoRamps {
    double low, high, down, up;

    POCKETSVM_INLINE double value(double f, RoundedRamp ramp) const {
        return (down > 0 ? down * ramp.value(low - f) : 0) +
               (up > 0 ? up * ramp.value(f - high) : 0);
    }
    POCKETSVM_INLINE double slope(double f, RoundedRamp ramp) const {
        return (up > 0 ? up * ramp.slope(f - high) : 0) -
               (down > 0 ? down * ramp.slope(low - f) : 0);
    }
    POCKETSVM_INLINE double curvature(double f, RoundedRamp ramp) const {
        return (down > 0 ? down * ramp.curvature(ramp.slope(low - f)) : 0) +
               (up > 0 ? up * ramp.curvature(ramp.slope(f - high)) : 0);
    }
    POCKETSVM_INLINE bool near(double f, double reach) const {
        return (down > 0 && low - f > -reach) || (up > 0 && f - high > -reach);
    }
};

// Calls the function with another one, which returns the loss of a row and an output.
template <class Function>
void with_losses(const Ramps& ramps, Function function) {
    const auto of_classes = [&](const auto* codes) {
        function([&ramps, codes](std::size_t row, std::size_t o) {
            const bool positive = codes[row] == ramps.positives[o];
            return positive ? TwoRamps{1, 0, 1, 0} : TwoRamps{0, -1, 0, 1};
        });
    };
    if (ramps.codes == nullptr)
        function([&ramps](std::size_t row, std::size_t o) {
            const double y = ramps.targets[row * ramps.n_targets + (ramps.n_targets > 1 ? o : 0)];
            return TwoRamps{y - ramps.epsilon, y + ramps.epsilon, ramps.down[o], ramps.up[o]};
        });
    else if (ramps.wide_codes)
        of_classes(static_cast<const std::int32_t*>(ramps.codes));
    else
        of_classes(static_cast<const std::int8_t*>(ramps.codes));
}

}  // namespace pocketsvm::POCKETSVM_SET
