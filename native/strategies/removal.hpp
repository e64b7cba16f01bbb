// Maintenance by removal: the smallest coefficient goes, of the tied ones the oldest. (The newest
// always ties, and would make of training a model that never learns again.)
#pragma once

#include "../maintenance.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Removal final : public Maintenance<Real> {
  public:
    std::size_t first_partner(const SupportSet<Real>& set) const override {
        return smallest_coefficient(set, Tie::oldest);
    }

    Decision decide(const SupportSet<Real>&, std::size_t first, const Real*, Stopwatch&) override {
        Decision decision;
        decision.first = first;
        return decision;
    }

    double degradation(const SupportSet<Real>& set, const Decision& decision) const override {
        return set.coefficient(decision.first) * set.coefficient(decision.first);
    }

    void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t) override {
        set.remove(decision.first);
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
