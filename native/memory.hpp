// Aligned arrays that own their memory, and sums over arrays. std::vector is not used here: its
// code would be shared between instruction sets, and the linker might keep a copy that an older CPU
// cannot run.
#pragma once

#include <cstddef>
#include <new>

#include "simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Unwritten {};

template <class T>
class Buffer {
  public:
    Buffer() = default;
    // Zeros, aligned to 64 bytes.
    explicit Buffer(std::size_t size) : Buffer(size, Unwritten()) {
        for (std::size_t i = 0; i < size; ++i) data_[i] = T();
    }
    // Numbers that are written before they are read: the system hands out memory when it is used.
    Buffer(std::size_t size, Unwritten) : size_(size) {
        if (size == 0) return;
        if (size > (~std::size_t(0) >> 1) / sizeof(T)) throw std::bad_alloc();
        data_ = static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t(lane_bytes)));
    }
    Buffer(Buffer&& other) noexcept { exchange(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        exchange(other);
        return *this;
    }
    ~Buffer() { ::operator delete(data_, std::align_val_t(lane_bytes)); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    void exchange(Buffer& other) {
        T* const data = data_;
        const std::size_t size = size_;
        data_ = other.data_;
        size_ = other.size_;
        other.data_ = data;
        other.size_ = size;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// The sum of term(i) for i in [begin, end), in double, in eight partial sums, which the compiler
// can keep in vector registers.
template <class Term>
POCKETSVM_INLINE double sum_in_parts(std::size_t begin, std::size_t end, Term term) {
    constexpr std::size_t n = 8;
    double part[n] = {};
    for (; begin + n <= end; begin += n)
        for (std::size_t j = 0; j < n; ++j) part[j] += term(begin + j);
    for (; begin < end; ++begin) part[0] += term(begin);
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

POCKETSVM_INLINE double dot(const double* a, const double* b, std::size_t n) {
    return sum_in_parts(0, n, [&](std::size_t i) { return a[i] * b[i]; });
}

}  // namespace pocketsvm::POCKETSVM_SET
