// A search that skips the candidates that cannot win, for a solver whose wd is accurate to one part
// in a thousand wherever kappa is close to 1. It finds the same partner as the exhaustive search.
#pragma once

#include "search.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Bounds sqrt(WD) / a for a vector of coefficient a, at exponent t, and a partner of coefficient
// r a with r >= 1. It grows with t and with r, up to
//     F(t) for r without bounds,    F^2 = 1 - kappa^2 + 2 kappa^2 ln kappa.
// F is concave: a chord between points a sixteenth of an octave apart is below F, by less than
// 0.03 %.
class PartnerLimit {
  public:
    static const PartnerLimit& standard() {
        static const PartnerLimit limit;
        return limit;
    }

    PartnerLimit() {
        for (std::size_t k = 0; k < n_points; ++k) values_[k] = exact(point(k));
        for (std::size_t k = 0; k + 1 < n_points; ++k)
            slopes_[k] = (values_[k + 1] - values_[k]) / (point(k + 1) - point(k));
        std::size_t level = 0;
        for (std::size_t k = 0; k < n_points; ++k) {
            // The smallest ratio r = 1 is m = 1/2.
            const double m = 0.5, t = point(k), h = GoldenSection(GoldenSection::precise).h(m, t);
            const double cost = 2 * std::sqrt(degradation_at(h, m, t));
            for (; level < n_levels && cost > safety * double(level + 1) / n_levels;)
                beyond_[level++] = t;
        }
        for (; level < n_levels; ++level) beyond_[level] = __builtin_huge_val();
    }

    // A lower bound of F.
    double operator()(double t) const {
        if (!(t > least)) return t * values_[0] / least;
        if (!(t < most)) return values_[n_points - 1];
        const std::size_t k = std::size_t((as_bits(t) - as_bits(least)) >> cell_bits);
        return values_[k] + slopes_[k] * (t - point(k));
    }
    // The exponent beyond which every partner costs more than `cost`, for any r >= 1.
    double beyond(double cost) const {
        return cost < 1 ? beyond_[std::size_t(cost * n_levels)] : __builtin_huge_val();
    }
    static double exact(double t) {
        const double u = 2 * t / log2_e;
        if (u > small) return std::sqrt(1 - std::exp(-u) * (1 + u));
        return u * std::sqrt(1.0 / 2 - u / 3 + u * u / 8 - u * u * u / 30);
    }

  private:
    static constexpr double small = 0.01;    // below, the series has more digits than the formula
    static constexpr double safety = 1.001;  // covers the table's error
    // The exponents between which F differs from its limits, in points that the top bits of a
    // double number: 37 octaves of 16 points.
    static constexpr double least = 0x1p-30, most = 0x1p7;
    static constexpr int cell_bits = 52 - 4;
    static constexpr std::size_t n_points = 37 * 16 + 1;
    static constexpr std::size_t n_levels = 256;  // a finer grid of costs prunes hardly more

    static std::uint64_t as_bits(double value) {
        std::uint64_t bits;
        __builtin_memcpy(&bits, &value, sizeof(bits));
        return bits;
    }
    static double point(std::size_t k) {
        const std::uint64_t bits = as_bits(least) + (std::uint64_t(k) << cell_bits);
        double value;
        __builtin_memcpy(&value, &bits, sizeof(value));
        return value;
    }

    double values_[n_points], slopes_[n_points] = {}, beyond_[n_levels];
};

// With r = a_j / a >= 1, the ratio to the first and smallest coefficient, and F = PartnerLimit,
//     F(t) r / (1 + r) <= sqrt(WD) / a <= F(t).
// So the nearest candidate bounds the smallest WD from above, and a candidate whose lower bound,
// for its own r and t or for its t and any r, exceeds that cannot win.
template <class Real, class Solver>
class PrunedSearch {
  public:
    PrunedSearch(const Gaussian<Real>& kernel, std::size_t capacity, Solver solver)
        : kernel_(kernel), search_(kernel, capacity, solver), slots_(capacity),
          exponents_(capacity), coefficients_(capacity), can_win_(capacity / word_bits + 1) {}

    const Solver& solver() const { return search_.solver(); }

    std::size_t best_partner(const SupportSet<Real>& set, std::size_t first,
                             const Real* exponents) {
        if (set.coefficient(first) > 0)
            mark_winners(set, first, exponents, [](R c) { return c > R::all(0); });
        else
            mark_winners(set, first, exponents, [](R c) { return R::all(0) > c; });
        const Candidates<Real> candidates = collect(set, first, exponents);
        return candidates.count == 1 ? slots_[0] : search_.best_of(set, first, candidates);
    }

