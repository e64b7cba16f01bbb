// Kernel rows that are computed ahead of their turn.
//
// Training takes the rows one by one, each against the set that the previous row has left. Most of
// the cost of a row are its kernel values, and a few rows later most vectors are still the same. So
// several rows are computed together (InTurn), or by several threads on copies of the set
// (Lookahead). If a vector has changed since, its values are computed again. A kernel value depends
// on its row and its vector alone, so the bits do not depend on which thread computed it, or when.
#pragma once

#include <sched.h>

#include <memory>

#include "../clock.hpp"
#include "../kernel/gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

// The distance between the kernel values of two rows: an odd number of cache lines, because with a
// power of two all rows would compete for a few sets of the cache.
template <class Real>
std::size_t stride_of_rows(const VectorLanes<Real>& vectors) {
    return (vectors.capacity() / Lanes<Real>::count | 1) * Lanes<Real>::count;
}

// What a training step needs to know about its row.
template <class Real>
struct KernelRow {
    Real norm;
    Real sum;  // sum_j c_j k(x, s_j)
};

// Kernel rows computed by the training thread.
//
// Several dense rows are computed together, so that the vectors are read once for all of them. If a
// vector changes, its values are computed again for the rows that remain.
template <class Rows>
class InTurn {
  public:
    using Real = typename Rows::Real;

    InTurn(const Gaussian<Real>& kernel, SupportSet<Real>& set, const RowsView& view,
           const Buffer<std::uint32_t>& order)
        : kernel_(kernel), set_(set), order_(order), rows_(view),
          together_(view.sparse ? 1 : rows_at_once), stride_(stride_of_rows(set)),
          exponents_(together_ * stride_) {
        set_.changes().forget();
    }

    // To be called before each row, in order; `seconds` includes the time that it takes.
    void prepare(std::size_t i) {
        row_ = i % together_;
        if (row_ != 0) return;
        const bool timed = clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        count_ = order_.size() - i < together_ ? order_.size() - i : together_;
        for (std::size_t r = 0; r < count_; ++r) {
            x_[r] = rows_.row(order_[i + r]);
            norms_[r] = squared_norm(x_[r]);
        }
        if (count_ == rows_at_once)
            kernel_.tile(set_, x_, norms_, [&](int r, std::size_t at, L t) POCKETSVM_INLINE_LAMBDA {
                t.store(exponents_of(r) + at);
            });
        else
            for (std::size_t r = 0; r < count_; ++r)
                kernel_.exponents(set_, x_[r], norms_[r], exponents_of(r), i % 2 != 0);
        if (timed) clock_.add(Stopwatch::seconds_since(begin));
    }

    KernelRow<Real> take() { return {norms_[row_], kernel_.weighted_sum(set_, exponents())}; }
    // The exponents of the current row for all slots.
    Real* exponents() { return exponents_of(row_); }

    // To be called when the set may have changed.
    void follow() {
        set_.changes().take([&](std::size_t slot) {
            if (slot >= set_.size()) return;  // it has been removed again
            for (std::size_t r = row_ + 1; r < count_; ++r)
                exponents_of(r)[slot] =
                    kernel_.exponent(x_[r], norms_[r], set_.vector(slot), set_.norms()[slot]);
        });
    }
    double seconds() const { return clock_.total(); }

  private:
    using L = Lanes<Real>;
    Real* exponents_of(std::size_t r) { return exponents_.data() + r * stride_; }

    const Gaussian<Real>& kernel_;
    SupportSet<Real>& set_;
    const Buffer<std::uint32_t>& order_;
    Rows rows_;
    std::size_t together_;
    std::size_t count_ = 0;  // rows that were computed together
    std::size_t row_ = 0;    // the current one of them
    std::size_t stride_;     // from row to row
    typename Rows::Row x_[rows_at_once];
    Real norms_[rows_at_once];
    Buffer<Real> exponents_;
    SampledClock clock_;
};

// Waits for another thread: spins at first, then yields the processor, and finally sleeps.
class Backoff {
  public:
    void wait() {
        if (++count_ < n_spins) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else if (count_ < n_spins + n_yields) {
            sched_yield();
        } else {
            const std::timespec pause{0, nanoseconds};
            nanosleep(&pause, nullptr);
        }
    }

  private:
    static constexpr int n_spins = 4000;         // some 100 microseconds: a block takes no longer
    static constexpr int n_yields = 100;         // enough if the other thread only lost its core
    static constexpr long nanoseconds = 50'000;  // of a sleep: short against a time slice
    int count_ = 0;
};

