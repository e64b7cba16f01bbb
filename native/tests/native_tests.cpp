// The core without Python: lanes, the merging problem, the support set, the strategies; and every
// instruction set that this CPU runs, against plain loops. Also run under the sanitizers.
#define POCKETSVM_SET unit

#include <array>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../prediction.hpp"
#include "../threads.hpp"
#include "../training.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

void svmlight_tests();  // svmlight_tests.cpp

namespace {

class Never final : public Interrupt {
  public:
    bool requested() override { return false; }
};

class Log final : public Recorder {
  public:
    void add(const Event& event) override { events.push_back(event); }
    std::vector<Event> events;
};

template <class Real>
void exponential_is_exact_to_rounding() {
    using L = Lanes<Real>;
    const double unit = sizeof(Real) == 4 ? 0x1p-24 : 0x1p-53;
    double worst = 0, worst_complement = 0;
    for (double t = 1e-9; t < ExponentialPolynomial<Real>::largest; t = t * 1.01 + 1e-9) {
        const Real rounded = Real(t);
        const double value = exp2_minus(L::all(rounded)).part[0][0];
        const double complement = one_minus_exp2_minus(L::all(rounded)).part[0][0];
        const double exact = std::exp2(-double(rounded));
        const double exact_complement = -std::expm1(-double(rounded) * std::log(2.0));
        worst = std::fmax(worst, std::fabs(value / exact - 1));
        worst_complement =
            std::fmax(worst_complement, std::fabs(complement / exact_complement - 1));
    }
    CHECK(worst < 3 * unit);
    CHECK(worst_complement < 6 * unit);
    CHECK(exp2_minus(L::all(0)).part[0][0] == 1);
    CHECK(one_minus_exp2_minus(L::all(0)).part[0][0] == 0);
}

void sums_have_a_fixed_order() {
    alignas(lane_bytes) float values[16];
    for (int i = 0; i < 16; ++i) values[i] = float(i % 3 ? 1e8 : 1) * (i % 2 ? -1.0f : 1.0f);
    float folded[16];
    std::memcpy(folded, values, sizeof(values));
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) folded[i] += folded[i + half];
    CHECK(Lanes<float>::load(values).sum() == folded[0]);
}

void generator_shuffles_evenly() {
    Generator generator(7);
    std::vector<int> count(5);
    std::uint32_t order[5];
    for (int round = 0; round < 50000; ++round) {
        generator.shuffle(order, 5);
        ++count[order[0]];
    }
    for (int n : count) CHECK(std::abs(n - 10000) < 450);  // five standard deviations
    Generator a(1), b(2);
    CHECK(a.next() != b.next());
}

void golden_section_finds_the_optimum() {
    using L = Lanes<double>;
    for (double m : {0.01, 0.2, 0.45, 0.5})
        for (double kappa : {0.999999, 0.9, 0.5, 0.2}) {
            const L t = L::all(-std::log2(kappa));
            const double h = GoldenSection(1e-10).h(L::all(m), t).part[0][0];
            const auto s = [&](double x) {
                return m * std::pow(kappa, (1 - x) * (1 - x)) + (1 - m) * std::pow(kappa, x * x);
            };
            CHECK(h >= 0 && h <= 0.5 + 1e-9);
            CHECK(s(h) >= s(h + 1e-3) && s(h) >= s(h - 1e-3));
            const double table = MergeTable::standard(true).h(L::all(m), t).part[0][0];
            CHECK(std::fabs(table - h) < 1e-4);
        }
}

