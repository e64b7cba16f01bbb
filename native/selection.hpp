// The smallest numbers of each group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace pocketsvm {

// Marks the `quotas[g]` smallest numbers of each group g; of equal ones, the first. The threshold
// of a group is its smallest number that is not marked, infinite if there is none.
template <class Group>
void mark_smallest(const Group* groups, const double* numbers, std::size_t n,
                   const std::vector<std::size_t>& quotas, bool* marked, double* thresholds) {
    const std::size_t n_groups = quotas.size();
    std::vector<std::size_t> ends(n_groups + 1);
    for (std::size_t i = 0; i < n; ++i) ++ends[std::size_t(groups[i]) + 1];
    for (std::size_t g = 0; g < n_groups; ++g) ends[g + 1] += ends[g];
    std::vector<std::size_t> next(ends.begin(), ends.end() - 1), left(n_groups);
    std::vector<double> sorted(n);
    for (std::size_t i = 0; i < n; ++i) sorted[next[std::size_t(groups[i])]++] = numbers[i];
    for (std::size_t g = 0; g < n_groups; ++g) {
        const auto begin = sorted.begin() + std::ptrdiff_t(ends[g]);
        const auto end = sorted.begin() + std::ptrdiff_t(ends[g + 1]);
        thresholds[g] = std::numeric_limits<double>::infinity();
        left[g] = std::min(quotas[g], std::size_t(end - begin));
        if (left[g] == std::size_t(end - begin)) continue;
        const auto first_unmarked = begin + std::ptrdiff_t(left[g]);
        std::nth_element(begin, first_unmarked, end);
        thresholds[g] = *first_unmarked;
        // Numbers before it may be equal to it: so many of these are marked, too.
        left[g] = std::size_t(std::count(begin, first_unmarked, thresholds[g]));
    }
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t g = std::size_t(groups[i]);
        marked[i] = numbers[i] < thresholds[g];
        if (numbers[i] == thresholds[g] && left[g] > 0) {
            marked[i] = true;
            --left[g];
        }
    }
}

}  // namespace pocketsvm
