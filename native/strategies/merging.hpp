// What all strategies that merge share: the first partner has the smallest coefficient, and a
// search finds the second among the vectors of its sign.
#pragma once

#include "../merging/search.hpp"
#include "first_partner.hpp"
#include "maintenance.hpp"

namespace pocketsvm::POCKETSVM_SET {

// `Search` is ExhaustiveSearch or PrunedSearch with a solver; `Rule` chooses the first partner.
template <class Real, class Search, class Rule = LowestSlot>
class Merging : public Maintenance<Real> {
  public:
    template <class Solver>
    Merging(const Setting<Real>& setting, Solver solver)
        : kernel_(setting.kernel), rule_(setting.random_steps),
          search_(setting.kernel, setting.capacity, solver), slot_row_(setting.n_features),
          exponents_(setting.capacity) {}

    std::size_t first_partner(const SupportSet<Real>& set) const override {
        const std::size_t first = rule_.choose(set);
        if (has_partner(set, first)) return first;
        return rule_.choose(set, set.coefficient(first) > 0 ? -1 : 1);
    }

    Decision decide(const SupportSet<Real>& set, std::size_t first, const Real* newest,
                    Stopwatch& watch) override {
        const Real* exponents = newest;
        if (newest == nullptr || first != set.size() - 1) {
            const SparseRow<Real> row = slot_row_.read(set, first);
            kernel_.exponents(set, row, set.norms()[first], exponents_.data());
            if (newest != nullptr) exponents_[set.size() - 1] = newest[first];
            exponents_[first] = excluded_exponent;
            exponents = exponents_.data();
        }
        watch.lap_rest();
        return describe(set, first, search_.best_partner(set, first, exponents), watch);
    }

    double degradation(const SupportSet<Real>& set, const Decision& decision) const override {
        return MergePair(kernel_, set, decision.first, decision.second).degradation(decision.h);
    }

    void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t step) override {
        set.merge(decision.first, decision.second, decision.h, decision.coefficient, step);
    }

  private:
    // The solver finds h for the chosen pair; the rest is in closed form at that h.
    Decision describe(const SupportSet<Real>& set, std::size_t first, std::size_t second,
                      Stopwatch& watch) const {
        const MergePair pair(kernel_, set, first, second);
        Decision decision;
        decision.first = first;
        decision.second = second;
        decision.merges = true;
        decision.h = pair.solve(search_.solver());
        watch.lap_solve();
        decision.coefficient = (set.coefficient(first) > 0 ? 1 : -1) * pair.coefficient(decision.h);
        return decision;
    }

    const Gaussian<Real>& kernel_;
    Rule rule_;
    Search search_;
    SlotRow<Real> slot_row_;
    Buffer<Real> exponents_;
};

}  // namespace pocketsvm::POCKETSVM_SET
