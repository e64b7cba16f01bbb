// The merging problem: golden section search, the table, the bounds of the pruned search.
#define POCKETSVM_SET unit

#include "../merging/pruned_search.hpp"
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

}  // namespace

void merging_tests() {
    golden_section_finds_the_optimum();
    partner_limit_bounds_degradations();
}
