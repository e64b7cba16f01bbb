// max(0, 1 - y f)^2
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct SquaredHinge : ClassLoss {
    static constexpr const char* name = "squared_hinge";
    static constexpr double steepest = 8;  // of passes that no solver follows

    // A numerical safety: below the margin -3 the loss is a line, because the learning rate starts
    // at 1 / lambda, and the slopes of a square would grow with every step.
    static double step(double y, double decision) {
        const double slope = 2 * (1 - y * decision);
        return slope <= 0 ? 0 : slope < steepest ? y * slope : y * steepest;
    }

    POCKETSVM_INLINE Derivatives at(double f) const {
        const double u = 1 - y * f, excess = u > 0 ? u : 0;
        return {excess * excess, -2 * y * excess, u > 0 ? 2.0 : 0.0};
    }
    POCKETSVM_INLINE bool near(double f, double reach) const { return 1 - y * f > -reach * width; }
};

}  // namespace pocketsvm::POCKETSVM_SET
