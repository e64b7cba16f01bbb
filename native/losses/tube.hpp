// down ramp(y - epsilon - f) + up ramp(f - y - epsilon): the solver's form of the
// epsilon-insensitive loss and of the quantile loss.
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Tube : TargetLoss {
    static constexpr const char* name = "tube";
    double low, high, down, up, width;

    static POCKETSVM_INLINE Tube of(const Losses& losses, std::size_t o, double y) {
        return {{},           y - losses.epsilon, y + losses.epsilon, losses.down[o],
                losses.up[o], losses.widths[o]};
    }

    POCKETSVM_INLINE Derivatives at(double f) const {
        const Derivatives below = RoundedRamp{width}.at(low - f),
                          above = RoundedRamp{width}.at(f - high);
        return {down * below.value + up * above.value, up * above.slope - down * below.slope,
                down * below.curvature + up * above.curvature};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const {
        return (down > 0 && low - f > -reach * width) || (up > 0 && f - high > -reach * width);
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