// A number that one thread writes and others read, on its own cache line.
struct alignas(lane_bytes) Shared {
    std::size_t value = 0;
    std::size_t get() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
    void set(std::size_t to) { __atomic_store_n(&value, to, __ATOMIC_RELEASE); }
};

// The latest changes of vectors, for workers that keep copies of them.
template <class Real>
class ChangeLog {
  public:
    ChangeLog(std::size_t capacity, std::size_t n_features)
        : n_features_(n_features), slots_(capacity), norms_(capacity),
          vectors_(capacity * n_features) {}

    std::size_t capacity() const { return slots_.size(); }
    std::size_t count() const { return count_.get(); }
    std::size_t slot(std::size_t change) const { return slots_[change % capacity()]; }

    void push(const SupportSet<Real>& set, std::size_t slot) {
        const std::size_t change = count_.value, at = change % capacity();
        slots_[at] = slot;
        norms_[at] = set.norms()[slot];
        set.copy_vector(slot, vectors_.data() + at * n_features_);
        count_.set(change + 1);
    }
    void replay(std::size_t change, VectorLanes<Real>& copy) const {
        const std::size_t at = change % capacity(), slot = slots_[at];
        if (slot >= copy.size()) copy.resize(slot + 1);
        copy.write(slot, vectors_.data() + at * n_features_);
        copy.set_norm(slot, norms_[at]);
    }

  private:
    std::size_t n_features_;
    Buffer<std::size_t> slots_;
    Buffer<Real> norms_;
    Buffer<Real> vectors_;
    Shared count_;
};

// Blocks of kernel rows computed by workers. They hand over exponents, not kernel values:
// recomputing 2^-t is cheaper than transferring it from another core.
//
// If a vector has changed since, its exponents are computed again for all rows of a block together,
// with the rows in lanes.
template <class Rows>
class Lookahead final : Workers::Task {
  public:
    using Real = typename Rows::Real;
    using L = Lanes<Real>;

    Lookahead(const Gaussian<Real>& kernel, SupportSet<Real>& set, const RowsView& view,
              const Buffer<std::uint32_t>& order, Workers& workers)
        : kernel_(kernel), set_(set), view_(view), order_(order), workers_(workers), rows_(view),
          rows_per_block_(rows_per_block_for(set)),
          n_blocks_((order.size() + rows_per_block_ - 1) / rows_per_block_),
          window_(workers.size() + extra_blocks), places_(new Place[window_]),
          copies_(new Worker[workers.size()]),
          log_(changes_per_row * window_ * rows_per_block_, set.n_features()),
          changed_(set.n_features()) {
        own_.reserve(rows_per_block_, set);
        for (std::size_t k = 0; k < workers.size(); ++k) {
            copies_[k].blocks.reserve(rows_per_block_, set);
            copies_[k].copy(set);
        }
        set_.changes().forget();
        n_workers_ = workers.start(*this);
    }
    ~Lookahead() {
        stop_.set(1);
        workers_.join();
    }

    void prepare(std::size_t i) {
        row_ = i % rows_per_block_;
        if (row_ == 0) open(i / rows_per_block_);
    }

    KernelRow<Real> take() {
        return {block_->rows.norms()[row_], kernel_.weighted_sum(set_, exponents())};
    }
    Real* exponents() { return block_->exponents_of(row_); }

    void follow() {
        const bool timed = clock_.due();
        const double begin = timed ? Stopwatch::now() : 0;
        set_.changes().take([&](std::size_t slot) {
            if (slot >= set_.size()) return;  // it has been removed again
            for (Backoff backoff; log_.count() - replayed_ >= log_.capacity(); backoff.wait())
                replayed_ = slowest_worker();
            log_.push(set_, slot);
            if (row_ + 1 < block_->rows.size()) compute_again(&slot, 1, row_ + 1);
        });
        if (timed) clock_.add(Stopwatch::seconds_since(begin));
    }

    // The time that the training thread spent on blocks: computing them, waiting, following
    // changes.
    double seconds() const { return seconds_ + clock_.total(); }

  private:
    // Fills all lanes when changed vectors are computed again; more rows see more changes.
    static constexpr std::size_t max_rows_per_block = 16;
    static constexpr std::size_t min_rows_per_block = 4;
    // Bytes of one block: all blocks that are ahead then fit into a second-level cache.
    static constexpr std::size_t max_block_bytes = 80'000;
    // Blocks that are ahead besides one per worker, so that a slow block stops nobody.
    static constexpr std::size_t extra_blocks = 3;
    // A step changes at most two vectors; the rest is for workers that lag behind.
    static constexpr std::size_t changes_per_row = 4;
    static constexpr std::size_t vectors_at_once = rows_at_once;
    static constexpr std::size_t finished = ~std::size_t(0);