void support_set_keeps_its_slots() {
    SupportSet<float> set(20, 3);
    for (int i = 0; i < 20; ++i) {
        const float x[3] = {float(i), 0, float(-i)};
        const DenseRow<float> row{x, 3};
        set.add(row, squared_norm(row), i % 2 ? 1 : -1, i);
    }
    set.remove(3);  // 19 fills the hole
    float out[3];
    set.copy_vector(3, out);
    CHECK(set.size() == 19 && out[0] == 19 && set.birth(3) == 19);
    set.merge(0, 2, 0.25, -1.5, 99);  // 2 becomes 0.25 * 0 + 0.75 * 2, 18 fills slot 0
    set.copy_vector(2, out);
    CHECK(set.size() == 18 && out[0] == 1.5f && out[2] == -1.5f);
    CHECK(set.coefficient(2) == -1.5 && set.birth(2) == 99 && set.norms()[2] == 4.5f);
    CHECK(set.birth(0) == 18);
    CHECK(set.squared_distance(0, 2) == 2 * 16.5 * 16.5);
}

void smallest_coefficient_breaks_ties() {
    SupportSet<float> set(40, 1);
    const float x[1] = {1};
    for (int i = 0; i < 37; ++i) set.add(DenseRow<float>{x, 1}, 1, i % 2 ? 2 : -1, (i + 9) % 37);
    CHECK(smallest_coefficient(set, Tie::lowest_slot) == 0);
    CHECK(smallest_coefficient(set, Tie::newest) == 36);
    CHECK(smallest_coefficient(set, Tie::oldest) == 28);
    CHECK(smallest_coefficient(set, Tie::lowest_slot, +1) == 1);
    CHECK(smallest_coefficient(set, Tie::oldest, +1) == 29);
    const std::size_t drawn = smallest_coefficient(set, Tie::by_lot);
    CHECK(drawn % 2 == 0 && drawn < 37);
    CHECK(smallest_coefficient(set, Tie::by_lot_at_first) == drawn);
    set.add(DenseRow<float>{x, 1}, 1, -1, 20 * 38 + 1);
    CHECK(smallest_coefficient(set, Tie::by_lot_at_first) == 37);
    CHECK(smallest_coefficient(set, Tie::by_lot_for_long) ==
          smallest_coefficient(set, Tie::by_lot));
    set.set_coefficient(20, -0.5);
    CHECK(smallest_coefficient(set, Tie::oldest) == 20);
    CHECK(smallest_coefficient(set, Tie::by_lot) == 20);
    CHECK(smallest_coefficient(set, Tie::newest) == 20);
}

struct ExhaustiveLookup : PrunedLookup {
    static constexpr bool prunes = false;
    using PrunedLookup::PrunedLookup;
};

// F is met from beneath, and from `beyond` on no partner costs less.
void partner_limit_bounds_degradations() {
    using L = Lanes<double>;
    const PartnerLimit& limit = PartnerLimit::standard();
    for (double t = 1e-10; t < 200; t *= 1.013) {
        const double exact = PartnerLimit::exact(t), found = limit(t);
        CHECK(found <= exact * (1 + 1e-12) && found >= exact * (1 - 3e-4));
        if (t < 1e-6) continue;
        for (double r : {1.0, 1.1, 2.0, 10.0}) {
            const double m = 1 / (1 + r), h = GoldenSection(1e-10).h(m, t);
            const double cost =
                (1 + r) * std::sqrt(degradation_at(L::all(h), L::all(m), L::all(t)).part[0][0]);
            CHECK(cost >= exact * r / (1 + r) * (1 - 1e-4) && cost <= exact * (1 + 1e-4));
            if (r > 1) continue;
            CHECK(limit.beyond(cost) > t);
            CHECK(cost > 0.99 || limit.beyond(cost) < 1.2 * t + 0.2);
        }
    }
}

