// The pinball loss: quantile (y - f) above f, (1 - quantile) (f - y) below. The solver's form is
// `Tube`.
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Quantile : TargetLoss {
    static constexpr const char* name = "quantile";

    static double step(double y, double decision, double quantile) {
        return y > decision ? quantile : y < decision ? quantile - 1 : 0;
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
