// Draws of rows. The random number of a row depends on its position and the seed alone, so that it
// is the same wherever the row is and whoever asks for it.
#pragma once

#include "core.hpp"
#include "random.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Uniform in [0, 1): number `position` of splitmix64, whose own seed is scrambled, so that seeds
// that follow each other give unrelated numbers.
inline double random_number(std::uint64_t seed, std::uint64_t position) {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
    const std::uint64_t bits = scramble(scramble(seed + step) + (position + 1) * step);
    return double(bits >> 11) * 0x1p-53;
}

inline void random_numbers(std::uint64_t seed, std::uint64_t first, std::size_t n, double* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = random_number(seed, first + i);
}

// Calls visit(row, group, priority) for the rows among [begin, end) whose priority is at most
// `largest`. Returns false if a group does not exist.
template <class Group, class Visit>
bool visit_rows(const Draw& draw, const Group* groups, double largest, std::size_t begin,
                std::size_t end, Visit visit) {
    constexpr std::size_t most = 512;  // so that the priorities stay in the first-level cache
    double priorities[most];
    Group first = 0, last = 0;
    for (; begin < end; begin += most) {
        const std::size_t n = end - begin < most ? end - begin : most;
        random_numbers(draw.seed, draw.first + begin, n, priorities);
        if (draw.weights != nullptr)
            for (std::size_t i = 0; i < n; ++i) priorities[i] /= draw.weights[begin + i];
        for (std::size_t i = 0; i < n; ++i) {
            first = groups[begin + i] < first ? groups[begin + i] : first;
            last = groups[begin + i] > last ? groups[begin + i] : last;
        }
        if (first < 0 || std::size_t(last) >= draw.n_groups) return false;
        for (std::size_t i = 0; i < n; ++i)
            if (priorities[i] <= largest)
                visit(begin + i, std::size_t(groups[begin + i]), priorities[i]);
    }
    return true;
}

template <class Visit>
bool visit_rows(const Draw& draw, const double* limits, std::size_t begin, std::size_t end,
                Visit visit) {
    double largest = 0;
    for (std::size_t g = 0; g < draw.n_groups; ++g)
        largest = limits[g] > largest ? limits[g] : largest;
    const void* groups = draw.groups;
    if (draw.wide_groups)
        return visit_rows(draw, static_cast<const std::int32_t*>(groups), largest, begin, end,
                          visit);
    return visit_rows(draw, static_cast<const std::int8_t*>(groups), largest, begin, end, visit);
}

inline std::size_t split_rows(const Draw& draw, const Bracket& bracket, std::size_t begin,
                              std::size_t end, std::int64_t* below, const Candidates& inside) {
    std::size_t n = 0;
    const auto visit = [&](std::size_t, std::size_t group, double priority) {
        if (priority < bracket.lower[group]) {
            ++below[group];
        } else if (priority < bracket.upper[group]) {
            inside.groups[n] = std::int32_t(group);
            inside.priorities[n++] = priority;
        }
    };
    return visit_rows(draw, bracket.upper, begin, end, visit) ? n : ~std::size_t(0);
}

inline void write_below(const Draw& draw, const double* limits, std::int64_t* ties,
                        std::size_t begin, std::size_t end, std::int64_t* rows) {
    visit_rows(draw, limits, begin, end, [&](std::size_t row, std::size_t group, double priority) {
        const bool tied = priority == limits[group] && ties[group]-- > 0;
        if (priority < limits[group] || tied) *rows++ = std::int64_t(row);
    });
}

}  // namespace pocketsvm::POCKETSVM_SET
