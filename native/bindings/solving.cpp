// The Python bindings of sums over rows and over rows of kernel values.
#include <algorithm>

#include "rows.hpp"

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

using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Panels, and those with which a thread multiplies them.
struct PanelTask {
    PanelRange left, right;
};

// Squares of panels: their rows stay in the second-level cache, and there are enough of them for
// many threads. The large ones come first.
std::vector<PanelTask> panel_tasks(std::size_t n_panels) {
    constexpr std::size_t at_once = 2;
    std::vector<PanelTask> tasks, on_diagonal;
    for (std::size_t p = 0; p < n_panels; p += at_once)
        for (std::size_t q = p; q < n_panels; q += at_once)
            (p == q ? on_diagonal : tasks)
                .push_back(
                    {{p, std::min(p + at_once, n_panels)}, {q, std::min(q + at_once, n_panels)}});
    tasks.insert(tasks.end(), on_diagonal.begin(), on_diagonal.end());
    return tasks;
}

void add_outer_products(Square square, AnyMatrix kernel, Positions chosen, Vector scales,
                        std::size_t n_threads) {
    constexpr std::size_t most_values = std::size_t(1) << 20, least_rows = 1024,
                          packed_at_once = 64;
    const KernelView view = view_of(kernel);
    const std::size_t n = view.n_vectors, n_chosen = chosen.shape(0);
    require(square.shape(0) == n && square.shape(1) == n,
            "square must have " + std::to_string(n) + " rows and columns, got " +
                std::to_string(square.shape(0)) + " and " + std::to_string(square.shape(1)));
    require(scales.shape(0) == n_chosen, "scales must have one entry per chosen row, " +
                                             std::to_string(n_chosen) + ", got " +
                                             std::to_string(scales.shape(0)));
    require_positions(chosen, view.n_rows);
    const std::size_t n_panels = (n + core->panel - 1) / core->panel;
    const std::vector<PanelTask> tasks = panel_tasks(n_panels);
    // Packed rows take a bounded memory, and there is the same number of them for any threads.
    const std::size_t at_once = std::max(least_rows, most_values / (n + 1));
    const std::size_t most = std::min(at_once, n_chosen) * n_panels * core->panel;
    const std::unique_ptr<double, Free> packed(allocate<double>(most));
    without_gil([&](Interrupt& interrupt) {
        for (std::size_t first = 0; first < n_chosen; first += at_once) {
            const ScaledRows rows{std::min(at_once, n_chosen - first), n, chosen.data() + first,
                                  scales.data() + first};
            const std::size_t n_packs = (rows.n_rows + packed_at_once - 1) / packed_at_once;
            const bool finished =
                parallel(n_packs, n_threads, interrupt,
                         [&](std::size_t k, Interrupt&) {
                             const std::size_t begin = k * packed_at_once;
                             core->pack_rows(view, rows, begin,
                                             std::min(begin + packed_at_once, rows.n_rows),
                                             packed.get());
                             return true;
                         }) &&
                parallel(tasks.size(), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
                    if (own.requested()) return false;
                    core->add_products(packed.get(), rows.n_rows, n, tasks[k].left, tasks[k].right,
                                       square.data());
                    return true;
                });
            if (!finished) return false;
        }
        return true;
    });
}

// Adds the sums of parts, `size` for each of them, in their order.
void add_parts(const std::vector<double>& parts, std::size_t size, double* total) {
    if (size == 0) return;
    std::fill_n(total, size, 0.0);
    for (std::size_t first = 0; first < parts.size(); first += size)
        for (std::size_t i = 0; i < size; ++i) total[i] += parts[first + i];
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
    add_parts(sums, size, out);
    return nb::cast(result);
}

