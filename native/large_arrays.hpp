// Large arrays of numbers: uninitialised, and handed out by the system quickly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "system.hpp"

namespace pocketsvm {

// Uninitialised numbers, aligned for all lanes.
template <class T>
T* allocate(std::size_t size) {
    constexpr std::size_t lanes = 64;
    if (size > (~std::size_t(0) >> 1) / sizeof(T)) throw std::bad_alloc();
    const std::size_t unit = size * sizeof(T) < 2 * huge_page_size ? lanes : huge_page_size;
    const std::size_t bytes = std::max<std::size_t>(1, (size * sizeof(T) + unit - 1) / unit) * unit;
    return static_cast<T*>(allocate_aligned(unit, bytes));
}

struct Free {
    void operator()(void* memory) const { free_aligned(memory); }
};

template <class T>
using LargeArray = std::unique_ptr<T[], Free>;

template <class T>
LargeArray<T> large_array(std::size_t size) {
    return LargeArray<T>(allocate<T>(size));
}

}  // namespace pocketsvm
