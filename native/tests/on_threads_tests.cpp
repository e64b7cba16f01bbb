// Sums and selections of rows on several threads: the same bits as on one, and the right rows.
#define POCKETSVM_SET unit

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../random.hpp"
#include "../selection.hpp"
#include "../solving/on_threads.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

using Numbers = std::vector<double>;

Numbers uniform(std::size_t n, std::uint64_t seed) {
    Generator random(seed);
    Numbers found(n);
    for (double& number : found) number = double(random.next() >> 11) * 0x1p-53;
    return found;
}

// ----- selections

// The rows with the smallest priorities of each group, by sorting.
std::vector<std::int64_t> expected_rows(const std::vector<std::int8_t>& groups,
                                        const Numbers& priorities,
                                        const std::vector<std::int64_t>& quotas) {
    std::vector<std::int64_t> rows;
    for (std::size_t g = 0; g < quotas.size(); ++g) {
        std::vector<std::int64_t> members;
        for (std::size_t i = 0; i < groups.size(); ++i)
            if (std::size_t(groups[i]) == g) members.push_back(std::int64_t(i));
        std::stable_sort(members.begin(), members.end(), [&](std::int64_t a, std::int64_t b) {
            return priorities[std::size_t(a)] < priorities[std::size_t(b)];
        });
        members.resize(std::min(members.size(), std::size_t(quotas[g])));
        rows.insert(rows.end(), members.begin(), members.end());
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

void smallest_priorities_are_selected(const Core& core, std::size_t n_rows, bool equal,
                                      std::size_t n_threads) {
    check::NeverInterrupt never;
    std::vector<std::int8_t> groups(n_rows);
    const Numbers drawn = uniform(n_rows, 1), heavy = uniform(n_rows, 2);
    for (std::size_t i = 0; i < n_rows; ++i) groups[i] = std::int8_t(3 * drawn[i]);
    Numbers numbers(n_rows), weights(n_rows), priorities(n_rows);
    core.random_numbers(7, 0, n_rows, numbers.data());
    for (std::size_t i = 0; i < n_rows; ++i) {
        weights[i] = equal ? numbers[i] * (heavy[i] < 0.5 ? 1 : 2) : 1 + heavy[i];
        priorities[i] = numbers[i] / weights[i];
    }
    const std::vector<std::int64_t> quotas{std::int64_t(n_rows / 9), 0, std::int64_t(n_rows)};
    const Numbers lower(3), upper(3, std::numeric_limits<double>::infinity());
    Selection selection(core, {groups.data(), false, 3, weights.data(), 7}, n_rows);
    CHECK(selection.find(quotas.data(), {lower.data(), upper.data()}, n_threads, never));
    CHECK(selection.groups_exist() && selection.found());
    std::vector<std::int64_t> rows(selection.size());
    CHECK(selection.write(rows.data(), n_threads, never));
    CHECK(rows == expected_rows(groups, priorities, quotas));
}

void groups_that_do_not_exist_are_noticed(const Core& core) {
    check::NeverInterrupt never;
    const std::int64_t quota = 1;
    const double zero = 0, one = 1;
    for (std::int8_t group : {-1, 1}) {
        std::vector<std::int8_t> groups(20000);
        groups[19999] = group;
        Selection selection(core, {groups.data(), false, 1, nullptr, 7}, groups.size());
        CHECK(selection.find(&quota, {&zero, &one}, 2, never));
        CHECK(!selection.groups_exist());
    }
}

// ----- sums

void pulls_do_not_depend_on_threads(const Core& core, std::size_t n_rows, std::size_t n_outputs) {
    constexpr std::size_t n_vectors = 40;
    check::NeverInterrupt never;
    const Numbers kernel = uniform(n_rows * n_vectors, 3), slopes = uniform(n_rows * n_outputs, 4);
    const KernelView view{Precision::float64, n_rows, n_vectors, kernel.data()};
    Numbers one(n_outputs * n_vectors), three(one.size());
    CHECK(pull(core, view, n_outputs, slopes.data(), one.data(), 1, never));
    CHECK(pull(core, view, n_outputs, slopes.data(), three.data(), 3, never));
    CHECK(one == three);
    for (std::size_t k = 0; k < one.size(); ++k) {
        double expected = 0;
        for (std::size_t i = 0; i < n_rows; ++i)
            expected +=
                slopes[i * n_outputs + k / n_vectors] * kernel[i * n_vectors + k % n_vectors];
        CHECK(std::fabs(one[k] - expected) <= 1e-12 * (1 + expected));
    }
}

void outer_products_are_summed(const Core& core, std::size_t n_vectors, std::size_t n_chosen) {
    check::NeverInterrupt never;
    constexpr std::size_t n_rows = 300;
    const Numbers kernel = uniform(n_rows * n_vectors, 5), scales = uniform(n_chosen, 6);
    std::vector<std::int64_t> chosen(n_chosen);
    for (std::size_t k = 0; k < n_chosen; ++k) chosen[k] = std::int64_t(7 * k % n_rows);
    const KernelView view{Precision::float64, n_rows, n_vectors, kernel.data()};
    const ScaledRows rows{n_chosen, n_vectors, chosen.data(), scales.data()};
    Numbers one(n_vectors * n_vectors, 1.0), three = one;
    CHECK(add_outer_products(core, view, rows, 1, one.data(), 1, never));
    CHECK(add_outer_products(core, view, rows, 1, three.data(), 3, never));
    CHECK(one == three);
    double worst = 0;
    for (std::size_t p = 0; p < n_vectors; ++p)
        for (std::size_t q = 0; q < n_vectors; ++q) {
            double expected = 1;
            for (std::size_t k = 0; k < n_chosen && q >= p; ++k) {
                const double* row = kernel.data() + std::size_t(chosen[k]) * n_vectors;
                expected += scales[k] * scales[k] * row[p] * row[q];
            }
            worst = std::max(worst, std::fabs(one[p * n_vectors + q] - expected) / expected);
        }
    CHECK(worst < 1e-13);
}

void an_interrupt_ends_sums(const Core& core) {
    class Always final : public Interrupt {
      public:
        bool requested() override { return true; }
    } always;
    const Numbers kernel(2000, 1.0), slopes(2000, 1.0);
    double out;
    const KernelView view{Precision::float64, 2000, 1, kernel.data()};
    CHECK(!pull(core, view, 1, slopes.data(), &out, 1, always));
}

}  // namespace

void on_threads_tests() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t n_threads : {1, 3})
            for (std::size_t n_rows : {1, 700, 150000}) {
                smallest_priorities_are_selected(*cores[c], n_rows, false, n_threads);
                smallest_priorities_are_selected(*cores[c], n_rows, true, n_threads);
            }
        groups_that_do_not_exist_are_noticed(*cores[c]);
        for (std::size_t n_rows : {0, 1, 255, 257, 3000})
            for (std::size_t n_outputs : {1, 5})
                pulls_do_not_depend_on_threads(*cores[c], n_rows, n_outputs);
        for (std::size_t n_vectors : {1, 23, 24, 50, 101})
            for (std::size_t n_chosen : {0, 1, 65, 2500})
                outer_products_are_summed(*cores[c], n_vectors, n_chosen);
        an_interrupt_ends_sums(*cores[c]);
    }
}
