// `removal`: drops the smallest coefficient, and of several tied ones the oldest. (The newest
// vector always ties, and dropping it would discard every new example.)
#pragma once

#include "first_partner.hpp"
#include "maintenance.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Removal final : public Maintenance<Real> {
  public:
    static constexpr const char* name = "removal";
    explicit Removal(const Setting<Real>&) {}

    std::size_t first_partner(const SupportSet<Real>& set) const override {
        return Oldest::choose(set);
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
