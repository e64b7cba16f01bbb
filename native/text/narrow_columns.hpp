// The columns of a text that float32 may not hold: those whose values lie close together, compared
// with their size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pocketsvm {

// A column of values that are all close to each other. Values that are not finite in float32 do not
// count.
struct NarrowColumn {
    std::int32_t index;  // as written
    double least = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
    double error = 0;  // the largest one of rounding to float

    NarrowColumn(std::int32_t written, double value) : index(written) {
        const double rounded = double(float(value));
        if (!std::isfinite(rounded)) return;
        least = largest = value;
        error = std::abs(value - rounded);
    }

    double spread() const { return std::max(largest - least, 0.0); }
    void join(const NarrowColumn& other) {
        least = std::min(least, other.least);
        largest = std::max(largest, other.largest);
        error = std::max(error, other.error);
    }
    // Whether float32 holds all values to 1e-6 of their spread, whatever values join them: all are
    // then at most 16 spreads from zero, and the error of a float is at most 2^-24 of its size, or
    // 2^-150 if it is tiny.
    bool is_wide() const {
        return spread() * 15 >= std::max(std::abs(least), std::abs(largest)) &&
               spread() >= 0x1p-128;
    }
};

// The narrow columns of some rows. A column that is not among them is wide: a row without an entry
// has a zero there. Text with very many columns is sparse, so that only the first ones can be
// narrow, which bounds the memory.
class NarrowColumns {
  public:
    static constexpr std::int32_t most = 1 << 20;

    void clear() {
        columns_.clear();
        any_rows_ = false;
    }

    // Adds a row, whose indices increase.
    void add(const std::int32_t* indices, const double* values, std::size_t n) {
        if (!any_rows_) {
            any_rows_ = true;
            for (std::size_t k = 0; k < n && indices[k] < most; ++k)
                columns_.emplace_back(indices[k], values[k]);
            return;
        }
        if (columns_.empty()) return;
        const std::int32_t *at = indices, *const end = indices + n;
        keep_if([&](NarrowColumn& column) {
            if (at != end && *at != column.index) at = std::lower_bound(at, end, column.index);
            if (at == end || *at != column.index) return false;
            column.join({column.index, values[at++ - indices]});
            return !column.is_wide();
        });
    }

    // Adds other rows.
    void merge(const NarrowColumns& other) {
        if (!other.any_rows_) return;
        if (!any_rows_) {
            *this = other;
            return;
        }
        auto at = other.columns_.begin();
        keep_if([&](NarrowColumn& column) {
            while (at != other.columns_.end() && at->index < column.index) ++at;
            if (at == other.columns_.end() || at->index != column.index) return false;
            column.join(*at);
            return !column.is_wide();
        });
    }

    // Whether all columns are wide, and remain so if rows are added.
    bool all_are_wide() const { return any_rows_ && columns_.empty(); }

    // Whether float32 would lose more than 1e-6 of a column's spread.
    bool need_float64() const {
        return std::any_of(columns_.begin(), columns_.end(), [](const NarrowColumn& column) {
            return column.error > 1e-6 * column.spread();
        });
    }

  private:
    template <class Keep>
    void keep_if(Keep keep) {
        auto end = columns_.begin();
        for (NarrowColumn& column : columns_) {
            if (!keep(column)) continue;
            if (&*end != &column) *end = column;
            ++end;
        }
        columns_.erase(end, columns_.end());
    }

    std::vector<NarrowColumn> columns_;  // their indices increase
    bool any_rows_ = false;
};

}  // namespace pocketsvm
