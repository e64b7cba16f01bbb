// Sums of outer products of rows of kernel values, for second derivatives of many vectors.
//
// Rows are packed first: their columns lie in panels, and a panel row by row, in double and times a
// scale. A tile of sums then stays in registers while it goes down two panels. The terms of a sum
// are added in the order of the rows, so that its bits depend neither on the tile nor on the
// instruction set, if that fuses multiply-adds.
#pragma once

#include "../core.hpp"
#include "../memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

class OuterProducts {
  public:
    using L = Lanes<double>;
#if defined(POCKETSVM_AVX512)
    static constexpr std::size_t lanes = 3, tile_rows = 8;
#else
    static constexpr std::size_t lanes = 1, tile_rows = 4;
#endif
    static constexpr std::size_t panel = lanes * L::count;  // the columns of a panel
    static_assert(panel % tile_rows == 0);

    static std::size_t n_panels(std::size_t n_columns) { return (n_columns + panel - 1) / panel; }

    // Packs some rows: the values of row k are in all panels at row k.
    template <class Real>
    static void pack(const ScaledRows& rows, const Real* values, std::size_t begin, std::size_t end,
                     double* packed) {
        for (std::size_t k = begin; k < end; ++k) {
            const Real* from = values + std::size_t(rows.chosen[k]) * rows.n_columns;
            for (std::size_t p = 0; p < n_panels(rows.n_columns); ++p) {
                double* to = packed + (p * rows.n_rows + k) * panel;
                const std::size_t first = p * panel;
                for (std::size_t j = 0; j < panel; ++j)
                    to[j] =
                        first + j < rows.n_columns ? rows.scales[k] * double(from[first + j]) : 0;
            }
        }
    }

    // Adds the products of the panels [left.begin, left.end) with the panels of `right`, as far as
    // these are not before them, times a sign, to the upper triangle of a square matrix.
    static void add(const double* packed, std::size_t n_rows, std::size_t n_columns,
                    const PanelRange& left, const PanelRange& right, double sign, double* square) {
        for (std::size_t k = 0; k < n_rows; k += rows_together) {
            const std::size_t n = n_rows - k < rows_together ? n_rows - k : rows_together;
            for (std::size_t p = left.begin; p < left.end; ++p)
                for (std::size_t q = p > right.begin ? p : right.begin; q < right.end; ++q)
                    for (std::size_t r = 0; r < panel; r += tile_rows)
                        add_tile(packed + (p * n_rows + k) * panel + r,
                                 packed + (q * n_rows + k) * panel, n,
                                 {square, n_columns, p * panel + r, q * panel, sign});
        }
    }

  private:
    // Rows of a few panels that stay in the second-level cache.
    static constexpr std::size_t rows_together = 256;

    struct Place {
        double* square;
        std::size_t n, row, column;
        double sign;
    };

    static void add_tile(const double* left, const double* right, std::size_t n_rows,
                         const Place& place) {
        L sums[tile_rows][lanes];
#pragma GCC unroll 8
        for (std::size_t r = 0; r < tile_rows; ++r)
#pragma GCC unroll 8
            for (std::size_t l = 0; l < lanes; ++l) sums[r][l] = L::all(0);
        for (std::size_t k = 0; k < n_rows; ++k, left += panel, right += panel) {
            L values[lanes];
#pragma GCC unroll 8
            for (std::size_t l = 0; l < lanes; ++l) values[l] = L::load(right + l * L::count);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < tile_rows; ++r) {
                const L value = L::all(left[r]);
#pragma GCC unroll 8
                for (std::size_t l = 0; l < lanes; ++l)
                    sums[r][l] = multiply_add(value, values[l], sums[r][l]);
            }
        }
        alignas(lane_bytes) double found[panel];
        for (std::size_t r = 0; r < tile_rows && place.row + r < place.n; ++r) {
            for (std::size_t l = 0; l < lanes; ++l) sums[r][l].store(found + l * L::count);
            double* to = place.square + (place.row + r) * place.n + place.column;
            for (std::size_t j = 0; j < panel && place.column + j < place.n; ++j)
                if (place.column + j >= place.row + r) to[j] += place.sign * found[j];
        }
    }
};

}  // namespace pocketsvm::POCKETSVM_SET
