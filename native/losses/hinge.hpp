// max(0, 1 - y f); the solver rounds off its kink.
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Hinge : ClassLoss {
    static constexpr const char* name = "hinge";

    static double step(double y, double decision) { return y * decision >= 1 ? 0 : y; }

    POCKETSVM_INLINE Derivatives at(double f) const {
        const Derivatives ramp = RoundedRamp{width}.at(1 - y * f);
        return {ramp.value, -y * ramp.slope, ramp.curvature};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return 1 - y * f > -reach * width; }
};

}  // namespace pocketsvm::POCKETSVM_SET
