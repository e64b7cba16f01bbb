// Random numbers: xoshiro256** (Blackman and Vigna), seeded by splitmix64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// The output function of splitmix64: maps a counter to a random-looking number.
inline std::uint64_t scramble(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class Generator {
  public:
    explicit Generator(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15u;
            word = scramble(seed);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Uniform in [0, bound), without bias (Lemire's method).
    std::uint32_t below(std::uint32_t bound) {
        std::uint64_t product = (next() >> 32) * bound;
        if (std::uint32_t(product) < bound) {
            const std::uint32_t threshold = -bound % bound;
            while (std::uint32_t(product) < threshold) product = (next() >> 32) * bound;
        }
        return std::uint32_t(product >> 32);
    }

    // Fills `order` with a random permutation of 0, ..., n - 1; calls before_each() n - 1 times.
    template <class BeforeEach>
    void shuffle(std::uint32_t* order, std::size_t n, BeforeEach before_each) {
        for (std::size_t i = 0; i < n; ++i) order[i] = std::uint32_t(i);
        for (std::size_t i = n; i > 1; --i) {
            before_each();
            const std::uint32_t j = below(std::uint32_t(i));
            const std::uint32_t moved = order[i - 1];
            order[i - 1] = order[j];
            order[j] = moved;
        }
    }

    const std::uint64_t* state() const { return state_; }
    void restore(const std::uint64_t* state) {
        for (int i = 0; i < 4; ++i) state_[i] = state[i];
    }

  private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    std::uint64_t state_[4];
};

}  // namespace pocketsvm::POCKETSVM_SET
