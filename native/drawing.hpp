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

// Calls found(row, priority) for the rows [begin, end) whose priority, the random number over the
// weight, is below the limit of their group.
template <class Group, class Found>
void visit_below(const Draw& draw, const Group* groups, std::size_t begin, std::size_t end,
                 Found found) {
    for (std::size_t i = begin; i < end; ++i) {
        double priority = random_number(draw.seed, i);
        if (draw.weights != nullptr) priority /= draw.weights[i];
        if (priority < draw.limits[groups[i]]) found(i, priority);
    }
}

template <class Found>
void visit_below(const Draw& draw, std::size_t begin, std::size_t end, Found found) {
    if (draw.wide_groups)
        visit_below(draw, static_cast<const std::int32_t*>(draw.groups), begin, end, found);
    else
        visit_below(draw, static_cast<const std::int8_t*>(draw.groups), begin, end, found);
}

inline std::size_t count_below(const Draw& draw, std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    visit_below(draw, begin, end, [&](std::size_t, double) { ++count; });
    return count;
}

inline void write_below(const Draw& draw, std::size_t begin, std::size_t end, std::int64_t* rows,
                        double* priorities) {
    visit_below(draw, begin, end, [&](std::size_t row, double priority) {
        *rows++ = std::int64_t(row);
        *priorities++ = priority;
    });
}

}  // namespace pocketsvm::POCKETSVM_SET
