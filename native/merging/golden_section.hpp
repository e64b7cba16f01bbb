// Golden section search, the solver of the strategies `gss` and `gss-precise`.
#pragma once

#include "problem.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Golden section search until the bracket is at most eps wide.
class GoldenSection {
  public:
    // wd is a difference of nearly equal numbers, with the rounding errors of e.
    static constexpr bool cancels = true;
    static constexpr double error = 0;
    // As exact as double allows: s is flat at its maximum.
    static constexpr double precise = 1e-10;
    explicit GoldenSection(double eps) : eps_(eps) {}

    // Searches [0, 1/2], where s has one mode. In a wider interval and at m = 1/2, it would compare
    // points that are mirror images of each other, and rounding would choose the mode.
    template <class L>
    L h(L m, L t) const {
        using Real = typename L::Real;
        const L r = L::all(Real(ratio));
        L lower = L::all(0), upper = L::all(Real(0.5));
        L x1 = upper - r * (upper - lower), x2 = lower + r * (upper - lower);
        L e1 = one_minus_s(x1, m, t), e2 = one_minus_s(x2, m, t);
        for (double width = 0.5; width > eps_; width *= ratio) {
            const auto left = e1 <= e2;
            const L kept = select(left, x1, x2), e_kept = select(left, e1, e2);
            upper = select(left, x2, upper);
            lower = select(left, lower, x1);
            const L part = r * (upper - lower);
            const L probe = select(left, upper - part, lower + part);
            const L e = one_minus_s(probe, m, t);
            x1 = select(left, probe, kept);
            e1 = select(left, e, e_kept);
            x2 = select(left, kept, probe);
            e2 = select(left, e_kept, e);
        }
        // At kappa = 0, any h but the limit 0 would lose both vectors.
        const auto vanishes = L::all(ExponentialPolynomial<Real>::largest) <= t;
        return select(vanishes, L::all(0), (lower + upper) * L::all(Real(0.5)));
    }

    double h(double m, double t) const {
        using L = Lanes<double>;
        return h(L::all(m), L::all(t)).part[0][0];
    }

    template <class L>
    L wd(L m, L t) const {
        return degradation_at(h(m, t), m, t);
    }

  private:
    static constexpr double ratio = 0.6180339887498949;  // (sqrt(5) - 1) / 2
    double eps_;
};

}  // namespace pocketsvm::POCKETSVM_SET
