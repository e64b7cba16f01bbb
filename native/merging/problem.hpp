// The merging problem: the best point z = h x_i + (1 - h) x_j to replace two vectors.
//
// With m = a_i / (a_i + a_j) and kappa = k(x_i, x_j) = 2^-t,
//     s(h) = m kappa^((1-h)^2) + (1-m) kappa^(h^2),    h = argmax s,
//     wd   = m^2 + (1-m)^2 - s(h)^2 + 2 m (1-m) kappa,
// and the weight degradation is (a_i + a_j)^2 wd. All functions take m folded into [0, 1/2], where
// the optimum is in [0, 1/2] too: h(1-m) = 1 - h(m) and wd(1-m) = wd(m).
//
// A solver is a small class that computes `wd` for lanes of candidates and `h` for chosen pairs:
//     template <class L> L wd(L m, L t) const;     template <class L> L h(L m, L t) const;
//     double h(double m, double t) const;
// Its constant `cancels` says whether wd loses digits where it is small. Its constant `error`
// bounds the relative error of wd: candidates that are closer to each other than that are compared
// by the closed form at the solver's h. (Zero: the solver's wd decides, whatever its error.)
#pragma once

#include <cmath>

#include "../kernel/gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

// e = 1 - s(h). Near kappa = 1, s has lost all digits that e still has.
template <class L>
POCKETSVM_INLINE L one_minus_s(L h, L m, L t) {
    const L one = L::all(1), rest = one - h;
    return multiply_add(m, one_minus_exp2_minus(rest * rest * t),
                        (one - m) * one_minus_exp2_minus(h * h * t));
}

// wd at a given h: with e = 1 - s, wd = 2 e - e^2 - 2 m (1-m) (1-kappa).
template <class L>
POCKETSVM_INLINE L degradation_at(L h, L m, L t) {
    const L e = one_minus_s(h, m, t);
    const L mixed = (m + m) * (L::all(1) - m) * one_minus_exp2_minus(t);
    return max((e + e - mixed) - e * e, L::all(0));
}

// The same for a single pair.
inline double degradation_at(double h, double m, double t) {
    using D = Lanes<double>;
    return degradation_at(D::all(h), D::all(m), D::all(t)).part[0][0];
}

// Two vectors of equal sign; their distance is computed from differences, in double.
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
    // The share h of the first in the merged vector.
    template <class Solver>
    double solve(const Solver& solver) const {
        return unfolded(solver.h(m, t));
    }
    double coefficient(double h) const {
        using D = Lanes<double>;
        return sum * (1 - one_minus_s(D::all(unfolded(h)), D::all(m), D::all(t)).part[0][0]);
    }
    double degradation(double h) const { return sum * sum * degradation_at(unfolded(h), m, t); }

    double m, t, sum;  // m is folded: the share of the smaller coefficient
    bool first_is_smaller;

  private:
    double unfolded(double h) const { return first_is_smaller ? h : 1 - h; }
};

}  // namespace pocketsvm::POCKETSVM_SET
