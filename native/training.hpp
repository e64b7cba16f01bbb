// Training: passes over the rows, a step a row, maintenance where the budget overflows.
#pragma once

#include "audit.hpp"
#include "lookahead.hpp"
#include "losses.hpp"
#include "random.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class BudgetTrainer final : public Trainer {
  public:
    BudgetTrainer(const TrainerOptions& options, const Strategy<Real>& strategy)
        : budget_(options.budget), alpha_(options.alpha),
          intercept_rate_(options.fit_intercept ? options.intercept_rate : 0), strategy_(strategy),
          kernel_(options.gamma), generator_(options.seed) {
        if (options.n_audited > 0)
            audit_ = std::make_unique<Audit<Real>>(options.audited, options.n_audited);
        reserve(options.budget, options.n_features);
    }

    bool pass(const RowsView& view, const Classes& classes, Interrupt& interrupt,
              Crew& crew) override {
        return pass_with(Hinge(classes), view, interrupt, crew);
    }
    bool pass(const RowsView& view, const Targets& targets, Interrupt& interrupt,
              Crew& crew) override {
        return pass_with(EpsilonInsensitive(targets), view, interrupt, crew);
    }

    void restore(const StateView& state) override {
        const std::size_t n_features = set_.n_features();
        reserve(state.size > budget_ ? state.size : budget_, n_features);
        const Real* vectors = static_cast<const Real*>(state.vectors);
        for (std::size_t i = 0; i < state.size; ++i) {
            const DenseRow<Real> row{vectors + i * n_features, n_features};
            set_.add(row, squared_norm(row), state.coefficients[i], state.births[i]);
        }
        maintenance_->begin(set_);
        bias_ = state.bias;
        steps_ = state.steps;
        generator_.restore(state.generator);
        while (set_.size() > budget_) maintain(nullptr);
    }

    void set_recorder(Recorder* recorder) override { recorder_ = recorder; }
    std::size_t size() const override { return set_.size(); }
    double bias() const override { return bias_; }
    std::int64_t steps() const override { return steps_; }
    void copy_vectors(void* out) const override {
        for (std::size_t i = 0; i < set_.size(); ++i)
            set_.copy_vector(i, static_cast<Real*>(out) + i * set_.n_features());
    }
    void copy_coefficients(double* out) const override {
        for (std::size_t i = 0; i < set_.size(); ++i) out[i] = set_.coefficient(i);
    }
    void copy_births(std::int64_t* out) const override {
        for (std::size_t i = 0; i < set_.size(); ++i) out[i] = set_.birth(i);
    }
    void copy_generator(std::uint64_t* out) const override {
        for (int i = 0; i < 4; ++i) out[i] = generator_.state()[i];
    }
    const std::uint32_t* order(std::size_t& n_rows) const override {
        n_rows = order_.size();
        return order_.data();
    }
    const Profile& profile() const override { return profile_; }
    const AuditCounts& audit(std::size_t k) const override { return audit_->counts(k); }
    const Agreement& agreement(std::size_t k, std::size_t l) const override {
        return audit_->agreement(k, l);
    }

  private:
    void reserve(std::size_t vectors, std::size_t n_features) {
        set_ = SupportSet<Real>(vectors + 1, n_features);
        const Setting<Real> setting{kernel_, set_.capacity(), n_features};
        maintenance_ = strategy_.make(setting);
        if (audit_ != nullptr) audit_->reserve(setting);
    }

    template <class Loss>
    bool pass_with(const Loss& loss, const RowsView& view, Interrupt& interrupt, Crew& crew) {
        const double begin = Stopwatch::now();
        if (order_.size() != view.n_rows) order_ = Buffer<std::uint32_t>(view.n_rows);
        generator_.shuffle(order_.data(), view.n_rows);
        set_.expect_zeros(view.sparse);
        set_.find_least_size();
        maintenance_->begin(set_);  // what it keeps must not depend on where training was resumed
        const bool finished = with_rows<Real>(view, [&](auto& rows) {
            using Rows = std::remove_reference_t<decltype(rows)>;
            if (can_help(crew, view)) {
                Lookahead<Rows> source(kernel_, set_, view, order_, crew);
                return run(rows, loss, source, interrupt);
            }
            InTurn<Rows> source(kernel_, set_, view, order_);
            return run(rows, loss, source, interrupt);
        });
        profile_.seconds_total += Stopwatch::now() - begin;
        profile_.seconds_margin = margin_clock_.total() + seconds_ahead_;
        profile_.seconds_solve = solve_clock_.total();
        profile_.seconds_rest = rest_clock_.total();
        return finished;
    }

    // Whether handing rows from thread to thread costs less than computing them: not where rows are
    // cheap, nor where most of a row is its exponentials, and not where vectors change all the
    // time. Sparse rows are held dense on the way.
    bool can_help(const Crew& crew, const RowsView& view) const {
        return crew.size() > 0 && budget_ >= 128 && view.n_rows >= 1000 && view.n_features >= 8 &&
               view.n_features <= (view.sparse ? 512 : 4096) &&
               2 * profile_.violations <= profile_.steps;
    }

    template <class Rows, class Loss, class Source>
    bool run(Rows& rows, const Loss& loss, Source& source, Interrupt& interrupt) {
        // A question a millisecond or so: about a million multiply-adds.
        const std::size_t patience = 1 + (1u << 20) / (1 + budget_ * (16 + set_.n_features()));
        std::size_t begin = 0;
        for (; begin < order_.size() && !interrupt.requested(); begin += patience) {
            const std::size_t end =
                begin + patience < order_.size() ? begin + patience : order_.size();
            for (std::size_t i = begin; i < end; ++i) {
                if (i + far_ahead < order_.size()) {
                    rows.prefetch(order_[i + far_ahead]);
                    loss.prefetch(order_[i + far_ahead]);
                }
                step(rows.row(order_[i]), i, loss, source);
            }
        }
        seconds_ahead_ += source.seconds();
        return begin >= order_.size();
    }

    template <class Row, class Loss, class Source>
    void step(const Row& row, std::size_t i, const Loss& loss, Source& source) {
        source.prepare(i);
        const bool timed = margin_clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        const KernelRow<Real> kernel = source.take();
        if (timed) margin_clock_.add(Stopwatch::seconds_since(begin));

        const double decision = steps_ == 0 ? 0 : (kernel.sum + bias_) / (alpha_ * double(steps_));
        ++steps_;
        ++profile_.steps;
        const double coefficient = loss.step(order_[i], decision);
        if (coefficient == 0) return;
        ++profile_.violations;
        const bool full = set_.size() == budget_;
        if (full)
            set_.add_apart(row, kernel.norm, coefficient, steps_);
        else
            set_.add(row, kernel.norm, coefficient, steps_);
        maintenance_->added(set_);
        bias_ += intercept_rate_ * coefficient;
        if (full) {
            Real* exponents = source.exponents();
            exponents[budget_] = far_away;
            maintain(exponents);
            // Finite again: in a block used anew it may be left, and is added with a weight of 0.
            exponents[budget_] = 0;
        }
        source.follow();
    }

    void maintain(const Real* newest) {
        if (audit_ != nullptr)
            audit_->ask(kernel_, set_, maintenance_->first_partner(set_), newest);
        const bool timed = solve_clock_.due();
        rest_clock_.due();
        Stopwatch watch(timed);
        const std::size_t first = maintenance_->first_partner(set_);
        const Decision decision = maintenance_->decide(set_, first, newest, watch);
        if (recorder_ != nullptr)
            recorder_->add({steps_, std::int64_t(decision.first),
                            decision.merges ? std::int64_t(decision.second) : -1, decision.h,
                            decision.coefficient, maintenance_->degradation(set_, decision)});
        maintenance_->apply(set_, decision, steps_);
        watch.lap_rest();
        if (timed) {
            solve_clock_.add(watch.solve());
            rest_clock_.add(watch.rest());
        }
        ++(decision.merges ? profile_.merges : profile_.removals);
    }

    static constexpr std::size_t far_ahead = 2 * rows_at_once;  // rows: not those at hand

    std::size_t budget_;
    double alpha_;
    double intercept_rate_;
    const Strategy<Real>& strategy_;
    Gaussian<Real> kernel_;
    SupportSet<Real> set_;
    MaintenancePointer<Real> maintenance_;
    double bias_ = 0;
    std::int64_t steps_ = 0;
    Generator generator_;
    Buffer<std::uint32_t> order_;
    Profile profile_;
    SampledClock margin_clock_{64};
    double seconds_ahead_ = 0;  // beside what that clock sees
    SampledClock solve_clock_{16};
    SampledClock rest_clock_{16};
    Recorder* recorder_ = nullptr;
    std::unique_ptr<Audit<Real>> audit_;
};

}  // namespace pocketsvm::POCKETSVM_SET
