// The Gaussian kernel of rows and the vectors of a support set.
//
// Kernel values are kept as exponents t = gamma log2(e) |x - s|^2, so that k = 2^-t: where two
// vectors nearly coincide, 1 - k keeps the digits that k itself has lost.
#pragma once

#include "support_set.hpp"

namespace pocketsvm::POCKETSVM_SET {

// As many accumulators as hide the latency of a multiply-add and still fit into the registers.
#if defined(POCKETSVM_AVX512)
constexpr int blocks_at_once = 4, rows_at_once = 4, tile_blocks = 4;
#elif defined(POCKETSVM_AVX2) || defined(POCKETSVM_NEON)
constexpr int blocks_at_once = 4, rows_at_once = 4, tile_blocks = 1;
#else
constexpr int blocks_at_once = 2, rows_at_once = 2, tile_blocks = 1;
#endif

// Stands in place of a vector's exponent against itself, so that no search for a near vector finds
// it. It must not take part in sums: 2^-inf yields NaN here.
constexpr float excluded_exponent = __builtin_huge_valf();

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

    // sum_j c_j k_j, from the exponents.
    static POCKETSVM_INLINE Real weighted_sum(const SupportSet<Real>& set, const Real* exponents) {
        const auto kernel = [&](std::size_t at) { return exp2_minus(L::load(exponents + at)); };
        constexpr std::size_t chains = 4;  // independent sums hide the latency of a multiply-add
        const std::size_t end = set.n_blocks() * L::count;
        L sums[chains];
        for (L& sum : sums) sum = L::all(0);
        std::size_t at = 0;
        for (; at + chains * L::count <= end; at += chains * L::count)
            for (std::size_t i = 0; i < chains; ++i) {
                const std::size_t here = at + i * L::count;
                sums[i] = multiply_add(L::load(set.coefficients() + here), kernel(here), sums[i]);
            }
        for (; at < end; at += L::count)
            sums[0] = multiply_add(L::load(set.coefficients() + at), kernel(at), sums[0]);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum();
    }

    // Computes the exponents of all slots (whole blocks).
    //
    // If every other call is `backwards`, it starts with the vectors that the last call used: most
    // of a set that is a little larger than the first-level cache is then still in that cache.
    template <class Row>
    void exponents(const VectorLanes<Real>& vectors, const Row& x, Real norm, Real* out,
                   bool backwards = false) const {
        const std::size_t n_blocks = vectors.n_blocks(), n_groups = n_blocks / blocks_at_once;
        const Row row[1] = {x};
        const Real norms[1] = {norm};
        const auto store = [&](int, std::size_t at, L t)
                               POCKETSVM_INLINE_LAMBDA { t.store(out + at); };
        for (std::size_t g = 0; g < n_groups; ++g)
            some_blocks<1, blocks_at_once>(
                vectors, row, norms, (backwards ? n_groups - 1 - g : g) * blocks_at_once, store);
        for (std::size_t b = n_groups * blocks_at_once; b < n_blocks; ++b)
            some_blocks<1, 1>(vectors, row, norms, b, store);
    }

    // Computes the exponents of several rows together, so that each block is read once for all of
    // them: calls use(r, slot, exponents) for every row and block. n > 1 rows must be dense.
    template <int n, class Row, class Use>
    void tile(const VectorLanes<Real>& vectors, const Row (&rows)[n], const Real (&norms)[n],
              Use use) const {
        constexpr int at_once = n > 1 ? tile_blocks : blocks_at_once;
        std::size_t b = 0;
        for (; b + at_once <= vectors.n_blocks(); b += at_once)
            some_blocks<n, at_once>(vectors, rows, norms, b, use);
        for (; b < vectors.n_blocks(); ++b) some_blocks<n, 1>(vectors, rows, norms, b, use);
    }

    // From a dot product to an exponent. NaN, which results from overflowing norms, becomes the
    // largest exponent.
    POCKETSVM_INLINE L exponent(L dot, L norms, Real norm) const {
        const L squared = multiply_add(L::all(-2), dot, L::all(norm) + norms);
        const L t = squared * L::all(scale_in_lanes_);
        return max(min(t, L::all(ExponentialPolynomial<Real>::largest)), L::all(0));
    }

    // For one row and one vector, with the same bits as in lanes.
    template <class Row>
    Real exponent(const Row& x, Real norm, const Real* vector, Real vector_norm) const {
        Real dot = 0;
        for (std::size_t k = 0; k < x.count; ++k)
            dot = multiply_add(x.values[k], vector[x.index(k)], dot);
        const Real t = multiply_add(Real(-2), dot, norm + vector_norm) * scale_in_lanes_;
        const Real largest = ExponentialPolynomial<Real>::largest;
        const Real bounded = t < largest ? t : largest;
        return bounded > 0 ? bounded : 0;
    }

  private:
    template <int n, int m, class Row, class Use>
    POCKETSVM_INLINE void some_blocks(const VectorLanes<Real>& vectors, const Row (&rows)[n],
                                      const Real (&norms)[n], std::size_t first, Use use) const {
        const std::size_t stride = vectors.n_features() * L::count;
        const Real* base = vectors.block(first);
        L dots[n][m];
        for (int r = 0; r < n; ++r)
            for (int i = 0; i < m; ++i) dots[r][i] = L::all(0);
        for (std::size_t k = 0; k < rows[0].count; ++k) {
            const Real* from = base + rows[0].index(k) * L::count;
            for (int i = 0; i < m; ++i) {
                const L lanes = L::load(from + i * stride);
                for (int r = 0; r < n; ++r)
                    dots[r][i] = multiply_add(L::all(rows[r].values[k]), lanes, dots[r][i]);
            }
        }
        for (int i = 0; i < m; ++i) {
            const std::size_t at = (first + i) * L::count;
            const L lane_norms = L::load(vectors.norms() + at);
            for (int r = 0; r < n; ++r) use(r, at, exponent(dots[r][i], lane_norms, norms[r]));
        }
    }

    double scale_ = 0;
    Real scale_in_lanes_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
