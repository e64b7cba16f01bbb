// Kernel rows computed ahead of their turn, by several threads.
//
// Training takes its rows one by one, each against the set that the row before has left. What a row
// costs is its kernel values, and a few rows later most vectors are still the same: so blocks of
// rows are computed ahead, by helpers against copies of the set, and when the turn of a row has
// come, its values for those few vectors that have changed since are computed again. A kernel value
// depends on its row and its vector alone: whoever computed it and when, the bits are the same.
#pragma once

#include <sched.h>

#include <memory>

#include "clock.hpp"
#include "gaussian.hpp"

namespace pocketsvm::POCKETSVM_SET {

// What a training step needs of its row.
template <class Real>
struct KernelRow {
    Real norm;
    Real sum;               // sum_j c_j k(x, s_j)
    const Real* exponents;  // of all slots
};

// Kernel rows computed when it is their turn.
template <class Real>
class InTurn {
  public:
    InTurn(const Gaussian<Real>& kernel, const SupportSet<Real>& set, Real* exponents)
        : kernel_(kernel), set_(set), exponents_(exponents) {}

    template <class Row>
    KernelRow<Real> take(const Row& row, std::size_t i) {
        const Real norm = squared_norm(row);
        return {norm, kernel_.row(set_, row, norm, exponents_, i % 2 != 0), exponents_};
    }
    void follow() {}
    double seconds() const { return 0; }

  private:
    const Gaussian<Real>& kernel_;
    const SupportSet<Real>& set_;
    Real* exponents_;
};

// Waiting: at the ready first, then giving the processor away, at last asleep.
class Patience {
  public:
    void wait() {
        if (++count_ < 4000) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else if (count_ < 4100) {
            sched_yield();
        } else {
            const std::timespec nap{0, 50'000};
            nanosleep(&nap, nullptr);
        }
    }

  private:
    int count_ = 0;
};

// A number that one thread writes and others read, on a cache line of its own.
struct alignas(lane_bytes) Shared {
    std::size_t value = 0;
    std::size_t get() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
    void set(std::size_t to) { __atomic_store_n(&value, to, __ATOMIC_RELEASE); }
};

// The last changes of vectors, for those who keep copies of them.
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

template <class Rows>
class Lookahead final : Crew::Task {
  public:
    using Real = typename Rows::Real;
    using L = Lanes<Real>;

    Lookahead(const Gaussian<Real>& kernel, SupportSet<Real>& set, const RowsView& view,
              const Buffer<std::uint32_t>& order, Crew& crew)
        : kernel_(kernel), set_(set), view_(view), order_(order), crew_(crew), rows_(view),
          n_blocks_((order.size() + rows_a_block - 1) / rows_a_block), window_(crew.size() + 3),
          blocks_(new Block[window_]), helpers_(new Helper[crew.size()]),
          log_(4 * window_ * rows_a_block, set.n_features()),
          recent_(most_recent, set.n_features()), recent_slots_(recent_.capacity()),
          recent_exponents_(recent_.capacity()), place_(set.capacity()) {
        for (std::size_t b = 0; b < window_; ++b) blocks_[b].reserve(set.capacity());
        for (std::size_t k = 0; k < crew.size(); ++k) helpers_[k].copy(set);
        set_.changes().take([](std::size_t) {});
        n_helpers_ = crew.start(*this);
    }
    ~Lookahead() {
        stop_.set(1);
        crew_.join();
    }

    // The rows of the order, one after the other.
    template <class Row>
    KernelRow<Real> take(const Row& row, std::size_t i) {
        if (i % rows_a_block == 0) open(i / rows_a_block);
        Block& block = block_of(i / rows_a_block);
        const std::size_t r = i % rows_a_block;
        const Real norm = block.norms[r];
        Real* exponents = block.exponents_of(r);
        if (outdated_) return {norm, kernel_.row(set_, row, norm, exponents, false), exponents};

        Real* kernel = block.kernel_of(r);
        kernel_.exponents(recent_, row, norm, recent_exponents_.data());
        for (std::size_t at = 0; at < recent_.size(); at += L::count) {
            alignas(lane_bytes) Real values[L::count];
            exp2_minus(L::load(recent_exponents_.data() + at)).store(values);
            for (std::size_t k = at; k < recent_.size() && k < at + L::count; ++k) {
                exponents[recent_slots_[k]] = recent_exponents_[k];
                kernel[recent_slots_[k]] = values[k - at];
            }
        }
        const auto load = [&](std::size_t at) { return L::load(kernel + at); };
        return {norm, kernel_.weighted_sum(set_, load), exponents};
    }

    // To be called when the set may have changed.
    void follow() {
        set_.changes().take([&](std::size_t slot) {
            for (Patience patience; log_.count() - slowest_helper() >= log_.capacity();)
                patience.wait();
            log_.push(set_, slot);
            refresh(slot);
        });
    }

    // Time that was spent on blocks: on computing them here, on waiting for others.
    double seconds() const { return seconds_; }

  private:
    static constexpr std::size_t rows_a_block = 16;
    static constexpr std::size_t most_recent = 8 * L::count;
    static constexpr std::size_t finished = ~std::size_t(0);

