// Losses and the observer; and every instruction set that this CPU runs, with all strategies and
// losses, against plain loops.
#define POCKETSVM_SET unit

#include <array>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "../threads.hpp"
#include "../training/trainer.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

constexpr double forever = __builtin_huge_val();  // the half-life of rows that all count the same

// The first partner is at 0; it can merge with two equal vectors and a more distant one.
template <class Real>
void observer_compares_decisions() {
    const Gaussian<Real> kernel(0.5);
    SupportSet<Real> set(5, 1);
    const Real x[] = {2, 1, 1, 3, 0};
    const double coefficients[] = {1.5, 2, 2, -0.25, 1};
    for (std::size_t i = 0; i < 5; ++i) {
        const DenseRow<Real> row{x + i, 1};
        set.add(row, squared_norm(row), coefficients[i], std::int64_t(i));
    }
    const char* names[] = {"merge", "removal", "gss-precise", "projection", "gss"};
    Observer<Real> observer(names, 5);
    Interruption interruption;
    observer.reserve({kernel, set.capacity(), 1, interruption});
    observer.ask(kernel, set, 3, nullptr);  // the only one of its sign
    CHECK(observer.counts(0).events == 0);
    for (int round = 1; round <= 3; ++round) {
        observer.ask(kernel, set, 4, nullptr);
        for (std::size_t k = 0; k < 5; ++k) {
            const AuditCounts& counts = observer.counts(k);
            const bool merges = k % 2 == 0;
            CHECK(counts.events == round && counts.factors == round);
            CHECK(counts.merges == (merges ? round : 0));
            CHECK(observer.agreement(k, 2).equal == counts.merges &&
                  observer.agreement(k, 2).tied == 0);
            CHECK(observer.agreement(2, k).equal == counts.merges);
        }
    }
    CHECK(observer.counts(2).factor == 3);
    CHECK(observer.counts(0).factor >= 3 && observer.counts(0).factor < 3.00001);
    CHECK(observer.counts(4).factor > observer.counts(0).factor);
    const double least = observer.counts(2).degradation;
    CHECK(observer.counts(1).degradation == 3 && observer.counts(1).least_degradation == least);
    CHECK(std::fabs(observer.counts(1).factor - 9 / least) < 1e-12 * 9 / least);
    CHECK(observer.counts(3).degradation < observer.counts(1).degradation);
}

struct Problem {
    std::size_t n, d;
    std::vector<float> dense;
    std::vector<float> values;
    std::vector<std::int32_t> indices, pointers{0}, codes;
    std::vector<double> weights;

    explicit Problem(std::size_t n_rows = 400, std::size_t n_features = 7)
        : n(n_rows), d(n_features) {
        Generator random(3);
        const auto uniform = [&] { return double(random.next() >> 11) * 0x1p-53; };
        for (std::size_t i = 0; i < n; ++i) {
            codes.push_back(uniform() < 0.5);
            weights.push_back(0.5 + uniform());
            for (std::size_t f = 0; f < d; ++f) {
                const float x = uniform() < 0.4 ? 0.0f : float(uniform() + 0.4 * codes[i]);
                dense.push_back(x);
                if (x != 0) {
                    values.push_back(x);
                    indices.push_back(std::int32_t(f));
                }
            }
            pointers.push_back(std::int32_t(values.size()));
        }
    }
    RowsView dense_view() const {
        return {Precision::float32, false, false, false, n, d, dense.data(), nullptr, nullptr};
    }
    RowsView sparse_view() const {
        return {Precision::float32, true,           false,          false, n, d,
                values.data(),      indices.data(), pointers.data()};
    }
    Classes classes(const char* loss) const {
        static const double ones[2] = {1, 1};
        return {loss, codes.data(), true, ones, weights.data(), 1};
    }
};

