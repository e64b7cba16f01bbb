// The search for the second partner: the vector of the same sign with the smallest weight
// degradation that a solver reports.
#pragma once

#include "table.hpp"

namespace pocketsvm::POCKETSVM_SET {

// The vectors to search: all slots, or a selection of them in the order of slots.
template <class Real>
struct Candidates {
    const Real* coefficients;
    const Real* exponents;  // against the first partner
    std::size_t count;
    std::size_t excluded;                // the first partner's place; `count`: it is not among them
    const std::size_t* slots = nullptr;  // null: all slots
    std::size_t slot(std::size_t place) const { return slots == nullptr ? place : slots[place]; }
};

// The unit roundoff.
template <class Real>
constexpr double roundoff = sizeof(Real) == 4 ? 0x1p-24 : 0x1p-53;

// Bounds the rounding error of an exponent that was computed from norms and a dot product.
template <class Real>
double exponent_error(const Gaussian<Real>& kernel, const SupportSet<Real>& set, std::size_t i,
                      std::size_t j) {
    return 4 * roundoff<Real> * (1 + kernel.scale() * (double(set.norms()[i]) + set.norms()[j]));
}

// Between nodes of the table that are this far apart, interpolated wd is steeper than wd itself
// where kappa is close to 1.
constexpr double interpolation_error = 1.0 / MergeTable::standard_size;

// Evaluates the solver for every candidate, in lanes of `Working`: float for rows in float, double
// where the solver needs it.
template <class Real, class Solver, class Working = Real>
class ExhaustiveSearch {
  public:
    ExhaustiveSearch(const Gaussian<Real>& kernel, std::size_t capacity, Solver solver)
        : kernel_(kernel), solver_(solver), degradations_(capacity), shortlist_(capacity) {}

    const Solver& solver() const { return solver_; }

    // `exponents` are those of the first partner against all slots.
    std::size_t best_partner(const SupportSet<Real>& set, std::size_t first,
                             const Real* exponents) {
        return best_of(set, first, {set.coefficients(), exponents, set.size(), first});
    }

    std::size_t best_of(const SupportSet<Real>& set, std::size_t first,
                        const Candidates<Real>& candidates) {
        const std::size_t best = evaluate(set, first, candidates);
        const std::size_t slot = candidates.slot(best);
        const Rounding rounding = rounding_at(std::exp2(-double(candidates.exponents[best])),
                                              exponent_error(kernel_, set, first, slot));
        const double ratio = set.coefficient(slot) / set.coefficient(first);
        const double slack = rounding.of_distance + rounding.of_closed_form * ratio +
                             Solver::error * degradations_[best];
        if (slack <= negligible * degradations_[best]) return slot;
        return settle(set, first, candidates, degradations_[best] + slack, rounding);
    }

  private:
    using L = Lanes<Working>;
    using D = Lanes<double>;

    // Candidates that differ by less than this share are equally good for the model.
    static constexpr double negligible = 1e-6;

    static L load(const Real* from) {
        if constexpr (sizeof(Real) == sizeof(Working))
            return L::load(from);
        else
            return L::convert(from);
    }

    // Weight degradations are compared in units of a^2, the square of the first coefficient, so
    // that they stay in range for all weights. Beyond the limit, whose square is still finite in
    // float, the size of the second coefficient makes no difference.
    static L in_range(L ratio) {
        const L largest = L::all(Working(1e18));
        return max(min(ratio, largest), L::all(0) - largest);
    }

