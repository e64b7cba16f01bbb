// The audit: several strategies are asked what they would do in the same state, for the same first
// partner, and their answers are held against each other. Training goes its own way.
#pragma once

#include "strategies.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Audit {
  public:
    // The names must be known; `gss-precise` is one of them.
    Audit(const char* const* names, std::size_t count)
        : count_(count), asked_(std::make_unique<Asked[]>(count)), agreements_(count * count) {
        for (std::size_t k = 0; k < count; ++k) {
            asked_[k].strategy = find_strategy<Real>(names[k]);
            if (std::strcmp(names[k], "gss-precise") == 0) precise_ = k;
        }
    }

    // Before the first event, and whenever the set has been made anew; counts go on.
    void reserve(const Setting<Real>& setting) {
        for (std::size_t k = 0; k < count_; ++k)
            asked_[k].maintenance = asked_[k].strategy->make(setting);
    }

    void ask(const Gaussian<Real>& kernel, const SupportSet<Real>& set, std::size_t first,
             const Real* newest) {
        // A strategy that merges would have chosen another: there is nothing to compare.
        if (!has_partner(set, first)) return;
        for (std::size_t k = 0; k < count_; ++k) {
            Stopwatch off(false);
            // What it keeps beside the set follows from the set, which others have changed.
            asked_[k].maintenance->begin(set);
            const Decision decision = asked_[k].maintenance->decide(set, first, newest, off);
            asked_[k].answer =
                Answer(kernel, set, decision, asked_[k].maintenance->degradation(set, decision));
        }
        compare();
    }

    const AuditCounts& counts(std::size_t k) const { return asked_[k].counts; }
    const Agreement& agreement(std::size_t k, std::size_t l) const {
        return agreements_[k * count_ + l];
    }

  private:
    struct Answer {
        Answer() = default;
        Answer(const Gaussian<Real>& kernel, const SupportSet<Real>& set, const Decision& decision,
               double degradation)
            : merges(decision.merges), second(decision.second), degradation(degradation) {
            if (!merges) return;
            const MergePair pair(kernel, set, decision.first, second);
            least = pair.degradation(pair.solve(GoldenSection(1e-10)));
            rounding = 8 * 0x1p-53 * pair.sum * pair.sum * pair.m * (1 - pair.m) *
                       -std::expm1(-pair.t / log2_e);
        }
        bool equals(const Answer& other) const {
            return merges && other.merges && second == other.second;
        }
        // Another partner, but as good a one.
        bool ties_with(const Answer& other) const {
            return merges && other.merges && second != other.second &&
                   std::fabs(least - other.least) <= 1e-9 * least + rounding + other.rounding;
        }
        // Six of them, enough for a factor.
        bool has_digits() const { return least > 1e6 * rounding; }

        bool merges = false;
        std::size_t second = 0;
        double degradation = 0;
        double least = 0;     // that of the pair, at the best h
        double rounding = 0;  // of it: a difference of numbers as large as a_i a_j (1-kappa)
    };

    struct Asked {
        const Strategy<Real>* strategy;
        MaintenancePointer<Real> maintenance;
        Answer answer;
        AuditCounts counts;
    };

    void compare() {
        const Answer& precise = asked_[precise_].answer;
        for (std::size_t k = 0; k < count_; ++k) {
            const Answer& answer = asked_[k].answer;
            AuditCounts& counts = asked_[k].counts;
            ++counts.events;
            counts.merges += answer.merges;
            counts.degradation += answer.degradation;
            counts.least_degradation += precise.degradation;
            if (precise.has_digits()) {
                ++counts.factors;
                counts.factor += answer.degradation / precise.degradation;
            }
            for (std::size_t l = 0; l < count_; ++l) {
                agreements_[k * count_ + l].equal += answer.equals(asked_[l].answer);
                agreements_[k * count_ + l].tied += answer.ties_with(asked_[l].answer);
            }
        }
    }

    std::size_t count_;
    std::size_t precise_ = 0;
    std::unique_ptr<Asked[]> asked_;
    Buffer<Agreement> agreements_;
};

}  // namespace pocketsvm::POCKETSVM_SET
