// Losses in the passes: a loss of native/losses/ with the data of the rows.
#pragma once

#include "../losses/list.hpp"

namespace pocketsvm::POCKETSVM_SET {

// One class against the rest: reads the class and the weight of a row.
template <class Loss>
class LossOnClasses {
  public:
    explicit LossOnClasses(const Classes& classes) : classes_(classes) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(static_cast<const char*>(classes_.codes) +
                           row * (classes_.wide_codes ? 4 : 1));
        if (classes_.row_weight != nullptr) __builtin_prefetch(classes_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const std::int32_t code = classes_.wide_codes
                                      ? static_cast<const std::int32_t*>(classes_.codes)[row]
                                      : static_cast<const std::int8_t*>(classes_.codes)[row];
        const double step = Loss::step(code == classes_.positive ? 1 : -1, decision);
        if (step == 0) return 0;
        const double weight = classes_.row_weight == nullptr ? 1 : classes_.row_weight[row];
        return step * weight * classes_.class_weight[code];
    }

  private:
    Classes classes_;
};

// Reads the target and the weight of a row.
template <class Loss>
class LossOnTargets {
  public:
    explicit LossOnTargets(const Targets& targets) : targets_(targets) {}

    void prefetch(std::size_t row) const {
        __builtin_prefetch(targets_.values + row);
        if (targets_.row_weight != nullptr) __builtin_prefetch(targets_.row_weight + row);
    }

    double step(std::size_t row, double decision) const {
        const double step = Loss::step(targets_.values[row], decision, targets_.parameter);
        if (step == 0) return 0;
        return targets_.row_weight == nullptr ? step : step * targets_.row_weight[row];
    }

  private:
    Targets targets_;
};

}  // namespace pocketsvm::POCKETSVM_SET
