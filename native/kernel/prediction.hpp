// Decision values and kernel values in tiles: several rows against a block of vectors, so that each
// block is read once for all of them. The order of each sum does not depend on the other rows.
#pragma once

#include <cstring>

#include "gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class BlockPredictor final : public Predictor {
  public:
    explicit BlockPredictor(const ModelView& model)
        : n_outputs_(model.n_outputs), kernel_(model.gamma),
          vectors_(model.n_vectors, model.n_features),
          coefficients_(model.n_outputs * vectors_.capacity()), intercepts_(model.n_outputs) {
        const Real* vectors = static_cast<const Real*>(model.vectors);
        vectors_.resize(model.n_vectors);
        for (std::size_t j = 0; j < model.n_vectors; ++j)
            vectors_.write_with_norm(j, vectors + j * model.n_features);
        for (std::size_t o = 0; o < n_outputs_; ++o) {
            intercepts_[o] = model.intercepts[o];
            for (std::size_t j = 0; j < model.n_vectors; ++j)
                coefficients_[o * vectors_.capacity() + j] =
                    Real(model.coefficients[o * model.n_vectors + j]);
        }
    }

    void decide(const RowsView& view, std::size_t begin, std::size_t end,
                double* out) const override {
        constexpr std::size_t chains = 4;  // independent sums hide the latency of a multiply-add
        Buffer<L> sums(rows_at_once * n_outputs_ * chains);
        const auto use = [&](int r, std::size_t at, L kernel) POCKETSVM_INLINE_LAMBDA {
            for (std::size_t o = 0; o < n_outputs_; ++o) {
                L& sum = sums[(r * n_outputs_ + o) * chains + at / L::count % chains];
                sum = multiply_add(L::load(coefficients_.data() + o * vectors_.capacity() + at),
                                   kernel, sum);
            }
        };
        in_tiles(view, begin, end, use, [&](int r, std::size_t row) {
            for (std::size_t o = 0; o < n_outputs_; ++o) {
                L* sum = &sums[(r * n_outputs_ + o) * chains];
                const L all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
                out[row * n_outputs_ + o] = intercepts_[o] + double(all.sum());
                for (std::size_t i = 0; i < chains; ++i) sum[i] = L::all(0);
            }
        });
    }

    void kernel(const RowsView& view, std::size_t begin, std::size_t end,
                void* out) const override {
        const std::size_t n = vectors_.size();
        Buffer<Real> values(rows_at_once * vectors_.capacity());
        const auto use = [&](int r, std::size_t at, L kernel) POCKETSVM_INLINE_LAMBDA {
            kernel.store(values.data() + r * vectors_.capacity() + at);
        };
        in_tiles(view, begin, end, use, [&](int r, std::size_t row) {
            std::memcpy(static_cast<Real*>(out) + (row - begin) * n,
                        values.data() + r * vectors_.capacity(), n * sizeof(Real));
        });
    }

  private:
    using L = Lanes<Real>;

    // Calls use(r, slot, kernel values) for every row of a tile and every block, then done(r, row).
    template <class Use, class Done>
    void in_tiles(const RowsView& view, std::size_t begin, std::size_t end, Use use,
                  Done done) const {
        with_rows<Real>(view, [&](auto& rows) {
            std::size_t i = begin;
            // Sparse rows do not share features, so a tile of them would not save reads.
            if (!view.sparse)
                for (; i + rows_at_once <= end; i += rows_at_once)
                    tile<rows_at_once>(rows, i, use, done);
            for (; i < end; ++i) tile<1>(rows, i, use, done);
        });
    }

    template <int n, class Rows, class Use, class Done>
    void tile(Rows& rows, std::size_t first, Use use, Done done) const {
        decltype(rows.row(0)) row[n];
        Real norm[n];
        for (int r = 0; r < n; ++r) {
            row[r] = rows.row(first + r);
            norm[r] = squared_norm(row[r]);
        }
        kernel_.tile(vectors_, row, norm, [&](int r, std::size_t at, L t) POCKETSVM_INLINE_LAMBDA {
            use(r, at, exp2_minus(t));
        });
        for (int r = 0; r < n; ++r) done(r, first + r);
    }

    std::size_t n_outputs_;
    Gaussian<Real> kernel_;
    VectorLanes<Real> vectors_;
    Buffer<Real> coefficients_;  // n_outputs x capacity
    Buffer<double> intercepts_;
};

}  // namespace pocketsvm::POCKETSVM_SET