// A checked view of the losses of rows, which keeps its arrays alive.
class RowLosses {
  public:
    static RowLosses classes(const std::string& name, AnyVector codes,
                             std::vector<std::int32_t> positives, double width) {
        RowLosses losses(kind_of(name, {"hinge", "squared_hinge", "log_loss", "softmax"}),
                         std::vector<double>(positives.size(), width), codes.shape(0));
        if (codes.dtype() == nb::dtype<std::int32_t>())
            losses.view_.wide_codes = true;
        else
            require(codes.dtype() == nb::dtype<std::int8_t>(), "codes must be int8 or int32");
        if (losses.view_.kind == LossKind::softmax) {
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
        RowLosses losses(kind_of(name, {"tube", "huber"}), std::move(widths), targets.shape(0));
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
        return view_.kind != LossKind::softmax && (view_.n_targets <= 1 || view_.n_outputs == 1);
    }

  private:
    RowLosses(LossKind kind, std::vector<double> widths, std::size_t n_rows)
        : n_rows_(n_rows), widths_(std::move(widths)) {
        require(!widths_.empty(), "there must be at least 1 output");
        for (double width : widths_) require_positive(width, "width");
        view_.kind = kind;
        view_.n_outputs = widths_.size();
    }

    static LossKind kind_of(const std::string& name, const std::vector<std::string>& known) {
        // In the order of LossKind.
        static const std::string names[] = {"hinge",   "squared_hinge", "log_loss",
                                            "softmax", "tube",          "huber"};
        require(std::find(known.begin(), known.end(), name) != known.end(),
                "loss '" + name + "' is not known");
        return LossKind(std::find(std::begin(names), std::end(names), name) - names);
    }

    Losses view_{};
    std::size_t n_rows_;
    std::vector<std::int32_t> positives_;
    std::vector<double> widths_, down_, up_;
    nb::object owner_;
};

// Calls task(rows, sums) for chunks of a fixed number of rows, and adds the sums of all, n_sums for
// each chunk, in their order.
template <class Task>
void add_in_order(std::size_t n_rows, std::size_t n_outputs, const double* c, std::size_t n_sums,
                  double* total, std::size_t n_threads, Task task) {
    constexpr std::size_t values_at_once = std::size_t(1) << 12;
    const std::size_t at_once = std::max<std::size_t>(1, values_at_once / n_outputs);
    const std::size_t n_chunks = (n_rows + at_once - 1) / at_once;
    std::vector<double> sums(n_chunks * n_sums);
    // Starting a thread takes as long as a few chunks.
    n_threads = std::min(n_threads, 1 + n_chunks / 4);
    without_gil([&](Interrupt& interrupt) {
        return parallel(n_chunks, n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            task(Chunk{k * at_once, std::min((k + 1) * at_once, n_rows), c, 0},
                 sums.data() + k * n_sums);
            return true;
        });
    });
    add_parts(sums, n_sums, total);
}

void check_decisions(const RowLosses& losses, const Matrix& decisions, const Vector& c) {
    const std::size_t n_rows = losses.n_rows(), n_outputs = losses.view().n_outputs;
    require(decisions.shape(0) == n_rows && decisions.shape(1) == n_outputs,
            "decision values must have " + std::to_string(n_rows) + " rows and " +
                std::to_string(n_outputs) + " columns, got " + std::to_string(decisions.shape(0)) +
                " and " + std::to_string(decisions.shape(1)));
    require(c.shape(0) == n_rows, "c must have one entry per row, " + std::to_string(n_rows) +
                                      ", got " + std::to_string(c.shape(0)));
}

nb::tuple loss_slopes(const RowLosses& losses, Matrix decisions, Vector c, std::size_t n_threads) {
    check_decisions(losses, decisions, c);
    const Losses view = losses.view();
    double *sums, *slopes;
    auto total = make_array<double>({view.n_losses()}, &sums);
    auto result = make_array<double>({losses.n_rows(), view.n_outputs}, &slopes);
    add_in_order(losses.n_rows(), view.n_outputs, c.data(), view.n_losses(), sums, n_threads,
                 [&](const Chunk& chunk, double* to) {
                     core->loss_slopes(view, chunk, decisions.data(), to, slopes);
                 });
    return nb::make_tuple(total, result);
}

nb::object loss_curvatures(const RowLosses& losses, Matrix decisions, Vector c,
                           std::size_t n_threads) {
    check_decisions(losses, decisions, c);
    const Losses view = losses.view();
    double* curvatures;
    auto result = make_array<double>({losses.n_rows()}, &curvatures);
    add_in_order(losses.n_rows(), view.n_outputs, c.data(), 0, nullptr, n_threads,
                 [&](const Chunk& chunk, double*) {
                     core->loss_curvatures(view, chunk, decisions.data(), curvatures);
                 });
    return nb::cast(result);
}

