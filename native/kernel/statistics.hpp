// Statistics of rows that Python needs before training: whether all entries are finite, the largest
// norm, and the variance of all entries.
//
// Sums are in double, in eight partial sums by feature number. Zeros add nothing, so dense and
// sparse rows give the same bits, and the compiler can keep the sums of dense rows in vector
// registers. Sums of chunks of rows are added in their order, for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "../threads.hpp"

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

struct RowRange {
    std::size_t begin, end;
};

// Calls visit(number of the partial sum, value) for every stored entry of some rows, and after()
// after each row.
template <class Real, class Visit, class After>
void visit_entries(const RowsView& rows, RowRange range, Visit visit, After after) {
    constexpr std::size_t n = PartialSums::count;
    const Real* values = static_cast<const Real*>(rows.values);
    if (!rows.sparse) {
        values += range.begin * rows.n_features;
        for (std::size_t i = range.begin; i < range.end; ++i, values += rows.n_features) {
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
    std::size_t k = at(rows.pointers, rows.wide_pointers, range.begin);
    for (std::size_t i = range.begin; i < range.end; ++i) {
        for (const std::size_t end = at(rows.pointers, rows.wide_pointers, i + 1); k < end; ++k)
            visit(at(rows.indices, rows.wide_indices, k) % n, double(values[k]));
        after();
    }
}

template <class Visit, class After>
void visit_entries(const RowsView& rows, RowRange range, Visit visit, After after) {
    if (rows.precision == Precision::float32)
        visit_entries<float>(rows, range, visit, after);
    else
        visit_entries<double>(rows, range, visit, after);
}

// Calls add(statistic(range)) for chunks of a fixed number of rows, in their order. Returns false
// if there was an interruption.
template <class Statistic, class Add>
bool for_chunks(const RowsView& rows, std::size_t n_threads, Interrupt& interrupt,
                Statistic statistic, Add add) {
    constexpr std::size_t at_once = std::size_t(1) << 16;
    std::vector<decltype(statistic(RowRange()))> found((rows.n_rows + at_once - 1) / at_once);
    const bool finished =
        parallel(found.size(), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            found[k] = statistic(RowRange{k * at_once, std::min((k + 1) * at_once, rows.n_rows)});
            return true;
        });
    for (const auto& each : found) add(each);
    return finished;
}

// The result is one or zero. Returns false if there was an interruption, and so do the others.
inline bool all_finite(const RowsView& rows, double& result, std::size_t n_threads,
                       Interrupt& interrupt) {
    const auto zero_if_finite = [&](RowRange range) {
        PartialSums zeros;  // zero times a value that is not finite is NaN
        visit_entries(rows, range, [&](std::size_t j, double x) { zeros.add(j, 0 * x); }, [] {});
        return zeros.total();
    };
    result = 1;
    return for_chunks(rows, n_threads, interrupt, zero_if_finite, [&](double zero) {
        if (zero != 0) result = 0;
    });
}

// Infinite or NaN if squares overflow or values are not finite.
inline bool max_squared_norm(const RowsView& rows, double& largest, std::size_t n_threads,
                             Interrupt& interrupt) {
    const auto keep_larger = [](double& most, double norm) {
        if (!(norm <= most) && !std::isnan(most)) most = norm;
    };
    const auto largest_of = [&](RowRange range) {
        double most = 0;
        PartialSums squares;
        visit_entries(
            rows, range, [&](std::size_t j, double value) { squares.add(j, value * value); },
            [&] {
                keep_larger(most, squares.total());
                squares = PartialSums();
            });
        return most;
    };
    largest = 0;
    return for_chunks(rows, n_threads, interrupt, largest_of,
                      [&](double norm) { keep_larger(largest, norm); });
}

inline bool variance(const RowsView& rows, double& result, std::size_t n_threads,
                     Interrupt& interrupt) {
    struct Spread {
        double squares = 0, nonzeros = 0;
    };
    const double n = double(rows.n_rows) * double(rows.n_features);
    double mean = 0;
    const auto sum_of = [&](RowRange range) {
        PartialSums sum;
        visit_entries(rows, range, [&](std::size_t j, double value) { sum.add(j, value); }, [] {});
        return sum.total();
    };
    const auto spread_of = [&](RowRange range) {
        PartialSums squares, nonzeros;
        visit_entries(
            rows, range,
            [&](std::size_t j, double value) {
                const double difference = value - mean;
                squares.add(j, value == 0 ? 0 : difference * difference);
                nonzeros.add(j, value == 0 ? 0 : 1);
            },
            [] {});
        return Spread{squares.total(), nonzeros.total()};
    };
    if (!for_chunks(rows, n_threads, interrupt, sum_of, [&](double sum) { mean += sum / n; }))
        return false;
    Spread total;
    const bool finished =
        for_chunks(rows, n_threads, interrupt, spread_of, [&](const Spread& part) {
            total.squares += part.squares;
            total.nonzeros += part.nonzeros;
        });
    result = (total.squares + (n - total.nonzeros) * mean * mean) / n;
    return finished;
}

}  // namespace pocketsvm