    // Computes the weight degradations of all candidates. Returns the place of the smallest one,
    // and of several equal ones the first.
    std::size_t evaluate(const SupportSet<Real>& set, std::size_t first,
                         const Candidates<Real>& candidates) {
        const Working infinity = __builtin_huge_val();
        const L unit = L::all(Working(1 / set.coefficient(first))), one = L::all(1);
        L least = L::all(infinity);
        for (std::size_t s = 0; s < candidates.count; s += L::count) {
            const L ratio = in_range(load(candidates.coefficients + s) * unit);
            // Lanes of the other sign are computed on absolute values, and dropped.
            const L size = abs(ratio), sum = one + size, m = min(one, size) / sum;
            const L wd = solver_.wd(m, load(candidates.exponents + s)) * sum * sum;
            const L kept = select(ratio > L::all(0), wd, L::all(infinity));
            kept.store(degradations_.data() + s);
            if (candidates.excluded - s < L::count) {
                degradations_[candidates.excluded] = infinity;
                least = min(least, L::load(degradations_.data() + s));
            } else {
                least = min(least, kept);
            }
        }
        const L smallest = L::all(least.least());
        for (std::size_t s = 0;; s += L::count)
            if (const std::uint32_t found = bits(L::load(degradations_.data() + s) <= smallest))
                return s + std::size_t(__builtin_ctz(found));
    }

    // How far rounding can move a weight degradation near the smallest one, in units of a^2.
    struct Rounding {
        double of_distance;     // for every candidate
        double of_closed_form;  // times the candidate's coefficient in units of a
    };

    // An error E of an exponent moves WD <= 4 a^2 (1-kappa)^2 by at most 16 a^2 kappa E (1 - kappa
    // + kappa E). In closed form, WD is (a + a_j)^2 (2 e - ...) with e about m (1-m) (1-kappa).
    static Rounding rounding_at(double kappa, double error) {
        return {16 * kappa * error * (1 - kappa + kappa * error + interpolation_error),
                Solver::cancels ? 16 * roundoff<Working> * (1 - kappa + error) : 0};
    }

    // Decides between the candidates whose order may be wrong because of rounding or the solver's
    // error, from distances by differences, in double.
    std::size_t settle(const SupportSet<Real>& set, std::size_t first,
                       const Candidates<Real>& candidates, double threshold,
                       const Rounding& rounding) {
        const L unit = L::all(Working(1 / set.coefficient(first)));
        // A finite limit excludes the infinite degradations of slots that are not candidates.
        const double most = sizeof(Working) == 4 ? 0x1p127 : 0x1p1023;
        const L limit = L::all(Working(threshold < most ? threshold : most)),
                noise = L::all(Working(rounding.of_closed_form));
        std::size_t n = 0;
        for (std::size_t s = 0; s < candidates.count; s += L::count) {
            const L ratio = in_range(load(candidates.coefficients + s) * unit);
            std::uint32_t near = bits(L::load(degradations_.data() + s) - noise * ratio <= limit);
            for (; near != 0; near &= near - 1)
                shortlist_[n++] = candidates.slot(s + std::size_t(__builtin_ctz(near)));
        }
        return n == 1 ? shortlist_[0] : best_on_shortlist(set, first, n);
    }

    std::size_t best_on_shortlist(const SupportSet<Real>& set, std::size_t first, std::size_t n) {
        std::size_t best = shortlist_[0];
        double least = __builtin_huge_val();
        for (std::size_t from = 0; from < n; from += D::count) {
            const std::size_t count = n - from < D::count ? n - from : D::count;
            alignas(lane_bytes) double m[D::count] = {}, t[D::count] = {}, sum[D::count] = {},
                                       wd[D::count];
            for (std::size_t k = 0; k < count; ++k) {
                const MergePair pair(kernel_, set, first, shortlist_[from + k]);
                m[k] = pair.m;
                t[k] = pair.t;
                sum[k] = pair.sum;
            }
            precise_wd(D::load(m), D::load(t)).store(wd);
            for (std::size_t k = 0; k < count; ++k)
                if (wd[k] * sum[k] * sum[k] < least) {
                    least = wd[k] * sum[k] * sum[k];
                    best = shortlist_[from + k];
                }
        }
        return best;
    }

    D precise_wd(D m, D t) const {
        if constexpr (Solver::error > 0)
            return degradation_at(solver_.h(m, t), m, t);
        else
            return solver_.wd(m, t);
    }

    const Gaussian<Real>& kernel_;
    Solver solver_;
    Buffer<Working> degradations_;
    Buffer<std::size_t> shortlist_;
};

}  // namespace pocketsvm::POCKETSVM_SET
