// The list of maintenance strategies, in the order in which tables show them. A new strategy is a
// type that fulfils the contract of maintenance.hpp, and an entry here.
#pragma once

#include "../named_types.hpp"
#include "gss.hpp"
#include "lookup.hpp"
#include "merge.hpp"
#include "projection.hpp"
#include "removal.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
using Strategies =
    NamedTypes<Merge<Real>, MergeByLookupWD<Real>, MergeByLookupH<Real>, MergeByGss<Real>,
               MergeByGssPrecise<Real>, Removal<Real>, Projection<Real>>;

// Null if there is none of that name.
template <class Real>
MakeMaintenance<Real> find_strategy(const char* name) {
    MakeMaintenance<Real> make = nullptr;
    Strategies<Real>::with(name, [&](auto type) {
        make = [](const Setting<Real>& setting) -> MaintenancePointer<Real> {
            return std::make_unique<typename decltype(type)::type>(setting);
        };
    });
    return make;
}

}  // namespace pocketsvm::POCKETSVM_SET
