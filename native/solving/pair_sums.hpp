// Sums over the pairs of rows of a query: the loss of ranking, its slopes and curvatures.
//
// A pair of rows i, j with the levels l_i > l_j has the loss R(1 - f_i + f_j), where R is the ramp
// max(0, u) with its kink rounded off over `width` to either side. For one row, the pairs on the
// linear and on the quadratic part of R are ranges of the rows sorted by f. A sweep in the order of
// f keeps sums of powers of f for each level in a binary indexed tree, so that a query of n rows
// takes n log n steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pocketsvm {

// Sums of 1, f and f^2 over some rows.
struct Powers {
    double count = 0, sum = 0, squares = 0;
    void add(const Powers& other) {
        count += other.count;
        sum += other.sum;
        squares += other.squares;
    }
    Powers less(const Powers& other) const {
        return {count - other.count, sum - other.sum, squares - other.squares};
    }
};

// Sums by level: a binary indexed tree.
class LevelSums {
  public:
    void clear(std::size_t n_levels) {
        tree_.assign(n_levels + 1, Powers());
        total_ = Powers();
    }
    void add(std::size_t level, double f) {
        const Powers powers{1, f, f * f};
        total_.add(powers);
        for (std::size_t k = level + 1; k < tree_.size(); k += k & -k) tree_[k].add(powers);
    }
    // Over the rows below a level.
    Powers below(std::size_t level) const {
        Powers sum;
        for (std::size_t k = level; k > 0; k -= k & -k) sum.add(tree_[k]);
        return sum;
    }
    // Over the rows above a level.
    Powers above(std::size_t level) const { return total_.less(below(level + 1)); }

  private:
    std::vector<Powers> tree_;
    Powers total_;
};

class PairSums {
  public:
    explicit PairSums(double width) : width_(width) {}

    // Where the sums of each row go.
    struct Out {
        double* values;      // the loss of its pairs with less relevant rows
        double* slopes;      // of all of its pairs
        double* curvatures;  // twice that of all of its pairs: a bound on the second derivative
        double* products;    // the second derivative times the decision values
    };

    // The sums of one query, times `scale`.
    void add(std::size_t n, const std::int32_t* levels, const double* decisions, double scale,
             const Out& out) {
        order_.resize(n);
        double mean = 0;
        std::int32_t most = 0;
        for (std::size_t i = 0; i < n; ++i) {
            order_[i] = std::uint32_t(i);
            mean += decisions[i] / double(n);
            most = std::max(most, levels[i]);
        }
        std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return decisions[a] < decisions[b] || (decisions[a] == decisions[b] && a < b);
        });
        n_ = n;
        levels_ = levels;
        f_.resize(n);
        for (std::size_t k = 0; k < n; ++k) f_[k] = decisions[order_[k]] - mean;
        const std::size_t n_levels = std::size_t(most) + 1;
        with_less_relevant(n_levels, scale, out);
        with_more_relevant(n_levels, scale, out);
    }

  private:
    // Adds rows to the sums while their f is smaller than the bound.
    void advance(LevelSums& sums, std::size_t& next, double bound) const {
        for (; next < n_ && f_[next] < bound; ++next)
            sums.add(std::size_t(levels_[order_[next]]), f_[next]);
    }

    void with_less_relevant(std::size_t n_levels, double scale, const Out& out) {
        all_.clear(n_levels);
        low_.clear(n_levels);
        high_.clear(n_levels);
        std::size_t end = 0, low = 0, high = 0;
        advance(all_, end, __builtin_huge_val());
        for (std::size_t k = 0; k < n_; ++k) {
            const std::uint32_t i = order_[k];
            const std::size_t level = std::size_t(levels_[i]);
            const double start = f_[k] - 1 - width_;  // the loss of rows below is zero
            advance(low_, low, start);
            advance(high_, high, start + 2 * width_);
            const Powers linear = all_.below(level).less(high_.below(level));
            const Powers curved = high_.below(level).less(low_.below(level));
            const double first = curved.sum - start * curved.count;
            const double second = curved.squares - start * (2 * curved.sum - start * curved.count);
            const double value = linear.count * (1 - f_[k]) + linear.sum;
            out.values[i] = scale * (value + second / (4 * width_));
            out.slopes[i] = -scale * (linear.count + first / (2 * width_));
            out.curvatures[i] = scale * curved.count / width_;
            out.products[i] = scale * (curved.count * f_[k] - curved.sum) / (2 * width_);
        }
    }

    void with_more_relevant(std::size_t n_levels, double scale, const Out& out) {
        low_.clear(n_levels);
        high_.clear(n_levels);
        std::size_t low = 0, high = 0;
        for (std::size_t k = 0; k < n_; ++k) {
            const std::uint32_t j = order_[k];
            const std::size_t level = std::size_t(levels_[j]);
            const double end = f_[k] + 1 + width_;  // the loss of rows above is zero
            advance(low_, low, end - 2 * width_);
            advance(high_, high, end);
            const Powers linear = low_.above(level);
            const Powers curved = high_.above(level).less(linear);
            out.slopes[j] +=
                scale * (linear.count + (end * curved.count - curved.sum) / (2 * width_));
            out.curvatures[j] += scale * curved.count / width_;
            out.products[j] += scale * (curved.count * f_[k] - curved.sum) / (2 * width_);
        }
    }

    double width_;
    std::size_t n_ = 0;
    const std::int32_t* levels_ = nullptr;
    std::vector<std::uint32_t> order_;  // by f
    std::vector<double> f_;             // sorted, less their mean
    LevelSums all_, low_, high_;
};

