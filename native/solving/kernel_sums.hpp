// Sums over rows of kernel values, in double: decision values, and the pull of the rows on the
// coefficients. The bits of a sum depend on its own terms only: not on the other rows and outputs,
// and, with fused multiply-adds, not on the instruction set.
#pragma once

#include "../core.hpp"
#include "../memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

// A tile of sums stays in registers. It has enough of them to hide the latency of a multiply-add.
#if defined(POCKETSVM_AVX512)
constexpr int sums_at_once = 24, outputs_at_once = 6;
#elif defined(POCKETSVM_AVX2) || defined(POCKETSVM_NEON)
constexpr int sums_at_once = 6, outputs_at_once = 3;
#else
constexpr int sums_at_once = 3, outputs_at_once = 3;
#endif

template <class Real>
class KernelSums {
  public:
    explicit KernelSums(std::size_t n_vectors)
        : n_vectors_(n_vectors), whole_(n_vectors / group * group),
          width_((n_vectors + group - 1) / group * group) {}

    // The length of rows that are padded with zeros.
    std::size_t width() const { return width_; }

    Buffer<double> padded(std::size_t n_outputs, const double* coefficients) const {
        Buffer<double> result(n_outputs * width_);
        for (std::size_t o = 0; o < n_outputs; ++o)
            for (std::size_t j = 0; j < n_vectors_; ++j)
                result[o * width_ + j] = coefficients[o * n_vectors_ + j];
        return result;
    }

    // out[i, o] = intercepts[o] + sum_j coefficients[o, j] values[i, j], with padded coefficients
    void decide(const Real* values, std::size_t n_rows, std::size_t n_outputs,
                const double* coefficients, const double* intercepts, double* out) const {
        // Every tile of outputs reads the rows of a block again, from the second-level cache.
        constexpr std::size_t block_bytes = 1 << 16, max_rows = 64;
        const std::size_t fitting = block_bytes / sizeof(Real) / (width_ + 1);
        const std::size_t block = fitting < 8 ? 8 : fitting < max_rows ? fitting : max_rows;
        Buffer<double> ends(block * group);
        for (std::size_t i = 0; i < n_rows; i += block) {
            const std::size_t n = n_rows - i < block ? n_rows - i : block;
            const Real* first = values + i * n_vectors_;
            copy_ends(first, n, ends.data());
            decide_block<outputs_at_once>({first, ends.data(), n}, 0, n_outputs,
                                          {coefficients, intercepts, out + i * n_outputs});
        }
    }

    // sums[o, j] += sum_i slopes[i, o] values[i, j], with padded sums
    void add_pull(const Real* values, std::size_t n_rows, std::size_t n_outputs,
                  const double* slopes, double* sums) const {
        Buffer<double> ends(rows_together * group);
        for (std::size_t i = 0; i < n_rows; i += rows_together) {
            const std::size_t n = n_rows - i < rows_together ? n_rows - i : rows_together;
            copy_ends(values + i * n_vectors_, n, ends.data());
            for (std::size_t o = 0; o < n_outputs; ++o) {
                Terms terms;
                std::size_t count = 0;
                for (std::size_t r = 0; r < n; ++r) {
                    const double slope = slopes[(i + r) * n_outputs + o];
                    if (slope == 0) continue;
                    terms.slope[count] = slope;
                    terms.values[count] = values + (i + r) * n_vectors_;
                    terms.end[count++] = ends.data() + r * group;
                }
                add_counted<rows_together>(count, terms, sums + o * width_);
            }
        }
    }

  private:
    using Doubles = Lanes<double>;
    static constexpr std::size_t group = Doubles::count;
    static constexpr std::size_t rows_together = 8;  // of the pull: they fit into the first cache

    struct Block {
        const Real* values;
        const double* ends;
        std::size_t n_rows;
    };
    struct Outputs {
        const double* coefficients;  // padded with zeros
        const double* intercepts;
        double* out;
    };
    // Rows whose slope is not zero.
    struct Terms {
        double slope[rows_together];
        const Real* values[rows_together];
        const double* end[rows_together];
    };

