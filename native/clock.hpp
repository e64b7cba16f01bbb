// Where the time goes, at a cost that can be left in.
#pragma once

#include <cstdint>
#include <ctime>

namespace pocketsvm::POCKETSVM_SET {

// Splits the time of maintenance into solving the merging problem (the paper's A) and the rest
// (its B). Off for most events, since reading a clock costs as much as a small search.
class Stopwatch {
  public:
    static double now() {
        std::timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
    }
    // Less what it costs to ask.
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
    // Between two readings of the clock lies one reading.
    static double less_overhead(double seconds) {
        static const double overhead = [] {
            double least = 1, last = now();
            for (int i = 0; i < 100; ++i) {
                const double time = now();
                if (time - last < least) least = time - last;
                last = time;
            }
            return least;
        }();
        return seconds > overhead ? seconds - overhead : 0;
    }

    bool on_;
    double last_;
    double solve_ = 0;
    double rest_ = 0;
};

// Adds up the seconds of something that happens often. The clock is read every time at first, then
// for one in `period`, a power of two, which stands for all of them; where the system took the CPU
// away during that one, the average so far stands in its place.
class SampledClock {
  public:
    explicit SampledClock(int period) : period_(period) {}
    // Whether to read the clock this time.
    bool due() {
        ++count_;
        return count_ <= all_at_first || (count_ & (period_ - 1)) == 0;
    }
    void add(double seconds) {
        ++samples_;
        if (count_ > all_at_first && seconds > 20 * sum_ / double(samples_))
            seconds = sum_ / double(samples_);
        sum_ += seconds;
        total_ += seconds * (count_ <= all_at_first ? 1 : period_);
    }
    double total() const { return total_; }

  private:
    static constexpr std::int64_t all_at_first = 64;
    int period_;
    std::int64_t count_ = 0;
    std::int64_t samples_ = 0;
    double sum_ = 0;
    double total_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
