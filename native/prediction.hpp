// Decision values, in tiles: a few rows at a time against a block of vectors, so that each block is
// read once for all of them. Every value is summed in the same order whatever rows are beside it.
#pragma once

#include <cstring>

#include "gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class BlockPredictor final : public Predictor {
  public:
    explicit BlockPredictor(const ModelView& model)
        : n_outputs_(model.n_outputs), kernel_(model.gamma),
          set_(model.n_vectors, model.n_features), coefficients_(model.n_outputs * set_.capacity()),
          intercepts_(model.n_outputs) {
        const Real* vectors = static_cast<const Real*>(model.vectors);
        for (std::size_t j = 0; j < model.n_vectors; ++j) {
            const DenseRow<Real> row{vectors + j * model.n_features, model.n_features};
            set_.add(row, squared_norm(row), 0, 0);
        }
        for (std::size_t o = 0; o < n_outputs_; ++o) {
            intercepts_[o] = model.intercepts[o];
            for (std::size_t j = 0; j < model.n_vectors; ++j)
                coefficients_[o * set_.capacity() + j] =
                    Real(model.coefficients[o * model.n_vectors + j]);
        }
    }

    void decide(const RowsView& view, std::size_t begin, std::size_t end,
                double* out) const override {
        Buffer<L> sums(rows_at_once * n_outputs_);
        const auto use = [&](int r, std::size_t at, L kernel) {
            for (std::size_t o = 0; o < n_outputs_; ++o) {
                L& sum = sums[r * n_outputs_ + o];
                sum = multiply_add(L::load(coefficients_.data() + o * set_.capacity() + at), kernel,
                                   sum);
            }
        };
        in_tiles(view, begin, end, use, [&](int r, std::size_t row) {
            for (std::size_t o = 0; o < n_outputs_; ++o) {
                L& sum = sums[r * n_outputs_ + o];
                out[row * n_outputs_ + o] = intercepts_[o] + double(sum.sum());
                sum = L::all(0);
            }
        });
    }

    void kernel(const RowsView& view, std::size_t begin, std::size_t end,
                void* out) const override {
        const std::size_t n = set_.size();
        Buffer<Real> values(rows_at_once * set_.capacity());
        const auto use = [&](int r, std::size_t at, L kernel) {
            kernel.store(values.data() + r * set_.capacity() + at);
        };
        in_tiles(view, begin, end, use, [&](int r, std::size_t row) {
            std::memcpy(static_cast<Real*>(out) + (row - begin) * n,
                        values.data() + r * set_.capacity(), n * sizeof(Real));
        });
    }

  private:
    using L = Lanes<Real>;

    // Calls use(r, slot, kernel values) for every block of every row of a tile, then done(r, row).
    template <class Use, class Done>
    void in_tiles(const RowsView& view, std::size_t begin, std::size_t end, Use use,
                  Done done) const {
        with_rows<Real>(view, [&](auto& rows) {
            std::size_t i = begin;
            // Sparse rows have no feature in common that a tile could share.
            if (!view.sparse)
                for (; i + rows_at_once <= end; i += rows_at_once)
                    tile<rows_at_once>(rows, i, use, done);
            for (; i < end; ++i) tile<1>(rows, i, use, done);
        });
    }

    template <int n, class Rows, class Use, class Done>
    void tile(Rows& rows, std::size_t first, Use use, Done done) const {
        constexpr int at_once = n > 1 ? tile_blocks : blocks_at_once;
        decltype(rows.row(0)) row[n];
        Real norm[n];
        for (int r = 0; r < n; ++r) {
            row[r] = rows.row(first + r);
            norm[r] = squared_norm(row[r]);
        }
        std::size_t b = 0;
        for (; b + at_once <= set_.n_blocks(); b += at_once)
            some_blocks<n, at_once>(row, norm, b, use);
        for (; b < set_.n_blocks(); ++b) some_blocks<n, 1>(row, norm, b, use);
        for (int r = 0; r < n; ++r) done(r, first + r);
    }

    template <int n, int m, class Row, class Use>
    POCKETSVM_INLINE void some_blocks(const Row (&row)[n], const Real (&norm)[n], std::size_t first,
                                      Use use) const {
        const std::size_t stride = set_.n_features() * L::count;
        const Real* base = set_.block(first);
        L dots[n][m];
        for (int r = 0; r < n; ++r)
            for (int i = 0; i < m; ++i) dots[r][i] = L::all(0);
        for (std::size_t k = 0; k < row[0].count; ++k) {
            const Real* from = base + row[0].index(k) * L::count;
            for (int i = 0; i < m; ++i) {
                const L vectors = L::load(from + i * stride);
                for (int r = 0; r < n; ++r)
                    dots[r][i] = multiply_add(L::all(row[r].values[k]), vectors, dots[r][i]);
            }
        }
        for (int i = 0; i < m; ++i) {
            const std::size_t at = (first + i) * L::count;
            const L norms = L::load(set_.norms() + at);
            for (int r = 0; r < n; ++r)
                use(r, at, exp2_minus(kernel_.exponent(dots[r][i], norms, norm[r])));
        }
    }

    std::size_t n_outputs_;
    Gaussian<Real> kernel_;
    SupportSet<Real> set_;
    Buffer<Real> coefficients_;  // n_outputs x capacity
    Buffer<double> intercepts_;
};

}  // namespace pocketsvm::POCKETSVM_SET