// Draws rows of a query that make a pair with a row on the quadratic part of the loss. For one row,
// such rows of one level are a range of the rows sorted by f, so that counting them takes two
// binary searches for each run of rows of one level. Rows of a query are usually sorted by level.
class BentPartners {
  public:
    explicit BentPartners(double width) : width_(width) {}

    // Takes the rows of another query.
    void set(std::size_t n, const std::int32_t* levels, const double* decisions) {
        levels_ = levels;
        decisions_ = decisions;
        sorted_.assign(decisions, decisions + n);
        ends_.clear();
        for (std::size_t begin = 0, end; begin < n; begin = end) {
            for (end = begin + 1; end < n && levels[end] == levels[begin];) ++end;
            std::sort(sorted_.begin() + std::ptrdiff_t(begin),
                      sorted_.begin() + std::ptrdiff_t(end));
            ends_.push_back(end);
        }
        counts_.resize(ends_.size());
    }

    // A random partner of a row; the row itself if there is none. `draw` is in [0, 1).
    std::size_t draw(std::size_t row, double draw) {
        std::size_t total = 0;
        for (std::size_t run = 0; run < ends_.size(); ++run) {
            counts_[run] = count(row, begin_of(run), ends_[run]);
            total += counts_[run];
        }
        std::size_t left = std::size_t(draw * double(total));
        for (std::size_t run = 0; run < ends_.size(); ++run) {
            if (left < counts_[run]) {
                std::size_t other = begin_of(run);
                while (!is_curved(row, other, decisions_[other]) || left-- > 0) ++other;
                return other;
            }
            left -= counts_[run];
        }
        return row;
    }

  private:
    std::size_t begin_of(std::size_t run) const { return run == 0 ? 0 : ends_[run - 1]; }

    // 1 less the lead of the more relevant row; `other` is in the same run as the row with f.
    double excess(std::size_t row, std::size_t other, double f) const {
        const double lead = decisions_[row] - f;
        return 1 - (levels_[row] > levels_[other] ? lead : -lead);
    }
    bool is_curved(std::size_t row, std::size_t other, double f) const {
        const double found = excess(row, other, f);
        return found >= -width_ && found <= width_;
    }

    // The number of rows of a run whose pairs with a row are curved.
    std::size_t count(std::size_t row, std::size_t begin, std::size_t end) const {
        if (levels_[begin] == levels_[row]) return 0;
        const auto first = sorted_.begin() + std::ptrdiff_t(begin);
        const auto last = sorted_.begin() + std::ptrdiff_t(end);
        // The excess grows with f if the row is more relevant, and falls otherwise.
        const bool grows = levels_[row] > levels_[begin];
        const auto low = std::partition_point(first, last, [&](double f) {
            const double found = excess(row, begin, f);
            return grows ? found < -width_ : found > width_;
        });
        const auto high = std::partition_point(low, last, [&](double f) {
            const double found = excess(row, begin, f);
            return grows ? found <= width_ : found >= -width_;
        });
        return std::size_t(high - low);
    }

    double width_;
    const std::int32_t* levels_ = nullptr;
    const double* decisions_ = nullptr;
    std::vector<double> sorted_;       // the f of each run, sorted
    std::vector<std::size_t> ends_;    // of the runs
    std::vector<std::size_t> counts_;  // of the partners of a row in each run
};

}  // namespace pocketsvm
