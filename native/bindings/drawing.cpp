// The Python bindings of draws of rows, and of what all rows need: groups, weights and checksums.
#include <algorithm>

#include "../checksum.hpp"
#include "../selection.hpp"
#include "common.hpp"

namespace pocketsvm {
namespace {

// Calls task(k, begin, end) for chunks of rows.
template <class Task>
void in_chunks(std::size_t n_rows, std::size_t n_threads, Task task) {
    without_gil(
        [&](Interrupt& interrupt) { return in_chunks(n_rows, n_threads, interrupt, task); });
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

void require_groups(bool exist, std::size_t n_groups) {
    require(exist, "groups must be in [0, " + std::to_string(n_groups) + ")");
}

// Counts the rows of each group; refuses groups that are not in [0, n_groups).
std::vector<std::int64_t> counted(const AnyVector& groups, std::size_t n_groups,
                                  std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0);
    // The last count of a chunk is that of groups that do not exist.
    std::vector<std::int64_t> counts(n_chunks(n_rows) * (n_groups + 1));
    with_groups(groups, [&](const auto* group) {
        in_chunks(n_rows, n_threads, [&](std::size_t k, std::size_t begin, std::size_t end) {
            // Counted apart: threads that write next to each other slow each other down.
            std::vector<std::int64_t> own(n_groups + 1);
            for (std::size_t i = begin; i < end; ++i)
                ++own[std::min(std::size_t(group[i]), n_groups)];  // negative ones are huge
            std::copy(own.begin(), own.end(), counts.data() + k * (n_groups + 1));
        });
    });
    std::vector<std::int64_t> total(n_groups + 1);
    for (std::size_t k = 0; k < n_chunks(n_rows); ++k)
        for (std::size_t g = 0; g <= n_groups; ++g) total[g] += counts[k * (n_groups + 1) + g];
    require_groups(total[n_groups] == 0, n_groups);
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

Draw draw_of(const AnyVector& groups, std::size_t n_groups, const std::optional<Vector>& weights,
             std::uint64_t seed) {
    return {groups.data(), wide_groups(groups), n_groups, weights_of(weights, groups.shape(0)),
            seed};
}

nb::object selected_rows(Selection& selection, std::size_t n_threads) {
    std::int64_t* rows;
    auto found = make_array<std::int64_t>({selection.size()}, &rows);
    without_gil([&](Interrupt& interrupt) { return selection.write(rows, n_threads, interrupt); });
    return nb::cast(found);
}

nb::object rows_below(AnyVector groups, Vector limits, std::uint64_t seed, std::size_t n_threads,
                      std::uint64_t first) {
    const std::size_t n_groups = limits.shape(0);
    Draw draw = draw_of(groups, n_groups, std::nullopt, seed);
    draw.first = first;
    Selection selection(*core, draw, groups.shape(0));
    without_gil([&](Interrupt& interrupt) {
        return selection.find_below(limits.data(), n_threads, interrupt);
    });
    require_groups(selection.groups_exist(), n_groups);
    return selected_rows(selection, n_threads);
}

nb::object smallest_priorities(AnyVector groups, Positions quotas, Vector lower, Vector upper,
                               std::optional<Vector> weights, std::uint64_t seed,
                               std::size_t n_threads) {
    const std::size_t n_groups = quotas.shape(0);
    require(lower.shape(0) == n_groups && upper.shape(0) == n_groups,
            "limits must have one entry per group, " + std::to_string(n_groups));
    for (std::size_t g = 0; g < n_groups; ++g)
        require(quotas.data()[g] >= 0, "quotas must not be negative");
    Selection selection(*core, draw_of(groups, n_groups, weights, seed), groups.shape(0));
    without_gil([&](Interrupt& interrupt) {
        return selection.find(quotas.data(), {lower.data(), upper.data()}, n_threads, interrupt);
    });
    require_groups(selection.groups_exist(), n_groups);
    if (!selection.found()) return nb::none();
    double* out;
    auto thresholds = make_array<double>({n_groups}, &out);
    std::copy(selection.thresholds().begin(), selection.thresholds().end(), out);
    return nb::make_tuple(selected_rows(selection, n_threads), thresholds);
}

nb::object random_numbers(std::uint64_t seed, std::uint64_t first, std::size_t n) {
    double* out;
    auto result = make_array<double>({n}, &out);
    core->random_numbers(seed, first, n, out);
    return nb::cast(result);
}

nb::object row_weights(AnyVector groups, Vector group_weights, std::optional<Vector> weights,
                       double divisor, std::size_t n_threads) {
    const std::size_t n_rows = groups.shape(0), n_groups = group_weights.shape(0);
    const double* weight = weights_of(weights, n_rows);
    double* out;
    auto result = make_array<double>({n_rows}, &out);
    std::atomic<bool> exist{true};
    with_groups(groups, [&](const auto* group) {
        in_chunks(n_rows, n_threads, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                if (std::size_t(group[i]) >= n_groups) {  // negative ones, too
                    exist = false;
                    return;
                }
                out[i] =
                    group_weights.data()[group[i]] * (weight != nullptr ? weight[i] : 1) / divisor;
            }
        });
    });
    require_groups(exist, n_groups);
    return nb::cast(result);
}

template <class Real>
double total_of(const Real* numbers, std::size_t n, std::size_t n_threads) {
    std::vector<double> sums(n_chunks(n));
    in_chunks(n, n_threads, [&](std::size_t k, std::size_t begin, std::size_t end) {
        // Several sums, because each addition waits for the one before.
        double parts[8] = {};
        for (std::size_t i = begin; i < end; ++i) parts[(i - begin) % 8] += double(numbers[i]);
        for (double part : parts) sums[k] += part;
    });
    double sum = 0;
    for (double each : sums) sum += each;
    return sum;
}

double total(AnyVector numbers, std::size_t n_threads) {
    const std::size_t n = numbers.shape(0);
    if (precision_of(numbers.dtype(), "numbers") == Precision::float32)
        return total_of(static_cast<const float*>(numbers.data()), n, n_threads);
    return total_of(static_cast<const double*>(numbers.data()), n, n_threads);
}

std::uint64_t checksum_of(AnyArray array, std::size_t n_threads) {
    std::uint64_t result = 0;
    without_gil([&](Interrupt& interrupt) {
        return checksum(static_cast<const unsigned char*>(array.data()), array.nbytes(), n_threads,
                        interrupt, result);
    });
    return result;
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
    module.def("rows_below", &rows_below, "groups"_a.noconvert(), "limits"_a, "seed"_a,
               "n_threads"_a = 1, "first"_a = 0);
    module.def("smallest_priorities", &smallest_priorities, "groups"_a.noconvert(), "quotas"_a,
               "lower"_a, "upper"_a, "weights"_a.none(), "seed"_a, "n_threads"_a = 1);
    module.def("row_weights", &row_weights, "groups"_a.noconvert(), "group_weights"_a,
               "weights"_a.none(), "divisor"_a = 1.0, "n_threads"_a = 1);
    module.def("total", &total, "numbers"_a.noconvert(), "n_threads"_a = 1);
    module.def("checksum", &checksum_of, "array"_a.noconvert(), "n_threads"_a = 1);
    module.def("take_rows", &take_rows, "X"_a.noconvert(), "chosen"_a, "n_threads"_a = 1);
}

}  // namespace pocketsvm
