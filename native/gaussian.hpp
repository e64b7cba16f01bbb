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
    //
    // Called with `backwards` every other time, it goes through the vectors to and fro: a set that
    // is a little larger than the first-level cache is then found there for the most part. The sum
    // is always taken from front to back.
    template <class Row>
    Real row(const SupportSet<Real>& set, const Row& x, Real norm, Real* out,
             bool backwards) const {
        exponents(set, x, norm, out, backwards);
        L sum = L::all(0);
        for (std::size_t at = 0; at < set.n_blocks() * L::count; at += L::count)
            sum =
                multiply_add(L::load(set.coefficients() + at), exp2_minus(L::load(out + at)), sum);
        return sum.sum();
    }

    template <class Row>
    void exponents(const SupportSet<Real>& set, const Row& x, Real norm, Real* out,
                   bool backwards = false) const {
        const std::size_t n_blocks = set.n_blocks(), n_groups = n_blocks / blocks_at_once;
        for (std::size_t g = 0; g < n_groups; ++g)
            some_blocks<blocks_at_once>(set, x, norm,
                                        (backwards ? n_groups - 1 - g : g) * blocks_at_once, out);
        for (std::size_t b = n_groups * blocks_at_once; b < n_blocks; ++b)
            some_blocks<1>(set, x, norm, b, out);
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
                                      std::size_t first, Real* exponents) const {
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
            exponent(dots[i], L::load(set.norms() + at), norm).store(exponents + at);
        }
    }

    double scale_ = 0;
    Real scale_in_lanes_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
