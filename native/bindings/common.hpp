// What the bindings share: array types, checks, errors, the core in use, Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../core.hpp"
#include "../large_arrays.hpp"
#include "../threads.hpp"

namespace pocketsvm {

namespace nb = nanobind;
using namespace nb::literals;

void bind_drawing(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_merging(nb::module_& module);
void bind_training(nb::module_& module);
void bind_solving(nb::module_& module);
void bind_pairs(nb::module_& module);
void bind_text(nb::module_& module);
void bind_threads(nb::module_& module);

// The core of the instruction set in use; module.cpp chooses it.
inline const Core* core = nullptr;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] inline void refuse(const std::string& message) {
    throw nb::value_error(message.c_str());
}

inline void require(bool holds, const std::string& message) {
    if (!holds) refuse(message);
}

inline void require_positive(double value, const char* name) {
    require(std::isfinite(value) && value > 0,
            std::string(name) + " must be positive and finite, got " + std::to_string(value));
}

// Positions of rows, each of which exists.
inline void require_positions(const Positions& chosen, std::size_t n_rows) {
    for (std::size_t i = 0; i < chosen.shape(0); ++i)
        if (chosen.data()[i] < 0 || std::size_t(chosen.data()[i]) >= n_rows)
            refuse("positions must be in [0, " + std::to_string(n_rows) + "), got " +
                   std::to_string(chosen.data()[i]));
}

template <class T>
nb::ndarray<nb::numpy, T> make_array(std::vector<std::size_t> shape, T** data) {
    std::size_t size = 1;
    for (std::size_t n : shape) size *= n;
    *data = allocate<T>(size);
    nb::capsule owner(*data, [](void* memory) noexcept { free_aligned(memory); });
    return nb::ndarray<nb::numpy, T>(*data, shape.size(), shape.data(), owner);
}

inline Precision precision_of(nb::dlpack::dtype type, const char* name) {
    if (type == nb::dtype<float>()) return Precision::float32;
    if (type == nb::dtype<double>()) return Precision::float64;
    refuse(std::string(name) + " must be float32 or float64");
}

inline const char* name_of(Precision precision) {
    return precision == Precision::float32 ? "float32" : "float64";
}

inline std::vector<std::string> as_list(const Names& names) {
    return {names.first, names.first + names.count};
}

// Refuses a name that is not in the list.
inline void require_known(const char* argument, const std::string& name, const Names& names) {
    std::string known;
    for (const std::string& other : as_list(names)) {
        if (other == name) return;
        known += (known.empty() ? "" : ", ") + other;
    }
    refuse(std::string(argument) + " '" + name + "' is not known; known are: " + known);
}

// Releases Python's lock for its lifetime.
class WithoutGil {
  public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { take(); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Calls the function with the lock.
    template <class Function>
    auto with_gil(Function function) {
        take();
        const auto result = function();
        state_ = PyEval_SaveThread();
        return result;
    }

  private:
    // When the interpreter shuts down, Python ends the threads that ask for its lock, up to version
    // 3.13 by unwinding their stack, which would abort the process. They wait for its end instead.
    void take() noexcept {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

    PyThreadState* state_;
};

// Asks Python for signals, which only the main thread receives.
class PythonInterrupt final : public Interrupt {
  public:
    explicit PythonInterrupt(WithoutGil& released) : released_(released) {}
    bool requested() override {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return raised_;
        next_ = now + interrupt_period;
        raised_ = raised_ || released_.with_gil([] { return PyErr_CheckSignals() != 0; });
        return raised_;
    }

  private:
    WithoutGil& released_;
    std::chrono::steady_clock::time_point next_ =
        std::chrono::steady_clock::now() + interrupt_period;
    bool raised_ = false;
};

// Calls work(interrupt) without the GIL; raises Python's exception if it was interrupted.
template <class Work>
void without_gil(Work work) {
    bool finished;
    {
        WithoutGil released;
        PythonInterrupt interrupt(released);
        finished = work(interrupt);
    }
    if (!finished) throw nb::python_error();
}

}  // namespace pocketsvm
