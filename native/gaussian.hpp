// The Gaussian kernel of rows against the whole support set.
//
// Kernel values are carried as exponents t = gamma log2(e) |x - s|^2, so that k = 2^-t: where two
// vectors nearly coincide, 1 - k keeps the digits that k itself has lost.
#pragma once

#include "support_set.hpp"

namespace pocketsvm::POCKETSVM_SET {

constexpr double log2_e = 1.4426950408889634;

// As many accumulators as hide the latency of a multiply-add without leaving the registers.
#if defined(POCKETSVM_AVX512)
constexpr int blocks_at_once = 4, rows_at_once = 4, tile_blocks = 4;
#elif defined(POCKETSVM_AVX2) || defined(POCKETSVM_NEON)
constexpr int blocks_at_once = 4, rows_at_once = 4, tile_blocks = 1;
#else
constexpr int blocks_at_once = 2, rows_at_once = 2, tile_blocks = 1;
#endif

template <class RealType>
class Gaussian {
  public:
    using Real = RealType;
    using L = Lanes<Real>;

    Gaussian() = default;
    explicit Gaussian(double gamma) : scale_(gamma * log2_e), scale_in_lanes_(Real(scale_)) {}

    // t for a squared distance in double.
    double exponent(double squared_distance) const { return scale_ * squared_distance; }
    double scale() const { return scale_; }

    // Writes the exponents of all slots (whole blocks) and returns sum_j c_j k(x, s_j).
    template <class Row>
    Real row(const SupportSet<Real>& set, const Row& x, Real norm, Real* exponents) const {
        L sum = L::all(0);
        const std::size_t n_blocks = set.n_blocks();
        std::size_t b = 0;
        for (; b + blocks_at_once <= n_blocks; b += blocks_at_once)
            some_blocks<blocks_at_once>(set, x, norm, b, exponents, sum);
        for (; b < n_blocks; ++b) some_blocks<1>(set, x, norm, b, exponents, sum);
        return sum.sum();
    }

    // From a dot product to an exponent. NaN, which overflowing norms make, counts as far away.
    POCKETSVM_INLINE L exponent(L dot, L norms, Real norm) const {
        const L squared = multiply_add(L::all(-2), dot, L::all(norm) + norms);
        const L t = squared * L::all(scale_in_lanes_);
        return max(min(t, L::all(ExponentialPolynomial<Real>::largest)), L::all(0));
    }

  private:
    template <int n, class Row>
    POCKETSVM_INLINE void some_blocks(const SupportSet<Real>& set, const Row& x, Real norm,
                                      std::size_t first, Real* exponents, L& sum) const {
        const std::size_t stride = set.n_features() * L::count;
        const Real* base = set.block(first);
        L dots[n];
        for (int i = 0; i < n; ++i) dots[i] = L::all(0);
        for (std::size_t k = 0; k < x.count; ++k) {
            const L value = L::all(x.values[k]);
            const Real* from = base + x.index(k) * L::count;
            for (int i = 0; i < n; ++i)
                dots[i] = multiply_add(value, L::load(from + i * stride), dots[i]);
        }
        for (int i = 0; i < n; ++i) {
            const std::size_t at = (first + i) * L::count;
            const L t = exponent(dots[i], L::load(set.norms() + at), norm);
            t.store(exponents + at);
            sum = multiply_add(L::load(set.coefficients() + at), exp2_minus(t), sum);
        }
    }

    double scale_ = 0;
    Real scale_in_lanes_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
