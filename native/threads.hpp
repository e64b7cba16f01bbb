// Tasks side by side: threads are made for a call and joined at its end, so that nothing is left
// to idle, to be forked, or to be shut down.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core.hpp"

namespace pocketsvm {

// What the calling thread learns (from the system, say) reaches the others through a flag.
class SharedInterrupt final : public Interrupt {
  public:
    bool requested() override { return stop_.load(std::memory_order_relaxed); }
    void request() { stop_.store(true, std::memory_order_relaxed); }

  private:
    std::atomic<bool> stop_{false};
};

class ThreadCrew final : public Crew {
  public:
    explicit ThreadCrew(std::size_t size) : size_(size) {}
    ~ThreadCrew() { join(); }

    std::size_t size() const override { return size_; }
    std::size_t start(Task& task) override {
        threads_.reserve(size_);
        try {
            while (threads_.size() < size_)
                threads_.emplace_back([&task, k = threads_.size()] { task.work(k); });
        } catch (const std::exception&) {  // as many threads as the system grants
        }
        return threads_.size();
    }
    void join() override {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

  private:
    std::size_t size_;
    std::vector<std::thread> threads_;
};

// Calls task(i, interrupt) for i in [0, n_tasks), on n_threads of which the caller is one. The
// caller's own interrupt is asked in its own tasks, and every so often while it waits. Returns
// false if it was interrupted. A task returns false when it stopped early.
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
    std::mutex mutex;
    std::condition_variable finished;
    std::size_t running = 0;
    std::exception_ptr failure;

    const auto work = [&](Interrupt& own) {
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks;)
                if (shared.requested() || !task(i, own)) {
                    shared.request();
                    break;
                }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            failure = std::current_exception();
            shared.request();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(n_threads - 1);
    const auto leave = [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
        finished.notify_one();
    };
    for (std::size_t k = 1; k < n_threads; ++k) {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            ++running;
        }
        try {
            threads.emplace_back([&] {
                work(shared);
                leave();
            });
        } catch (const std::system_error&) {  // as many threads as the system grants
            leave();
            break;
        }
    }
    work(interrupt);
    {
        std::unique_lock<std::mutex> lock(mutex);
        while (
            !finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; })) {
            lock.unlock();
            if (interrupt.requested()) shared.request();
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    return !shared.requested();
}

}  // namespace pocketsvm
