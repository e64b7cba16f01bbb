// A pool of threads that serves the calls of one thread. Starting threads for each call takes
// longer than many calls do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "system.hpp"

namespace pocketsvm {

class ThreadPool {
  public:
    // Threads start when they are first needed.
    explicit ThreadPool(std::size_t n_threads) : most_(n_threads) {}
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ~ThreadPool() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    // Whether this process, which may be a fork of another one, has the threads.
    bool exists() const { return process_ == process_id(); }

    // Calls the function on n threads, or on as many as there are. `wait` must follow.
    void start(std::size_t n, std::function<void()> function) {
        add_threads(n);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            function_ = std::move(function);
            error_ = nullptr;
            wanted_ = running_ = n < threads_.size() ? n : threads_.size();
            ++round_;
        }
        wake_.notify_all();
    }

    // Waits until all calls have ended, or for a period; returns whether they have.
    bool wait(std::chrono::milliseconds period) {
        std::unique_lock<std::mutex> lock(mutex_);
        return done_.wait_for(lock, period, [this] { return running_ == 0; });
    }

    // Throws what a call has thrown.
    void check() {
        if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    }

  private:
    void add_threads(std::size_t n) {
        try {
            while (threads_.size() < n && threads_.size() < most_)
                threads_.emplace_back([this, k = threads_.size(), seen = round_] { run(k, seen); });
        } catch (const std::system_error&) {  // go on with as many threads as the system grants
        }
    }

    // The loop of thread k.
    void run(std::size_t k, std::size_t seen) {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return stop_ || round_ != seen; });
            if (stop_) return;
            seen = round_;
            if (k >= wanted_) continue;
            lock.unlock();
            std::exception_ptr error;
            try {
                function_();
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            if (error != nullptr) error_ = error;
            if (--running_ == 0) done_.notify_one();
        }
    }

    const int process_ = process_id();
    const std::size_t most_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::function<void()> function_;
    std::exception_ptr error_;
    std::size_t wanted_ = 0, running_ = 0;  // threads of this round
    std::size_t round_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

// The pool of the calling thread, if it has one that is not in use.
inline thread_local ThreadPool* own_pool = nullptr;

}  // namespace pocketsvm
