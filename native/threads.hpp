// Threads for one call: those of the caller's pool, or new ones, which are joined at its end.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core.hpp"
#include "thread_pool.hpp"

namespace pocketsvm {

// How often a waiting thread checks for an interrupt: users notice no delay, and it costs nothing.
inline constexpr std::chrono::milliseconds interrupt_period{20};

// A flag through which one thread interrupts the others.
class SharedInterrupt final : public Interrupt {
  public:
    bool requested() override { return stop_.load(std::memory_order_relaxed); }
    void request() { stop_.store(true, std::memory_order_relaxed); }

  private:
    std::atomic<bool> stop_{false};
};

// Calls work() on n threads of the caller's pool, meanwhile own(), and then poll() until all calls
// have ended.
template <class Work, class Own, class Poll>
void in_pool(std::size_t n, Work work, Own own, Poll poll) {
    ThreadPool& pool = *std::exchange(own_pool, nullptr);  // not for calls within this one
    struct Done {
        ThreadPool& pool;
        ~Done() {
            while (!pool.wait(interrupt_period)) {
            }
            own_pool = &pool;
        }
    };
    {
        const Done done{pool};
        pool.start(n, work);
        own();
        while (!pool.wait(interrupt_period)) poll();
    }
    pool.check();
}

// Calls task(i, interrupt) for i in [0, n_tasks), on n_threads including the caller's. Only the
// caller's thread asks the given interrupt, in its own tasks and while it waits. A task returns
// false if it stopped early. Returns false if there was an interruption.
template <class Task>
bool parallel(std::size_t n_tasks, std::size_t n_threads, Interrupt& interrupt, Task task) {
    if (n_threads > n_tasks) n_threads = n_tasks;
    if (n_threads <= 1) {
        for (std::size_t i = 0; i < n_tasks; ++i)
            if (!task(i, interrupt)) return false;
        return true;
    }
    SharedInterrupt shared;
    std::atomic<std::size_t> next{0};
    const auto work = [&](Interrupt& own) {
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks && !shared.requested();)
                if (!task(i, own)) shared.request();
        } catch (...) {
            shared.request();
            throw;
        }
    };
    if (own_pool != nullptr && own_pool->exists()) {
        in_pool(
            n_threads - 1, [&] { work(shared); }, [&] { work(interrupt); },
            [&] {
                if (interrupt.requested()) shared.request();
            });
        return !shared.requested();
    }
    std::vector<std::future<void>> others;  // waits for them in its destructor
    try {
        while (others.size() + 1 < n_threads)
            others.push_back(std::async(std::launch::async, [&] { work(shared); }));
    } catch (const std::system_error&) {  // go on with as many threads as the system grants
    }
    work(interrupt);
    for (std::future<void>& other : others) {
        while (other.wait_for(interrupt_period) != std::future_status::ready)
            if (interrupt.requested()) shared.request();
        other.get();
    }
    return !shared.requested();
}

// Calls task(from, to) for chunks of the rows [begin, end); row_work is the work of a row, roughly,
// in multiply-adds.
template <class Task>
bool parallel_chunks(std::size_t begin, std::size_t end, std::size_t row_work,
                     std::size_t n_threads, Interrupt& interrupt, Task task) {
    // Short enough to react to an interrupt, long enough to hide the cost of handing out chunks.
    constexpr std::size_t most_work = std::size_t(1) << 22, least_rows = 4, most_rows = 512;
    const std::size_t chunk = std::clamp(most_work / (row_work + 1), least_rows, most_rows);
    return parallel((end - begin + chunk - 1) / chunk, n_threads, interrupt,
                    [&](std::size_t k, Interrupt& own) {
                        if (own.requested()) return false;
                        const std::size_t from = begin + k * chunk;
                        task(from, std::min(from + chunk, end));
                        return true;
                    });
}

}  // namespace pocketsvm
