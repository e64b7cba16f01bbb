// The Python bindings of sums over rows and over rows of kernel values.
#include <algorithm>

#include "../solving/on_threads.hpp"
#include "rows.hpp"

namespace pocketsvm {
namespace {

KernelView view_of(const AnyMatrix& kernel) {
    return {precision_of(kernel.dtype(), "kernel"), kernel.shape(0), kernel.shape(1),
            kernel.data()};
}

using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void outer_products(Square square, AnyMatrix kernel, Positions chosen, Vector scales,
                    std::size_t n_threads, bool subtract) {
    const KernelView view = view_of(kernel);
    const std::size_t n = view.n_vectors, n_chosen = chosen.shape(0);
    require(square.shape(0) == n && square.shape(1) == n,
            "square must have " + std::to_string(n) + " rows and columns, got " +
                std::to_string(square.shape(0)) + " and " + std::to_string(square.shape(1)));
    require(scales.shape(0) == n_chosen, "scales must have one entry per chosen row, " +
                                             std::to_string(n_chosen) + ", got " +
                                             std::to_string(scales.shape(0)));
    require_positions(chosen, view.n_rows);
    without_gil([&](Interrupt& interrupt) {
        return add_outer_products(*core, view, {n_chosen, n, chosen.data(), scales.data()},
                                  subtract ? -1.0 : 1.0, square.data(), n_threads, interrupt);
    });
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
    without_gil([&](Interrupt& interrupt) {
        return decide(*core, view, n_outputs, coefficients.data(), intercepts.data(), out,
                      n_threads, interrupt);
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
    without_gil([&](Interrupt& interrupt) {
        return pull(*core, view, n_outputs, slopes.data(), out, n_threads, interrupt);
    });
    return nb::cast(result);
}

// A checked view of the losses of rows, which keeps its arrays alive.
class RowLosses {
  public:
    static RowLosses classes(const std::string& name, AnyVector codes,
                             std::vector<std::int32_t> positives, double width) {
        RowLosses losses(name, true, std::vector<double>(positives.size(), width), codes.shape(0));
        if (codes.dtype() == nb::dtype<std::int32_t>())
            losses.view_.wide_codes = true;
        else
            require(codes.dtype() == nb::dtype<std::int8_t>(), "codes must be int8 or int32");
        if (losses.view_.coupled) {
            const bool wide = losses.view_.wide_codes;
            const std::int32_t n_classes = std::int32_t(positives.size());
            for (std::size_t i = 0; i < codes.shape(0); ++i) {
                const std::int32_t code = wide ? static_cast<const std::int32_t*>(codes.data())[i]
                                               : static_cast<const std::int8_t*>(codes.data())[i];
                require(code >= 0 && code < n_classes, "codes must be positions of outputs");
            }
        }
        losses.view_.codes = codes.data();
        losses.positives_ = std::move(positives);
        losses.owner_ = nb::cast(codes);
        return losses;
    }

    static RowLosses values(const std::string& name, Matrix targets, double epsilon,
                            std::vector<double> down, std::vector<double> up,
                            std::vector<double> widths) {
        const std::size_t n_outputs = widths.size();
        RowLosses losses(name, false, std::move(widths), targets.shape(0));
        require(down.size() == n_outputs && up.size() == n_outputs,
                "down, up and widths must have the same length");
        require(targets.shape(1) == 1 || targets.shape(1) == n_outputs,
                "targets must have 1 column or one per output, " + std::to_string(n_outputs) +
                    ", got " + std::to_string(targets.shape(1)));
        losses.view_.targets = targets.data();
        losses.view_.n_targets = targets.shape(1);
        losses.view_.epsilon = epsilon;
        losses.down_ = std::move(down);
        losses.up_ = std::move(up);
        losses.owner_ = nb::cast(targets);
        return losses;
    }

    Losses view() const {
        Losses view = view_;
        view.widths = widths_.data();
        view.positives = positives_.data();
        view.down = down_.data();
        view.up = up_.data();
        return view;
    }
    std::size_t n_rows() const { return n_rows_; }
    // Whether every output is a problem of its own, with targets that all outputs share.
    bool separable() const {
        return !view_.coupled && (view_.n_targets <= 1 || view_.n_outputs == 1);
    }

  private:
    RowLosses(const std::string& name, bool on_classes, std::vector<double> widths,
              std::size_t n_rows)
        : n_rows_(n_rows), widths_(std::move(widths)) {
        require(!widths_.empty(), "there must be at least 1 output");
        for (double width : widths_) require_positive(width, "width");
        view_.n_outputs = widths_.size();
        const SolverLossList& known = core->solver_losses;
        const SolverLoss* loss =
            std::find_if(known.first, known.first + known.count, [&](const SolverLoss& each) {
                return each.name == name && each.on_classes == on_classes;
            });
        view_.loss = std::size_t(loss - known.first);
        require(view_.loss < known.count, "loss '" + name + "' is not known");
        view_.coupled = loss->coupled;
    }

    Losses view_{};
    std::size_t n_rows_;
    std::vector<std::int32_t> positives_;
    std::vector<double> widths_, down_, up_;
    nb::object owner_;
};

// Calls task(rows, sums) for chunks of rows, each of which writes n_sums numbers.
template <class Task>
void sum_losses(const RowLosses& losses, const double* c, std::size_t n_sums, double* total,
                std::size_t n_threads, Task task) {
    without_gil([&](Interrupt& interrupt) {
        return add_losses(losses.n_rows(), losses.view().n_outputs, c, n_sums, total, n_threads,
                          interrupt, task);
    });
}

void check_decisions(const RowLosses& losses, const Matrix& decisions, std::size_t n_weights) {
    const std::size_t n_rows = losses.n_rows(), n_outputs = losses.view().n_outputs;
    require(decisions.shape(0) == n_rows && decisions.shape(1) == n_outputs,
            "decision values must have " + std::to_string(n_rows) + " rows and " +
                std::to_string(n_outputs) + " columns, got " + std::to_string(decisions.shape(0)) +
                " and " + std::to_string(decisions.shape(1)));
    require(n_weights == n_rows, "c must have one entry per row, " + std::to_string(n_rows) +
                                     ", got " + std::to_string(n_weights));
}

nb::tuple loss_derivatives(const RowLosses& losses, Matrix decisions, Vector c,
                           std::size_t n_threads) {
    check_decisions(losses, decisions, c.shape(0));
    const Losses view = losses.view();
    double *sums, *slopes, *curvatures;
    auto total = make_array<double>({view.n_losses()}, &sums);
    auto slopes_array = make_array<double>({losses.n_rows(), view.n_outputs}, &slopes);
    auto curvatures_array = make_array<double>({losses.n_rows(), view.n_outputs}, &curvatures);
    sum_losses(losses, c.data(), view.n_losses(), sums, n_threads,
               [&](const Chunk& chunk, double* to) {
                   core->loss_derivatives(view, chunk, decisions.data(), to, slopes, curvatures);
               });
    return nb::make_tuple(total, slopes_array, curvatures_array);
}

nb::object near_rows(const RowLosses& losses, Matrix decisions, double reach,
                     std::size_t n_threads) {
    check_decisions(losses, decisions, losses.n_rows());
    bool* near;
    auto result = make_array<bool>({losses.n_rows()}, &near);
    sum_losses(losses, nullptr, 0, nullptr, n_threads, [&](Chunk chunk, double*) {
        chunk.reach = reach;
        core->near_rows(losses.view(), chunk, decisions.data(), near);
    });
    return nb::cast(result);
}

nb::object losses_along(const RowLosses& losses, Matrix decisions, Matrix change, Vector lengths,
                        Vector c, std::size_t n_threads) {
    check_decisions(losses, decisions, c.shape(0));
    check_decisions(losses, change, c.shape(0));
    const Losses view = losses.view();
    require(lengths.shape(0) == view.n_losses(), "lengths must have one entry per loss, " +
                                                     std::to_string(view.n_losses()) + ", got " +
                                                     std::to_string(lengths.shape(0)));
    double* sums;
    auto total = make_array<double>({2, view.n_outputs}, &sums);
    sum_losses(losses, c.data(), 2 * view.n_outputs, sums, n_threads,
               [&](const Chunk& chunk, double* to) {
                   core->losses_along(view, chunk, decisions.data(), change.data(), lengths.data(),
                                      to, to + view.n_outputs);
               });
    return nb::cast(total);
}

// Returns point, gradient, decisions, objective, predicted and steps of `RowSolution`, or None.
nb::object solve_rows(const RowLosses& losses, AnyMatrix kernel, Vector c, double tilt,
                      bool fit_intercept, double bound, double least, std::size_t n_steps,
                      double tolerance) {
    const std::size_t n_outputs = losses.view().n_outputs, n_rows = kernel.shape(0);
    require(losses.separable(), "the losses couple the outputs, or have several targets");
    require(kernel.shape(1) == n_rows, "kernel must be square, got " + std::to_string(n_rows) +
                                           " rows and " + std::to_string(kernel.shape(1)) +
                                           " columns");
    require(losses.n_rows() == n_rows && c.shape(0) == n_rows,
            "losses and c must have one entry per row of kernel, " + std::to_string(n_rows) +
                ", got " + std::to_string(losses.n_rows()) + " and " + std::to_string(c.shape(0)));
    RowSolution to;
    auto point = make_array<double>({n_outputs, n_rows + 1}, &to.point);
    auto gradient = make_array<double>({n_outputs, n_rows + 1}, &to.gradient);
    auto decisions = make_array<double>({n_rows, n_outputs}, &to.decisions);
    auto objective = make_array<double>({n_outputs}, &to.objective);
    auto predicted = make_array<double>({n_outputs}, &to.predicted);
    auto steps = make_array<std::int64_t>({n_outputs}, &to.steps);
    bool solved;
    {
        WithoutGil released;
        solved = core->solve_rows({view_of(kernel), losses.view(), c.data(), tilt, fit_intercept,
                                   bound, least, n_steps, tolerance},
                                  to);
    }
    if (!solved) return nb::none();
    return nb::make_tuple(point, gradient, decisions, objective, predicted, steps);
}

// With lengths, points holds those of the start and then those of the direction, and only the
// losses are not empty.
nb::tuple read_losses(AnyMatrix vectors, double gamma, const Rows& rows, const RowLosses& losses,
                      Vector c, Matrix coefficients, Vector intercepts, Vector lengths,
                      double reach, std::size_t n_threads) {
    const RowsView& view = rows.view();
    const std::size_t n_outputs = losses.view().n_outputs, n_vectors = vectors.shape(0);
    const std::size_t n_lengths = lengths.shape(0), n_points = n_outputs * (n_lengths ? 2 : 1);
    check_model(vectors, gamma, view);
    require(losses.n_rows() == view.n_rows && c.shape(0) == view.n_rows,
            "losses and c must have one entry per row, " + std::to_string(view.n_rows) + ", got " +
                std::to_string(losses.n_rows()) + " and " + std::to_string(c.shape(0)));
    require(coefficients.shape(0) == n_points && coefficients.shape(1) == n_vectors,
            "coefficients must have " + std::to_string(n_points) + " rows and " +
                std::to_string(n_vectors) + " columns, got " +
                std::to_string(coefficients.shape(0)) + " and " +
                std::to_string(coefficients.shape(1)));
    require(intercepts.shape(0) == n_points, "intercepts must have " + std::to_string(n_points) +
                                                 " entries, got " +
                                                 std::to_string(intercepts.shape(0)));
    const std::size_t n_rows = n_lengths ? 0 : view.n_rows, n_each = n_lengths ? n_lengths : 1;
    Sums total;
    const std::size_t n_losses = losses.view().n_losses();
    auto sums = make_array<double>({n_each, n_losses}, &total.losses);
    auto pull = make_array<double>({n_outputs, n_lengths ? 0 : n_vectors + 1}, &total.pull);
    if (n_lengths) total.pull = nullptr;
    auto near = make_array<bool>({n_rows}, &total.near);
    const ModelView model{n_vectors,           vectors.shape(1),  n_points, vectors.data(),
                          coefficients.data(), intercepts.data(), gamma};
    without_gil([&](Interrupt& interrupt) {
        const std::unique_ptr<Reader> reader(
            core->make_reader(view.precision, model, lengths.data(), n_lengths));
        return read_all(*reader, model, view, losses.view(), {0, 0, c.data(), reach},
                        n_each * n_losses, total, n_threads, interrupt);
    });
    return nb::make_tuple(sums, pull, near);
}

}  // namespace

void bind_solving(nb::module_& module) {
    nb::class_<RowLosses>(module, "RowLosses")
        .def_static("classes", &RowLosses::classes, "name"_a, "codes"_a.noconvert(), "positives"_a,
                    "width"_a)
        .def_static("values", &RowLosses::values, "name"_a, "targets"_a, "epsilon"_a, "down"_a,
                    "up"_a, "widths"_a)
        .def_prop_ro("separable", &RowLosses::separable)
        .def("derivatives", &loss_derivatives, "decisions"_a, "c"_a, "n_threads"_a)
        .def("near", &near_rows, "decisions"_a, "reach"_a, "n_threads"_a)
        .def("along", &losses_along, "decisions"_a, "change"_a, "lengths"_a, "c"_a, "n_threads"_a);
    module.def("solve_rows", &solve_rows, "losses"_a, "kernel"_a.noconvert(), "c"_a, "tilt"_a,
               "fit_intercept"_a, "bound"_a, "least"_a, "n_steps"_a, "tolerance"_a);
    module.def("read_losses", &read_losses, "vectors"_a.noconvert(), "gamma"_a, "rows"_a,
               "losses"_a, "c"_a, "coefficients"_a, "intercepts"_a, "lengths"_a, "reach"_a,
               "n_threads"_a);
    module.def("kernel_decisions", &kernel_decisions, "kernel"_a.noconvert(), "coefficients"_a,
               "intercepts"_a, "n_threads"_a = 1);
    module.def("add_outer_products", &outer_products, "square"_a.noconvert(),
               "kernel"_a.noconvert(), "chosen"_a, "scales"_a, "n_threads"_a = 1,
               "subtract"_a = false);
    module.def("kernel_pull", &kernel_pull, "kernel"_a.noconvert(), "slopes"_a, "n_threads"_a = 1);
}

}  // namespace pocketsvm
