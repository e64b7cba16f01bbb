// Training: passes over the rows, one step per row, with maintenance if the budget overflows.
#pragma once

#include <cmath>

#include "../random.hpp"
#include "kernel_rows.hpp"
#include "losses.hpp"
#include "observer.hpp"
#include "pairs.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class BudgetTrainer final : public Trainer {
  public:
    BudgetTrainer(const TrainerOptions& options, MakeMaintenance<Real> make_maintenance)
        : budget_(options.budget), alpha_(options.alpha),
          intercept_rate_(options.fit_intercept ? options.intercept_rate : 0),
          growth_(std::exp2(1 / options.half_life)), random_steps_(options.random_steps),
          make_maintenance_(make_maintenance), kernel_(options.gamma), generator_(options.seed) {
        reserve(options.budget, options.n_features);
    }

    bool pass(const RowsView& view, const Classes& classes, Interrupt& interrupt,
              std::int64_t most_merges) override {
        bool finished = false;
        ClassLosses::with(classes.loss, [&](auto type) {
            const LossOnClasses<typename decltype(type)::type> loss(classes);
            finished = pass_with(loss, view, interrupt, most_merges);
        });
        return finished;
    }
    bool pass(const RowsView& view, const Targets& targets, Interrupt& interrupt,
              std::int64_t most_merges) override {
        bool finished = false;
        TargetLosses::with(targets.loss, [&](auto type) {
            const LossOnTargets<typename decltype(type)::type> loss(targets);
            finished = pass_with(loss, view, interrupt, most_merges);
        });
        return finished;
    }
    bool pass(const RowsView& view, const Pairs& pairs, Interrupt& interrupt,
              std::int64_t most_merges) override {
        const PairLoss loss(pairs);
        return make_pass(view, 2 * view.n_rows, interrupt, most_merges, [&](auto& rows) {
            // Each row is followed by its partner.
            for (std::size_t i = view.n_rows; i-- > 0;) {
                const std::uint32_t row = order_[i];
                order_[2 * i] = row;
                order_[2 * i + 1] = loss.partner(row, generator_);
            }
            run_pairs(rows, loss);
        });
    }

    bool restore(const StateView& state, Interrupt& interrupt) override {
        return until_interrupted(interrupt, [&] {
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
            weight_ = state.weight;
            generator_.restore(state.generator);
            // Merges down to a smaller budget are not those of a pass, and not counted.
            const Profile before = profile_;
            for (; set_.size() > budget_; maintain(nullptr)) interruption_.check(row_work());
            profile_ = before;
        });
    }

    std::size_t size() const override { return set_.size(); }
    double bias() const override { return bias_; }
    std::int64_t steps() const override { return steps_; }
    double weight() const override { return weight_; }
    void copy_state(void* vectors, double* coefficients, std::int64_t* births,
                    std::uint64_t* generator) const override {
        for (std::size_t i = 0; i < set_.size(); ++i) {
            set_.copy_vector(i, static_cast<Real*>(vectors) + i * set_.n_features());
            coefficients[i] = set_.coefficient(i);
            births[i] = set_.birth(i);
        }
        for (int i = 0; i < 4; ++i) generator[i] = generator_.state()[i];
    }
    const std::uint32_t* order(std::size_t& n_rows) const override {
        n_rows = order_.size();
        return order_.data();
    }
    const Profile& profile() const override { return profile_; }

    void observe(const char* const* strategies, std::size_t count) override {
        observer_ = std::make_unique<Observer<Real>>(strategies, count);
        observer_->reserve(setting());
    }
    const Event* events(std::size_t& count) const override {
        if (observer_ != nullptr) return observer_->events(count);
        count = 0;
        return nullptr;
    }
    const AuditCounts& audit(std::size_t k) const override { return observer_->counts(k); }
    const Agreement& agreement(std::size_t k, std::size_t l) const override {
        return observer_->agreement(k, l);
    }

  private:
    void reserve(std::size_t vectors, std::size_t n_features) {
        set_ = SupportSet<Real>(vectors + 1, n_features);
        maintenance_ = make_maintenance_(setting());
        if (observer_ != nullptr) observer_->reserve(setting());
    }
    Setting<Real> setting() {
        return {kernel_, set_.capacity(), set_.n_features(), interruption_, random_steps_};
    }

    // Returns whether the function ended without an interruption.
    template <class Function>
    bool until_interrupted(Interrupt& interrupt, Function function) {
        interruption_.begin(interrupt);
        try {
            function();
            return true;
        } catch (const Interrupted&) {
            return false;
        }
    }
    // The work of the kernel values of a row, in multiply-adds.
    std::size_t row_work() const {
        constexpr std::size_t exponential_work = 16;
        return set_.size() * (exponential_work + set_.n_features());
    }

    template <class Loss>
    bool pass_with(const Loss& loss, const RowsView& view, Interrupt& interrupt,
                   std::int64_t most_merges) {
        return make_pass(view, view.n_rows, interrupt, most_merges,
                         [&](auto& rows) { run(rows, loss, view); });
    }

    // Calls run(rows) after the first entries of `order_` are a random order of the rows.
    template <class Run>
    bool make_pass(const RowsView& view, std::size_t n_order, Interrupt& interrupt,
                   std::int64_t most_merges, Run run) {
        const double begin = Stopwatch::now();
        merges_before_ = profile_.merges;
        most_merges_ = most_merges;
        const bool finished = until_interrupted(interrupt, [&] {
            if (order_.size() != n_order) order_ = Buffer<std::uint32_t>(n_order);
            generator_.shuffle(order_.data(), view.n_rows,
                               [this] { interruption_.check(least_row_work); });
            set_.expect_zeros(view.sparse);
            set_.find_least_size();
            // So that the result does not depend on where training was resumed.
            maintenance_->begin(set_);
            with_rows<Real>(view, run);
        });
        profile_.seconds_total += Stopwatch::now() - begin;
        profile_.seconds_margin = margin_clock_.total() + seconds_kernel_;
        profile_.seconds_solve = solve_clock_.total();
        profile_.seconds_rest = rest_clock_.total();
        return finished;
    }

    bool merged_enough() const { return profile_.merges - merges_before_ >= most_merges_; }

    template <class Rows, class Loss>
    void run(Rows& rows, const Loss& loss, const RowsView& view) {
        KernelRows<Rows> kernel_rows(kernel_, set_, view, order_);
        for (std::size_t i = 0; i < order_.size() && !merged_enough(); ++i) {
            interruption_.check(least_row_work + row_work());
            if (i + prefetch_distance < order_.size()) {
                rows.prefetch(order_[i + prefetch_distance]);
                loss.prefetch(order_[i + prefetch_distance]);
            }
            step(rows.row(order_[i]), i, loss, kernel_rows);
        }
        normalise();
        seconds_kernel_ += kernel_rows.seconds();
    }

    template <class Rows, class Loss>
    void step(const typename Rows::Row& row, std::size_t i, const Loss& loss,
              KernelRows<Rows>& kernel_rows) {
        kernel_rows.prepare(i);
        const bool timed = margin_clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        const KernelRow<Real> kernel = kernel_rows.take();
        if (timed) margin_clock_.add(Stopwatch::seconds_since(begin));

        const double decision = steps_ == 0 ? 0 : (kernel.sum + bias_) / (alpha_ * weight_);
        count_step();
        const double coefficient = last_weight_ * loss.step(order_[i], decision);
        if (coefficient == 0) return;
        ++profile_.violations;
        enter(row, kernel.norm, coefficient, kernel_rows.exponents());
        kernel_rows.follow();
    }

    template <class Rows>
    void run_pairs(Rows& rows, const PairLoss& loss) {
        Buffer<Real> exponents(2 * set_.capacity());
        for (std::size_t i = 0; i < order_.size() && !merged_enough(); i += 2) {
            interruption_.check(least_row_work + 2 * row_work());
            for (std::size_t k = i + prefetch_distance; k < i + prefetch_distance + 2; ++k)
                if (k < order_.size()) {
                    rows.prefetch(order_[k]);
                    loss.prefetch(order_[k]);
                }
            step_pair(rows, loss, order_[i], order_[i + 1], exponents.data());
        }
        set_.changes().forget();
        normalise();
    }

    // The exponents have room for two rows.
    template <class Rows>
    void step_pair(Rows& rows, const PairLoss& loss, std::uint32_t first, std::uint32_t second,
                   Real* exponents) {
        const typename Rows::Row x = rows.row(first), z = rows.row(second);
        const Real x_norm = squared_norm(x), z_norm = squared_norm(z);
        Real* const of_second = exponents + set_.capacity();
        const bool timed = margin_clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        kernel_.exponents(set_, x, x_norm, exponents);
        kernel_.exponents(set_, z, z_norm, of_second, true);
        const double sum = double(kernel_.weighted_sum(set_, exponents)) -
                           double(kernel_.weighted_sum(set_, of_second));
        if (timed) margin_clock_.add(Stopwatch::seconds_since(begin));
        const double difference = steps_ == 0 ? 0 : sum / (alpha_ * weight_);
        count_step();
        const double coefficient = last_weight_ * loss.step(first, second, difference);
        if (coefficient == 0) return;
        ++profile_.violations;
        enter(z, z_norm, -coefficient, of_second);
        kernel_.exponents(set_, x, x_norm, exponents);  // the set has changed
        enter(x, x_norm, coefficient, exponents);
    }

    void count_step() {
        ++steps_;
        ++profile_.steps;
        last_weight_ *= growth_;
        weight_ += last_weight_;
        if (last_weight_ > most_last_weight) normalise();
    }

    // Adds a row, whose exponents are known, and keeps the budget.
    template <class Row>
    void enter(const Row& row, Real norm, double coefficient, Real* exponents) {
        const bool full = set_.size() == budget_;
        if (full)
            set_.add_apart(row, norm, coefficient, steps_);
        else
            set_.add(row, norm, coefficient, steps_);
        maintenance_->added(set_);
        bias_ += intercept_rate_ * coefficient;
        if (full) {
            exponents[budget_] = excluded_exponent;
            maintain(exponents);
        }
    }

    // Changes the unit of the coefficients so that the last row has the weight 1. The model stays
    // the same.
    void normalise() {
        if (last_weight_ == 1) return;
        set_.divide_coefficients(last_weight_);
        bias_ /= last_weight_;
        weight_ /= last_weight_;
        last_weight_ = 1;
    }

    void maintain(const Real* newest) {
        constexpr std::size_t candidate_work = 64;
        interruption_.check(candidate_work * set_.size());
        if (observer_ != nullptr)
            observer_->ask(kernel_, set_, maintenance_->first_partner(set_), newest);
        const bool timed = solve_clock_.due();
        rest_clock_.due();
        Stopwatch watch(timed);
        const std::size_t first = maintenance_->first_partner(set_);
        const Decision decision = maintenance_->decide(set_, first, newest, watch);
        if (observer_ != nullptr)
            observer_->record({steps_, std::int64_t(decision.first),
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

    // Rows are prefetched so many steps ahead: the rows computed together are already loaded.
    static constexpr std::size_t prefetch_distance = 2 * rows_at_once;
    // Old rows lose their weight because new rows enter with a growing one, up to this: a larger
    // one would cost digits.
    static constexpr double most_last_weight = 1024;
    static constexpr std::size_t least_row_work = 64;  // of a row, whatever the size of the set
    // A margin takes less time than a maintenance event, so its clock is read more rarely.
    static constexpr int margin_clock_period = 64;

    std::size_t budget_;
    double alpha_;
    double intercept_rate_;
    double growth_;  // of the weight of a row, from row to row
    std::int64_t random_steps_;
    Interruption interruption_;
    MakeMaintenance<Real> make_maintenance_;
    Gaussian<Real> kernel_;
    SupportSet<Real> set_;
    MaintenancePointer<Real> maintenance_;
    double bias_ = 0;
    std::int64_t steps_ = 0;
    double weight_ = 0;       // of all rows seen so far
    double last_weight_ = 1;  // of the last row
    Generator generator_;
    Buffer<std::uint32_t> order_;
    Profile profile_;
    std::int64_t merges_before_ = 0;  // merges before this pass
    std::int64_t most_merges_ = 0;    // limit of this pass
    SampledClock margin_clock_{margin_clock_period};
    double seconds_kernel_ = 0;  // for the exponents of rows, besides that clock
    SampledClock solve_clock_;
    SampledClock rest_clock_;
    std::unique_ptr<Observer<Real>> observer_;
};

}  // namespace pocketsvm::POCKETSVM_SET
