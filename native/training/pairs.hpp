// Pairs of rows: a step of ranking takes a row and a random partner of the same query.
#pragma once

#include "../core.hpp"
#include "../random.hpp"
#include "../simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Reads pairs, and the loss max(0, 1 - (f_i - f_j)) of a pair in which row i is the more relevant
// one.
class PairLoss {
  public:
    explicit PairLoss(const Pairs& pairs) : pairs_(pairs) {}

    void prefetch(std::size_t row) const { __builtin_prefetch(pairs_.places + row); }

    // A random row of the same query with another relevance.
    std::uint32_t partner(std::uint32_t row, Generator& generator) const {
        const PairPlace& place = pairs_.places[row];
        const std::uint32_t drawn = place.query_begin + generator.below(n_partners(place));
        return drawn < place.level_begin ? drawn : drawn + (place.level_end - place.level_begin);
    }

    // Minus the slope of the loss in the difference of the decision values, f(row) - f(partner):
    // the coefficient with which the row enters, and the partner with the opposite one. The weight
    // makes all pairs of a query count the same: a pair is drawn with a probability that is
    // proportional to 1 / partners of the row + 1 / partners of the partner.
    double step(std::uint32_t row, std::uint32_t partner, double difference) const {
        const double sign = partner < pairs_.places[row].level_begin ? 1 : -1;
        if (sign * difference >= 1) return 0;
        const double rate = 1.0 / n_partners(pairs_.places[row]) +  //
                            1.0 / n_partners(pairs_.places[partner]);
        return sign * pairs_.row_weight[row] / rate;
    }

  private:
    static std::uint32_t n_partners(const PairPlace& place) {
        return (place.query_end - place.query_begin) - (place.level_end - place.level_begin);
    }

    Pairs pairs_;
};

}  // namespace pocketsvm::POCKETSVM_SET