nb::object losses_along(const RowLosses& losses, Matrix decisions, Matrix change, Vector lengths,
                        Vector c, std::size_t n_threads) {
    check_decisions(losses, decisions, c);
    check_decisions(losses, change, c);
    const Losses view = losses.view();
    require(lengths.shape(0) == view.n_losses(), "lengths must have one entry per loss, " +
                                                     std::to_string(view.n_losses()) + ", got " +
                                                     std::to_string(lengths.shape(0)));
    double* sums;
    auto total = make_array<double>({2, view.n_outputs}, &sums);
    add_in_order(losses.n_rows(), view.n_outputs, c.data(), 2 * view.n_outputs, sums, n_threads,
                 [&](const Chunk& chunk, double* to) {
                     core->losses_along(view, chunk, decisions.data(), change.data(),
                                        lengths.data(), to, to + view.n_outputs);
                 });
    return nb::cast(total);
}

// Returns point, gradient, penalised, decisions, objective, predicted and steps of `SmallSolution`.
nb::tuple solve_small(const RowLosses& losses, AnyMatrix kernel, Matrix penalty, Vector c,
                      double tilt, bool fit_intercept, double bound, double least,
                      std::optional<Matrix> near, std::size_t n_steps, double tolerance) {
    const KernelView view = view_of(kernel);
    const std::size_t n_outputs = losses.view().n_outputs, n_vectors = view.n_vectors;
    require(losses.separable(), "the losses couple the outputs, or have several targets");
    require(losses.n_rows() == view.n_rows && c.shape(0) == view.n_rows,
            "losses and c must have one entry per row of kernel, " + std::to_string(view.n_rows) +
                ", got " + std::to_string(losses.n_rows()) + " and " + std::to_string(c.shape(0)));
    require(penalty.shape(0) == n_vectors && penalty.shape(1) == n_vectors,
            "penalty must be square, with one column per column of kernel, " +
                std::to_string(n_vectors));
    if (near) check_decisions(losses, *near, c);
    SmallSolution to;
    auto point = make_array<double>({n_outputs, n_vectors + 1}, &to.point);
    auto gradient = make_array<double>({n_outputs, n_vectors + 1}, &to.gradient);
    auto penalised = make_array<double>({n_outputs, n_vectors}, &to.penalised);
    auto decisions = make_array<double>({view.n_rows, n_outputs}, &to.decisions);
    auto objective = make_array<double>({n_outputs}, &to.objective);
    auto predicted = make_array<double>({n_outputs}, &to.predicted);
    auto steps = make_array<std::int64_t>({n_outputs}, &to.steps);
    bool finite;
    {
        WithoutGil released;
        finite =
            core->solve_small({view, penalty.data(), losses.view(), c.data(), tilt, fit_intercept,
                               bound, least, n_steps, tolerance, near ? near->data() : nullptr},
                              to);
    }
    require(finite, "kernel, penalty and c must be finite");
    return nb::make_tuple(point, gradient, penalised, decisions, objective, predicted, steps);
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

// The rows that a thread takes at once: few if a row is much work, so that it reacts to an
// interrupt, and never dependent on the threads, so that the bits are not, either.
std::size_t chunk_rows(const ModelView& model) {
    constexpr std::size_t most_work = std::size_t(1) << 27, least = 64, most = 4096;
    constexpr std::size_t exponential_work = 16;
    const std::size_t row_work =
        model.n_vectors * (exponential_work + model.n_features + 2 * model.n_outputs);
    return std::clamp(most_work / (row_work + 1), least, most);
}

// Adds the sums of all chunks in their order. Memory bounds the number of chunks at a time.
bool add_chunks(const Reader& reader, const ModelView& model, const RowsView& rows,
                const RowLosses& losses, Chunk all, std::size_t n_losses, const Sums& total,
                std::size_t n_threads, Interrupt& interrupt) {
    constexpr std::size_t most_values = std::size_t(1) << 22;
    const Losses view = losses.view();
    const std::size_t n_pull = view.n_outputs * (model.n_vectors + 1), n_all = n_losses + n_pull;
    const std::size_t n_rows = chunk_rows(model);
    const std::size_t n_chunks = (rows.n_rows + n_rows - 1) / n_rows;
    const std::size_t at_once = std::max(4 * n_threads, most_values / n_all);
    std::fill_n(total.losses, n_losses, 0.0);
    std::fill_n(total.pull, n_pull, 0.0);
    std::vector<double> sums(std::min(at_once, n_chunks) * n_all);
    for (std::size_t first = 0; first < n_chunks; first += at_once) {
        const std::size_t count = std::min(at_once, n_chunks - first);
        const bool finished =
            parallel(count, n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
                if (own.requested()) return false;
                Chunk chunk = all;
                chunk.begin = (first + k) * n_rows;
                chunk.end = std::min(chunk.begin + n_rows, rows.n_rows);
                double* to = sums.data() + k * n_all;
                reader.read(rows, view, chunk, {to, to + n_losses, total.near, total.curvatures});
                return true;
            });
        if (!finished) return false;
        for (std::size_t k = 0; k < count; ++k) {
            const double* from = sums.data() + k * n_all;
            for (std::size_t i = 0; i < n_losses; ++i) total.losses[i] += from[i];
            for (std::size_t i = 0; i < n_pull; ++i) total.pull[i] += from[n_losses + i];
        }
    }
    return true;
}