std::unique_ptr<Trainer> trained(const Core& core, const char* strategy, const Problem& problem,
                                 const RowsView& rows) {
    const double alpha = 1.0 / (8 * double(problem.n));
    std::unique_ptr<Trainer> trainer(core.make_trainer(
        Precision::float32, {problem.d, 21, 1.5, alpha, strategy, true, 1, forever, 5}));
    trainer->observe(nullptr, 0);
    check::NeverInterrupt never;
    for (int pass = 0; pass < 3; ++pass)
        CHECK(trainer->pass(rows, problem.classes("hinge"), never));
    return trainer;
}

struct Vectors {
    std::vector<float> values;
    std::vector<double> coefficients;
    bool operator==(const Vectors&) const = default;
};

Vectors vectors_of(const Trainer& trainer, const Problem& problem) {
    const std::size_t n = trainer.size();
    Vectors found{std::vector<float>(n * problem.d), std::vector<double>(n)};
    std::vector<std::int64_t> births(n);
    std::uint64_t generator[4];
    trainer.copy_state(found.values.data(), found.coefficients.data(), births.data(), generator);
    return found;
}

// Requests an interruption the n-th time that it is asked.
struct CountingInterrupt final : Interrupt {
    explicit CountingInterrupt(int n) : left(n) {}
    bool requested() override { return --left == 0; }
    int left;
};

// Every strategy asks for interrupts while it merges a restored state down to the budget, and in a
// pass over few rows with many vectors.
void restoring_and_passes_are_interrupted(const Core& core) {
    const Problem problem(700, 4);
    const std::vector<double> coefficients(problem.n, 0.5);
    const std::vector<std::int64_t> births(problem.n, 1);
    const std::uint64_t generator[4] = {1, 2, 3, 4};
    const StateView state{
        problem.n, problem.dense.data(), coefficients.data(), births.data(), 0, 1, 1, generator};
    const Problem few(200, 4);
    for (std::size_t k = 0; k < core.strategies.count; ++k) {
        const auto trainer = [&](std::size_t budget) {
            return std::unique_ptr<Trainer>(core.make_trainer(
                Precision::float32,
                {4, budget, 1.5, 1, core.strategies.first[k], true, 1, forever, 5}));
        };
        check::NeverInterrupt never;
        CountingInterrupt first(1), late(15);
        CHECK(!trainer(50)->restore(state, first));
        CHECK(!trainer(50)->restore(state, late));
        const auto restored = trainer(50);
        CHECK(restored->restore(state, never) && restored->size() == 50);
        const auto full = trainer(problem.n);
        CHECK(full->restore(state, never));
        CountingInterrupt soon(1);
        CHECK(!full->pass(few.dense_view(), few.classes("hinge"), soon));
    }
}

void losses_are_minus_their_slopes() {
    const double values[3] = {1.0, -2.0, 0.5}, weights[3] = {1.0, 0.25, 3.0};
    using Tubes = EpsilonInsensitive;
    CHECK(Tubes::step(1, 0.4, 0.5) == 1 && Tubes::step(1, 1.6, 0.5) == -1);
    CHECK(Tubes::step(1, 0.5, 0.5) == 0 && Tubes::step(1, 1.5, 0.5) == 0);  // on the border
    CHECK(Tubes::step(-2, -3, 0) == 1 && Tubes::step(-2, -2, 0) == 0);
    CHECK(Hinge::step(-1, -0.9) == -1 && Hinge::step(-1, -1) == 0 && Hinge::step(1, 1.5) == 0);
    const LossOnTargets<Tubes> on_targets(Targets{Tubes::name, 0.5, values, weights});
    CHECK(on_targets.step(1, 0.0) == -0.25 && on_targets.step(2, -1.0) == 3.0);
    const LossOnTargets<Tubes> unweighted(Targets{Tubes::name, 0.5, values, nullptr});
    CHECK(unweighted.step(1, -3.0) == 1.0);
    const std::int8_t codes[3] = {0, 1, 1};
    const double class_weight[2] = {2.0, 0.5};
    const LossOnClasses<Hinge> on_classes(
        Classes{Hinge::name, codes, false, class_weight, weights, 1});
    CHECK(on_classes.step(0, -0.9) == -2.0 && on_classes.step(0, -1.0) == 0);
    CHECK(on_classes.step(1, 0.0) == 0.125 && on_classes.step(2, 1.5) == 0);
}

