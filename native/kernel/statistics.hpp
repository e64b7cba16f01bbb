// Statistics of rows that Python needs before training: the largest norm and the variance of all
// entries.
//
// Sums are in double, in eight partial sums by feature number. Zeros add nothing, so dense and
// sparse rows give the same bits, and the compiler can keep the sums of dense rows in vector
// registers.
#pragma once

#include <cmath>

#include "../core.hpp"

namespace pocketsvm {

class PartialSums {
  public:
    static constexpr std::size_t count = 8;
    void add(std::size_t j, double value) { sums_[j] += value; }
    double total() const {
        return ((sums_[0] + sums_[1]) + (sums_[2] + sums_[3])) +
               ((sums_[4] + sums_[5]) + (sums_[6] + sums_[7]));
    }

  private:
    double sums_[count] = {};
};

// Calls visit(number of the partial sum, value) for every stored entry, and after() after each row.
template <class Real, class Visit, class After>
void visit_entries(const RowsView& rows, Visit visit, After after) {
    constexpr std::size_t n = PartialSums::count;
    const Real* values = static_cast<const Real*>(rows.values);
    if (!rows.sparse) {
        for (std::size_t i = 0; i < rows.n_rows; ++i, values += rows.n_features) {
            std::size_t f = 0;
            for (; f + n <= rows.n_features; f += n)
                for (std::size_t j = 0; j < n; ++j) visit(j, double(values[f + j]));
            for (std::size_t j = 0; f + j < rows.n_features; ++j) visit(j, double(values[f + j]));
            after();
        }
        return;
    }
    const auto at = [](const void* array, bool wide, std::size_t k) {
        return wide ? std::size_t(static_cast<const std::int64_t*>(array)[k])
                    : std::size_t(static_cast<const std::int32_t*>(array)[k]);
    };
    std::size_t k = 0;
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        for (const std::size_t end = at(rows.pointers, rows.wide_pointers, i + 1); k < end; ++k)
            visit(at(rows.indices, rows.wide_indices, k) % n, double(values[k]));
        after();
    }
}

template <class Visit, class After>
void visit_entries(const RowsView& rows, Visit visit, After after) {
    if (rows.precision == Precision::float32)
        visit_entries<float>(rows, visit, after);
    else
        visit_entries<double>(rows, visit, after);
}

// Infinite or NaN if squares overflow or values are not finite.
inline double max_squared_norm(const RowsView& rows) {
    double largest = 0;
    PartialSums squares;
    visit_entries(
        rows, [&](std::size_t j, double value) { squares.add(j, value * value); },
        [&] {
            const double norm = squares.total();
            if (!(norm <= largest) && !std::isnan(largest)) largest = norm;
            squares = PartialSums();
        });
    return largest;
}

inline double variance(const RowsView& rows) {
    const double n = double(rows.n_rows) * double(rows.n_features);
    PartialSums sum, squares, nonzeros;
    visit_entries(rows, [&](std::size_t j, double value) { sum.add(j, value); }, [] {});
    const double mean = sum.total() / n;
    visit_entries(
        rows,
        [&](std::size_t j, double value) {
            const double difference = value - mean;
            squares.add(j, value == 0 ? 0 : difference * difference);
            nonzeros.add(j, value == 0 ? 0 : 1);
        },
        [] {});
    return (squares.total() + (n - nonzeros.total()) * mean * mean) / n;
}

}  // namespace pocketsvm
