// The paper's two golden section searches: `gss` stops early, `gss-precise` works in double.
#pragma once

#include "../merging/golden_section.hpp"
#include "merging.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
struct MergeByGss final : Merging<Real, ExhaustiveSearch<Real, GoldenSection>> {
    static constexpr const char* name = "gss";
    static constexpr double eps = 0.01;  // the paper's
    explicit MergeByGss(const Setting<Real>& setting)
        : MergeByGss::Merging(setting, GoldenSection(eps)) {}
};

template <class Real>
struct MergeByGssPrecise final : Merging<Real, ExhaustiveSearch<Real, GoldenSection, double>> {
    static constexpr const char* name = "gss-precise";
    explicit MergeByGssPrecise(const Setting<Real>& setting)
        : MergeByGssPrecise::Merging(setting, GoldenSection(GoldenSection::precise)) {}
};

}  // namespace pocketsvm::POCKETSVM_SET