    struct Block {
        std::size_t capacity = 0;
        std::size_t version = 0;  // changes that it knows of
        Real norms[rows_a_block];
        Buffer<Real> exponents, kernel;
        Shared ready;  // the number of the block that is in here, plus one

        void reserve(std::size_t slots) {
            capacity = slots;
            exponents = Buffer<Real>(rows_a_block * slots);
            kernel = Buffer<Real>(rows_a_block * slots);
        }
        Real* exponents_of(std::size_t r) { return exponents.data() + r * capacity; }
        Real* kernel_of(std::size_t r) { return kernel.data() + r * capacity; }
    };

    struct Helper {
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
        Helper& helper = helpers_[number];
        try {
            Rows rows(view_);
            Patience patience;
            while (stop_.get() == 0 && next_.get() < n_blocks_) {
                std::size_t version = helper.version.value;
                for (const std::size_t now = log_.count(); version < now; ++version)
                    log_.replay(version, helper.vectors);
                helper.version.set(version);
                std::size_t block;
                if (claim(block)) {
                    fill(block, rows, helper.vectors, version);
                    patience = Patience();
                } else {
                    patience.wait();
                }
            }
        } catch (const std::bad_alloc&) {
            // A helper less.
        }
        helper.version.set(finished);
    }

    Block& block_of(std::size_t number) { return blocks_[number % window_]; }

    std::size_t slowest_helper() const {
        std::size_t least = log_.count();
        for (std::size_t k = 0; k < n_helpers_; ++k) {
            const std::size_t version = helpers_[k].version.get();
            if (version < least) least = version;
        }
        return least;
    }

    // The next block that nobody has begun, if there is room for it.
    bool claim(std::size_t& block) {
        block = next_.get();
        do {
            if (block >= n_blocks_ || block >= taken_.get() + window_) return false;
        } while (!__atomic_compare_exchange_n(&next_.value, &block, block + 1, true,
                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
        return true;
    }

    void fill(std::size_t number, Rows& rows, const VectorLanes<Real>& vectors,
              std::size_t version) {
        Block& block = block_of(number);
        const std::size_t begin = number * rows_a_block, left = order_.size() - begin;
        const std::size_t count = left < rows_a_block ? left : rows_a_block;
        std::size_t r = 0;
        if (!view_.sparse)
            for (; r + rows_at_once <= count; r += rows_at_once)
                fill_rows<rows_at_once>(block, r, rows, begin, vectors);
        for (; r < count; ++r) fill_rows<1>(block, r, rows, begin, vectors);
        block.version = version;
        block.ready.set(number + 1);
    }

    template <int n>
    void fill_rows(Block& block, std::size_t first, Rows& rows, std::size_t begin,
                   const VectorLanes<Real>& vectors) {
        decltype(rows.row(0)) row[n];
        Real norm[n];
        for (int r = 0; r < n; ++r) {
            row[r] = rows.row(order_[begin + first + r]);
            norm[r] = block.norms[first + r] = squared_norm(row[r]);
        }
        Real* exponents = block.exponents_of(first);
        Real* kernel = block.kernel_of(first);
        kernel_.tile(vectors, row, norm, [&](int r, std::size_t at, L t) {
            t.store(exponents + r * block.capacity + at);
            exp2_minus(t).store(kernel + r * block.capacity + at);
        });
    }

    void open(std::size_t number) {
        const double begin = Stopwatch::now();
        taken_.set(number);
        Block& block = block_of(number);
        for (Patience patience; block.ready.get() != number + 1;) {
            std::size_t other;
            if (claim(other))
                fill(other, rows_, set_, log_.count());
            else
                patience.wait();
        }
        recent_.resize(0);
        outdated_ = log_.count() - block.version > log_.capacity();
        for (std::size_t v = block.version; v < log_.count() && !outdated_; ++v)
            refresh(log_.slot(v));
        seconds_ += Stopwatch::seconds_since(begin);
    }

    // A vector that the block of rows at hand does not know.
    void refresh(std::size_t slot) {
        std::size_t& place = place_[slot];
        if (place >= recent_.size() || recent_slots_[place] != slot) {
            if (recent_.size() == recent_.capacity()) outdated_ = true;
            if (outdated_) return;
            place = recent_.size();
            recent_slots_[place] = slot;
            recent_.resize(place + 1);
        }
        recent_.write(place, set_.vector(slot));
        recent_.set_norm(place, set_.norms()[slot]);
    }

    const Gaussian<Real>& kernel_;
    SupportSet<Real>& set_;
    const RowsView& view_;
    const Buffer<std::uint32_t>& order_;
    Crew& crew_;
    Rows rows_;
    std::size_t n_blocks_;
    std::size_t window_;  // blocks that are ahead at most
    std::unique_ptr<Block[]> blocks_;
    std::unique_ptr<Helper[]> helpers_;
    std::size_t n_helpers_ = 0;
    ChangeLog<Real> log_;
    VectorLanes<Real> recent_;
    Buffer<std::size_t> recent_slots_;
    Buffer<Real> recent_exponents_;
    Buffer<std::size_t> place_;  // of a slot among the recent ones
    bool outdated_ = false;      // too much has changed since the block was computed
    Shared next_;                // the first block that nobody has begun
    Shared taken_;               // the block at hand
    Shared stop_;
    double seconds_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