// Data is Classes or Targets. At this alpha, the steps of steep losses do not overflow.
template <class Data>
void every_core_learns_with(const Core& core, const Problem& problem, const Data& data) {
    Vectors found[2];
    for (const bool sparse : {false, true}) {
        const RowsView rows = sparse ? problem.sparse_view() : problem.dense_view();
        std::unique_ptr<Trainer> trainer(core.make_trainer(
            Precision::float32, {problem.d, 21, 1.5, 1, "merge", true, 1, forever, 5}));
        check::NeverInterrupt never;
        for (int pass = 0; pass < 3; ++pass) CHECK(trainer->pass(rows, data, never));
        CHECK(trainer->size() == 21 && trainer->profile().merges > 0);
        found[sparse] = vectors_of(*trainer, problem);
    }
    CHECK(found[0] == found[1]);
}

void every_core_learns_with_every_loss(const Core& core) {
    const Problem problem;
    std::vector<double> values;
    for (std::size_t i = 0; i < problem.n; ++i) values.push_back(problem.dense[i * problem.d]);
    for (std::size_t k = 0; k < core.class_losses.count; ++k)
        every_core_learns_with(core, problem, problem.classes(core.class_losses.first[k]));
    for (std::size_t k = 0; k < core.target_losses.count; ++k)
        every_core_learns_with(
            core, problem,
            Targets{core.target_losses.first[k], 0.05, values.data(), problem.weights.data()});
}

void every_core_trains_and_predicts(const Core& core) {
    const Problem problem;
    for (std::size_t k = 0; k < core.strategies.count; ++k) {
        const char* name = core.strategies.first[k];
        const auto trainer = trained(core, name, problem, problem.dense_view());
        const auto sparse = trained(core, name, problem, problem.sparse_view());
        const std::size_t n = trainer->size();
        CHECK(n <= 21);
        const auto [vectors, coefficients] = vectors_of(*trainer, problem);
        CHECK(vectors_of(*sparse, problem) == (Vectors{vectors, coefficients}));
        const Profile& profile = trainer->profile();
        std::size_t n_events;
        trainer->events(n_events);
        CHECK(profile.steps == 1200 && n_events > 0);
        CHECK(profile.merges + profile.removals == std::int64_t(n_events));

        const double intercept[1] = {0.25};
        const std::unique_ptr<Predictor> predictor(core.make_predictor(
            Precision::float32,
            {n, problem.d, 1, vectors.data(), coefficients.data(), intercept, 1.5}));
        std::vector<double> values(problem.n), sparse_values(problem.n);
        predictor->decide(problem.dense_view(), 0, problem.n, values.data());
        predictor->decide(problem.sparse_view(), 0, 13, sparse_values.data());
        predictor->decide(problem.sparse_view(), 13, problem.n, sparse_values.data());
        CHECK(values == sparse_values);
        double worst = 0, scale = 0;
        for (double c : coefficients) scale += std::fabs(c);
        for (std::size_t i = 0; i < problem.n; ++i) {
            double exact = intercept[0];
            for (std::size_t j = 0; j < n; ++j) {
                double squared = 0;
                for (std::size_t f = 0; f < problem.d; ++f) {
                    const double difference = double(problem.dense[i * problem.d + f]) -
                                              double(vectors[j * problem.d + f]);
                    squared += difference * difference;
                }
                exact += coefficients[j] * std::exp(-1.5 * squared);
            }
            worst = std::fmax(worst, std::fabs(exact - values[i]));
        }
        CHECK(worst < 1e-5 * scale);
    }
    CHECK(core.make_trainer(Precision::float32, {3, 5, 1, 1, "no such", false, 1, forever, 1}) ==
          nullptr);
}

