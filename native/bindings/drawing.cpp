// The Python bindings of draws of rows, and of what all rows need: groups and weights.
#include <algorithm>

#include "../selection.hpp"
#include "common.hpp"

namespace pocketsvm {
namespace {

// Rows that a thread takes at once.
constexpr std::size_t rows_at_once = std::size_t(1) << 15;

std::size_t n_chunks(std::size_t n_rows) { return (n_rows + rows_at_once - 1) / rows_at_once; }

// Calls task(k, begin, end) for chunks of rows.
template <class Task>
void in_chunks(std::size_t n_rows, std::size_t n_threads, Task task) {
    // Starting a thread takes as long as a few chunks.
    n_threads = std::min(n_threads, 1 + n_chunks(n_rows) / 4);
    without_gil([&](Interrupt& interrupt) {
        return parallel(n_chunks(n_rows), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            task(k, k * rows_at_once, std::min((k + 1) * rows_at_once, n_rows));
            return true;
        });
    });
}

bool wide_groups(const AnyVector& groups) {
    if (groups.dtype() == nb::dtype<std::int32_t>()) return true;
    if (groups.dtype() == nb::dtype<std::int8_t>()) return false;
    throw nb::type_error("groups must be int8 or int32");
}

// Calls function(groups), whose type is known.
template <class Function>
void with_groups(const AnyVector& groups, Function function) {
    if (wide_groups(groups))
        function(static_cast<const std::int32_t*>(groups.data()));
    else
        function(static_cast<const std::int8_t*>(groups.data()));
}

// Counts the rows of each group; refuses groups that are not in [0, n_groups).
std::vector<std::int64_t> counted(const AnyVector& groups, std::size_t n_groups,
                                  std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0);
    // The last count of a chunk is that of groups that do not exist.
    std::vector<std::int64_t> counts(n_chunks(n_rows) * (n_groups + 1));
    with_groups(groups, [&](const auto* group) {
        in_chunks(n_rows, n_threads, [&](std::size_t k, std::size_t begin, std::size_t end) {
            std::int64_t* to = counts.data() + k * (n_groups + 1);
            for (std::size_t i = begin; i < end; ++i)
                ++to[group[i] < 0 ? n_groups : std::min(std::size_t(group[i]), n_groups)];
        });
    });
    std::vector<std::int64_t> total(n_groups + 1);
    for (std::size_t k = 0; k < n_chunks(n_rows); ++k)
        for (std::size_t g = 0; g <= n_groups; ++g) total[g] += counts[k * (n_groups + 1) + g];
    require(total[n_groups] == 0, "groups must be in [0, " + std::to_string(n_groups) + ")");
    total.pop_back();
    return total;
}

nb::object group_counts(AnyVector groups, std::size_t n_groups, std::size_t n_threads) {
    const std::vector<std::int64_t> counts = counted(groups, n_groups, n_threads);
    std::int64_t* out;
    auto result = make_array<std::int64_t>({n_groups}, &out);
    std::copy(counts.begin(), counts.end(), out);
    return nb::cast(result);
}

const double* weights_of(const std::optional<Vector>& weights, std::size_t n_rows) {
    if (!weights) return nullptr;
    require(weights->shape(0) == n_rows, "weights must have one entry per row, " +
                                             std::to_string(n_rows) + ", got " +
                                             std::to_string(weights->shape(0)));
    return weights->data();
}

nb::tuple rows_below(AnyVector groups, Vector limits, std::optional<Vector> weights,
                     std::uint64_t seed, std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0);
    counted(groups, limits.shape(0), n_threads);
    const Draw draw{groups.data(), wide_groups(groups), weights_of(weights, n_rows), limits.data(),
                    seed};
    std::vector<std::size_t> first(n_chunks(n_rows) + 1);
    in_chunks(n_rows, n_threads, [&](std::size_t k, std::size_t begin, std::size_t end) {
        first[k + 1] = core->count_below(draw, begin, end);
    });
    for (std::size_t k = 0; k < n_chunks(n_rows); ++k) first[k + 1] += first[k];
    std::int64_t* rows;
    double* priorities;
    auto found = make_array<std::int64_t>({first.back()}, &rows);
    auto numbers = make_array<double>({first.back()}, &priorities);
    in_chunks(n_rows, n_threads, [&](std::size_t k, std::size_t begin, std::size_t end) {
        core->write_below(draw, begin, end, rows + first[k], priorities + first[k]);
    });
    return nb::make_tuple(found, numbers);
}

