// The paper's two table look-ups: `lookup-wd` reads wd from the plain table, `lookup-h` reads h.
#pragma once

#include "../merging/lookup.hpp"
#include "merging.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
struct MergeByLookupWD final : Merging<Real, ExhaustiveSearch<Real, LookupWD>> {
    static constexpr const char* name = "lookup-wd";
    explicit MergeByLookupWD(const Setting<Real>& setting)
        : MergeByLookupWD::Merging(setting, LookupWD(MergeTable::standard(false))) {}
};

template <class Real>
struct MergeByLookupH final : Merging<Real, ExhaustiveSearch<Real, LookupH>> {
    static constexpr const char* name = "lookup-h";
    explicit MergeByLookupH(const Setting<Real>& setting)
        : MergeByLookupH::Merging(setting, LookupH(MergeTable::standard(false))) {}
};

}  // namespace pocketsvm::POCKETSVM_SET
