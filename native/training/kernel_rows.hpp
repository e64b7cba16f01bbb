// The kernel rows of training: the exponents of each row against the support set, in the order of
// the pass.
//
// Several dense rows are computed together, so that the vectors are read once for all of them. If a
// vector changes in the meantime, its values are computed again for the rows that remain. A kernel
// value depends on its row and its vector alone, so the bits do not depend on when it was computed.
#pragma once

#include "../clock.hpp"
#include "../kernel/gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

// What a training step needs to know about its row.
template <class Real>
struct KernelRow {
    Real norm;
    Real sum;  // sum_j c_j k(x, s_j)
};

template <class Rows>
class KernelRows {
  public:
    using Real = typename Rows::Real;

    KernelRows(const Gaussian<Real>& kernel, SupportSet<Real>& set, const RowsView& view,
               const Buffer<std::uint32_t>& order)
        : kernel_(kernel), set_(set), order_(order), rows_(view),
          together_(view.sparse ? 1 : rows_at_once), stride_(stride_for(set)),
          exponents_(together_ * stride_) {
        set_.changes().forget();
    }

    // To be called before each row, in order; `seconds` includes the time that it takes.
    void prepare(std::size_t i) {
        row_ = i % together_;
        if (row_ != 0) return;
        const bool timed = clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        count_ = order_.size() - i < together_ ? order_.size() - i : together_;
        for (std::size_t r = 0; r < count_; ++r) {
            x_[r] = rows_.row(order_[i + r]);
            norms_[r] = squared_norm(x_[r]);
        }
        if (count_ == rows_at_once)
            kernel_.tile(set_, x_, norms_, [&](int r, std::size_t at, L t) POCKETSVM_INLINE_LAMBDA {
                t.store(exponents_of(r) + at);
            });
        else
            for (std::size_t r = 0; r < count_; ++r)
                kernel_.exponents(set_, x_[r], norms_[r], exponents_of(r), i % 2 != 0);
        if (timed) clock_.add(Stopwatch::seconds_since(begin));
    }

    KernelRow<Real> take() { return {norms_[row_], kernel_.weighted_sum(set_, exponents())}; }
    // The exponents of the current row for all slots.
    Real* exponents() { return exponents_of(row_); }

    // To be called when the set may have changed.
    void follow() {
        set_.changes().take([&](std::size_t slot) {
            if (slot >= set_.size()) return;  // it has been removed again
            for (std::size_t r = row_ + 1; r < count_; ++r)
                exponents_of(r)[slot] =
                    kernel_.exponent(x_[r], norms_[r], set_.vector(slot), set_.norms()[slot]);
        });
    }
    double seconds() const { return clock_.total(); }

  private:
    using L = Lanes<Real>;

    // The distance between the values of two rows: an odd number of cache lines, because with a
    // power of two all rows would compete for a few sets of the cache.
    static std::size_t stride_for(const VectorLanes<Real>& vectors) {
        return (vectors.capacity() / L::count | 1) * L::count;
    }
    Real* exponents_of(std::size_t r) { return exponents_.data() + r * stride_; }

    const Gaussian<Real>& kernel_;
    SupportSet<Real>& set_;
    const Buffer<std::uint32_t>& order_;
    Rows rows_;
    std::size_t together_;
    std::size_t count_ = 0;  // rows that were computed together
    std::size_t row_ = 0;    // the current one of them
    std::size_t stride_;     // from row to row
    typename Rows::Row x_[rows_at_once];
    Real norms_[rows_at_once];
    Buffer<Real> exponents_;
    SampledClock clock_;
};

}  // namespace pocketsvm::POCKETSVM_SET
