// log sum_o exp(f_o) - f_y, one loss of all outputs, one output for each class. In the passes, the
// classes are one log loss against the rest each.
#pragma once

#include "loss.hpp"

namespace pocketsvm::POCKETSVM_SET {

struct Softmax {
    static constexpr const char* name = "softmax";
    static constexpr bool on_classes = true, coupled = true;

    // The curvatures are a diagonal bound on the second derivative diag(p) - p p', where p are the
    // probabilities.
    template <class Code>
    struct OfRows {
        static constexpr bool coupled = true;
        const Code* codes;
        std::size_t n_outputs;
        double width;

        POCKETSVM_INLINE std::size_t own(std::size_t row) const { return std::size_t(codes[row]); }

        // The whole value stands in the output of the row's class.
        template <class Use>
        POCKETSVM_INLINE void at(std::size_t row, const double* f, Use use) const {
            const double log_sum = log_of_sum(f);
            for (std::size_t o = 0; o < n_outputs; ++o) {
                const double share = std::exp(f[o] - log_sum);
                const bool is_own = o == own(row);
                use(o, Derivatives{is_own ? log_sum - f[o] : 0, is_own ? share - 1 : share,
                                   2 * share * (1 - share)});
            }
        }
        POCKETSVM_INLINE bool near(std::size_t row, const double* f, double reach) const {
            return log_of_sum(f) - f[own(row)] > std::log1p(std::exp(-reach * width));
        }

      private:
        double log_of_sum(const double* f) const {
            double largest = f[0], sum = 0;
            for (std::size_t o = 1; o < n_outputs; ++o) largest = f[o] > largest ? f[o] : largest;
            for (std::size_t o = 0; o < n_outputs; ++o) sum += std::exp(f[o] - largest);
            return largest + std::log(sum);
        }
    };
};

}  // namespace pocketsvm::POCKETSVM_SET
