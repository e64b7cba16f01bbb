// A checksum of arrays: it tells whether the same bytes were read twice. It is fast, and no
// protection against forgery.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "threads.hpp"

namespace pocketsvm {

// The step of xxHash64: the rotation moves upper bits, such as signs, to where the next product
// spreads them.
inline std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
    return std::rotl(sum + word * 0xc2b2ae3d27d4eb4fu, 31) * 0x9e3779b185ebca87u;
}

// The checksum of one block.
inline std::uint64_t checksum(const unsigned char* bytes, std::size_t n) {
    constexpr std::size_t n_lanes = 4;  // independent of each other, so that products overlap
    std::uint64_t sums[n_lanes] = {1, 2, 3, 4}, words[n_lanes];
    for (std::size_t at = 0; at < n; at += sizeof(words)) {
        const std::size_t size = std::min(sizeof(words), n - at);
        if (size < sizeof(words)) std::fill_n(words, n_lanes, 0);
        std::memcpy(words, bytes + at, size);
        for (std::size_t k = 0; k < n_lanes; ++k) sums[k] = mixed(sums[k], words[k]);
    }
    std::uint64_t total = n;
    for (const std::uint64_t sum : sums) total = mixed(total, sum);
    return total ^ (total >> 32);
}

// The checksum of all bytes: that of the checksums of their blocks, whatever the number of threads.
// Returns false if there was an interruption.
inline bool checksum(const unsigned char* bytes, std::size_t n, std::size_t n_threads,
                     Interrupt& interrupt, std::uint64_t& result) {
    constexpr std::size_t block = std::size_t(1) << 18;
    std::vector<std::uint64_t> sums((n + block - 1) / block);
    // Starting a thread takes as long as a few blocks.
    n_threads = std::min(n_threads, 1 + sums.size() / 8);
    const bool finished =
        parallel(sums.size(), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            sums[k] = checksum(bytes + k * block, std::min(block, n - k * block));
            return true;
        });
    result = checksum(reinterpret_cast<const unsigned char*>(sums.data()),
                      sums.size() * sizeof(std::uint64_t));
    return finished;
}

}  // namespace pocketsvm
