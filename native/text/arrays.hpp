// Arrays for parsing: memory that is reused, and memory that grows in place.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "../system.hpp"

namespace pocketsvm {

// An array that is not initialised, because it is written before it is read.
template <class T>
class Scratch {
  public:
    T* data() const { return data_.get(); }
    // Keeps the first `kept` entries; all others are lost.
    void reserve(std::size_t size, std::size_t kept = 0) {
        if (size <= size_) return;
        std::unique_ptr<T[]> data(new T[size]);
        std::copy_n(data_.get(), kept, data.get());
        data_ = std::move(data);
        size_ = size;
    }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t size_ = 0;
};

// An array that grows without being copied, if the system supports it (Linux).
template <class T>
class GrowingArray {
  public:
    explicit GrowingArray(std::size_t capacity) { resize_memory(capacity); }
    GrowingArray(GrowingArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    GrowingArray& operator=(GrowingArray&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~GrowingArray() { free_pages(data_, bytes_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }

    // Appends n entries, which the caller must write.
    T* extend(std::size_t n) {
        if (bytes_ / sizeof(T) - size_ < n) resize_memory(size_ + std::max(size_ / growth, n));
        size_ += n;
        return data_ + (size_ - n);
    }
    void shrink_to_fit() { resize_memory(size_); }

    // Moves the entries to an array of a smaller type, in the same memory.
    template <class Small>
    GrowingArray<Small> converted() && {
        static_assert(sizeof(Small) <= sizeof(T));
        char* const memory = reinterpret_cast<char*>(data_);
        constexpr std::size_t block = 512;
        Small entries[block];
        for (std::size_t begin = 0; begin < size_; begin += block) {
            const std::size_t n = std::min(block, size_ - begin);
            std::copy_n(data_ + begin, n, entries);
            std::memcpy(memory + begin * sizeof(Small), entries, n * sizeof(Small));
        }
        GrowingArray<Small> result;
        result.data_ = reinterpret_cast<Small*>(std::exchange(data_, nullptr));
        result.size_ = std::exchange(size_, 0);
        result.bytes_ = std::exchange(bytes_, 0);
        return result;
    }

  private:
    template <class>
    friend class GrowingArray;
    GrowingArray() = default;

    static constexpr std::size_t growth = 4;  // grows by a quarter: moving pages is cheap

    void resize_memory(std::size_t capacity) {
        if (capacity > (~std::size_t(0) >> 2) / sizeof(T)) throw std::bad_alloc();
        std::size_t bytes = std::max(capacity * sizeof(T), std::size_t(1));
        const bool large = bytes >= huge_page_size / 4 && bytes > bytes_;
        const std::size_t unit = large ? huge_page_size : page_size;
        bytes = (bytes + unit - 1) / unit * unit;
        if (bytes == bytes_) return;
        data_ = static_cast<T*>(resize_pages(data_, bytes_, bytes));
        bytes_ = bytes;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace pocketsvm
