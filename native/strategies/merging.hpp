// Maintenance by merging: the first partner has the smallest coefficient, the second is the vector
// of the same sign for which the solver reports the smallest weight degradation.
#pragma once

#include "../maintenance.hpp"
#include "../merging.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Two vectors of equal sign, with distances by differences, in double.
struct MergePair {
    template <class Real>
    MergePair(const Gaussian<Real>& kernel, const SupportSet<Real>& set, std::size_t first,
              std::size_t second) {
        const double a = std::fabs(set.coefficient(first)), b = std::fabs(set.coefficient(second));
        const double largest = ExponentialPolynomial<double>::largest;
        t = kernel.exponent(set.squared_distance(first, second));
        t = t < largest ? t : largest;
        m = (a < b ? a : b) / (a + b);
        sum = a + b;
        first_is_smaller = a <= b;
    }
    // h is the share of the first in the merged vector.
    template <class Solver>
    double solve(const Solver& solver) const {
        return unfolded(solver.h(m, t));
    }
    double coefficient(double h) const {
        return sum * (1 - one_minus_s(D::all(unfolded(h)), D::all(m), D::all(t)).part[0][0]);
    }
    double degradation(double h) const {
        return sum * sum * degradation_at(D::all(unfolded(h)), D::all(m), D::all(t)).part[0][0];
    }

    double m, t, sum;  // m folded: the share of the smaller coefficient
    bool first_is_smaller;

  private:
    using D = Lanes<double>;
    double unfolded(double h) const { return first_is_smaller ? h : 1 - h; }
};

// The solver works in lanes of `Working`: float where the rows are, double where it needs it.
template <class Real, class Solver, class Working = Real>
class Merging final : public Maintenance<Real> {
  public:
    Merging(const Gaussian<Real>& kernel, std::size_t capacity, std::size_t n_features,
            Solver solver, Tie tie)
        : kernel_(kernel), solver_(solver), tie_(tie), slot_row_(n_features), exponents_(capacity),
          degradations_(capacity), shortlist_(capacity), chosen_(Solver::prunes ? capacity : 0),
          chosen_exponents_(Solver::prunes ? capacity : 0),
          chosen_coefficients_(Solver::prunes ? capacity : 0),
          can_win_(Solver::prunes ? capacity / 64 + 1 : 0) {}

    std::size_t first_partner(const SupportSet<Real>& set) const override {
        const std::size_t first = smallest_coefficient(set, tie_);
        if (has_partner(set, first)) return first;
        return smallest_coefficient(set, tie_, set.coefficient(first) > 0 ? -1 : 1);
    }

    Decision decide(const SupportSet<Real>& set, std::size_t first, const Real* newest,
                    Stopwatch& watch) override {
        const Real* exponents = newest;
        if (newest == nullptr || first != set.size() - 1) {
            const SparseRow<Real> row = slot_row_.read(set, first);
            kernel_.exponents(set, row, set.norms()[first], exponents_.data());
            if (newest != nullptr) exponents_[set.size() - 1] = newest[first];
            exponents_[first] = far_away;
            exponents = exponents_.data();
        }
        watch.lap_rest();
        return describe(set, first, search(set, first, exponents), watch);
    }

    double degradation(const SupportSet<Real>& set, const Decision& decision) const override {
        return MergePair(kernel_, set, decision.first, decision.second).degradation(decision.h);
    }

