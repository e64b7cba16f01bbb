// Budget maintenance: the contract that every strategy keeps, and the choice of the first partner.
//
// When a new vector takes the set over its budget, the trainer asks the strategy to `decide` and
// then to `apply`. Deciding changes nothing but the strategy's own scratch memory, so that several
// strategies can be asked in the same state.
#pragma once

#include <ctime>

#include "gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Decision {
    std::size_t first = 0;   // the vector that goes
    std::size_t second = 0;  // the slot that the merged vector takes
    bool merges = false;     // false: the first is dropped, and there is no second
    double h = 0;
    double coefficient = 0;
    double degradation = 0;
};

// Splits the time of maintenance into solving the merging problem (the paper's A) and the rest
// (its B). Off for most events, since reading a clock costs as much as a small search.
class Stopwatch {
  public:
    static double now() {
        std::timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
    }
    explicit Stopwatch(bool on) : on_(on), last_(on ? now() : 0) {}
    void lap_solve() { lap(solve_); }
    void lap_rest() { lap(rest_); }
    double solve() const { return solve_; }
    double rest() const { return rest_; }

  private:
    void lap(double& total) {
        if (!on_) return;
        const double time = now();
        total += time - last_;
        last_ = time;
    }
    bool on_;
    double last_;
    double solve_ = 0;
    double rest_ = 0;
};

template <class Real>
class Maintenance {
  public:
    virtual ~Maintenance() = default;
    // The last slot is the newest vector; `newest` holds its exponents against all others, or is
    // null where the set came from elsewhere.
    virtual Decision decide(const SupportSet<Real>& set, const Real* newest, Stopwatch& watch) = 0;
    // `step` is the birth of what it makes.
    virtual void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t step) = 0;
    // A strategy that keeps something beside the set is told what was added, or to begin anew.
    virtual void added(const SupportSet<Real>&) {}
    virtual void begin(const SupportSet<Real>&) {}
};

// Which of several vectors with the smallest |coefficient| goes first.
enum class Tie { lowest_slot, newest_then_lowest_slot };

// Of all vectors, or of those with one sign.
template <class Real>
std::size_t smallest_coefficient(const SupportSet<Real>& set, Tie tie, int sign = 0) {
    using L = Lanes<Real>;
    const Real* c = set.coefficients();
    // Empty lanes are zero: the last block is looked at slot by slot.
    const std::size_t whole = set.size() / L::count * L::count;
    const Real infinity = __builtin_huge_val();
    const auto size_of = [&](std::size_t slot) {
        return sign != 0 && c[slot] * sign <= 0 ? infinity : (c[slot] < 0 ? -c[slot] : c[slot]);
    };
    L least = L::all(infinity);
    for (std::size_t s = 0; s < whole; s += L::count) {
        const L value = L::load(c + s);
        const L size = sign == 0 ? abs(value)
                                 : select(value * L::all(Real(sign)) > L::all(0), abs(value),
                                          L::all(infinity));
        least = min(least, size);
    }
    Real smallest = least.least();
    for (std::size_t s = whole; s < set.size(); ++s)
        if (size_of(s) < smallest) smallest = size_of(s);
    const std::size_t newest = set.size() - 1;
    if (tie == Tie::newest_then_lowest_slot && size_of(newest) == smallest) return newest;
    std::size_t slot = whole;
    for (std::size_t s = 0; s < whole; s += L::count) {
        const L value = L::load(c + s);
        const auto tied = abs(value) <= L::all(smallest);
        const std::uint32_t found =
            bits(sign == 0 ? tied : tied & (value * L::all(Real(sign)) > L::all(0)));
        if (found != 0) return s + std::size_t(__builtin_ctz(found));
    }
    while (slot < newest && size_of(slot) != smallest) ++slot;
    return slot;
}

}  // namespace pocketsvm::POCKETSVM_SET
