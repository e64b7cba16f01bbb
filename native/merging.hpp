// The merging problem: the best point z = h x_i + (1 - h) x_j to stand for two vectors.
//
// With m = a_i / (a_i + a_j) and kappa = k(x_i, x_j) = 2^-t,
//     s(h) = m kappa^((1-h)^2) + (1-m) kappa^(h^2),    h = argmax s,
//     wd   = m^2 + (1-m)^2 - s(h)^2 + 2 m (1-m) kappa,
// and the weight degradation is (a_i + a_j)^2 wd. Everything here takes m folded into [0, 1/2],
// where the optimum is in [0, 1/2] too: h(1-m) = 1 - h(m) and wd(1-m) = wd(m).
//
// A solver is a small class that answers `wd` for lanes of candidates, and `h` for chosen pairs:
//     template <class L> L wd(L m, L t) const;     template <class L> L h(L m, L t) const;
//     double h(double m, double t) const;
// It says with `cancels` whether its wd has lost digits where it is small, with `prunes` that
// candidates which cannot win need not be asked for (for that its wd must be good to one part in a
// thousand wherever kappa is close to 1), and with `error` by which share its wd can be off:
// between candidates that are so close to each other, the closed form at its h decides.
#pragma once

#include <cmath>

#include "memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

// e = 1 - s(h). Near kappa = 1 all digits of s are nines; those of e are good.
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

// `gss` and `gss-precise`: golden section search until the bracket is no wider than eps.
class GoldenSection {
  public:
    // wd is a difference of nearly equal numbers: its rounding errors are those of e.
    static constexpr bool cancels = true;
    static constexpr bool prunes = false;
    static constexpr double error = 0;
    explicit GoldenSection(double eps) : eps_(eps) {}

    // On [0, 1/2], where s has one mode. (Any wider, and at m = 1/2 it would meet points that are
    // mirror images of each other, and rounding would choose the mode.)
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
        // At kappa = 0 the limit: any other h would lose both vectors.
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
    static constexpr double ratio = 0.6180339887498949;
    double eps_;
};

// What sqrt(WD) / a can come to for a vector of coefficient a, at the exponent t, with a partner of
// coefficient r a: it grows with t and with r >= 1, up to
//     F(t) for r without bounds,    F^2 = 1 - kappa^2 + 2 kappa^2 ln kappa.
// F is concave: a chord lies beneath it, by less than 0.03 % between points a sixteenth of an
// octave apart.
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
            const double m = 0.5, t = point(k), h = GoldenSection(1e-10).h(m, t);
            using L = Lanes<double>;
            const double wd = degradation_at(L::all(h), L::all(m), L::all(t)).part[0][0];
            for (; level < n_levels && 2 * std::sqrt(wd) > 1.001 * double(level + 1) / n_levels;)
                beyond_[level++] = t;
        }
        for (; level < n_levels; ++level) beyond_[level] = __builtin_huge_val();
    }

    // F from beneath.
    double operator()(double t) const {
        if (!(t > least)) return t * values_[0] / least;
        if (!(t < most)) return values_[n_points - 1];
        const std::size_t k = std::size_t((as_bits(t) - as_bits(least)) >> cell_bits);
        return values_[k] + slopes_[k] * (t - point(k));
    }
    // The exponent from which on everyone, be r as small as 1, costs more than this.
    double beyond(double most) const {
        return most < 1 ? beyond_[std::size_t(most * n_levels)] : __builtin_huge_val();
    }
    static double exact(double t) {
        const double u = 2 * t / log2_e;
        if (u > 0.01) return std::sqrt(1 - std::exp(-u) * (1 + u));
        return u * std::sqrt(1.0 / 2 - u / 3 + u * u / 8 - u * u * u / 30);
    }

  private:
    static constexpr double least = 0x1p-30, most = 0x1p7;
    static constexpr int cell_bits = 52 - 4;
    static constexpr std::size_t n_points = 37 * 16 + 1, n_levels = 256;

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

// h and wd on a grid of `size` cells a side, m in [0, 1/2] (half of them) and kappa in [0, 1],
// interpolated bilinearly. Scaled, it holds q = wd / (m (1-m) (1-kappa))^2, which is smooth and
// bounded where wd itself vanishes.
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

    // The tables of the strategies; built at first use.
    static const MergeTable& standard(bool scaled) {
        static const MergeTable plain_table(400, false), scaled_table(400, true);
        return scaled ? scaled_table : plain_table;
    }

    template <class L>
    L h(L m, L t) const {
        return interpolate(h_of(L()), m, exp2_minus(t));
    }
    // Of one pair, from the nodes in float: most often they are in no near cache.
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

    // The nodes of row i, from column j on, as many as there are lanes.
    void fill(std::size_t i, std::size_t j) {
        using L = Lanes<double>;
        const std::size_t n = size_ + 1 - j < L::count ? size_ + 1 - j : L::count;
        const double m = double(i) / double(size_);
        alignas(lane_bytes) double kappa[L::count], t[L::count], h[L::count], wd[L::count];
        for (std::size_t k = 0; k < L::count; ++k) {
            kappa[k] = j + k < size_ ? double(j + k) / double(size_) : 1;
            t[k] = kappa[k] > 0 ? -std::log2(kappa[k]) : ExponentialPolynomial<double>::largest;
        }
        const L best = GoldenSection(1e-10).h(L::all(m), L::load(t));
        best.store(h);
        degradation_at(best, L::all(m), L::load(t)).store(wd);
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t node = i * (size_ + 1) + j + k;
            h_[node] = limit_h(m, kappa[k], h[k]);
            wd_[node] = scaled_ ? limit_q(m, kappa[k], wd[k]) : limit_wd(m, kappa[k], wd[k]);
        }
    }

    // The borders by their limits, where a search ends anywhere or divides by zero.
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

// `lookup-h`: h from the table, wd from h.
class LookupH {
  public:
    static constexpr bool cancels = true;
    static constexpr bool prunes = false;
    static constexpr double error = 0;
    explicit LookupH(const MergeTable& table) : table_(table) {}
    template <class L>
    L h(L m, L t) const {
        return table_.h(m, t);
    }
    double h(double m, double t) const { return table_.h(m, t); }
    template <class L>
    L wd(L m, L t) const {
        return degradation_at(table_.h(m, t), m, t);
    }

  private:
    const MergeTable& table_;
};

// `lookup-wd`: wd from the table, whatever its error; h only for the chosen pair.
class LookupWD {
  public:
    static constexpr bool cancels = false;
    static constexpr bool prunes = false;
    static constexpr double error = 0;
    explicit LookupWD(const MergeTable& table) : table_(table) {}
    template <class L>
    L h(L m, L t) const {
        return table_.h(m, t);
    }
    double h(double m, double t) const { return table_.h(m, t); }
    template <class L>
    L wd(L m, L t) const {
        return table_.wd(m, t);
    }

  private:
    const MergeTable& table_;
};

// `merge`: the same on the scaled table, and only for candidates that can win. Where all are far
// away, they cost the same to eight digits and more, of which the table has four and a half.
class PrunedLookup : public LookupWD {
  public:
    static constexpr bool prunes = true;
    static constexpr double error =
        4e-5;  // ten times that beside the cusp at m = 1/2, kappa = e^-2
    using LookupWD::LookupWD;
};

}  // namespace pocketsvm::POCKETSVM_SET