    static std::size_t rows_per_block_for(const SupportSet<Real>& set) {
        std::size_t n = max_rows_per_block;
        while (n > min_rows_per_block && n * set.capacity() * sizeof(Real) > max_block_bytes)
            n /= 2;
        return n;
    }

    struct Block {
        VectorLanes<Real> rows;
        std::size_t stride = 0;   // from row to row
        std::size_t version = 0;  // the number of changes that it includes
        std::size_t number = 0;   // in the order of rows
        Buffer<Real> exponents;

        void reserve(std::size_t n_rows, const SupportSet<Real>& set) {
            rows = VectorLanes<Real>(n_rows, set.n_features());
            stride = stride_of_rows(set);
            exponents = Buffer<Real>(n_rows * stride);
        }
        Real* exponents_of(std::size_t r) { return exponents.data() + r * stride; }
    };

    // The blocks that one thread fills in turn, so that its writes stay in its own cache.
    class OwnBlocks {
      public:
        void reserve(std::size_t n_rows, const SupportSet<Real>& set) {
            for (Block& block : blocks_) block.reserve(n_rows, set);
        }
        Block& next() { return blocks_[count_ % depth]; }
        bool has_room(std::size_t taken) { return count_ < depth || next().number < taken; }
        void advance() { ++count_; }

      private:
        static constexpr std::size_t depth = 3;  // one read, one ready, one being filled
        Block blocks_[depth];
        std::size_t count_ = 0;
    };

    // Where to find the block of a given number once it is ready.
    struct Place {
        Block* block = nullptr;
        Shared ready;  // the block's number plus one
    };

    struct Worker {
        OwnBlocks blocks;
        VectorLanes<Real> vectors;
        Shared version;

        void copy(const SupportSet<Real>& set) {
            vectors = VectorLanes<Real>(set.capacity(), set.n_features());
            vectors.resize(set.size());
            for (std::size_t slot = 0; slot < set.size(); ++slot) {
                vectors.write(slot, set.vector(slot));
                vectors.set_norm(slot, set.norms()[slot]);
            }
        }
    };

    void work(std::size_t number) override {
        Worker& worker = copies_[number];
        try {
            Rows rows(view_);
            Backoff backoff;
            while (stop_.get() == 0 && next_.get() < n_blocks_) {
                std::size_t version = worker.version.value;
                for (const std::size_t now = log_.count(); version < now; ++version)
                    log_.replay(version, worker.vectors);
                worker.version.set(version);
                std::size_t block;
                if (claim(block, worker.blocks)) {
                    fill(block, worker.blocks, rows, worker.vectors, version);
                    backoff = Backoff();
                } else {
                    backoff.wait();
                }
            }
        } catch (const std::bad_alloc&) {
            // The others go on without this worker.
        }
        worker.version.set(finished);
    }

    std::size_t slowest_worker() const {
        std::size_t least = log_.count();
        for (std::size_t k = 0; k < n_workers_; ++k) {
            const std::size_t version = copies_[k].version.get();
            if (version < least) least = version;
        }
        return least;
    }

