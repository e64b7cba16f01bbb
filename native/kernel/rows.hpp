// Views of rows, dense or sparse, and of the matrices that they belong to.
#pragma once

#include "../core.hpp"
#include "../memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class RealType>
struct DenseRow {
    using Real = RealType;
    const Real* values;
    std::size_t count;
    std::size_t index(std::size_t k) const { return k; }
};

template <class RealType>
struct SparseRow {
    using Real = RealType;
    const Real* values;
    const std::int32_t* indices;  // strictly increasing
    std::size_t count;
    std::size_t index(std::size_t k) const { return std::size_t(indices[k]); }
};

// Summed feature by feature, as every dot product is, so that |x|^2 + |s|^2 - 2 x s is exactly zero
// for equal rows, and dense and sparse rows give the same bits.
template <class Row>
POCKETSVM_INLINE typename Row::Real squared_norm(const Row& row) {
    typename Row::Real sum = 0;
    for (std::size_t k = 0; k < row.count; ++k)
        sum = multiply_add(row.values[k], row.values[k], sum);
    return sum;
}

template <class RealType>
class DenseRows {
  public:
    using Real = RealType;
    using Row = DenseRow<Real>;
    explicit DenseRows(const RowsView& view)
        : values_(static_cast<const Real*>(view.values)), n_features_(view.n_features) {}

    Row row(std::size_t i) { return {values_ + i * n_features_, n_features_}; }
    void prefetch(std::size_t i) const {
        const char* from = reinterpret_cast<const char*>(values_ + i * n_features_);
        const std::size_t bytes = n_features_ * sizeof(Real);
        for (std::size_t b = 0; b < bytes && b < max_prefetch; b += lane_bytes)
            __builtin_prefetch(from + b);
    }

  private:
    // In bytes. The hardware itself prefetches the rest of a longer row.
    static constexpr std::size_t max_prefetch = 1024;

    const Real* values_;
    std::size_t n_features_;
};

template <class RealType>
class SparseRows {
  public:
    using Real = RealType;
    using Row = SparseRow<Real>;
    explicit SparseRows(const RowsView& view)
        : view_(view), values_(static_cast<const Real*>(view.values)),
          narrow_(view.wide_indices ? view.n_features : 0) {}

    Row row(std::size_t i) {
        const std::size_t begin = pointer(i), count = pointer(i + 1) - begin;
        if (!view_.wide_indices)
            return {values_ + begin, static_cast<const std::int32_t*>(view_.indices) + begin,
                    count};
        const std::int64_t* wide = static_cast<const std::int64_t*>(view_.indices) + begin;
        for (std::size_t k = 0; k < count; ++k) narrow_[k] = std::int32_t(wide[k]);
        return {values_ + begin, narrow_.data(), count};
    }
    void prefetch(std::size_t i) const {
        const std::size_t begin = pointer(i);
        __builtin_prefetch(values_ + begin);
        __builtin_prefetch(static_cast<const char*>(view_.indices) +
                           begin * (view_.wide_indices ? 8 : 4));
    }

  private:
    std::size_t pointer(std::size_t i) const {
        return view_.wide_pointers
                   ? std::size_t(static_cast<const std::int64_t*>(view_.pointers)[i])
                   : std::size_t(static_cast<const std::int32_t*>(view_.pointers)[i]);
    }
    RowsView view_;
    const Real* values_;
    Buffer<std::int32_t> narrow_;  // the indices of one row
};

// Calls the function with the rows in the type that fits the view.
template <class Real, class Function>
auto with_rows(const RowsView& view, Function function) {
    if (view.sparse) {
        SparseRows<Real> rows(view);
        return function(rows);
    }
    DenseRows<Real> rows(view);
    return function(rows);
}

}  // namespace pocketsvm::POCKETSVM_SET
