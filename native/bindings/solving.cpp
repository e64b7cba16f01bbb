// The Python bindings of sums over rows of kernel values. They run on the calling thread and do not
// ask for interrupts, because a call on a chunk of rows takes milliseconds.
#include "common.hpp"

namespace pocketsvm {
namespace {

KernelView view_of(const AnyMatrix& kernel) {
    return {precision_of(kernel.dtype(), "kernel"), kernel.shape(0), kernel.shape(1),
            kernel.data()};
}

nb::object kernel_decisions(AnyMatrix kernel, Matrix coefficients, Vector intercepts) {
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
    {
        const WithoutGil released;
        core->kernel_decisions(view, n_outputs, coefficients.data(), intercepts.data(), out);
    }
    return nb::cast(result);
}

nb::object kernel_pull(AnyMatrix kernel, Matrix slopes) {
    const KernelView view = view_of(kernel);
    const std::size_t n_outputs = slopes.shape(1);
    require(slopes.shape(0) == view.n_rows, "slopes must have one row per row of kernel, " +
                                                std::to_string(view.n_rows) + ", got " +
                                                std::to_string(slopes.shape(0)));
    double* out;
    auto result = make_array<double>({n_outputs, view.n_vectors}, &out);
    {
        const WithoutGil released;
        core->kernel_pull(view, n_outputs, slopes.data(), out);
    }
    return nb::cast(result);
}

}  // namespace

void bind_solving(nb::module_& module) {
    module.def("kernel_decisions", &kernel_decisions, "kernel"_a.noconvert(), "coefficients"_a,
               "intercepts"_a);
    module.def("kernel_pull", &kernel_pull, "kernel"_a.noconvert(), "slopes"_a);
}

}  // namespace pocketsvm
