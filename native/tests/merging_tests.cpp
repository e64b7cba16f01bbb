// The merging problem, the rules for the first partner, and the search for the second.
#define POCKETSVM_SET unit

#include "../strategies/merge.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

void golden_section_finds_the_optimum() {
    using L = Lanes<double>;
    for (double m : {0.01, 0.2, 0.45, 0.5})
        for (double kappa : {0.999999, 0.9, 0.5, 0.2}) {
            const L t = L::all(-std::log2(kappa));
            const double h = GoldenSection(GoldenSection::precise).h(L::all(m), t).part[0][0];
            const auto s = [&](double x) {
                return m * std::pow(kappa, (1 - x) * (1 - x)) + (1 - m) * std::pow(kappa, x * x);
            };
            CHECK(h >= 0 && h <= 0.5 + 1e-9);
            CHECK(s(h) >= s(h + 1e-3) && s(h) >= s(h - 1e-3));
            const double table = MergeTable::standard(true).h(L::all(m), t).part[0][0];
            CHECK(std::fabs(table - h) < 1e-4);
        }
}

// F is bounded from below, and beyond the exponent that `beyond` returns no partner costs less.
void partner_limit_bounds_degradations() {
    const PartnerLimit& limit = PartnerLimit::standard();
    for (double t = 1e-10; t < 200; t *= 1.013) {
        const double exact = PartnerLimit::exact(t), found = limit(t);
        CHECK(found <= exact * (1 + 1e-12) && found >= exact * (1 - 3e-4));
        if (t < 1e-6) continue;
        for (double r : {1.0, 1.1, 2.0, 10.0}) {
            const double m = 1 / (1 + r), h = GoldenSection(GoldenSection::precise).h(m, t);
            const double cost = (1 + r) * std::sqrt(degradation_at(h, m, t));
            CHECK(cost >= exact * r / (1 + r) * (1 - 1e-4) && cost <= exact * (1 + 1e-4));
            if (r > 1) continue;
            CHECK(limit.beyond(cost) > t);
            CHECK(cost > 0.99 || limit.beyond(cost) < 1.2 * t + 0.2);
        }
    }
}

void rules_break_ties() {
    SupportSet<float> set(40, 1);
    const float x[1] = {1};
    for (int i = 0; i < 37; ++i) set.add(DenseRow<float>{x, 1}, 1, i % 2 ? 2 : -1, (i + 9) % 37);
    CHECK(LowestSlot::choose(set) == 0);
    CHECK(Oldest::choose(set) == 28);
    CHECK(LowestSlot::choose(set, +1) == 1);
    CHECK(Oldest::choose(set, +1) == 29);
    const RandomThenNewest rule(20);
    const std::size_t chosen = rule.choose(set);
    CHECK(chosen % 2 == 0 && chosen < 37 && rule.choose(set) == chosen);
    CHECK(rule.choose(set, +1) % 2 == 1);
    set.add(DenseRow<float>{x, 1}, 1, -1, 20 * 38 + 1);
    CHECK(rule.choose(set) == 37);
    CHECK(rule.choose(set, -1) == 37 && rule.choose(set, +1) == 1);
    set.set_coefficient(20, -0.5);
    CHECK(Oldest::choose(set) == 20);
    CHECK(rule.choose(set) == 20);
}

// Pruned and exhaustive search on the same table make the same decisions, bit for bit, even in
// ties.
template <class Real>
void pruning_changes_no_decision(double spread, int distinct, double offset = 0) {
    constexpr std::size_t n = 143, d = 3;
    const Gaussian<Real> kernel(0.7);
    Interruption interruption;
    const Setting<Real> setting{kernel, 160, d, interruption, 20};
    const CheckedLookup lookup(MergeTable::standard(true));
    Merging<Real, PrunedSearch<Real, CheckedLookup>> pruned(setting, lookup);
    Merging<Real, ExhaustiveSearch<Real, CheckedLookup>> exhaustive(setting, lookup);
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
        const std::size_t first = pruned.first_partner(set);
        CHECK(exhaustive.first_partner(set) == first);
        const Decision one = pruned.decide(set, first, nullptr, off);
        const Decision other = exhaustive.decide(set, first, nullptr, off);
        CHECK(one.first == first && other.first == first && one.second == other.second);
        CHECK(one.h == other.h && one.coefficient == other.coefficient);
    }
}

}  // namespace

void merging_tests() {
    golden_section_finds_the_optimum();
    partner_limit_bounds_degradations();
    rules_break_ties();
    for (double spread : {0.01, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 60.0}) {
        pruning_changes_no_decision<float>(spread, 0);
        pruning_changes_no_decision<double>(spread, 0);
    }
    pruning_changes_no_decision<float>(0.002, 0, 10);  // distances that rounding has blurred
    pruning_changes_no_decision<float>(0.01, 0, 15);
    pruning_changes_no_decision<double>(0.005, 0, 6e5);
    for (int distinct : {1, 2, 4, 50}) pruning_changes_no_decision<float>(0, distinct);
}
