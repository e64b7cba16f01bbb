// Budget maintenance: the contract that every strategy keeps, and the choice of the first partner.
//
// When a new vector takes the set over its budget, the trainer asks the strategy for the first
// partner, then to `decide` what becomes of it, and then to `apply` that. Deciding changes nothing
// but the strategy's own scratch memory, so that several strategies can be asked in the same state.
#pragma once

#include <cmath>

#include "clock.hpp"
#include "gaussian.hpp"
#include "random.hpp"

namespace pocketsvm::POCKETSVM_SET {

// In the place of a vector's exponent against itself, where that would only be in the way. Nothing
// may be summed up from there: its exponential is no number.
constexpr float far_away = __builtin_huge_valf();

struct Decision {
    std::size_t first = 0;   // the vector that goes
    std::size_t second = 0;  // the slot that the merged vector takes
    bool merges = false;     // false: the first is dropped, and there is no second
    double h = 0;
    double coefficient = 0;
};

template <class Real>
class Maintenance {
  public:
    virtual ~Maintenance() = default;
    // A vector whose coefficient is the smallest of its sign. A strategy that merges takes one that
    // has a partner of its sign.
    virtual std::size_t first_partner(const SupportSet<Real>& set) const = 0;
    // What to do with a first partner, be it this strategy's choice or another's; for a strategy
    // that merges there is another vector of its sign. The last slot is the newest vector, which is
    // in no lane: `newest` holds its exponents against all others, and `far_away` in its own place.
    // It is null where the set came from elsewhere, every vector in its lane.
    virtual Decision decide(const SupportSet<Real>& set, std::size_t first, const Real* newest,
                            Stopwatch& watch) = 0;
    // The squared norm of the change of w that the last decision means.
    virtual double degradation(const SupportSet<Real>& set, const Decision& decision) const = 0;
    // `step` is the birth of what it makes.
    virtual void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t step) = 0;
    // A strategy that keeps something beside the set is told what was added, or to begin anew.
    virtual void added(const SupportSet<Real>&) {}
    virtual void begin(const SupportSet<Real>&) {}
};

// Which of several vectors with the smallest |coefficient| goes first. By lot: the newest one's
// birth draws it, so that the same set gives the same answer. Newest: else the lowest slot. It
// costs no kernel row, but a new vector that meets its own sign never changes how many there are of
// each: so `by_lot_at_first` goes by lot for as many steps as twenty times the slots
// (`by_lot_for_long`: a hundred times), and takes the newest from then on.
enum class Tie { lowest_slot, newest, oldest, by_lot, by_lot_at_first, by_lot_for_long };

// Of all vectors, or of those with one sign.
template <class Real>
std::size_t smallest_coefficient(const SupportSet<Real>& set, Tie tie, int sign = 0) {
    using L = Lanes<Real>;
    const std::size_t newest = set.size() - 1;
    if (tie == Tie::by_lot_at_first || tie == Tie::by_lot_for_long) {
        const std::int64_t times = tie == Tie::by_lot_at_first ? 20 : 100;
        tie = set.birth(newest) <= times * std::int64_t(set.size()) ? Tie::by_lot : Tie::newest;
    }
    // None is smaller, so there is no need to look.
    if (tie == Tie::newest && sign == 0 && std::fabs(set.coefficient(newest)) <= set.least_size())
        return newest;
    const L infinity = L::all(__builtin_huge_val()), zero = L::all(0);
    const L positive = L::all(sign < 0 ? 0 : 1), negative = L::all(sign > 0 ? 0 : -1);
    // Empty slots and those of the other sign are infinitely large.
    const auto sizes = [&](std::size_t s) {
        const L value = L::load(set.coefficients() + s);
        const L size = max(value * positive, value * negative);
        return select(size > zero, size, infinity);
    };
    const L smallest = L::all(least_of<Real>(set.size(), sizes));
    const auto tied = [&](std::size_t s) { return bits(sizes(s) <= smallest); };
    const std::size_t last = newest / L::count * L::count;
    if (tie == Tie::newest && tied(last) >> (newest - last) & 1) return newest;
    if (tie == Tie::oldest) {
        std::size_t first = set.size();
        for (std::size_t s = 0; s < set.size(); s += L::count)
            for (std::uint32_t left = tied(s); left != 0; left &= left - 1) {
                const std::size_t slot = s + std::size_t(__builtin_ctz(left));
                if (first == set.size() || set.birth(slot) < set.birth(first)) first = slot;
            }
        return first;
    }
    std::size_t passed_over = 0;
    if (tie == Tie::by_lot) {
        std::size_t count = 0;
        for (std::size_t s = 0; s < set.size(); s += L::count)
            count += std::size_t(__builtin_popcount(tied(s)));
        passed_over = std::size_t(scramble(std::uint64_t(set.birth(newest))) % count);
    }
    for (std::size_t s = 0;; s += L::count) {
        std::uint32_t left = tied(s);
        const std::size_t count = std::size_t(__builtin_popcount(left));
        if (passed_over >= count) {
            passed_over -= count;
            continue;
        }
        for (; passed_over > 0; --passed_over) left &= left - 1;
        return s + std::size_t(__builtin_ctz(left));
    }
}

// Whether there is another vector of its sign.
template <class Real>
bool has_partner(const SupportSet<Real>& set, std::size_t first) {
    const Real* c = set.coefficients();
    for (std::size_t s = 0; s < set.size(); ++s)
        if (s != first && (c[first] > 0 ? c[s] > 0 : c[s] < 0)) return true;
    return false;
}

}  // namespace pocketsvm::POCKETSVM_SET
