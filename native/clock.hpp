// Clocks that are cheap enough to stay switched on.
#pragma once

#include <cstdint>

#include "system.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Splits the time of maintenance into solving the merging problem (the paper's A) and the rest
// (its B). It is off for most events, because reading a clock costs as much as a small search.
class Stopwatch {
  public:
    static double now() { return monotonic_seconds(); }
    // Without the time that reading the clock takes.
    static double seconds_since(double begin) { return less_overhead(now() - begin); }

    explicit Stopwatch(bool on) : on_(on), last_(on ? now() : 0) {}
    void lap_solve() { lap(solve_); }
    void lap_rest() { lap(rest_); }
    double solve() const { return solve_; }
    double rest() const { return rest_; }

  private:
    void lap(double& total) {
        if (!on_) return;
        const double time = now();
        total += less_overhead(time - last_);
        last_ = time;
    }
    // Subtracts the time of one clock reading, because every interval contains one.
    static double less_overhead(double seconds) {
        static const double overhead = [] {
            double least = 1, last = now();
            for (int i = 0; i < n_readings; ++i) {
                const double time = now();
                if (time - last < least) least = time - last;
                last = time;
            }
            return least;
        }();
        return seconds > overhead ? seconds - overhead : 0;
    }

    static constexpr int n_readings = 100;  // enough for one that nothing delayed

    bool on_;
    double last_;
    double solve_ = 0;
    double rest_ = 0;
};

// Estimates the total seconds of something that happens often. The clock is read every time at
// first, then once per `period` (a power of two), and that reading counts for the whole period. A
// reading that is far above the average, because the system suspended the thread, is replaced by
// the average.
class SampledClock {
  public:
    // Enough readings for a good average; an event costs far more than a sixteenth of a reading.
    static constexpr int usual_period = 16;
    explicit SampledClock(int period = usual_period) : period_(period) {}
    // Whether to read the clock this time.
    bool due() {
        ++count_;
        return count_ <= n_always || (count_ & (period_ - 1)) == 0;
    }
    void add(double seconds) {
        ++samples_;
        if (count_ > n_always && seconds > outlier_factor * sum_ / double(samples_))
            seconds = sum_ / double(samples_);
        sum_ += seconds;
        total_ += seconds * (count_ <= n_always ? 1 : period_);
    }
    double total() const { return total_; }

  private:
    static constexpr std::int64_t n_always = 64;  // gives short runs an exact total
    static constexpr double outlier_factor = 20;  // events themselves vary much less
    int period_;
    std::int64_t count_ = 0;
    std::int64_t samples_ = 0;
    double sum_ = 0;
    double total_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