// Pruned and exhaustive search on the same table decide alike, bit for bit, ties included.
template <class Real>
void pruning_changes_no_decision(double spread, int distinct, double offset = 0) {
    constexpr std::size_t n = 143, d = 3;
    const Gaussian<Real> kernel(0.7);
    const Setting<Real> setting{kernel, 160, d};
    const Tie tie = Tie::newest;
    const auto pruned = merging<Real>(setting, PrunedLookup(MergeTable::standard(true)), tie);
    const auto exhaustive =
        merging<Real>(setting, ExhaustiveLookup(MergeTable::standard(true)), tie);
    Generator random(11);
    const auto uniform = [&] { return double(random.next() >> 11) * 0x1p-53; };
    for (int round = 0; round < 400; ++round) {
        SupportSet<Real> set(n, d);
        for (std::size_t i = 0; i < n; ++i) {
            Real x[d];
            for (Real& value : x)
                value =
                    Real(offset + (distinct ? double(random.below(distinct)) : spread * uniform()));
            const DenseRow<Real> row{x, d};
            const double size = uniform() < 0.5 ? 1 : std::pow(1e4, uniform());
            set.add(row, squared_norm(row), uniform() < 0.5 ? size : -size, std::int64_t(i));
        }
        Stopwatch off(false);
        const std::size_t first = pruned->first_partner(set);
        CHECK(exhaustive->first_partner(set) == first);
        const Decision one = pruned->decide(set, first, nullptr, off);
        const Decision other = exhaustive->decide(set, first, nullptr, off);
        CHECK(one.first == first && other.first == first && one.second == other.second);
        CHECK(one.h == other.h && one.coefficient == other.coefficient);
    }
}

// One vector to go, at 0, and three that it can be merged with: two equal ones and a farther one.
template <class Real>
void audit_compares_decisions() {
    const Gaussian<Real> kernel(0.5);
    SupportSet<Real> set(5, 1);
    const Real x[] = {2, 1, 1, 3, 0};
    const double coefficients[] = {1.5, 2, 2, -0.25, 1};
    for (std::size_t i = 0; i < 5; ++i) {
        const DenseRow<Real> row{x + i, 1};
        set.add(row, squared_norm(row), coefficients[i], std::int64_t(i));
    }
    const char* names[] = {"merge", "removal", "gss-precise", "projection", "gss"};
    Audit<Real> audit(names, 5);
    audit.reserve({kernel, set.capacity(), 1});
    audit.ask(kernel, set, 3, nullptr);  // the only one of its sign
    CHECK(audit.counts(0).events == 0);
    for (int round = 1; round <= 3; ++round) {
        audit.ask(kernel, set, 4, nullptr);
        for (std::size_t k = 0; k < 5; ++k) {
            const AuditCounts& counts = audit.counts(k);
            const bool merges = k % 2 == 0;
            CHECK(counts.events == round && counts.factors == round);
            CHECK(counts.merges == (merges ? round : 0));
            CHECK(audit.agreement(k, 2).equal == counts.merges && audit.agreement(k, 2).tied == 0);
            CHECK(audit.agreement(2, k).equal == counts.merges);
        }
    }
    CHECK(audit.counts(2).factor == 3);
    CHECK(audit.counts(0).factor >= 3 && audit.counts(0).factor < 3.00001);
    CHECK(audit.counts(4).factor > audit.counts(0).factor);
    const double least = audit.counts(2).degradation;
    CHECK(audit.counts(1).degradation == 3 && audit.counts(1).least_degradation == least);
    CHECK(std::fabs(audit.counts(1).factor - 9 / least) < 1e-12 * 9 / least);
    CHECK(audit.counts(3).degradation < audit.counts(1).degradation);
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
    Classes classes() const {
        static const double ones[2] = {1, 1};
        return {codes.data(), true, ones, weights.data(), 1};
    }
};

// Tells whether helpers were asked for.
struct CountingCrew final : Crew {
    explicit CountingCrew(std::size_t size) : threads(size) {}
    std::size_t size() const override { return threads.size(); }
    std::size_t start(Task& task) override {
        ++starts;
        return threads.start(task);
    }
    void join() override { threads.join(); }

    ThreadCrew threads;
    int starts = 0;
};

std::unique_ptr<Trainer> trained(const Core& core, const char* strategy, const Problem& problem,
                                 const RowsView& rows, Recorder* log = nullptr,
                                 std::size_t budget = 21, std::size_t n_helpers = 0) {
    const double alpha = 1.0 / (8 * double(problem.n));
    std::unique_ptr<Trainer> trainer(core.make_trainer(
        Precision::float32, {problem.d, budget, 1.5, alpha, strategy, true, 1, 5}));
    trainer->set_recorder(log);
    Never never;
    CountingCrew helpers(n_helpers);
    for (int pass = 0; pass < 3; ++pass)
        CHECK(trainer->pass(rows, problem.classes(), never, helpers));
    CHECK((helpers.starts > 0) == (n_helpers > 0));
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
    trainer.copy_vectors(found.values.data());
    trainer.copy_coefficients(found.coefficients.data());
    return found;
}

