// max(0, |y - f| - epsilon). The solver's form is `Tube`.
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct EpsilonInsensitive : TargetLoss {
    static constexpr const char* name = "epsilon_insensitive";

    static double step(double y, double decision, double epsilon) {
        const double residual = y - decision;
        if (residual <= epsilon && residual >= -epsilon) return 0;
        return residual > 0 ? 1 : -1;
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
