// Large arrays of numbers: uninitialised, and handed out by the system quickly.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace pocketsvm {

// Uninitialised numbers, aligned for all lanes. Linux is asked for huge pages, which it hands out
// much faster than as many small ones.
template <class T>
T* allocate(std::size_t size) {
    constexpr std::size_t lanes = 64, huge_page = std::size_t(1) << 21;
    if (size > (~std::size_t(0) >> 1) / sizeof(T)) throw std::bad_alloc();
    const std::size_t unit = size * sizeof(T) < 2 * huge_page ? lanes : huge_page;
    const std::size_t bytes = std::max<std::size_t>(1, (size * sizeof(T) + unit - 1) / unit) * unit;
    void* memory = std::aligned_alloc(unit, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == huge_page) madvise(memory, bytes, MADV_HUGEPAGE);  // if refused, pages are small
#endif
    return static_cast<T*>(memory);
}

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using LargeArray = std::unique_ptr<T[], Free>;

template <class T>
LargeArray<T> large_array(std::size_t size) {
    return LargeArray<T>(allocate<T>(size));
}

}  // namespace pocketsvm