void helpers_change_no_bit(const Core& core) {
    const Problem problem(1500, 9);
    std::size_t n_strategies;
    const char* const* names = core.strategies(n_strategies);
    for (std::size_t k = 0; k < n_strategies; ++k)
        for (const std::size_t n_helpers : {1, 3})
            for (const bool sparse : {false, true}) {
                const RowsView rows = sparse ? problem.sparse_view() : problem.dense_view();
                const auto alone = trained(core, names[k], problem, rows, nullptr, 150);
                const auto helped = trained(core, names[k], problem, rows, nullptr, 150, n_helpers);
                CHECK(alone->bias() == helped->bias());
                CHECK(alone->profile().violations == helped->profile().violations);
                CHECK(vectors_of(*alone, problem) == vectors_of(*helped, problem));
            }
}

void losses_are_minus_their_slopes() {
    const double values[3] = {1.0, -2.0, 0.5}, weights[3] = {1.0, 0.25, 3.0};
    const EpsilonInsensitive loss(Targets{values, weights, 0.5});
    CHECK(loss.step(0, 0.4) == 1.0 && loss.step(0, 1.6) == -1.0);
    CHECK(loss.step(0, 0.5) == 0 && loss.step(0, 1.5) == 0);  // on the tube
    CHECK(loss.step(1, 0.0) == -0.25 && loss.step(2, -1.0) == 3.0);
    CHECK(EpsilonInsensitive(Targets{values, nullptr, 0}).step(1, -3.0) == 1.0);
    CHECK(EpsilonInsensitive(Targets{values, nullptr, 0}).step(1, -2.0) == 0);
    const std::int8_t codes[3] = {0, 1, 1};
    const double class_weight[2] = {2.0, 0.5};
    const Hinge hinge(Classes{codes, false, class_weight, weights, 1});
    CHECK(hinge.step(0, -0.9) == -2.0 && hinge.step(0, -1.0) == 0);
    CHECK(hinge.step(1, 0.0) == 0.125 && hinge.step(2, 1.5) == 0);
}

void every_core_learns_targets(const Core& core) {
    const Problem problem;
    std::vector<double> values;
    for (std::size_t i = 0; i < problem.n; ++i) values.push_back(problem.dense[i * problem.d]);
    const Targets targets{values.data(), problem.weights.data(), 0.05};
    Vectors found[2];
    for (const bool sparse : {false, true}) {
        std::unique_ptr<Trainer> trainer(
            core.make_trainer(Precision::float32, {problem.d, 21, 1.5, 0.01, "merge", true, 1, 5}));
        Never never;
        ThreadCrew helpers(0);
        for (int pass = 0; pass < 3; ++pass)
            CHECK(trainer->pass(sparse ? problem.sparse_view() : problem.dense_view(), targets,
                                never, helpers));
        CHECK(trainer->size() == 21);
        const Profile& profile = trainer->profile();
        CHECK(0 < profile.merges && profile.violations < profile.steps);
        found[sparse] = vectors_of(*trainer, problem);
    }
    CHECK(found[0] == found[1]);
}

