// Maintenance by removal: the smallest coefficient goes, of the tied ones the oldest. (The newest
// always ties, and would make of training a model that never learns again.)
#pragma once

#include "../maintenance.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Removal final : public Maintenance<Real> {
  public:
    std::size_t first_partner(const SupportSet<Real>& set) const override {
        std::size_t oldest = smallest_coefficient(set, Tie::lowest_slot);
        const double size = std::fabs(set.coefficient(oldest));
        for (std::size_t s = oldest + 1; s < set.size(); ++s)
            if (std::fabs(set.coefficient(s)) == size && set.birth(s) < set.birth(oldest))
                oldest = s;
        return oldest;
    }

    Decision decide(const SupportSet<Real>& set, std::size_t first, const Real*,
                    Stopwatch&) override {
        Decision decision;
        decision.first = first;
        decision.degradation = set.coefficient(first) * set.coefficient(first);
        return decision;
    }

    void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t) override {
        set.remove(decision.first);
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
