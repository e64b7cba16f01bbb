// The merging problem for arrays of pairs (m, kappa), as the Python module asks for it.
#pragma once

#include "table.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Solves the pairs in lanes: function(m, t, h, wd) stores h and wd for m folded into [0, 1/2] and
// the exponent t of kappa. Both outputs may be null.
template <class Function>
void for_pairs(std::size_t n, const double* m, const double* kappa, double* h, double* wd,
               Function function) {
    using L = Lanes<double>;
    for (std::size_t begin = 0; begin < n; begin += L::count) {
        const std::size_t count = n - begin < L::count ? n - begin : L::count;
        alignas(lane_bytes) double folded[L::count] = {}, t[L::count] = {}, hs[L::count],
                                   wds[L::count];
        for (std::size_t k = 0; k < count; ++k) {
            const double share = m[begin + k], exponent = -std::log2(kappa[begin + k]);
            folded[k] = share <= 0.5 ? share : 1 - share;
            const double largest = ExponentialPolynomial<double>::largest;
            t[k] = exponent < largest ? exponent : largest;
        }
        function(L::load(folded), L::load(t), hs, wds);
        for (std::size_t k = 0; k < count; ++k) {
            if (h != nullptr) h[begin + k] = m[begin + k] > 0.5 ? 1 - hs[k] : hs[k];
            if (wd != nullptr) wd[begin + k] = wds[k];
        }
    }
}

class PairTable final : public Table {
  public:
    PairTable(std::size_t size, bool scaled) : table_(size, scaled) {}
    void look_up(std::size_t n, const double* m, const double* kappa, double* h,
                 double* wd) const override {
        for_pairs(n, m, kappa, h, wd, [&](auto folded, auto t, double* hs, double* wds) {
            if (h != nullptr) table_.h(folded, t).store(hs);
            if (wd != nullptr) table_.wd(folded, t).store(wds);
        });
    }

  private:
    MergeTable table_;
};

// h and wd by golden section search.
inline void solve_pairs(std::size_t n, const double* m, const double* kappa, double eps, double* h,
                        double* wd) {
    for_pairs(n, m, kappa, h, wd, [&](auto folded, auto t, double* hs, double* wds) {
        const auto best = GoldenSection(eps).h(folded, t);
        best.store(hs);
        degradation_at(best, folded, t).store(wds);
    });
}

}  // namespace pocketsvm::POCKETSVM_SET
