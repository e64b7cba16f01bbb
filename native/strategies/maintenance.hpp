// Budget maintenance: the contract that every strategy fulfils.
//
// When a new vector takes the set over its budget, the trainer asks the strategy for the first
// partner, then to `decide` what happens to it, and then to `apply` the decision. Deciding changes
// only the strategy's own scratch memory, so that several strategies can be asked in the same
// state.
#pragma once

#include <memory>

#include "../clock.hpp"
#include "../interruption.hpp"
#include "../kernel/gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Decision {
    std::size_t first = 0;   // the vector that is merged or dropped
    std::size_t second = 0;  // the slot of the merged vector
    bool merges = false;     // false: the first is dropped, and there is no second
    double h = 0;
    double coefficient = 0;
};

// What a strategy is constructed from.
template <class Real>
struct Setting {
    const Gaussian<Real>& kernel;
    std::size_t capacity;  // slots of the set, a multiple of the lanes
    std::size_t n_features;
    Interruption& interruption;  // for work of more than O(capacity) per event
    std::int64_t random_steps;   // see RandomThenNewest
};

template <class Real>
class Maintenance {
  public:
    virtual ~Maintenance() = default;
    // Returns a vector whose coefficient is the smallest of its sign. A strategy that merges
    // returns one that has a partner of its sign.
    virtual std::size_t first_partner(const SupportSet<Real>& set) const = 0;
    // Decides what to do with a first partner, which this strategy or another one has chosen. If
    // the strategy merges, there is another vector of its sign. The newest vector is in the last
    // slot, but not in its lane: `newest` holds its exponents against all others, and
    // `excluded_exponent` in its own place. `newest` is null if the set was restored, and then
    // every vector is in its lane.
    virtual Decision decide(const SupportSet<Real>& set, std::size_t first, const Real* newest,
                            Stopwatch& watch) = 0;
    // Returns the squared norm of the change of w that the last decision causes.
    virtual double degradation(const SupportSet<Real>& set, const Decision& decision) const = 0;
    // Removes one vector; `step` is the birth of a vector that it creates.
    virtual void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t step) = 0;
    // A strategy that keeps data besides the set is told of a new vector, or to start over.
    virtual void added(const SupportSet<Real>&) {}
    virtual void begin(const SupportSet<Real>&) {}
};

template <class Real>
using MaintenancePointer = std::unique_ptr<Maintenance<Real>>;

template <class Real>
using MakeMaintenance = MaintenancePointer<Real> (*)(const Setting<Real>&);

}  // namespace pocketsvm::POCKETSVM_SET