// Trainers of all strategies and predictions on several threads share the rows and the tables, and
// give the same bits as alone. An interrupt stops all of them.
void threads_share_rows_and_tables(const Core& core) {
    const Problem problem;
    const std::size_t n = 2 * core.strategies.count;
    const RowsView views[2] = {problem.dense_view(), problem.sparse_view()};
    std::vector<std::unique_ptr<Trainer>> together(n);
    check::NeverInterrupt never;
    CHECK(parallel(n, 3, never, [&](std::size_t k, Interrupt&) {
        together[k] = trained(core, core.strategies.first[k / 2], problem, views[k % 2]);
        return true;
    }));
    for (std::size_t k = 0; k < n; ++k) {
        const auto alone = trained(core, core.strategies.first[k / 2], problem, views[k % 2]);
        CHECK(vectors_of(*together[k], problem) == vectors_of(*alone, problem));
    }
    const auto [vectors, coefficients] = vectors_of(*together[0], problem);
    const double intercept[1] = {0};
    const std::unique_ptr<Predictor> predictor(core.make_predictor(
        Precision::float32,
        {coefficients.size(), problem.d, 1, vectors.data(), coefficients.data(), intercept, 1.5}));
    std::vector<double> values(problem.n), alone(problem.n);
    predictor->decide(views[0], 0, problem.n, alone.data());
    constexpr std::size_t expensive = std::size_t(1) << 26;  // a few rows at a time
    CHECK(
        parallel_chunks(0, problem.n, expensive, 3, never, [&](std::size_t begin, std::size_t end) {
            predictor->decide(views[0], begin, end, values.data());
        }));
    CHECK(values == alone);
    CountingInterrupt late(3);
    CHECK(!parallel(n, 3, late, [&](std::size_t k, Interrupt& interrupt) {
        for (int pass = 0; pass < 1000; ++pass)
            if (!together[k]->pass(views[k % 2], problem.classes("hinge"), interrupt)) return false;
        return true;
    }));
}

// A hash (FNV-1a) of the models that a core trains: the same on all CPUs that fuse multiply-adds,
// x86-64 and ARM.
std::uint64_t bits_of_models(const Core& core) {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](const auto& values) {
        for (const auto& value : values)
            for (const unsigned char byte :
                 std::bit_cast<std::array<unsigned char, sizeof(value)>>(value))
                hash = (hash ^ byte) * 0x100000001b3;
    };
    const Problem problem;
    for (std::size_t k = 0; k < core.strategies.count; ++k) {
        const auto trainer = trained(core, core.strategies.first[k], problem, problem.dense_view());
        const Vectors found = vectors_of(*trainer, problem);
        add(found.values);
        add(found.coefficients);
    }
    return hash;
}

}  // namespace

// expected_hash: of models whose multiply-adds are fused; 0 if it is not known.
void training_tests(std::uint64_t expected_hash) {
    losses_are_minus_their_slopes();
    observer_compares_decisions<float>();
    observer_compares_decisions<double>();
    std::size_t n_cores;
    const Core* const* cores = available_cores(n_cores);
    for (std::size_t i = 0; i < n_cores; ++i) {
        const Core& core = *cores[i];
        const std::uint64_t bits = bits_of_models(core);
        std::printf("core: %s, models %016" PRIx64 "\n", core.name, bits);
        if (std::strcmp(core.name, "baseline") != 0) {
            CHECK(expected_hash == 0 || bits == expected_hash);
            expected_hash = bits;
        }
        every_core_trains_and_predicts(core);
        every_core_learns_with_every_loss(core);
        restoring_and_passes_are_interrupted(core);
        threads_share_rows_and_tables(core);
    }
}
