// The Python binding of the thread pool.
#include <stdexcept>

#include "common.hpp"

namespace pocketsvm {
namespace {

// Gives the calling thread a pool until it leaves the context.
class PoolContext {
  public:
    explicit PoolContext(std::size_t n_threads) : n_threads_(n_threads) {}
    // A context inside another one of the same thread uses the outer pool.
    void enter() {
        if (n_threads_ <= 1 || own_pool != nullptr || pool_ != nullptr) return;
        pool_ = std::make_unique<ThreadPool>(n_threads_ - 1);
        own_pool = pool_.get();
        thread_ = std::this_thread::get_id();
    }
    void leave() {
        if (pool_ == nullptr) return;
        if (thread_ != std::this_thread::get_id())
            throw std::runtime_error("a thread must leave the ThreadPool that it entered itself");
        own_pool = nullptr;
        // After a fork, there are no threads that could be joined.
        if (pool_->exists())
            pool_.reset();
        else
            static_cast<void>(pool_.release());
    }
    // A pool that its thread has not left is kept, because the thread may still use it.
    ~PoolContext() { static_cast<void>(pool_.release()); }

  private:
    std::size_t n_threads_;
    std::thread::id thread_;
    std::unique_ptr<ThreadPool> pool_;
};

}  // namespace

void bind_threads(nb::module_& module) {
    nb::class_<PoolContext>(module, "ThreadPool")
        .def(nb::init<std::size_t>(), "n_threads"_a)
        .def("__enter__", &PoolContext::enter)
        .def("__exit__", [](PoolContext& context, nb::args) { context.leave(); });
}

}  // namespace pocketsvm