    // Takes the next block that no thread has begun, if there is room for it.
    bool claim(std::size_t& block, OwnBlocks& own) {
        const std::size_t taken = taken_.get();
        if (!own.has_room(taken)) return false;
        block = next_.get();
        do {
            if (block >= n_blocks_ || block >= taken + window_) return false;
        } while (!__atomic_compare_exchange_n(&next_.value, &block, block + 1, true,
                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
        return true;
    }

    void fill(std::size_t number, OwnBlocks& own, Rows& rows, const VectorLanes<Real>& vectors,
              std::size_t version) {
        Block& block = own.next();
        own.advance();
        block.number = number;
        compute(block, rows, vectors, version);
        Place& place = places_[number % window_];
        place.block = &block;
        place.ready.set(number + 1);
    }

    void compute(Block& block, Rows& rows, const VectorLanes<Real>& vectors, std::size_t version) {
        const std::size_t begin = block.number * rows_per_block_, left = order_.size() - begin;
        const std::size_t count = left < rows_per_block_ ? left : rows_per_block_;
        for (std::size_t r = 0; r < 2 * rows_per_block_ && r < left;
             ++r)  // also those of the next block
            rows.prefetch(order_[begin + r]);
        block.rows.resize(count);
        for (std::size_t r = 0; r < count; ++r)
            block.rows.write_row(r, rows.row(order_[begin + r]));
        block.rows.compute_norms();
        std::size_t r = 0;
        if (!view_.sparse)
            for (; r + rows_at_once <= count; r += rows_at_once)
                fill_rows<rows_at_once>(block, r, rows, begin, vectors);
        for (; r < count; ++r) fill_rows<1>(block, r, rows, begin, vectors);
        block.version = version;
    }

    template <int n>
    void fill_rows(Block& block, std::size_t first, Rows& rows, std::size_t begin,
                   const VectorLanes<Real>& vectors) {
        decltype(rows.row(0)) row[n];
        Real norm[n];
        for (int r = 0; r < n; ++r) {
            row[r] = rows.row(order_[begin + first + r]);
            norm[r] = block.rows.norms()[first + r];
        }
        Real* exponents = block.exponents_of(first);
        kernel_.tile(vectors, row, norm, [&](int r, std::size_t at, L t) POCKETSVM_INLINE_LAMBDA {
            t.store(exponents + r * block.stride + at);
        });
    }

    void open(std::size_t number) {
        const double begin = Stopwatch::now();
        taken_.set(number);
        const Place& place = places_[number % window_];
        for (Backoff backoff; place.ready.get() != number + 1;) {
            std::size_t other;
            if (claim(other, own_))
                fill(other, own_, rows_, set_, log_.count());
            else
                backoff.wait();
        }
        block_ = place.block;
        if (log_.count() - block_->version > log_.capacity())
            compute(*block_, rows_, set_, log_.count());
        std::size_t slots[vectors_at_once], n = 0;
        for (std::size_t change = block_->version; change < log_.count(); ++change) {
            slots[n++] = log_.slot(change);
            if (n == vectors_at_once || change + 1 == log_.count()) {
                compute_again(slots, n, 0);
                n = 0;
            }
        }
        seconds_ += Stopwatch::seconds_since(begin);
    }

    // Computes the exponents of some vectors again for the rows of this block, starting at a row.
    void compute_again(const std::size_t* slots, std::size_t n, std::size_t from) {
        if (!view_.sparse && n == vectors_at_once) {
            DenseRow<Real> vectors[vectors_at_once];
            for (std::size_t k = 0; k < n; ++k)
                vectors[k] = {set_.vector(slots[k]), set_.n_features()};
            compute_again<vectors_at_once>(slots, vectors, from);
            return;
        }
        for (std::size_t k = 0; k < n; ++k) {
            if (view_.sparse) {
                const SparseRow<Real> vector[1] = {changed_.read(set_, slots[k])};
                compute_again<1>(slots + k, vector, from);
            } else {
                const DenseRow<Real> vector[1] = {{set_.vector(slots[k]), set_.n_features()}};
                compute_again<1>(slots + k, vector, from);
            }
        }
    }

    template <int n, class Row>
    void compute_again(const std::size_t* slots, const Row (&vectors)[n], std::size_t from) {
        Real norms[n];
        for (int k = 0; k < n; ++k) norms[k] = set_.norms()[slots[k]];
        kernel_.tile(block_->rows, vectors, norms,
                     [&](int k, std::size_t at, L t) POCKETSVM_INLINE_LAMBDA {
                         alignas(lane_bytes) Real exponents[L::count];
                         t.store(exponents);
                         const std::size_t size = block_->rows.size();
                         const std::size_t end = at + L::count < size ? at + L::count : size;
                         for (std::size_t r = at < from ? from : at; r < end; ++r)
                             block_->exponents_of(r)[slots[k]] = exponents[r - at];
                     });
    }

    const Gaussian<Real>& kernel_;
    SupportSet<Real>& set_;
    const RowsView& view_;
    const Buffer<std::uint32_t>& order_;
    Workers& workers_;
    Rows rows_;
    std::size_t rows_per_block_;
    std::size_t n_blocks_;
    std::size_t window_;  // maximum number of blocks that are ahead
    std::unique_ptr<Place[]> places_;
    OwnBlocks own_;
    std::unique_ptr<Worker[]> copies_;
    std::size_t n_workers_ = 0;
    ChangeLog<Real> log_;
    std::size_t replayed_ = 0;  // at least so many changes have reached all workers
    SlotRow<Real> changed_;
    Block* block_ = nullptr;  // the current one
    std::size_t row_ = 0;     // the current one of that block
    Shared next_;             // the first block that no thread has begun
    Shared taken_;            // the number of the current block
    Shared stop_;
    double seconds_ = 0;
    SampledClock clock_;
};

}  // namespace pocketsvm::POCKETSVM_SET
