// log(1 + exp(-y f))
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct LogLoss : ClassLoss {
    static constexpr const char* name = "log_loss";
    static constexpr double least = 1e-6;

    // A numerical safety: rows with hardly any slope do not enter, because the digits of float32
    // do not suffice to merge their vectors with others.
    static double step(double y, double decision) {
        const double slope = 1 / (1 + std::exp(y * decision));
        return slope < least ? 0 : y * slope;
    }

    POCKETSVM_INLINE Derivatives at(double f) const {
        const double u = -y * f, e = std::exp(u < 0 ? u : -u);
        const double share = (u < 0 ? e : 1) / (1 + e);
        return {(u > 0 ? u : 0) + std::log1p(e), -y * share, e / ((1 + e) * (1 + e))};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return y * f < reach * width; }
};

}  // namespace pocketsvm::POCKETSVM_SET
