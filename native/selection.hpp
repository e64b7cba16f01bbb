// The rows with the smallest priorities of each group, on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "threads.hpp"

namespace pocketsvm {

// Rows that a thread takes at once.
inline constexpr std::size_t rows_at_once = std::size_t(1) << 13;

inline std::size_t n_chunks(std::size_t n_rows) {
    return (n_rows + rows_at_once - 1) / rows_at_once;
}

// Calls task(k, begin, end) for chunks of rows. Returns false if there was an interruption.
template <class Task>
bool in_chunks(std::size_t n_rows, std::size_t n_threads, Interrupt& interrupt, Task task) {
    // Starting a thread takes as long as a few chunks.
    n_threads = std::min(n_threads, 1 + n_chunks(n_rows) / 8);
    return parallel(n_chunks(n_rows), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
        if (own.requested()) return false;
        task(k, k * rows_at_once, std::min((k + 1) * rows_at_once, n_rows));
        return true;
    });
}

// A selection of `quotas[g]` rows of each group g. All rows are visited twice, but only priorities
// inside a bracket are compared with each other: the caller knows roughly where the largest
// selected ones are.
class Selection {
  public:
    Selection(const Core& core, const Draw& draw, std::size_t n_rows)
        : core_(core), draw_(draw), n_rows_(n_rows), counts_(n_chunks(n_rows) * draw.n_groups),
          inside_(n_chunks(n_rows)), thresholds_(draw.n_groups) {}

    // Finds the thresholds of these quotas. Returns false if there was an interruption.
    bool find(const std::int64_t* quotas, const Bracket& bracket, std::size_t n_threads,
              Interrupt& interrupt) {
        if (!split_all(bracket, n_threads, interrupt)) return false;
        if (groups_exist_) set_thresholds(quotas, bracket);
        return true;
    }
    // Selects all rows below these thresholds instead. Returns false if there was an interruption.
    bool find_below(const double* thresholds, std::size_t n_threads, Interrupt& interrupt) {
        if (!split_all({thresholds, thresholds}, n_threads, interrupt)) return false;
        std::copy_n(thresholds, draw_.n_groups, thresholds_.begin());
        std::vector<std::int64_t> no_ties(draw_.n_groups);
        count_rows(no_ties);
        return true;
    }
    bool groups_exist() const { return groups_exist_; }
    // Whether the threshold of each group is inside its bracket.
    bool found() const { return found_; }
    // The smallest priority of each group that is not selected; infinite if all are.
    const std::vector<double>& thresholds() const { return thresholds_; }
    std::size_t size() const { return first_.back(); }

    // Writes the selected rows in their order; may be called once. Returns false if there was an
    // interruption.
    bool write(std::int64_t* rows, std::size_t n_threads, Interrupt& interrupt) {
        return in_chunks(n_rows_, n_threads, interrupt,
                         [&](std::size_t k, std::size_t begin, std::size_t end) {
                             core_.write_below(draw_, thresholds_.data(), counts(k), begin, end,
                                               rows + first_[k]);
                         });
    }

  private:
    struct Inside {
        std::vector<std::int32_t> groups;
        std::vector<double> priorities;
    };

    bool split_all(const Bracket& bracket, std::size_t n_threads, Interrupt& interrupt) {
        std::atomic<bool> exist{true};
        const bool finished = in_chunks(n_rows_, n_threads, interrupt,
                                        [&](std::size_t k, std::size_t begin, std::size_t end) {
                                            if (!split(k, begin, end, bracket)) exist = false;
                                        });
        groups_exist_ = exist;
        return finished;
    }

    std::int64_t* counts(std::size_t k) { return counts_.data() + k * draw_.n_groups; }

    bool split(std::size_t k, std::size_t begin, std::size_t end, const Bracket& bracket) {
        // Counted apart, because threads that write next to each other slow each other down.
        std::vector<std::int64_t> below(draw_.n_groups);
        const auto groups = std::make_unique_for_overwrite<std::int32_t[]>(end - begin);
        const auto priorities = std::make_unique_for_overwrite<double[]>(end - begin);
        const std::size_t n = core_.split_rows(draw_, bracket, begin, end, below.data(),
                                               {groups.get(), priorities.get()});
        if (n > end - begin) return false;
        std::copy(below.begin(), below.end(), counts(k));
        inside_[k].groups.assign(groups.get(), groups.get() + n);
        inside_[k].priorities.assign(priorities.get(), priorities.get() + n);
        return true;
    }

    void set_thresholds(const std::int64_t* quotas, const Bracket& bracket) {
        std::vector<std::int64_t> left(quotas, quotas + draw_.n_groups);
        std::vector<std::vector<double>> numbers(draw_.n_groups);
        for (std::size_t k = 0; k < inside_.size(); ++k) {
            for (std::size_t g = 0; g < draw_.n_groups; ++g) left[g] -= counts(k)[g];
            for (std::size_t i = 0; i < inside_[k].groups.size(); ++i)
                numbers[std::size_t(inside_[k].groups[i])].push_back(inside_[k].priorities[i]);
        }
        found_ = true;
        for (std::size_t g = 0; g < draw_.n_groups; ++g)
            found_ &= set_threshold(g, left[g], numbers[g], bracket.upper[g]);
        if (found_) count_rows(left);
    }

    // Sets the threshold of a group of which the `left` smallest numbers are selected, and `left`
    // to how many of these are equal to the threshold.
    bool set_threshold(std::size_t g, std::int64_t& left, std::vector<double>& numbers,
                       double upper) {
        if (left < 0) return false;
        if (std::size_t(left) >= numbers.size()) {
            thresholds_[g] = upper;
            const bool none = left == 0 && upper == 0;
            left = 0;
            return none || upper == std::numeric_limits<double>::infinity();
        }
        const auto last = numbers.begin() + left;
        std::nth_element(numbers.begin(), last, numbers.end());
        thresholds_[g] = *last;
        left = std::count(numbers.begin(), last, *last);
        return true;
    }

    // Counts the selected rows of each chunk; of equal priorities, the first rows are selected.
    // Afterwards, the counts of a chunk say how many of its rows equal to a threshold are.
    void count_rows(std::vector<std::int64_t>& ties) {
        first_.assign(1, 0);
        for (std::size_t k = 0; k < inside_.size(); ++k) {
            std::size_t n = 0;
            for (std::size_t g = 0; g < draw_.n_groups; ++g) {
                n += std::size_t(counts(k)[g]);
                counts(k)[g] = 0;
            }
            for (std::size_t i = 0; i < inside_[k].groups.size(); ++i) {
                const std::size_t g = std::size_t(inside_[k].groups[i]);
                const double number = inside_[k].priorities[i];
                const bool tied = number == thresholds_[g] && ties[g] > 0;
                if (tied) {
                    --ties[g];
                    ++counts(k)[g];
                }
                n += number < thresholds_[g] || tied;
            }
            first_.push_back(first_.back() + n);
        }
    }

    const Core& core_;
    Draw draw_;
    std::size_t n_rows_;
    std::vector<std::int64_t> counts_;  // n_chunks x n_groups
    std::vector<Inside> inside_;        // of each chunk
    std::vector<double> thresholds_;
    std::vector<std::size_t> first_{0};  // where the selected rows of each chunk start
    bool groups_exist_ = true, found_ = false;
};

}  // namespace pocketsvm
