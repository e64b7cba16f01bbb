// (y - f)^2 / 2, and a line where |y - f| > epsilon
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Huber : TargetLoss {
    static constexpr const char* name = "huber";
    double y, epsilon;

    static double step(double y, double decision, double epsilon) {
        const double residual = y - decision;
        return residual > epsilon ? epsilon : residual < -epsilon ? -epsilon : residual;
    }

    static POCKETSVM_INLINE Huber of(const Losses& losses, std::size_t, double y) {
        return {{}, y, losses.epsilon};
    }

    POCKETSVM_INLINE Derivatives at(double f) const {
        const double r = f - y, size = r < 0 ? -r : r;
        if (size <= epsilon) return {r * r / 2, r, 1};
        return {epsilon * (size - epsilon / 2), r < 0 ? -epsilon : epsilon, 0};
    }
    POCKETSVM_INLINE bool near(double, double) const { return true; }
};

}  // namespace pocketsvm::POCKETSVM_SET