void every_core_trains_and_predicts(const Core& core) {
    const Problem problem;
    std::size_t n_strategies;
    const char* const* names = core.strategies(n_strategies);
    for (std::size_t k = 0; k < n_strategies; ++k) {
        Log log;
        const auto trainer = trained(core, names[k], problem, problem.dense_view(), &log);
        const auto sparse = trained(core, names[k], problem, problem.sparse_view());
        const std::size_t n = trainer->size();
        CHECK(n <= 21);
        const auto [vectors, coefficients] = vectors_of(*trainer, problem);
        CHECK(vectors_of(*sparse, problem) == (Vectors{vectors, coefficients}));
        CHECK(!log.events.empty());
        const Profile& profile = trainer->profile();
        CHECK(profile.steps == 1200);
        CHECK(profile.merges + profile.removals == std::int64_t(log.events.size()));

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
    CHECK(core.make_trainer(Precision::float32, {3, 5, 1, 1, "no such", false, 1, 1}) == nullptr);
}

// A hash (FNV-1a) of the bits that a core's strategies train: the same wherever a multiply-add is
// fused, on x86-64 and on ARM.
std::uint64_t bits_of_models(const Core& core) {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](const auto& values) {
        for (const auto& value : values)
            for (const unsigned char byte :
                 std::bit_cast<std::array<unsigned char, sizeof(value)>>(value))
                hash = (hash ^ byte) * 0x100000001b3;
    };
    const Problem problem;
    std::size_t n_strategies;
    const char* const* names = core.strategies(n_strategies);
    for (std::size_t k = 0; k < n_strategies; ++k) {
        const auto trainer = trained(core, names[k], problem, problem.dense_view());
        const Vectors found = vectors_of(*trainer, problem);
        add(found.values);
        add(found.coefficients);
    }
    return hash;
}

void parallel_runs_every_task_once() {
    std::vector<int> done(1000);
    Never never;
    CHECK(parallel(done.size(), 4, never, [&](std::size_t i, Interrupt&) {
        ++done[i];
        return true;
    }));
    for (int n : done) CHECK(n == 1);
    CHECK(!parallel(done.size(), 4, never, [&](std::size_t i, Interrupt&) { return i != 500; }));
    bool thrown = false;
    try {
        parallel(8, 2, never, [&](std::size_t i, Interrupt&) -> bool {
            if (i == 3) throw 1;
            return true;
        });
    } catch (int) {
        thrown = true;
    }
    CHECK(thrown);
}

}  // namespace

// The argument, where there is one: the models' hash of another machine, to be had here, too.
int main(int argc, char** argv) {
    exponential_is_exact_to_rounding<float>();
    exponential_is_exact_to_rounding<double>();
    sums_have_a_fixed_order();
    generator_shuffles_evenly();
    losses_are_minus_their_slopes();
    golden_section_finds_the_optimum();
    support_set_keeps_its_slots();
    smallest_coefficient_breaks_ties();
    partner_limit_bounds_degradations();
    for (double spread : {0.01, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 60.0}) {
        pruning_changes_no_decision<float>(spread, 0);
        pruning_changes_no_decision<double>(spread, 0);
    }
    pruning_changes_no_decision<float>(0.002, 0, 10);  // distances that rounding has blurred
    pruning_changes_no_decision<float>(0.01, 0, 15);
    pruning_changes_no_decision<double>(0.005, 0, 6e5);
    for (int distinct : {1, 2, 4, 50}) pruning_changes_no_decision<float>(0, distinct);
    audit_compares_decisions<float>();
    audit_compares_decisions<double>();
    std::size_t n_cores;
    const Core* const* cores = available_cores(n_cores);
    std::uint64_t fused_bits = argc > 1 ? std::strtoull(argv[1], nullptr, 16) : 0;
    for (std::size_t i = 0; i < n_cores; ++i) {
        const std::uint64_t bits = bits_of_models(*cores[i]);
        std::printf("core: %s, models %016" PRIx64 "\n", cores[i]->name, bits);
        if (std::strcmp(cores[i]->name, "baseline") != 0) {
            CHECK(fused_bits == 0 || bits == fused_bits);
            fused_bits = bits;
        }
        every_core_trains_and_predicts(*cores[i]);
        every_core_learns_targets(*cores[i]);
        helpers_change_no_bit(*cores[i]);
    }
    parallel_runs_every_task_once();
    svmlight_tests();
    std::printf("%d passed, %d failed\n", check::passed, check::failed);
    return check::failed != 0;
}