    void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t step) override {
        set.merge(decision.first, decision.second, decision.h, decision.coefficient, step);
    }

  private:
    using L = Lanes<Working>;
    using R = Lanes<Real>;
    using D = Lanes<double>;

    static L load(const Real* from) {
        if constexpr (sizeof(Real) == sizeof(Working))
            return L::load(from);
        else
            return L::convert(from);
    }

    // Weight degradations are compared in units of a^2, the square of the first coefficient, and
    // stay in range whatever the weights. A second coefficient much larger than that is as good as
    // any such one.
    static L in_range(L ratio) {
        const L largest = L::all(Working(1e18));
        return max(min(ratio, largest), L::all(0) - largest);
    }

    std::size_t search(const SupportSet<Real>& set, std::size_t first, const Real* exponents) {
        Candidates candidates{set.coefficients(), exponents, set.size(), first};
        if constexpr (Solver::prunes) {
            candidates = those_that_can_win(set, first, exponents);
            if (candidates.count == 1) return chosen_[0];
        }
        const std::size_t best = evaluate(set, first, candidates);
        const std::size_t slot = slot_of(best);
        const Rounding rounding = rounding_at(std::exp2(-double(candidates.exponents[best])),
                                              exponent_error(set, first, slot));
        const double ratio = set.coefficient(slot) / set.coefficient(first);
        const double slack = rounding.of_distance + rounding.of_closed_form * ratio +
                             Solver::error * degradations_[best];
        if (slack <= 1e-6 * degradations_[best]) return slot;
        return settle(set, first, candidates, degradations_[best] + slack, rounding);
    }

    // What is searched: all slots but the first partner, or a selection of them in order.
    struct Candidates {
        const Real* coefficients;
        const Real* exponents;
        std::size_t count;
        std::size_t excluded;  // the first partner's place among them; count or more: it has none
    };
    std::size_t slot_of(std::size_t place) const {
        if constexpr (Solver::prunes) return chosen_[place];
        return place;
    }

    // Weight degradations of all candidates; returns the place of the smallest, the first of
    // equals.
    std::size_t evaluate(const SupportSet<Real>& set, std::size_t first,
                         const Candidates& candidates) {
        const Working infinity = __builtin_huge_val();
        const L unit = L::all(Working(1 / set.coefficient(first))), one = L::all(1);
        L least = L::all(infinity);
        for (std::size_t s = 0; s < candidates.count; s += L::count) {
            const L ratio = in_range(load(candidates.coefficients + s) * unit);
            // Lanes of the other sign are computed like the rest, on sane numbers, and dropped.
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

    // With r = a_j / a >= 1, the ratio to the first and smallest coefficient, and F = PartnerLimit,
    //     F(t) r / (1 + r) <= sqrt(WD) / a <= F(t):
    // the nearest candidate bounds the smallest WD from above, and whoever is above that for its
    // own r and t, or for its t and any r, cannot win. F is concave in t and grows: between two
    // points it is above the chord, behind the second above its value there.
    Candidates those_that_can_win(const SupportSet<Real>& set, std::size_t first,
                                  const Real* exponents) {
        if (set.coefficient(first) > 0)
            note_who_can_win(set, first, exponents, [](R c) { return c > R::all(0); });
        else
            note_who_can_win(set, first, exponents, [](R c) { return R::all(0) > c; });
        std::size_t n = 0;
        for (std::size_t s = 0; s < set.size(); s += 64)
            for (std::uint64_t left = can_win_[s / 64]; left != 0; left &= left - 1) {
                const std::size_t slot = s + std::size_t(__builtin_ctzll(left));
                chosen_[n] = slot;
                chosen_exponents_[n] = exponents[slot];
                chosen_coefficients_[n] = set.coefficients()[slot];
                n += slot != first;
            }
        for (std::size_t k = n; k % R::count != 0; ++k) chosen_coefficients_[k] = 0;
        return {chosen_coefficients_.data(), chosen_exponents_.data(), n, n};
    }

    // All are looked at before the first branch, which nobody could foretell.
    template <class SameSign>
    void note_who_can_win(const SupportSet<Real>& set, std::size_t first, const Real* exponents,
                          SameSign same_sign) {
        const auto coefficients = [&](std::size_t s) { return R::load(set.coefficients() + s); };
        const double near = least_of<Real>(set.size(), [&](std::size_t s) {
            return select(same_sign(coefficients(s)), R::load(exponents + s), R::all(far_away));
        });
        const Bound bound = bound_for(near, exponent_error(set, first, first));
        // F r <= most (1 + r), times the first coefficient.
        const R slope = R::all(Real(-bound.slope)), start = R::all(Real(bound.most - bound.start)),
                end = R::all(Real(bound.most - bound.end)),
                spare = R::all(Real(bound.most * set.coefficient(first))),
                reach = R::all(Real(bound.reach));
        const auto who_can_win = [&](std::size_t s) {
            const R c = coefficients(s), t = R::load(exponents + s);
            const R below_most = max(multiply_add(slope, t, start), end);
            return bits((t <= reach) & same_sign(c) &
                        same_sign(multiply_add(c, below_most, spare)));
        };
        for (std::size_t s = 0; s < set.size(); s += 64) {
            std::uint64_t some = 0;
            for (std::size_t k = 0; k < 64 && s + k < set.size(); k += R::count)
                some |= std::uint64_t(who_can_win(s + k)) << k;
            can_win_[s / 64] = some;
        }
    }

    // F is at least min(slope t + start, end); what exceeds `most` cannot win, nor what is beyond
    // `reach`.
    struct Bound {
        double most, slope, start, end, reach;
    };
    // `most` is wider than the nearest candidate's F by far more than table and rounding are off.
    Bound bound_for(double near, double error) const {
        const double next = 2.2 * near + 1e-6, from = limit_(near), to = limit_(next);
        const double slope = (to - from) / (next - near);
        // kappa (1 - kappa) is at most 1/4, and at most t ln 2.
        const double noise =
            16 * error * (std::fmin(0.25, near / log2_e) + error + interpolation_error);
        const double most = std::sqrt(1.003 * from * from + 4 * noise) + 4 * error + 1e-6;
        // Far away WD / a^2 is 1 - kappa^2 (1 - 2 ln kappa) but for kappa^3, whatever r: half that
        // kappa gains a third of it, which is told apart as long as there are digits.
        const bool far = near >= 4 && near <= 11 && error < 0.01;
        return {most, slope, from - slope * near, to, far ? near + 1 : limit_.beyond(most)};
    }

    // What rounding can add to an exponent that was computed from norms and a dot product.
    double exponent_error(const SupportSet<Real>& set, std::size_t i, std::size_t j) const {
        constexpr double unit = sizeof(Real) == 4 ? 0x1p-24 : 0x1p-53;
        return 4 * unit * (1 + kernel_.scale() * (double(set.norms()[i]) + set.norms()[j]));
    }

    // How far rounding can move a weight degradation near the best one, in units of a^2.
    struct Rounding {
        double of_distance;     // for any candidate
        double of_closed_form;  // times the candidate's coefficient in units of a
    };

    // An error E of an exponent moves WD <= 4 a^2 (1-kappa)^2 by at most 16 a^2 kappa E (1 - kappa
    // + kappa E); interpolated between nodes 1/400 apart, WD is steeper where kappa is close to 1.
    // In closed form WD is (a + a_j)^2 (2 e - ...) with e about m (1-m) (1-kappa).
    static constexpr double interpolation_error = 1.0 / 400;
    static Rounding rounding_at(double kappa, double error) {
        constexpr double working_unit = sizeof(Working) == 4 ? 0x1p-24 : 0x1p-53;
        return {16 * kappa * error * (1 - kappa + kappa * error + interpolation_error),
                Solver::cancels ? 16 * working_unit * (1 - kappa + error) : 0};
    }

    // Decides among those that rounding, or the solver's error, may have put above the best, from
    // distances by differences, in double.
    std::size_t settle(const SupportSet<Real>& set, std::size_t first, const Candidates& candidates,
                       double threshold, const Rounding& rounding) {
        const L unit = L::all(Working(1 / set.coefficient(first)));
        // Finite, or it would let in what is not a candidate.
        const double most = sizeof(Working) == 4 ? 0x1p127 : 0x1p1023;
        const L limit = L::all(Working(threshold < most ? threshold : most)),
                noise = L::all(Working(rounding.of_closed_form));
        std::size_t n = 0;
        for (std::size_t s = 0; s < candidates.count; s += L::count) {
            const L ratio = in_range(load(candidates.coefficients + s) * unit);
            std::uint32_t near = bits(L::load(degradations_.data() + s) - noise * ratio <= limit);
            for (; near != 0; near &= near - 1)
                shortlist_[n++] = slot_of(s + std::size_t(__builtin_ctz(near)));
        }
        std::size_t best = shortlist_[0];
        if (n == 1) return best;
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

    // The chosen pair, exactly: h by the solver, the rest in closed form at that h.
    Decision describe(const SupportSet<Real>& set, std::size_t first, std::size_t second,
                      Stopwatch& watch) const {
        const MergePair pair(kernel_, set, first, second);
        Decision decision;
        decision.first = first;
        decision.second = second;
        decision.merges = true;
        decision.h = pair.solve(solver_);
        watch.lap_solve();
        decision.coefficient = (set.coefficient(first) > 0 ? 1 : -1) * pair.coefficient(decision.h);
        return decision;
    }

    const Gaussian<Real>& kernel_;
    Solver solver_;
    const PartnerLimit& limit_ = PartnerLimit::standard();
    Tie tie_;
    SlotRow<Real> slot_row_;
    Buffer<Real> exponents_;
    Buffer<Working> degradations_;
    Buffer<std::size_t> shortlist_;
    Buffer<std::size_t> chosen_;  // of a solver that prunes: the candidates that can win
    Buffer<Real> chosen_exponents_;
    Buffer<Real> chosen_coefficients_;
    Buffer<std::uint64_t> can_win_;  // one bit a slot
};

}  // namespace pocketsvm::POCKETSVM_SET
