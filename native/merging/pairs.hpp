// The merging problem for arrays of pairs (m, kappa), as the Python module asks for it.
#pragma once

#include "table.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Calls function(begin, count, m, t) for lanes of pairs: m is folded into [0, 1/2], and kappa in
// [0, 1] becomes its exponent t.
template <class Function>
void in_lanes(std::size_t n, const double* m, const double* kappa, Function function) {
    using L = Lanes<double>;
    for (std::size_t begin = 0; begin < n; begin += L::count) {
        const std::size_t count = n - begin < L::count ? n - begin : L::count;
        alignas(lane_bytes) double folded[L::count] = {}, t[L::count] = {};
        for (std::size_t k = 0; k < count; ++k) {
            const double share = m[begin + k], exponent = -std::log2(kappa[begin + k]);
            folded[k] = share <= 0.5 ? share : 1 - share;
            const double largest = ExponentialPolynomial<double>::largest;
            t[k] = exponent < largest ? exponent : largest;
        }
        function(begin, count, L::load(folded), L::load(t));
    }
}

inline void write(std::size_t begin, std::size_t count, Lanes<double> values, double* out) {
    alignas(lane_bytes) double lanes[Lanes<double>::count];
    values.store(lanes);
    for (std::size_t k = 0; k < count; ++k) out[begin + k] = lanes[k];
}

// Writes h for the unfolded m.
inline void write_h(std::size_t begin, std::size_t count, Lanes<double> h, const double* m,
                    double* out) {
    write(begin, count, h, out);
    for (std::size_t k = begin; k < begin + count; ++k)
        if (m[k] > 0.5) out[k] = 1 - out[k];
}

class PairTable final : public Table {
  public:
    PairTable(std::size_t size, bool scaled) : table_(size, scaled) {}
    void h(std::size_t n, const double* m, const double* kappa, double* out) const override {
        in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
            write_h(begin, count, table_.h(folded, t), m, out);
        });
    }
    void wd(std::size_t n, const double* m, const double* kappa, double* out) const override {
        in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
            write(begin, count, table_.wd(folded, t), out);
        });
    }

  private:
    MergeTable table_;
};

// h and wd by golden section search.
inline void solve_pairs(std::size_t n, const double* m, const double* kappa, double eps, double* h,
                        double* wd) {
    const GoldenSection solver(eps);
    in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
        const auto best = solver.h(folded, t);
        write_h(begin, count, best, m, h);
        write(begin, count, degradation_at(best, folded, t), wd);
    });
}

}  // namespace pocketsvm::POCKETSVM_SET
