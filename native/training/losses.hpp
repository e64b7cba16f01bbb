// Losses: one small type each, and an entry in one of the two lists at the end.
//
// `step(y, decision)` returns minus the slope of the loss at the decision value: the coefficient,
// in units of the learning rate and of the row's weight, with which the row enters the support set.
// Zero means that the row does not enter.
#pragma once

#include "../named_types.hpp"

namespace pocketsvm::POCKETSVM_SET {

// ----- losses on classes: y is +1 or -1

// max(0, 1 - y f)
struct Hinge {
    static constexpr const char* name = "hinge";
    double step(double y, double decision) const { return y * decision >= 1 ? 0 : y; }
};

// ----- losses on target values, constructed from their parameter

// max(0, |y - f| - epsilon)
struct EpsilonInsensitive {
    static constexpr const char* name = "epsilon_insensitive";
    explicit EpsilonInsensitive(double parameter) : epsilon(parameter) {}
    double step(double y, double decision) const {
        const double residual = y - decision;
        if (residual <= epsilon && residual >= -epsilon) return 0;
        return residual > 0 ? 1 : -1;
    }
    double epsilon;
};

// ----- the lists

using ClassLosses = NamedTypes<Hinge>;
using TargetLosses = NamedTypes<EpsilonInsensitive>;

// ----- losses with the data of the rows

// One class against the rest: reads the class and the weight of a row.
template <class Loss>
class LossOnClasses {
  public:
    LossOnClasses(Loss loss, const Classes& classes) : loss_(loss), classes_(classes) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(static_cast<const char*>(classes_.codes) +
                           row * (classes_.wide_codes ? 4 : 1));
        if (classes_.row_weight != nullptr) __builtin_prefetch(classes_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const std::int32_t code = classes_.wide_codes
                                      ? static_cast<const std::int32_t*>(classes_.codes)[row]
                                      : static_cast<const std::int8_t*>(classes_.codes)[row];
        const double step = loss_.step(code == classes_.positive ? 1 : -1, decision);
        if (step == 0) return 0;
        const double weight = classes_.row_weight == nullptr ? 1 : classes_.row_weight[row];
        return step * weight * classes_.class_weight[code];
    }

  private:
    Loss loss_;
    Classes classes_;
};

// Reads the target and the weight of a row.
template <class Loss>
class LossOnTargets {
  public:
    LossOnTargets(Loss loss, const Targets& targets) : loss_(loss), targets_(targets) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(targets_.values + row);
        if (targets_.row_weight != nullptr) __builtin_prefetch(targets_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const double step = loss_.step(targets_.values[row], decision);
        if (step == 0) return 0;
        return targets_.row_weight == nullptr ? step : step * targets_.row_weight[row];
    }

  private:
    Loss loss_;
    Targets targets_;
};

}  // namespace pocketsvm::POCKETSVM_SET
