// The observer of a training run: records every maintenance event, and asks several strategies what
// they would decide in the same state, for the same first partner. Training itself is not affected.
#pragma once

#include "../strategies/list.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Observer {
  public:
    // The names must be known; `gss-precise` is one of them, unless there are none.
    Observer(const char* const* names, std::size_t count)
        : count_(count), asked_(std::make_unique<Asked[]>(count)), agreements_(count * count) {
        for (std::size_t k = 0; k < count; ++k) {
            asked_[k].make = find_strategy<Real>(names[k]);
            if (std::strcmp(names[k], MergeByGssPrecise<Real>::name) == 0) precise_ = k;
        }
    }

    // To be called before the first event and for every new set; counts go on.
    void reserve(const Setting<Real>& setting) {
        for (std::size_t k = 0; k < count_; ++k) asked_[k].maintenance = asked_[k].make(setting);
    }

    void record(const Event& event) {
        if (n_events_ == events_.size()) {
            Buffer<Event> larger(2 * n_events_ + 64);
            for (std::size_t i = 0; i < n_events_; ++i) larger[i] = events_[i];
            events_ = std::move(larger);
        }
        events_[n_events_++] = event;
    }

    void ask(const Gaussian<Real>& kernel, const SupportSet<Real>& set, std::size_t first,
             const Real* newest) {
        // A strategy that merges would have chosen another partner: there is nothing to compare.
        if (!has_partner(set, first)) return;
        for (std::size_t k = 0; k < count_; ++k) {
            Stopwatch off(false);
            // What it keeps besides the set follows from the set, which training has changed.
            asked_[k].maintenance->begin(set);
            const Decision decision = asked_[k].maintenance->decide(set, first, newest, off);
            asked_[k].answer =
                Answer(kernel, set, decision, asked_[k].maintenance->degradation(set, decision));
        }
        compare();
    }

    const Event* events(std::size_t& count) const {
        count = n_events_;
        return events_.data();
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
            least = pair.degradation(pair.solve(GoldenSection(GoldenSection::precise)));
            rounding = 8 * roundoff<double> * pair.sum * pair.sum * pair.m * (1 - pair.m) *
                       -std::expm1(-pair.t / log2_e);
        }
        bool equals(const Answer& other) const {
            return merges && other.merges && second == other.second;
        }
        // Another partner that is as good.
        bool ties_with(const Answer& other) const {
            return merges && other.merges && second != other.second &&
                   std::fabs(least - other.least) <= tie * least + rounding + other.rounding;
        }
        // Whether the degradation has the six digits that a factor needs.
        bool has_digits() const { return least > 1e6 * rounding; }

        static constexpr double tie = 1e-9;  // the golden section search is not more precise
        bool merges = false;
        std::size_t second = 0;
        double degradation = 0;
        double least = 0;     // of the pair, at the best h
        double rounding = 0;  // its error: it is a difference of numbers near a_i a_j (1-kappa)
    };

    struct Asked {
        MakeMaintenance<Real> make;
        MaintenancePointer<Real> maintenance;
        Answer answer;
        AuditCounts counts;
    };

    void compare() {
        for (std::size_t k = 0; k < count_; ++k) {
            const Answer &answer = asked_[k].answer, &precise = asked_[precise_].answer;
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

    Buffer<Event> events_;
    std::size_t n_events_ = 0;
    std::size_t count_;
    std::size_t precise_ = 0;
    std::unique_ptr<Asked[]> asked_;
    Buffer<Agreement> agreements_;
};

}  // namespace pocketsvm::POCKETSVM_SET
