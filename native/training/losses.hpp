// Losses: one small type each, and an entry in one of the two lists at the end.
//
// `step(y, decision)` returns minus the slope of the loss at the decision value: the coefficient,
// in units of the learning rate and of the row's weight, with which the row enters the support set.
// Zero means that the row does not enter.
#pragma once

#include <cmath>

#include "../named_types.hpp"

namespace pocketsvm::POCKETSVM_SET {

// ----- losses on classes: y is +1 or -1

// max(0, 1 - y f)
struct Hinge {
    static constexpr const char* name = "hinge";
    double step(double y, double decision) const { return y * decision >= 1 ? 0 : y; }
};

// max(0, 1 - y f)^2, and a line below the margin -3: the learning rate starts at 1 / lambda, and
// the slopes of a square would grow with every step.
struct SquaredHinge {
    static constexpr const char* name = "squared_hinge";
    static constexpr double steepest = 8;
    double step(double y, double decision) const {
        const double slope = 2 * (1 - y * decision);
        return slope <= 0 ? 0 : slope < steepest ? y * slope : y * steepest;
    }
};

// log(1 + exp(-y f)). Rows with hardly any slope do not enter.
struct LogLoss {
    static constexpr const char* name = "log_loss";
    static constexpr double least = 1e-6;
    double step(double y, double decision) const {
        const double slope = 1 / (1 + std::exp(y * decision));
        return slope < least ? 0 : y * slope;
    }
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

// (y - f)^2 / 2, and a line beyond epsilon
struct Huber {
    static constexpr const char* name = "huber";
    explicit Huber(double parameter) : epsilon(parameter) {}
    double step(double y, double decision) const {
        const double residual = y - decision;
        return residual > epsilon ? epsilon : residual < -epsilon ? -epsilon : residual;
    }
    double epsilon;
};

// The pinball loss: quantile (y - f) above f, (1 - quantile) (f - y) below
struct Quantile {
    static constexpr const char* name = "quantile";
    explicit Quantile(double parameter) : quantile(parameter) {}
    double step(double y, double decision) const {
        return y > decision ? quantile : y < decision ? quantile - 1 : 0;
    }
    double quantile;
};

// ----- the lists

using ClassLosses = NamedTypes<Hinge, SquaredHinge, LogLoss>;
using TargetLosses = NamedTypes<EpsilonInsensitive, Huber, Quantile>;

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
