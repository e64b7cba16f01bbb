// The Cholesky factor of a symmetric matrix that fits into the cache.
#pragma once

#include <cmath>

#include "../memory.hpp"
#include "../simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// A symmetric matrix, of which the upper triangle is used, and its factor U with U' U = A. Rows are
// padded with zeros to whole lanes.
class SmallMatrix {
  public:
    explicit SmallMatrix(std::size_t most) : values_(padded(most) * padded(most), Unwritten()) {
        resize(most);
    }

    // Changes the size, up to that of the constructor. The values are undefined.
    void resize(std::size_t size) {
        size_ = size;
        width_ = padded(size);
    }

    std::size_t size() const { return size_; }
    // The length of padded rows.
    std::size_t width() const { return width_; }
    double* row(std::size_t i) { return values_.data() + i * width_; }
    const double* row(std::size_t i) const { return values_.data() + i * width_; }
    double& at(std::size_t i, std::size_t j) { return row(i)[j]; }

    // Takes the values of a matrix of the same size.
    void copy(const SmallMatrix& other) {
        for (std::size_t i = 0; i < width_ * width_; ++i) values_[i] = other.values_[i];
    }

    // Sets the entries to value(i, j).
    template <class Value>
    void set(Value value) {
        for (std::size_t i = 0; i < width_; ++i) {
            double* const to = row(i);
            for (std::size_t j = i / group * group; j < width_; ++j) to[j] = 0;
            for (std::size_t j = i / group * group; i < size_ && j < size_; ++j)
                to[j] = value(i, j);
        }
    }

    // The sum of the outer products of padded rows.
    void set_products(const double* rows, std::size_t n_rows) {
        set([](std::size_t, std::size_t) { return 0.0; });
        for (std::size_t a = 0; a < width_; a += tile) add_products(rows, n_rows, a, 1);
    }

    // Replaces the matrix by its factor; false if it is not positive definite. The last pivot is at
    // least `least`.
    bool factor(double least) {
        for (std::size_t a = 0; a < size_; a += tile) {
            add_products(values_.data(), a, a, -1);
            for (std::size_t i = a; i < a + tile && i < size_; ++i) {
                for (std::size_t k = a; k < i; ++k) subtract(at(k, i), row(k), row(i), a);
                double pivot = at(i, i);
                if (i + 1 == size_ && pivot < least) pivot = least;
                if (!(pivot > 0)) return false;
                const double root = std::sqrt(pivot);
                for (std::size_t j = i + 1; j < width_; ++j) at(i, j) /= root;
                at(i, i) = root;
            }
        }
        return true;
    }

    // Solves a linear system in place, with the factor.
    void solve(double* x) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const double* const from = row(i);
            x[i] /= from[i];
            for (std::size_t j = i + 1; j < size_; ++j) x[j] -= x[i] * from[j];
        }
        for (std::size_t i = size_; i-- > 0;) {
            const double* const from = row(i);
            const double sum =
                sum_in_parts(i + 1, size_, [&](std::size_t j) { return from[j] * x[j]; });
            x[i] = (x[i] - sum) / from[i];
        }
    }

  private:
    using Doubles = Lanes<double>;
    static constexpr std::size_t group = Doubles::count, tile = 4;
    // Groups of columns at once: their sums stay in registers.
    static constexpr std::size_t most_groups = Doubles::parts == 1 ? 3 : 1;
    static_assert(group % tile == 0, "the last tile must not exceed the padded size");

    static std::size_t padded(std::size_t size) { return (size + group - 1) / group * group; }

    // Adds the outer products of padded rows, times a sign, to the rows [a, a + tile).
    void add_products(const double* rows, std::size_t n_rows, std::size_t a, double sign) {
        std::size_t b = a / group * group;
        for (; b + most_groups * group <= width_; b += most_groups * group)
            add_tile<most_groups>(rows, n_rows, a, b, sign);
        for (; b < width_; b += group) add_tile<1>(rows, n_rows, a, b, sign);
    }

    template <std::size_t n_groups>
    void add_tile(const double* rows, std::size_t n_rows, std::size_t a, std::size_t b,
                  double sign) {
        Doubles sums[tile][n_groups];
        for (std::size_t r = 0; r < tile; ++r)
            for (std::size_t g = 0; g < n_groups; ++g) sums[r][g] = Doubles::all(0);
        for (std::size_t k = 0; k < n_rows; ++k) {
            const double* const from = rows + k * width_;
            Doubles right[n_groups];
            for (std::size_t g = 0; g < n_groups; ++g)
                right[g] = Doubles::load(from + b + g * group);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < tile; ++r) {
                const Doubles left = Doubles::all(from[a + r]);
                for (std::size_t g = 0; g < n_groups; ++g)
                    sums[r][g] = multiply_add(left, right[g], sums[r][g]);
            }
        }
        for (std::size_t r = 0; r < tile; ++r)
            for (std::size_t g = 0; g < n_groups; ++g) {
                double* const to = row(a + r) + b + g * group;
                multiply_add(Doubles::all(sign), sums[r][g], Doubles::load(to)).store(to);
            }
    }

    // to -= factor * from, from the group of a column on
    void subtract(double factor, const double* from, double* to, std::size_t a) const {
        const Doubles left = Doubles::all(-factor);
        for (std::size_t b = a / group * group; b < width_; b += group)
            multiply_add(left, Doubles::load(from + b), Doubles::load(to + b)).store(to + b);
    }

    std::size_t size_ = 0, width_ = 0;
    Buffer<double> values_;
};

}  // namespace pocketsvm::POCKETSVM_SET
