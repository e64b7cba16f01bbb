// The table of the merging problem, solved once for all pairs.
#pragma once

#include "golden_section.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Holds h and wd on a grid with spacing 1 / size, for m in [0, 1/2] and kappa in [0, 1], and
// interpolates bilinearly. A scaled table holds q = wd / (m (1-m) (1-kappa))^2 instead of wd: q is
// smooth and bounded where wd vanishes.
class MergeTable {
  public:
    MergeTable(std::size_t size, bool scaled)
        : size_(size), scaled_(scaled), h_(n_nodes()), h_float_(n_nodes()), wd_(n_nodes()),
          wd_float_(n_nodes()) {
        for (std::size_t i = 0; i <= size / 2; ++i)
            for (std::size_t j = 0; j <= size; j += Lanes<double>::count) fill(i, j);
        for (std::size_t k = 0; k < n_nodes(); ++k) {
            h_float_[k] = float(h_[k]);
            wd_float_[k] = float(wd_[k]);
        }
    }

    // The paper's grid.
    static constexpr std::size_t standard_size = 400;

    // The tables of the strategies, built at first use. They are never destroyed, because threads
    // may still use them while the process ends.
    static const MergeTable& standard(bool scaled) {
        static const MergeTable &plain_table = *new MergeTable(standard_size, false),
                                &scaled_table = *new MergeTable(standard_size, true);
        return scaled ? scaled_table : plain_table;
    }

    template <class L>
    L h(L m, L t) const {
        return interpolate(h_of(L()), m, exp2_minus(t));
    }
    // For one pair. It reads the nodes in float, which need half the cache.
    double h(double m, double t) const {
        const double kappa = exp2_minus(Lanes<double>::all(t)).part[0][0];
        const double x = m * double(size_), y = kappa * double(size_);
        const std::size_t row = std::size_t(std::fmin(x, double(size_ / 2 - 1))),
                          column = std::size_t(std::fmin(y, double(size_ - 1)));
        const float *above = h_float_.data() + row * (size_ + 1) + column,
                    *below = above + size_ + 1;
        const double right = y - double(column), down = x - double(row);
        return between(between(double(above[0]), double(above[1]), right),
                       between(double(below[0]), double(below[1]), right), down);
    }

    template <class L>
    L wd(L m, L t) const {
        const L distance = one_minus_exp2_minus(t);
        const L value = interpolate(wd_of(L()), m, L::all(1) - distance);
        if (!scaled_) return value;
        const L factor = m * (L::all(1) - m) * distance;
        return value * factor * factor;
    }

  private:
    std::size_t n_nodes() const { return (size_ / 2 + 1) * (size_ + 1); }
    const double* h_of(Lanes<double>) const { return h_.data(); }
    const float* h_of(Lanes<float>) const { return h_float_.data(); }
    const double* wd_of(Lanes<double>) const { return wd_.data(); }
    const float* wd_of(Lanes<float>) const { return wd_float_.data(); }

    // Computes the nodes of row i in one set of lanes, from column j on.
    void fill(std::size_t i, std::size_t j) {
        using L = Lanes<double>;
        const std::size_t n = size_ + 1 - j < L::count ? size_ + 1 - j : L::count;
        const double m = double(i) / double(size_);
        alignas(lane_bytes) double kappa[L::count], t[L::count], h[L::count], wd[L::count];
        for (std::size_t k = 0; k < L::count; ++k) {
            kappa[k] = j + k < size_ ? double(j + k) / double(size_) : 1;
            t[k] = kappa[k] > 0 ? -std::log2(kappa[k]) : ExponentialPolynomial<double>::largest;
        }
        const L best = GoldenSection(GoldenSection::precise).h(L::all(m), L::load(t));
        best.store(h);
        degradation_at(best, L::all(m), L::load(t)).store(wd);
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t node = i * (size_ + 1) + j + k;
            h_[node] = limit_h(m, kappa[k], h[k]);
            wd_[node] = scaled_ ? limit_q(m, kappa[k], wd[k]) : limit_wd(m, kappa[k], wd[k]);
        }
    }

    // The borders are set to their limits: there the search is undetermined or divides by zero.
    static double limit_h(double m, double kappa, double h) {
        if (kappa == 1) return m;
        return m == 0 || kappa == 0 ? 0 : h;
    }
    static double limit_wd(double m, double kappa, double wd) {
        if (kappa == 0) return m * m;
        return m == 0 || kappa == 1 ? 0 : wd;
    }
    static double limit_q(double m, double kappa, double wd) {
        const double distance = 1 - kappa;
        if (distance == 0) return 2;
        if (kappa == 0) return 1 / ((1 - m) * (1 - m));
        if (m == 0)
            return (1 - kappa * kappa + 2 * kappa * kappa * std::log(kappa)) /
                   (distance * distance);
        const double factor = m * (1 - m) * distance;
        return wd / (factor * factor);
    }

    template <class L>
    POCKETSVM_INLINE L interpolate(const typename L::Real* table, L m, L kappa) const {
        using Real = typename L::Real;
        const L x = m * L::all(Real(size_)), y = kappa * L::all(Real(size_));
        const Floor<L> row = floor_below(x, Real(size_ / 2 - 1)),
                       column = floor_below(y, Real(size_ - 1));
        typename L::Bits node[L::parts];
        for (int p = 0; p < L::parts; ++p)
            node[p] = row.index[p] * typename L::Integer(size_ + 1) + column.index[p];
        const L right = y - column.value, down = x - row.value;
        const auto above_pair = gather_neighbours(table, node);
        const auto below_pair = gather_neighbours(table + size_ + 1, node);
        const L above = between(above_pair.left, above_pair.right, right);
        const L below = between(below_pair.left, below_pair.right, right);
        return between(above, below, down);
    }
    template <class L>
    static POCKETSVM_INLINE L between(L a, L b, L share) {
        return multiply_add(share, b - a, a);
    }

    std::size_t size_;
    bool scaled_;
    Buffer<double> h_;
    Buffer<float> h_float_;
    Buffer<double> wd_;
    Buffer<float> wd_float_;
};

}  // namespace pocketsvm::POCKETSVM_SET
