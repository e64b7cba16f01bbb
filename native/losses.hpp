// Losses: what a training step adds to the model. One small type each.
//
// `step` gets the row's number and its decision value and returns the coefficient, in units of the
// learning rate, with which the row enters the support set: minus the loss's slope, zero for none.
// `prefetch` is told of rows some steps before.
#pragma once

#include "core.hpp"
#include "simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// max(0, 1 - y f), one class against the rest, weighted.
class Hinge {
  public:
    explicit Hinge(const Classes& classes) : classes_(classes) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(static_cast<const char*>(classes_.codes) +
                           row * (classes_.wide_codes ? 4 : 1));
        if (classes_.row_weight != nullptr) __builtin_prefetch(classes_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const std::int32_t code = classes_.wide_codes
                                      ? static_cast<const std::int32_t*>(classes_.codes)[row]
                                      : static_cast<const std::int8_t*>(classes_.codes)[row];
        const double y = code == classes_.positive ? 1 : -1;
        if (y * decision >= 1) return 0;
        const double weight = classes_.row_weight == nullptr ? 1 : classes_.row_weight[row];
        return y * weight * classes_.class_weight[code];
    }

  private:
    Classes classes_;
};

// max(0, |y - f| - epsilon), weighted.
class EpsilonInsensitive {
  public:
    explicit EpsilonInsensitive(const Targets& targets) : targets_(targets) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(targets_.values + row);
        if (targets_.row_weight != nullptr) __builtin_prefetch(targets_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const double residual = targets_.values[row] - decision;
        if (residual <= targets_.epsilon && residual >= -targets_.epsilon) return 0;
        const double weight = targets_.row_weight == nullptr ? 1 : targets_.row_weight[row];
        return residual > 0 ? weight : -weight;
    }

  private:
    Targets targets_;
};

}  // namespace pocketsvm::POCKETSVM_SET
