// `merge`, the default: the scaled table, evaluated only for candidates that can win.
#pragma once

#include "../merging/lookup.hpp"
#include "../merging/pruned_search.hpp"
#include "merging.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
struct Merge final : Merging<Real, PrunedSearch<Real, CheckedLookup>, RandomThenNewest> {
    static constexpr const char* name = "merge";
    explicit Merge(const Setting<Real>& setting)
        : Merge::Merging(setting, CheckedLookup(MergeTable::standard(true))) {}
};

}  // namespace pocketsvm::POCKETSVM_SET
