// What the systems do in ways of their own: memory, files, processes, the clock. Nothing else in
// the core calls the system directly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pocketsvm {

inline constexpr std::size_t page_size = std::size_t(1) << 12;
inline constexpr std::size_t huge_page_size = std::size_t(1) << 21;

// Uninitialised memory, whose address and size are multiples of `unit`. Where `unit` is a huge
// page, Linux is asked for huge pages, which it hands out much faster than as many small ones.
void* allocate_aligned(std::size_t unit, std::size_t bytes);
void free_aligned(void* memory);

// Makes memory of `old_bytes` (null: none) larger or smaller, in place if the system can (Linux).
// Sizes are multiples of a page, and of a huge page where such pages are wanted.
void* resize_pages(void* memory, std::size_t old_bytes, std::size_t bytes);
void free_pages(void* memory, std::size_t bytes);

// Reads at most `size` bytes of an open file from a position on, which several threads may do at
// once; returns 0 at the end of the file.
std::size_t read_at(int file, char* to, std::size_t size, std::uint64_t position);

int process_id();

// Seconds of a clock that is never set.
double monotonic_seconds();

}  // namespace pocketsvm
