// What a loss of a row is. Each loss has a header of its own here, and an entry in list.hpp.
//
// A loss that the passes use has `step`, minus its slope at a decision value: the coefficient, in
// units of the learning rate and of the row's weight, with which the row enters the support set.
// Zero means that the row does not enter.
//
// A loss that the solver uses has, as the loss of a row in one output,
// - at(f): its value, slope and curvature at a decision value;
// - near(f, reach): whether it has a slope, or would have one after a change by `reach` widths.
// If it couples the outputs, it has a type `OfRows` with the same functions of all outputs.
#pragma once

#include <cmath>

#include "../core.hpp"
#include "../simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// The base of losses on classes: y is +1 or -1. The passes call step(y, decision).
struct ClassLoss {
    static constexpr bool on_classes = true, coupled = false;
    double y, width;
};

// The base of losses on target values. The passes call step(y, decision, parameter), and the solver
// makes the loss of a row with of(losses, output, y).
struct TargetLoss {
    static constexpr bool on_classes = false, coupled = false;
};

// A loss at a decision value.
struct Derivatives {
    double value, slope, curvature;
};

// max(0, u) with its kink rounded off, `width` to either side.
struct RoundedRamp {
    double width;

    // Without branches, which processors predict badly here. NaN stays NaN.
    POCKETSVM_INLINE Derivatives at(double u) const {
        const double slope = smaller(1.0, larger(0.0, (u + width) / (2 * width)));
        const bool curved = (u > -width) & (u < width);
        return {width * slope * slope + larger(u - width, 0.0), slope,
                double(curved) / (2 * width)};
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