    // The columns after the last whole group, padded with zeros.
    void copy_ends(const Real* values, std::size_t n, double* ends) const {
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t j = whole_; j < n_vectors_; ++j)
                ends[r * group + j - whole_] = double(values[r * n_vectors_ + j]);
    }

    // The outputs [first, n_outputs) of a block, in tiles of so many outputs and fewer at the end.
    template <int at_once>
    void decide_block(const Block& block, std::size_t first, std::size_t n_outputs,
                      const Outputs& outputs) const {
        constexpr int n_rows = sums_at_once / at_once < 8 ? sums_at_once / at_once : 8;
        for (; first + at_once <= n_outputs; first += at_once) {
            std::size_t r = 0;
            for (; r + n_rows <= block.n_rows; r += n_rows)
                decide_tile<n_rows, at_once>(block, r, first, n_outputs, outputs);
            for (; r < block.n_rows; ++r)
                decide_tile<1, at_once>(block, r, first, n_outputs, outputs);
        }
        if constexpr (at_once > 1) decide_block<at_once - 1>(block, first, n_outputs, outputs);
    }

    template <int n_rows, int at_once>
    void decide_tile(const Block& block, std::size_t row, std::size_t output, std::size_t n_outputs,
                     const Outputs& outputs) const {
        Doubles sums[n_rows][at_once];
#pragma GCC unroll 8
        for (int r = 0; r < n_rows; ++r)
#pragma GCC unroll 8
            for (int o = 0; o < at_once; ++o) sums[r][o] = Doubles::all(0);
        const double* coefficients = outputs.coefficients + output * width_;
        const auto add = [&](std::size_t at, const auto* values,
                             std::size_t stride) POCKETSVM_INLINE_LAMBDA {
            Doubles kernel[n_rows];
#pragma GCC unroll 8
            for (int r = 0; r < n_rows; ++r) kernel[r] = doubles_from(values + r * stride);
#pragma GCC unroll 8
            for (int o = 0; o < at_once; ++o) {
                const Doubles coefficient = Doubles::load(coefficients + o * width_ + at);
#pragma GCC unroll 8
                for (int r = 0; r < n_rows; ++r)
                    sums[r][o] = multiply_add(coefficient, kernel[r], sums[r][o]);
            }
        };
        const Real* values = block.values + row * n_vectors_;
        for (std::size_t at = 0; at < whole_; at += group) add(at, values + at, n_vectors_);
        if (whole_ < n_vectors_) add(whole_, block.ends + row * group, group);
#pragma GCC unroll 8
        for (int r = 0; r < n_rows; ++r)
#pragma GCC unroll 8
            for (int o = 0; o < at_once; ++o)
                outputs.out[(row + r) * n_outputs + output + o] =
                    outputs.intercepts[output + o] + sums[r][o].sum();
    }

    // Adds `count` rows, at most n; the compiler knows their number.
    template <int n>
    void add_counted(std::size_t count, const Terms& terms, double* sums) const {
        if constexpr (n > 0) {
            if (count == n)
                add_terms<n>(terms, sums);
            else
                add_counted<n - 1>(count, terms, sums);
        }
    }

    // Adds the terms in their order; every sum is loaded and stored once for all of them.
    template <int n>
    void add_terms(const Terms& terms, double* sums) const {
        Doubles slope[n];
        for (int r = 0; r < n; ++r) slope[r] = Doubles::all(terms.slope[r]);
        const auto add = [&](const auto& values, std::size_t at,
                             std::size_t to) POCKETSVM_INLINE_LAMBDA {
            Doubles sum = Doubles::load(sums + to);
#pragma GCC unroll 8
            for (int r = 0; r < n; ++r)
                sum = multiply_add(slope[r], doubles_from(values[r] + at), sum);
            sum.store(sums + to);
        };
        for (std::size_t at = 0; at < whole_; at += group) add(terms.values, at, at);
        if (whole_ < n_vectors_) add(terms.end, 0, whole_);
    }

    std::size_t n_vectors_;
    std::size_t whole_;  // the columns in whole groups
    std::size_t width_;  // of padded rows
};

}  // namespace pocketsvm::POCKETSVM_SET