nb::tuple smallest_of_groups(AnyVector groups, Vector numbers, Positions quotas) {
    const std::size_t n = groups.shape(0), n_groups = quotas.shape(0);
    require(numbers.shape(0) == n, "numbers must have one entry per row, " + std::to_string(n) +
                                       ", got " + std::to_string(numbers.shape(0)));
    counted(groups, n_groups, 1);
    std::vector<std::size_t> most(n_groups);
    for (std::size_t g = 0; g < n_groups; ++g) {
        require(quotas.data()[g] >= 0, "quotas must not be negative");
        most[g] = std::size_t(quotas.data()[g]);
    }
    bool* marked;
    double* thresholds;
    auto found = make_array<bool>({n}, &marked);
    auto limits = make_array<double>({n_groups}, &thresholds);
    with_groups(groups, [&](const auto* group) {
        WithoutGil released;
        mark_smallest(group, numbers.data(), n, most, marked, thresholds);
    });
    return nb::make_tuple(found, limits);
}

nb::object random_numbers(std::uint64_t seed, std::uint64_t first, std::size_t n) {
    double* out;
    auto result = make_array<double>({n}, &out);
    core->random_numbers(seed, first, n, out);
    return nb::cast(result);
}

nb::object row_weights(AnyVector groups, Vector group_weights, std::optional<Vector> weights,
                       double divisor, std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0);
    counted(groups, group_weights.shape(0), n_threads);
    const double* weight = weights_of(weights, n_rows);
    double* out;
    auto result = make_array<double>({n_rows}, &out);
    with_groups(groups, [&](const auto* group) {
        in_chunks(n_rows, n_threads, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                out[i] =
                    group_weights.data()[group[i]] * (weight != nullptr ? weight[i] : 1) / divisor;
        });
    });
    return nb::cast(result);
}

nb::object take_rows(AnyMatrix X, Positions chosen, std::size_t n_threads) {
    const std::size_t n_rows = X.shape(0), n = chosen.shape(0);
    const std::size_t bytes = X.shape(1) * X.itemsize();
    require_positions(chosen, n_rows);
    const auto copy = [&](auto* out) {
        in_chunks(n, n_threads, [&](std::size_t, std::size_t begin, std::size_t end) {
            const auto* from = static_cast<const unsigned char*>(X.data());
            auto* to = reinterpret_cast<unsigned char*>(out);
            for (std::size_t i = begin; i < end; ++i)
                std::copy_n(from + std::size_t(chosen.data()[i]) * bytes, bytes, to + i * bytes);
        });
    };
    if (precision_of(X.dtype(), "X") == Precision::float32) {
        float* out;
        auto result = make_array<float>({n, X.shape(1)}, &out);
        copy(out);
        return nb::cast(result);
    }
    double* out;
    auto result = make_array<double>({n, X.shape(1)}, &out);
    copy(out);
    return nb::cast(result);
}

}  // namespace

void bind_drawing(nb::module_& module) {
    module.def("random_numbers", &random_numbers, "seed"_a, "first"_a, "n"_a);
    module.def("group_counts", &group_counts, "groups"_a.noconvert(), "n_groups"_a,
               "n_threads"_a = 1);
    module.def("rows_below", &rows_below, "groups"_a.noconvert(), "limits"_a, "weights"_a.none(),
               "seed"_a, "n_threads"_a = 1);
    module.def("smallest_of_groups", &smallest_of_groups, "groups"_a.noconvert(), "numbers"_a,
               "quotas"_a);
    module.def("row_weights", &row_weights, "groups"_a.noconvert(), "group_weights"_a,
               "weights"_a.none(), "divisor"_a = 1.0, "n_threads"_a = 1);
    module.def("take_rows", &take_rows, "X"_a.noconvert(), "chosen"_a, "n_threads"_a = 1);
}

}  // namespace pocketsvm
