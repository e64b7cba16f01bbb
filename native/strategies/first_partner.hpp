// Rules for the first partner: which vector goes if several tie for the smallest |coefficient|.
//
// A rule is a type with
//     template <class Real> std::size_t choose(const SupportSet<Real>& set, int sign = 0) const;
// which chooses among all vectors (sign 0) or among those of one sign. A rule of a strategy that
// merges is made from a number of random steps for each vector, which most rules ignore.
#pragma once

#include <cmath>

#include "../kernel/support_set.hpp"
#include "../random.hpp"

namespace pocketsvm::POCKETSVM_SET {

// The vectors that tie for the smallest |coefficient|, numbered in the order of slots.
template <class Real>
class TiedVectors {
  public:
    TiedVectors(const SupportSet<Real>& set, int sign)
        : set_(set), positive_(L::all(sign < 0 ? 0 : 1)), negative_(L::all(sign > 0 ? 0 : -1)),
          smallest_(
              L::all(least_of<Real>(set.size(), [this](std::size_t s) { return magnitudes(s); }))) {
    }

    bool contains(std::size_t slot) const {
        const std::size_t begin = slot / L::count * L::count;
        return tied(begin) >> (slot - begin) & 1;
    }
    std::size_t count() const {
        std::size_t count = 0;
        for (std::size_t s = 0; s < set_.size(); s += L::count)
            count += std::size_t(__builtin_popcount(tied(s)));
        return count;
    }
    // The slot of number k.
    std::size_t slot(std::size_t k) const {
        for (std::size_t s = 0;; s += L::count)
            for (std::uint32_t left = tied(s); left != 0; left &= left - 1)
                if (k-- == 0) return s + std::size_t(__builtin_ctz(left));
    }
    template <class Function>
    void for_each(Function function) const {
        for (std::size_t s = 0; s < set_.size(); s += L::count)
            for (std::uint32_t left = tied(s); left != 0; left &= left - 1)
                function(s + std::size_t(__builtin_ctz(left)));
    }

  private:
    using L = Lanes<Real>;

    // Empty slots and those of the other sign count as infinitely large.
    L magnitudes(std::size_t s) const {
        const L value = L::load(set_.coefficients() + s);
        const L size = max(value * positive_, value * negative_);
        return select(size > L::all(0), size, L::all(__builtin_huge_val()));
    }
    std::uint32_t tied(std::size_t s) const { return bits(magnitudes(s) <= smallest_); }

    const SupportSet<Real>& set_;
    L positive_, negative_, smallest_;
};

struct LowestSlot {
    explicit LowestSlot(std::int64_t) {}

    template <class Real>
    static std::size_t choose(const SupportSet<Real>& set, int sign = 0) {
        return TiedVectors<Real>(set, sign).slot(0);
    }
};

struct Oldest {
    template <class Real>
    static std::size_t choose(const SupportSet<Real>& set, int sign = 0) {
        std::size_t oldest = set.size();
        TiedVectors<Real>(set, sign).for_each([&](std::size_t slot) {
            if (oldest == set.size() || set.birth(slot) < set.birth(oldest)) oldest = slot;
        });
        return oldest;
    }
};

// A random choice at first, for some steps for each vector, seeded by the newest vector's birth
// step, so that the same set gives the same answer. Then the newest vector, or the lowest slot if
// it does not tie. Choosing the newest costs no kernel row, but such a vector only meets vectors of
// its own sign, so that the number of vectors per sign would never change: the random steps settle
// it.
struct RandomThenNewest {
    std::int64_t random_steps;
    explicit RandomThenNewest(std::int64_t random_steps) : random_steps(random_steps) {}

    template <class Real>
    std::size_t choose(const SupportSet<Real>& set, int sign = 0) const {
        const std::size_t newest = set.size() - 1;
        const std::int64_t birth = set.birth(newest);
        if (birth <= random_steps * std::int64_t(set.size())) {
            const TiedVectors<Real> tied(set, sign);
            return tied.slot(std::size_t(scramble(std::uint64_t(birth)) % tied.count()));
        }
        // No coefficient is smaller, so there is no need to search.
        if (sign == 0 && std::fabs(set.coefficient(newest)) <= set.least_size()) return newest;
        const TiedVectors<Real> tied(set, sign);
        return tied.contains(newest) ? newest : tied.slot(0);
    }
};

// Whether there is another vector of the same sign.
template <class Real>
bool has_partner(const SupportSet<Real>& set, std::size_t first) {
    const Real* c = set.coefficients();
    for (std::size_t s = 0; s < set.size(); ++s)
        if (s != first && (c[first] > 0 ? c[s] > 0 : c[s] < 0)) return true;
    return false;
}

}  // namespace pocketsvm::POCKETSVM_SET
