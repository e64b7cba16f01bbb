// The Python bindings of sums over rows of kernel values.
#include <algorithm>

#include "common.hpp"

namespace pocketsvm {
namespace {

// Rows that a thread takes at once: a fixed number, so that sums do not depend on the threads.
constexpr std::size_t rows_at_once = 256;

// Calls task(k, kernel values, first row) for blocks of rows.
template <class Task>
void in_blocks(const KernelView& kernel, std::size_t n_threads, Task task) {
    const std::size_t n_blocks = (kernel.n_rows + rows_at_once - 1) / rows_at_once;
    const std::size_t row_bytes =
        kernel.n_vectors *
        (kernel.precision == Precision::float32 ? sizeof(float) : sizeof(double));
    without_gil([&](Interrupt& interrupt) {
        return parallel(n_blocks, n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            const std::size_t first = k * rows_at_once;
            const auto* values = static_cast<const unsigned char*>(kernel.values);
            task(k,
                 KernelView{kernel.precision, std::min(rows_at_once, kernel.n_rows - first),
                            kernel.n_vectors, values + first * row_bytes},
                 first);
            return true;
        });
    });
}

KernelView view_of(const AnyMatrix& kernel) {
    return {precision_of(kernel.dtype(), "kernel"), kernel.shape(0), kernel.shape(1),
            kernel.data()};
}

nb::object kernel_decisions(AnyMatrix kernel, Matrix coefficients, Vector intercepts,
                            std::size_t n_threads) {
    const KernelView view = view_of(kernel);
    const std::size_t n_outputs = coefficients.shape(0);
    require(coefficients.shape(1) == view.n_vectors,
            "coefficients must have one column per column of kernel, " +
                std::to_string(view.n_vectors) + ", got " + std::to_string(coefficients.shape(1)));
    require(intercepts.shape(0) == n_outputs,
            "intercepts must have one entry per row of coefficients, " + std::to_string(n_outputs) +
                ", got " + std::to_string(intercepts.shape(0)));
    double* out;
    auto result = make_array<double>({view.n_rows, n_outputs}, &out);
    in_blocks(view, n_threads, [&](std::size_t, const KernelView& block, std::size_t first) {
        core->kernel_decisions(block, n_outputs, coefficients.data(), intercepts.data(),
                               out + first * n_outputs);
    });
    return nb::cast(result);
}

nb::object kernel_pull(AnyMatrix kernel, Matrix slopes, std::size_t n_threads) {
    const KernelView view = view_of(kernel);
    const std::size_t n_outputs = slopes.shape(1);
    require(slopes.shape(0) == view.n_rows, "slopes must have one row per row of kernel, " +
                                                std::to_string(view.n_rows) + ", got " +
                                                std::to_string(slopes.shape(0)));
    double* out;
    auto result = make_array<double>({n_outputs, view.n_vectors}, &out);
    const std::size_t size = n_outputs * view.n_vectors;
    std::vector<double> sums((view.n_rows + rows_at_once - 1) / rows_at_once * size);
    in_blocks(view, n_threads, [&](std::size_t k, const KernelView& block, std::size_t first) {
        core->kernel_pull(block, n_outputs, slopes.data() + first * n_outputs,
                          sums.data() + k * size);
    });
    std::fill_n(out, size, 0.0);
    for (std::size_t i = 0; i < sums.size(); ++i) out[i % size] += sums[i];
    return nb::cast(result);
}

}  // namespace

void bind_solving(nb::module_& module) {
    module.def("kernel_decisions", &kernel_decisions, "kernel"_a.noconvert(), "coefficients"_a,
               "intercepts"_a, "n_threads"_a = 1);
    module.def("kernel_pull", &kernel_pull, "kernel"_a.noconvert(), "slopes"_a, "n_threads"_a = 1);
}

}  // namespace pocketsvm
