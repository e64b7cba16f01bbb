// The list of maintenance strategies, in the order in which tables show them. A new one is a type
// that keeps the contract of maintenance.hpp, and a line here.
#pragma once

#include <cstring>
#include <memory>

#include "strategies/merging.hpp"
#include "strategies/projection.hpp"
#include "strategies/removal.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
struct Setting {
    const Gaussian<Real>& kernel;
    std::size_t capacity;  // slots of the set, a multiple of the lanes
    std::size_t n_features;
};

template <class Real>
using MaintenancePointer = std::unique_ptr<Maintenance<Real>>;

template <class Real>
struct Strategy {
    const char* name;
    MaintenancePointer<Real> (*make)(const Setting<Real>&);
};

template <class Working, class Real, class Solver>
MaintenancePointer<Real> merging(const Setting<Real>& s, Solver solver,
                                 Tie tie = Tie::lowest_slot) {
    return std::make_unique<Merging<Real, Solver, Working>>(s.kernel, s.capacity, s.n_features,
                                                            solver, tie);
}

// Our own way to merge, by the rule for the first partner.
template <class Real, Tie tie>
MaintenancePointer<Real> merging_first(const Setting<Real>& s) {
    return merging<Real>(s, PrunedLookup(MergeTable::standard(true)), tie);
}

template <class Real>
constexpr Strategy<Real> strategies[] = {
    {"merge", merging_first<Real, Tie::by_lot_at_first>},
    {"lookup-wd",
     [](const Setting<Real>& s) {
         return merging<Real>(s, LookupWD(MergeTable::standard(false)));
     }},
    {"lookup-h",
     [](const Setting<Real>& s) { return merging<Real>(s, LookupH(MergeTable::standard(false))); }},
    {"gss", [](const Setting<Real>& s) { return merging<Real>(s, GoldenSection(0.01)); }},
    {"gss-precise",
     [](const Setting<Real>& s) { return merging<double>(s, GoldenSection(1e-10)); }},
    {"removal",
     [](const Setting<Real>&) -> MaintenancePointer<Real> {
         return std::make_unique<Removal<Real>>();
     }},
    {"projection",
     [](const Setting<Real>& s) -> MaintenancePointer<Real> {
         return std::make_unique<Projection<Real>>(s.kernel, s.capacity);
     }},
};

// "merge" with other rules: for benchmarks/study.py, and in no list that users see.
template <class Real>
constexpr Strategy<Real> studied_strategies[] = {
    {"merge, newest", merging_first<Real, Tie::newest>},
    {"merge, lowest slot", merging_first<Real, Tie::lowest_slot>},
    {"merge, oldest", merging_first<Real, Tie::oldest>},
    {"merge, by lot", merging_first<Real, Tie::by_lot>},
    {"merge, by lot for 100 B steps", merging_first<Real, Tie::by_lot_for_long>},
};

constexpr std::size_t n_strategies = sizeof(strategies<float>) / sizeof(strategies<float>[0]);

// Null where there is none of that name.
template <class Real>
const Strategy<Real>* find_strategy(const char* name) {
    for (const Strategy<Real>& strategy : strategies<Real>)
        if (std::strcmp(strategy.name, name) == 0) return &strategy;
    for (const Strategy<Real>& strategy : studied_strategies<Real>)
        if (std::strcmp(strategy.name, name) == 0) return &strategy;
    return nullptr;
}

}  // namespace pocketsvm::POCKETSVM_SET