  private:
    using R = Lanes<Real>;
    static constexpr std::size_t word_bits = 64;

    Candidates<Real> collect(const SupportSet<Real>& set, std::size_t first,
                             const Real* exponents) {
        std::size_t n = 0;
        for (std::size_t s = 0; s < set.size(); s += word_bits)
            for (std::uint64_t left = can_win_[s / word_bits]; left != 0; left &= left - 1) {
                const std::size_t slot = s + std::size_t(__builtin_ctzll(left));
                slots_[n] = slot;
                exponents_[n] = exponents[slot];
                coefficients_[n] = set.coefficients()[slot];
                n += slot != first;
            }
        for (std::size_t k = n; k % R::count != 0; ++k) coefficients_[k] = 0;
        return {coefficients_.data(), exponents_.data(), n, n, slots_.data()};
    }

    // Fills whole words before anything branches on them: the branches would be unpredictable.
    template <class SameSign>
    void mark_winners(const SupportSet<Real>& set, std::size_t first, const Real* exponents,
                      SameSign same_sign) {
        const auto coefficients = [&](std::size_t s) { return R::load(set.coefficients() + s); };
        const double near = least_of<Real>(set.size(), [&](std::size_t s) {
            return select(same_sign(coefficients(s)), R::load(exponents + s),
                          R::all(excluded_exponent));
        });
        const Bound bound = bound_for(near, exponent_error(kernel_, set, first, first));
        // F r <= most (1 + r), times the first coefficient.
        const R slope = R::all(Real(-bound.slope)), start = R::all(Real(bound.most - bound.start)),
                end = R::all(Real(bound.most - bound.end)),
                spare = R::all(Real(bound.most * set.coefficient(first))),
                reach = R::all(Real(bound.reach));
        const auto can_win = [&](std::size_t s) {
            const R c = coefficients(s), t = R::load(exponents + s);
            const R below_most = max(multiply_add(slope, t, start), end);
            return bits((t <= reach) & same_sign(c) &
                        same_sign(multiply_add(c, below_most, spare)));
        };
        for (std::size_t s = 0; s < set.size(); s += word_bits) {
            std::uint64_t word = 0;
            for (std::size_t k = 0; k < word_bits && s + k < set.size(); k += R::count)
                word |= std::uint64_t(can_win(s + k)) << k;
            can_win_[s / word_bits] = word;
        }
    }

    // F is at least min(slope t + start, end). A candidate above `most`, or at an exponent beyond
    // `reach`, cannot win.
    struct Bound {
        double most, slope, start, end, reach;
    };
    Bound bound_for(double near, double error) const {
        // F is concave and grows: up to `next` it is above the chord, and then above its end.
        const double next = chord_length * near + smallest;
        const double from = limit_(near), to = limit_(next);
        const double slope = (to - from) / (next - near);
        // kappa (1 - kappa) is at most 1/4, and at most t ln 2.
        const double noise =
            16 * error * (std::fmin(0.25, near / log2_e) + error + interpolation_error);
        const double most =
            std::sqrt(table_margin * from * from + 4 * noise) + 4 * error + smallest;
        // For distant candidates WD / a^2 is 1 - kappa^2 (1 - 2 ln kappa) up to terms in kappa^3,
        // for any r. At half that kappa, the gain is a third of it: a difference that rounding
        // leaves visible in this range of exponents.
        const bool far = near >= far_begin && near <= far_end && error < far_error;
        return {most, slope, from - slope * near, to, far ? near + 1 : limit_.beyond(most)};
    }
    static constexpr double smallest = 1e-6;     // keeps the bounds apart where `near` is zero
    static constexpr double chord_length = 2.2;  // candidates nearer than that rarely lose by much
    static constexpr double table_margin = 1.003;  // far more than the error of the table
    static constexpr double far_begin = 4;         // from here on, terms in kappa^3 are small
    static constexpr double far_end = 11;          // up to here, float holds enough digits
    static constexpr double far_error = 0.01;      // small against the step of 1 in the exponent

    const Gaussian<Real>& kernel_;
    const PartnerLimit& limit_ = PartnerLimit::standard();
    ExhaustiveSearch<Real, Solver> search_;
    Buffer<std::size_t> slots_;  // the candidates that can win
    Buffer<Real> exponents_;
    Buffer<Real> coefficients_;
    Buffer<std::uint64_t> can_win_;  // one bit per slot
};

}  // namespace pocketsvm::POCKETSVM_SET
