// Readings of rows: their losses at a point and how these pull at the coefficients, or their losses
// along a direction. Kernel values, decision values and losses of a tile of rows stay in the cache.
#pragma once

#include "../kernel/prediction.hpp"
#include "kernel_sums.hpp"
#include "losses.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class LossReader final : public Reader {
  public:
    LossReader(const ModelView& model, const double* lengths, std::size_t n_lengths)
        : n_vectors_(model.n_vectors), n_points_(model.n_outputs), sums_(model.n_vectors),
          kernel_(
              {model.n_vectors, model.n_features, 0, model.vectors, nullptr, nullptr, model.gamma}),
          coefficients_(sums_.padded(n_points_, model.coefficients)), intercepts_(n_points_),
          lengths_(n_lengths) {
        for (std::size_t o = 0; o < n_points_; ++o) intercepts_[o] = model.intercepts[o];
        for (std::size_t k = 0; k < n_lengths; ++k) lengths_[k] = lengths[k];
    }

    void read(const RowsView& rows, const Losses& losses, const Chunk& chunk,
              const Sums& sums) const override {
        with_losses(losses, [&](auto loss) { read_rows(rows, losses, loss, chunk, sums); });
    }

  private:
    // The kernel values of a tile fit into the second-level cache.
    std::size_t tile_rows() const {
        constexpr std::size_t tile_bytes = 1 << 17, least = 8, most = 64;
        const std::size_t fitting = tile_bytes / sizeof(Real) / (n_vectors_ + 1) / least * least;
        return fitting < least ? least : fitting < most ? fitting : most;
    }

    template <class Loss>
    void read_rows(const RowsView& rows, const Losses& losses, Loss loss, const Chunk& chunk,
                   const Sums& sums) const {
        const std::size_t n_outputs = losses.n_outputs;
        const std::size_t most = tile_rows();
        Buffer<Real> kernel(most * n_vectors_, Unwritten());
        Buffer<double> decisions(most * n_points_, Unwritten()), tried(n_outputs, Unwritten());
        Buffer<double> slopes(most * n_outputs, Unwritten());
        Buffer<double> pull(n_outputs * sums_.width()), slope_sums(n_outputs);
        const std::size_t n_losses = (lengths_.size() ? lengths_.size() : 1) * losses.n_losses();
        for (std::size_t k = 0; k < n_losses; ++k) sums.losses[k] = 0;
        for (std::size_t i = chunk.begin; i < chunk.end; i += most) {
            const std::size_t n = chunk.end - i < most ? chunk.end - i : most;
            kernel_.kernel(rows, i, i + n, kernel.data());
            sums_.decide(kernel.data(), n, n_points_, coefficients_.data(), intercepts_.data(),
                         decisions.data());
            for (std::size_t r = 0; r < n; ++r) {
                const double* f = decisions.data() + r * n_points_;
                if (lengths_.size()) {
                    read_along(loss, i + r, losses, f, tried.data(), chunk, sums);
                    continue;
                }
                double* slope = slopes.data() + r * n_outputs;
                read_at(loss, i + r, f, chunk, slope, sums);
                for (std::size_t o = 0; o < n_outputs; ++o) slope_sums[o] += slope[o];
            }
            if (!lengths_.size())
                sums_.add_pull(kernel.data(), n, n_outputs, slopes.data(), pull.data());
        }
        if (lengths_.size()) return;
        for (std::size_t o = 0; o < n_outputs; ++o) {
            double* to = sums.pull + o * (n_vectors_ + 1);
            for (std::size_t j = 0; j < n_vectors_; ++j) to[j] = pull[o * sums_.width() + j];
            to[n_vectors_] = slope_sums[o];
        }
    }

    template <class Loss>
    void read_at(Loss loss, std::size_t row, const double* f, const Chunk& chunk, double* slope,
                 const Sums& sums) const {
        const double c = chunk.c[row];
        loss.at(row, f, [&](std::size_t o, const Derivatives& each) {
            sums.losses[loss.coupled ? 0 : o] += c * each.value;
            slope[o] = c * each.slope;
        });
        sums.near[row] = loss.near(row, f, chunk.reach);
    }

    template <class Loss>
    void read_along(Loss loss, std::size_t row, const Losses& losses, const double* f,
                    double* tried, const Chunk& chunk, const Sums& sums) const {
        const std::size_t n_outputs = losses.n_outputs;
        const double c = chunk.c[row], *step = f + n_outputs;
        for (std::size_t k = 0; k < lengths_.size(); ++k) {
            for (std::size_t o = 0; o < n_outputs; ++o) tried[o] = f[o] + lengths_[k] * step[o];
            double* total = sums.losses + k * losses.n_losses();
            loss.at(row, tried, [&](std::size_t o, const Derivatives& each) {
                total[loss.coupled ? 0 : o] += c * each.value;
            });
        }
    }

    std::size_t n_vectors_, n_points_;
    KernelSums<Real> sums_;
    BlockPredictor<Real> kernel_;
    Buffer<double> coefficients_;  // padded
    Buffer<double> intercepts_, lengths_;
};

}  // namespace pocketsvm::POCKETSVM_SET