// With lengths, points holds those of the start and then those of the direction.
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
    auto pull = make_array<double>({n_outputs, n_vectors + 1}, &total.pull);
    auto near = make_array<bool>({n_rows}, &total.near);
    auto curvatures = make_array<float>({n_rows}, &total.curvatures);
    const ModelView model{n_vectors,           vectors.shape(1),  n_points, vectors.data(),
                          coefficients.data(), intercepts.data(), gamma};
    without_gil([&](Interrupt& interrupt) {
        const std::unique_ptr<Reader> reader(
            core->make_reader(view.precision, model, lengths.data(), n_lengths));
        return add_chunks(*reader, model, view, losses, {0, 0, c.data(), reach}, n_each * n_losses,
                          total, n_threads, interrupt);
    });
    return nb::make_tuple(sums, pull, near, curvatures);
}

}  // namespace

void bind_solving(nb::module_& module) {
    nb::class_<RowLosses>(module, "RowLosses")
        .def_static("classes", &RowLosses::classes, "name"_a, "codes"_a.noconvert(), "positives"_a,
                    "width"_a)
        .def_static("values", &RowLosses::values, "name"_a, "targets"_a, "epsilon"_a, "down"_a,
                    "up"_a, "widths"_a)
        .def_prop_ro("separable", &RowLosses::separable)
        .def("slopes", &loss_slopes, "decisions"_a, "c"_a, "n_threads"_a)
        .def("curvatures", &loss_curvatures, "decisions"_a, "c"_a, "n_threads"_a)
        .def("along", &losses_along, "decisions"_a, "change"_a, "lengths"_a, "c"_a, "n_threads"_a);
    module.def("solve_small", &solve_small, "losses"_a, "kernel"_a.noconvert(), "penalty"_a, "c"_a,
               "tilt"_a, "fit_intercept"_a, "bound"_a, "least"_a, "near"_a.none(), "n_steps"_a,
               "tolerance"_a);
    module.def("solve_rows", &solve_rows, "losses"_a, "kernel"_a.noconvert(), "c"_a, "tilt"_a,
               "fit_intercept"_a, "bound"_a, "least"_a, "n_steps"_a, "tolerance"_a);
    module.def("read_losses", &read_losses, "vectors"_a.noconvert(), "gamma"_a, "rows"_a,
               "losses"_a, "c"_a, "coefficients"_a, "intercepts"_a, "lengths"_a, "reach"_a,
               "n_threads"_a);
    module.def("kernel_decisions", &kernel_decisions, "kernel"_a.noconvert(), "coefficients"_a,
               "intercepts"_a, "n_threads"_a = 1);
    module.def("add_outer_products", &add_outer_products, "square"_a.noconvert(),
               "kernel"_a.noconvert(), "chosen"_a, "scales"_a, "n_threads"_a = 1);
    module.def("kernel_pull", &kernel_pull, "kernel"_a.noconvert(), "slopes"_a, "n_threads"_a = 1);
}

}  // namespace pocketsvm
