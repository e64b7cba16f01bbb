// The Python bindings of rows, decision values and kernel values.
#include "../kernel/statistics.hpp"
#include "rows.hpp"

namespace pocketsvm {
namespace {

// Calls task(predictor, from, to) for chunks of the rows [begin, end).
template <class Task>
void predict(const RowsView& rows, const ModelView& model, std::size_t begin, std::size_t end,
             std::size_t n_threads, Task task) {
    constexpr std::size_t exponential_work = 16;
    const std::size_t row_work =
        model.n_vectors * (exponential_work + model.n_features + model.n_outputs);
    without_gil([&](Interrupt& interrupt) {
        const std::unique_ptr<Predictor> predictor(core->make_predictor(rows.precision, model));
        return parallel_chunks(
            begin, end, row_work, n_threads, interrupt,
            [&](std::size_t from, std::size_t to) { task(*predictor, from, to); });
    });
}

nb::object decide(AnyMatrix vectors, Matrix coefficients, Vector intercepts, double gamma,
                  const Rows& rows, std::size_t n_threads) {
    const RowsView& view = rows.view();
    const std::size_t n_outputs = coefficients.shape(0);
    check_model(vectors, gamma, view);
    require(coefficients.shape(1) == vectors.shape(0),
            "coefficients must have one column per vector, " + std::to_string(vectors.shape(0)) +
                ", got " + std::to_string(coefficients.shape(1)));
    require(intercepts.shape(0) == n_outputs, "intercepts must have one entry per output, " +
                                                  std::to_string(n_outputs) + ", got " +
                                                  std::to_string(intercepts.shape(0)));
    double* out;
    auto result = make_array<double>({view.n_rows, n_outputs}, &out);
    const ModelView model{vectors.shape(0),    vectors.shape(1),  n_outputs, vectors.data(),
                          coefficients.data(), intercepts.data(), gamma};
    predict(view, model, 0, view.n_rows, n_threads,
            [&](const Predictor& predictor, std::size_t begin, std::size_t end) {
                predictor.decide(view, begin, end, out);
            });
    return nb::cast(result);
}

// Writes the kernel values of the rows [begin, end) to out. Those of rows in double may be rounded
// to float, a few rows at a time, which stay in the cache.
template <class Real>
void write_kernel(Real* out, const AnyMatrix& vectors, double gamma, const RowsView& view,
                  std::size_t begin, std::size_t end, std::size_t n_threads) {
    const std::size_t n_vectors = vectors.shape(0);
    const ModelView model{n_vectors, vectors.shape(1), 0, vectors.data(), nullptr, nullptr, gamma};
    const bool rounds = std::is_same_v<Real, float> && view.precision == Precision::float64;
    predict(view, model, begin, end, n_threads,
            [&](const Predictor& predictor, std::size_t from, std::size_t to) {
                Real* to_rows = out + (from - begin) * n_vectors;
                if (!rounds) return predictor.kernel(view, from, to, to_rows);
                constexpr std::size_t at_once = 64;
                std::vector<double> values(at_once * n_vectors);
                for (std::size_t i = from; i < to; i += at_once) {
                    const std::size_t last = std::min(i + at_once, to);
                    predictor.kernel(view, i, last, values.data());
                    std::copy_n(values.data(), (last - i) * n_vectors,
                                to_rows + (i - from) * n_vectors);
                }
            });
}

template <class Real>
nb::object new_kernel(const AnyMatrix& vectors, double gamma, const RowsView& view,
                      std::size_t begin, std::size_t end, std::size_t n_threads) {
    Real* out;
    auto result = make_array<Real>({end - begin, vectors.shape(0)}, &out);
    write_kernel(out, vectors, gamma, view, begin, end, n_threads);
    return nb::cast(result);
}

nb::object kernel_block(AnyMatrix vectors, double gamma, const Rows& rows, std::size_t begin,
                        std::size_t end, std::size_t n_threads) {
    const RowsView& view = rows.view();
    check_model(vectors, gamma, view);
    require(begin <= end && end <= view.n_rows,
            "begin and end must be in order and within the " + std::to_string(view.n_rows) +
                " rows, got " + std::to_string(begin) + " and " + std::to_string(end));
    return view.precision == Precision::float32
               ? new_kernel<float>(vectors, gamma, view, begin, end, n_threads)
               : new_kernel<double>(vectors, gamma, view, begin, end, n_threads);
}

using Block = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void fill_kernel(Block out, AnyMatrix vectors, double gamma, const Rows& rows, std::size_t begin,
                 std::size_t n_threads) {
    const RowsView& view = rows.view();
    check_model(vectors, gamma, view);
    require(begin <= view.n_rows, "begin must be within the " + std::to_string(view.n_rows) +
                                      " rows, got " + std::to_string(begin));
    require(out.shape(0) <= view.n_rows - begin && out.shape(1) == vectors.shape(0),
            "out must have at most " + std::to_string(view.n_rows - begin) + " rows and " +
                std::to_string(vectors.shape(0)) + " columns, got " + std::to_string(out.shape(0)) +
                " and " + std::to_string(out.shape(1)));
    const Precision precision = precision_of(out.dtype(), "out");
    require(precision == Precision::float32 || view.precision == Precision::float64,
            "out must be float32 if the rows are");
    const std::size_t end = begin + out.shape(0);
    if (precision == Precision::float32)
        write_kernel(static_cast<float*>(out.data()), vectors, gamma, view, begin, end, n_threads);
    else
        write_kernel(static_cast<double*>(out.data()), vectors, gamma, view, begin, end, n_threads);
}

template <bool (*compute)(const RowsView&, double&, std::size_t, Interrupt&)>
double statistic(const Rows& rows, std::size_t n_threads) {
    double result = 0;
    without_gil(
        [&](Interrupt& interrupt) { return compute(rows.view(), result, n_threads, interrupt); });
    return result;
}

}  // namespace

void bind_kernel(nb::module_& module) {
    nb::class_<Rows>(module, "Rows")
        .def_static("dense", &Rows::dense, "X"_a.noconvert())
        .def_static("csr", &Rows::csr, "data"_a.noconvert(), "indices"_a.noconvert(),
                    "indptr"_a.noconvert(), "n_features"_a)
        .def("with_values", &Rows::with_values, "data"_a.noconvert())
        .def_prop_ro("n_rows", [](const Rows& rows) { return rows.view().n_rows; })
        .def_prop_ro("n_features", [](const Rows& rows) { return rows.view().n_features; })
        .def_prop_ro("dtype", [](const Rows& rows) { return name_of(rows.view().precision); })
        .def(
            "all_finite",
            [](const Rows& rows, std::size_t n) { return statistic<all_finite>(rows, n) != 0; },
            "n_threads"_a = 1)
        .def("max_squared_norm", &statistic<max_squared_norm>, "n_threads"_a = 1)
        .def("variance", &statistic<variance>, "n_threads"_a = 1);

    module.def("decide", &decide, "vectors"_a.noconvert(), "coefficients"_a, "intercepts"_a,
               "gamma"_a, "rows"_a, "n_threads"_a);
    module.def("kernel_block", &kernel_block, "vectors"_a.noconvert(), "gamma"_a, "rows"_a,
               "begin"_a, "end"_a, "n_threads"_a);
    module.def("fill_kernel", &fill_kernel, "out"_a.noconvert(), "vectors"_a.noconvert(), "gamma"_a,
               "rows"_a, "begin"_a, "n_threads"_a);
}

}  // namespace pocketsvm
